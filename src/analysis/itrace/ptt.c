/* HiSilicon PTT: headers of packets (TLPs) on a PCIe link, shown by -D. Nothing of it is a sample of a program.
 *
 * A trace has packets of one of two sizes (Linux: Documentation/trace/hisi-ptt.rst):
 *
 *	8 words	bits 31 to 11 of the first one are set; prefix, four words of the header, nothing, time
 *	4 words	format, type, flags, length and time in one; three words of the header */
#include "analysis/itrace/decoder.h"

#include <inttypes.h>
#include <string.h>

enum { INFO_PMU_TYPE, WORD = 4, SHORT_WORDS = 4, LONG_WORDS = 8 };

static struct error *begin(struct itrace *itrace, const struct record_auxtrace_info *info)
{
	(void)itrace;
	(void)info;
	return error_new_kind(ERROR_UNSUPPORTED, "what goes over PCIe makes no samples; 'perf script -D' shows the packets");
}

static void describe(const struct record_auxtrace_info *info, struct strbuf *out)
{
	if (info->header.size >= sizeof(*info) + sizeof(uint64_t))
		strbuf_printf(out, "  PMU Type           %" PRId64 "\n", (int64_t)info->words[INFO_PMU_TYPE]);
}

static uint32_t word_at(const uint8_t *bytes)
{
	return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* The first word of a short packet, lowest bits first. */
static void add_fields(uint32_t word, struct strbuf *out)
{
	static const struct {
		const char *name;
		unsigned int bits;
	} FIELDS[] = {{"Format", 2}, {"Type", 5}, {"T9", 1}, {"T8", 1}, {"TH", 1}, {"SO", 1}, {"Length", 10}, {"Time", 11}};

	for (size_t i = 0; i < sizeof(FIELDS) / sizeof(FIELDS[0]); i++) {
		strbuf_printf(out, "%s%s %x", i ? " " : "", FIELDS[i].name, word & ((1u << FIELDS[i].bits) - 1));
		word >>= FIELDS[i].bits;
	}
}

static void add_word(const uint8_t *bytes, size_t at, const char *name, struct strbuf *out)
{
	enum { BLANKS = 10 * 3 };

	strbuf_printf(out, ".  %08zx: ", at);
	for (size_t i = 0; i < WORD; i++)
		strbuf_printf(out, "%02x ", bytes[at + i]);
	strbuf_add_chars(out, ' ', BLANKS + 2);
	if (name)
		strbuf_add_str(out, name);
	else
		add_fields(word_at(bytes + at), out);
	strbuf_add_char(out, '\n');
}

static void dump(const struct trace_dump *trace, struct strbuf *out)
{
	static const char *const LONG[LONG_WORDS] = {"", "Prefix", "Header DW0", "Header DW1", "Header DW2", "Header DW3", "", "Time"};
	static const char *const SHORT[SHORT_WORDS] = {NULL, "Header DW1", "Header DW2", "Header DW3"};
	const uint8_t *bytes = trace->data;
	size_t size = trace->size;

	const bool is_long = size >= WORD && word_at(bytes) >> 11 == (1u << 21) - 1;
	const size_t words = is_long ? LONG_WORDS : SHORT_WORDS;
	const char *const *names = is_long ? LONG : SHORT;
	size -= size % (words * WORD);
	strbuf_printf(out, ".\n. ... HISI PTT data: size %zu bytes\n", size);
	for (size_t at = 0; at < size; at += WORD) {
		const char *name = names[at / WORD % words];
		if (!name || *name)
			add_word(bytes, at, name, out);
	}
}

const struct trace_decoder trace_decoder_ptt = {
	.type = TRACE_HISI_PTT, .name = "HiSilicon PTT", .letters = "", .begin = begin, .describe = describe, .dump = dump};
