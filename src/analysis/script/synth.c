/* -F synth: what `perf inject --itrace` made of power, PTWRITE and interrupt events of Intel PT: samples of a type of their own whose raw
 * data is one of these structures. They are little-endian, as the processors are. Facts: the formats in the Intel manual's chapter on Intel
 * PT, and the kernel tool's text for recordings made by hand. */
#include "analysis/script/internal.h"
#include "base/cursor.h"

#include <inttypes.h>

enum { SYNTH_WIDTH = 34 };
enum { PTWRITE, MWAIT, PWRE, EXSTOP, PWRX, CBR, PSB, EVT, IFLAG };

static uint32_t bits(uint64_t value, unsigned int from, unsigned int count)
{
	return (uint32_t)(value >> from & ((1ull << count) - 1));
}

/* Payloads are often text. */
static void add_characters(uint64_t payload, struct strbuf *out)
{
	char text[sizeof(payload) + 1] = "";
	size_t length = 0;
	for (; payload && length < sizeof(payload); payload >>= 8) {
		char c = (char)payload;
		if (c < ' ' || c > '~')
			return;
		text[length++] = c;
	}
	if (length)
		strbuf_printf(out, "%s ", text);
}

static void add_ptwrite(struct cursor *cursor, struct strbuf *out)
{
	uint32_t flags = cursor_u32(cursor);
	uint64_t payload = cursor_u64(cursor);
	strbuf_printf(out, " IP: %u payload: %#" PRIx64 " ", flags & 1, payload);
	add_characters(payload, out);
}

static void add_mwait(struct cursor *cursor, struct strbuf *out)
{
	cursor_u32(cursor);
	uint64_t payload = cursor_u64(cursor);
	strbuf_printf(out, " hints: %#x extensions: %#x ", bits(payload, 0, 8), bits(payload, 32, 2));
}

static void add_pwre(struct cursor *cursor, struct strbuf *out)
{
	cursor_u32(cursor);
	uint64_t payload = cursor_u64(cursor);
	strbuf_printf(out, " hw: %u cstate: %u sub-cstate: %u ", bits(payload, 7, 1), bits(payload, 12, 4), bits(payload, 8, 4));
}

static void add_exstop(struct cursor *cursor, struct strbuf *out)
{
	strbuf_printf(out, " IP: %u ", cursor_u32(cursor) & 1);
}

static void add_pwrx(struct cursor *cursor, struct strbuf *out)
{
	cursor_u32(cursor);
	uint64_t payload = cursor_u64(cursor);
	strbuf_printf(out, " deepest cstate: %u last cstate: %u wake reason: %#x ", bits(payload, 0, 4), bits(payload, 4, 4),
		      bits(payload, 8, 4));
}

/* The core's ratio to the bus, and to the frequency without turbo. */
static void add_cbr(struct cursor *cursor, struct strbuf *out)
{
	uint32_t flags = cursor_u32(cursor), khz = cursor_u32(cursor), ratio = bits(flags, 0, 8), most = bits(flags, 16, 8);
	cursor_u32(cursor);
	strbuf_printf(out, " cbr: %2u freq: %4u MHz ", ratio, (uint32_t)(((uint64_t)khz + 500) / 1000));
	if (most)
		strbuf_printf(out, "(%3u%%) ", (5 + 1000 * ratio / most) / 10);
}

static void add_psb(struct cursor *cursor, struct strbuf *out)
{
	cursor_u32(cursor);
	strbuf_printf(out, " psb offs: %#" PRIx64 " ", cursor_u64(cursor));
}

static void add_evt(struct cursor *cursor, struct strbuf *out)
{
	static const char *const kinds[] = {NULL,   "INTR",    "IRET",	 "SMI",		"RSM",	   "SIPI",
					    "INIT", "VMENTRY", "VMEXIT", "VMEXIT_INTR", "SHUTDOWN"};
	static const char *const data[] = {"PFA", "VMXQ", "VMXR"};
	uint32_t flags = cursor_u32(cursor), kind = bits(flags, 0, 5);
	if (kind && kind < sizeof(kinds) / sizeof(*kinds))
		strbuf_printf(out, " cfe: %s", kinds[kind]);
	else
		strbuf_printf(out, " cfe: %u", kind);
	strbuf_printf(out, " IP: %u vector: %u", bits(flags, 7, 1), bits(flags, 8, 8));
	for (uint32_t i = 0; i < bits(flags, 16, 16) && cursor_left(cursor) >= 16; i++) {
		uint32_t type = bits(cursor_u64(cursor), 0, 6);
		uint64_t payload = cursor_u64(cursor);
		if (type < sizeof(data) / sizeof(*data))
			strbuf_printf(out, " %s: %#" PRIx64, data[type], payload);
		else
			strbuf_printf(out, " EVD_%u: %#" PRIx64, type, payload);
	}
}

/* The flag that lets interrupts in has changed. */
static void add_iflag(struct cursor *cursor, struct strbuf *out)
{
	uint32_t flags = cursor_u32(cursor), now = flags & 1;
	cursor_u64(cursor);
	strbuf_printf(out, " IFLAG: %u->%u %s branch ", !now, now, flags & 2 ? "via" : "non");
}

void script_print_synth(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	static void (*const kinds[])(struct cursor *, struct strbuf *) = {
		[PTWRITE] = add_ptwrite, [MWAIT] = add_mwait, [PWRE] = add_pwre, [EXSTOP] = add_exstop, [PWRX] = add_pwrx,
		[CBR] = add_cbr,	 [PSB] = add_psb,     [EVT] = add_evt,	 [IFLAG] = add_iflag};
	struct cursor cursor = cursor_init(at->sample->raw, at->sample->raw_size, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	size_t before = out->len;
	uint64_t kind = at->event->attr.config;
	if (at->plan->type != SCRIPT_SYNTHETIC || kind >= sizeof(kinds) / sizeof(*kinds))
		return;
	kinds[kind](&cursor, out);
	if (cursor.failed)
		out->len = before; /* too short for what it should be */
	else if (out->len - before < SYNTH_WIDTH)
		strbuf_add_chars(out, ' ', SYNTH_WIDTH - (out->len - before));
}
