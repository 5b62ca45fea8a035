/* What a memory sample tells: where the data came from, what it cost, pages, control groups. The bits are those of perf_event.h (union
 * perf_mem_data_src); the words are those that people and scripts know from the kernel's perf. */
#include "analysis/script/internal.h"
#include "analysis/script/sample_text.h"

#include "base/digits.h"
#include "base/text.h"

#include <string.h>

/* Fields of the data source: first bit, number of bits. */
enum {
	OP_SHIFT = 0,
	OP_BITS = 5,
	LEVEL_SHIFT = 5,
	LEVEL_BITS = 14,
	SNOOP_SHIFT = 19,
	SNOOP_BITS = 5,
	LOCK_SHIFT = 24,
	LOCK_BITS = 2,
	TLB_SHIFT = 26,
	TLB_BITS = 7,
	LEVEL_NUMBER_SHIFT = 33,
	LEVEL_NUMBER_BITS = 4,
	REMOTE_SHIFT = 37,
	REMOTE_BITS = 1,
	SNOOPX_SHIFT = 38,
	SNOOPX_BITS = 2,
	BLOCK_SHIFT = 40,
	BLOCK_BITS = 3,
	HOPS_SHIFT = 43,
	HOPS_BITS = 3,
};
#define PART(source, name) ((unsigned int)((source) >> name##_SHIFT & ((1u << name##_BITS) - 1)))

/* Adds the names of the set bits, joined by " or ". */
static unsigned int add_names(const char *const *names, size_t count, unsigned int bits, struct strbuf *out)
{
	unsigned int added = 0;
	for (size_t i = 0; i < count; i++) {
		if (!(bits >> i & 1))
			continue;
		strbuf_add_str(out, added++ ? " or " : "");
		strbuf_add_str(out, names[i]);
	}
	return added;
}

static void add_operation(uint64_t source, struct strbuf *out)
{
	static const char *const names[OP_BITS] = {"N/A", "LOAD", "STORE", "PFETCH", "EXEC"};
	unsigned int bits = PART(source, OP);
	strbuf_add_str(out, bits ? names[__builtin_ctz(bits)] : "No");
}

static void add_hit_or_miss(unsigned int hit, unsigned int miss, struct strbuf *out)
{
	strbuf_add_str(out, hit ? " hit" : "");
	strbuf_add_str(out, miss ? " miss" : "");
}

enum { BIT_HIT = 1 << 1, BIT_MISS = 1 << 2 };

static void add_level_number(unsigned int number, struct strbuf *out)
{
	static const char *const names[1 << LEVEL_NUMBER_BITS] = {
		[0x9] = "CXL", [0xa] = "I/O", [0xb] = "Any cache", [0xc] = "LFB/MAB", [0xd] = "RAM", [0xe] = "PMEM", [0xf] = "N/A"};
	if (names[number])
		strbuf_add_str(out, names[number]);
	else
		strbuf_printf(out, "L%u", number);
}

static void add_level(uint64_t source, struct strbuf *out)
{
	static const char *const names[LEVEL_BITS] = {"N/A",
						      "HIT",
						      "MISS",
						      "L1",
						      "LFB/MAB",
						      "L2",
						      "L3",
						      "Local RAM",
						      "Remote RAM (1 hop)",
						      "Remote RAM (2 hops)",
						      "Remote Cache (1 hop)",
						      "Remote Cache (2 hops)",
						      "I/O",
						      "Uncached"};
	static const char *const hops[1 << HOPS_BITS] = {"N/A", "core, same node", "node, same socket", "socket, same board", "board"};
	unsigned int bits = PART(source, LEVEL), number = PART(source, LEVEL_NUMBER), hop = PART(source, HOPS),
		     remote = PART(source, REMOTE);
	size_t start = out->len;
	unsigned int added = 0;
	if (remote)
		strbuf_add_str(out, "Remote ");
	if (hop)
		strbuf_printf(out, "%s ", hops[hop] ? hops[hop] : "unknown");
	else
		added = add_names(names, LEVEL_BITS, bits & ~(unsigned int)(BIT_HIT | BIT_MISS), out);
	if (number) {
		strbuf_add_str(out, added ? " or " : "");
		add_level_number(number, out);
	}
	if (out->len == start)
		strbuf_add_str(out, "N/A");
	add_hit_or_miss(bits & BIT_HIT, bits & BIT_MISS, out);
}

static void add_snoop(uint64_t source, struct strbuf *out)
{
	static const char *const names[SNOOP_BITS] = {"N/A", "None", "Hit", "Miss", "HitM"};
	static const char *const more[SNOOPX_BITS] = {"Fwd", "Peer"};
	unsigned int added = add_names(names, SNOOP_BITS, PART(source, SNOOP), out), bits = PART(source, SNOOPX);
	if (added && bits)
		strbuf_add_str(out, " or ");
	if (!add_names(more, SNOOPX_BITS, bits, out) && !added)
		strbuf_add_str(out, "N/A");
}

static void add_tlb(uint64_t source, struct strbuf *out)
{
	static const char *const names[TLB_BITS] = {"N/A", "HIT", "MISS", "L1", "L2", "Walker", "Fault"};
	unsigned int bits = PART(source, TLB);
	if (!add_names(names, TLB_BITS, bits & ~(unsigned int)(BIT_HIT | BIT_MISS), out))
		strbuf_add_str(out, "N/A");
	add_hit_or_miss(bits & BIT_HIT, bits & BIT_MISS, out);
}

static void add_lock(uint64_t source, struct strbuf *out)
{
	unsigned int bits = PART(source, LOCK);
	strbuf_add_str(out, bits & 1 ? "N/A" : bits & 2 ? "Yes" : "No");
}

static void add_block(uint64_t source, struct strbuf *out)
{
	unsigned int bits = PART(source, BLOCK);
	if (!bits || bits & 1) {
		strbuf_add_str(out, " N/A");
		return;
	}
	strbuf_add_str(out, bits & 2 ? " Data" : "");
	strbuf_add_str(out, bits & 4 ? " Addr" : "");
}

static uint64_t mask(unsigned int shift, unsigned int bits)
{
	return ((1ull << bits) - 1) << shift;
}
#define MASK(name) mask(name##_SHIFT, name##_BITS)

uint64_t sample_text_part_mask(enum data_source_part part)
{
	switch (part) {
	case DATA_SOURCE_OPERATION:
		return MASK(OP);
	case DATA_SOURCE_LEVEL:
		return MASK(LEVEL) | MASK(LEVEL_NUMBER) | MASK(REMOTE) | MASK(HOPS);
	case DATA_SOURCE_SNOOP:
		return MASK(SNOOP) | MASK(SNOOPX);
	case DATA_SOURCE_TLB:
		return MASK(TLB);
	case DATA_SOURCE_LOCK:
		return MASK(LOCK);
	default:
		return MASK(BLOCK);
	}
}

void sample_text_add_part(uint64_t source, enum data_source_part part, struct strbuf *out)
{
	static void (*const add[])(uint64_t source,
				   struct strbuf * out) = {[DATA_SOURCE_OPERATION] = add_operation, [DATA_SOURCE_LEVEL] = add_level,
							   [DATA_SOURCE_SNOOP] = add_snoop,	    [DATA_SOURCE_TLB] = add_tlb,
							   [DATA_SOURCE_LOCK] = add_lock,	    [DATA_SOURCE_BLOCK] = add_block};
	add[part](source, out);
}

void sample_text_add_data_source(uint64_t source, struct strbuf *out)
{
	static const struct {
		const char *title;
		enum data_source_part part;
	} parts[] = {{"|OP ", DATA_SOURCE_OPERATION}, {"|LVL ", DATA_SOURCE_LEVEL}, {"|SNP ", DATA_SOURCE_SNOOP},
		     {"|TLB ", DATA_SOURCE_TLB},      {"|LCK ", DATA_SOURCE_LOCK},  {"|BLK ", DATA_SOURCE_BLOCK}};
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		strbuf_add_str(out, parts[i].title);
		sample_text_add_part(source, parts[i].part, out);
	}
}

/* Columns after it stay in line as far as lines before can tell: it is filled up to the widest so far. */
void script_print_data_src(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	uint64_t source = at->sample->data_src;
	size_t start = out->len;
	strbuf_add_hex(out, source, 16);
	strbuf_add_char(out, ' ');
	sample_text_add_data_source(source, out);
	size_t width = out->len - start;
	if (width > text->memory_width)
		text->memory_width = width;
	strbuf_add_chars(out, ' ', text->memory_width - width);
}

char *script_put_weight(struct script_text *text, const struct script_sample *at, char *to)
{
	return digits_put_u64(to, at->sample->weight, 16);
}

char *script_put_ins_lat(struct script_text *text, const struct script_sample *at, char *to)
{
	return digits_put_u64(to, at->sample->ins_lat, 16);
}

char *script_put_retire_lat(struct script_text *text, const struct script_sample *at, char *to)
{
	return digits_put_u64(to, at->sample->p_stage_cyc, 16);
}

char *script_put_phys_addr(struct script_text *text, const struct script_sample *at, char *to)
{
	return digits_put_hex(to, at->sample->phys_addr, 16);
}

/* " 4K", " 2M" …; " N/A" for none. */
static void add_page_size(uint64_t size, struct strbuf *out)
{
	static const char units[] = "BKMGTPE";
	size_t unit = 0;
	if (!size) {
		strbuf_add_str(out, " N/A");
		return;
	}
	for (; size >= 1024 && unit + 2 < sizeof(units); size /= 1024)
		unit++;
	strbuf_printf(out, " %llu%c", (unsigned long long)size, units[unit]);
}

void script_print_data_page_size(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	add_page_size(at->sample->data_page_size, out);
}

void script_print_code_page_size(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	add_page_size(at->sample->code_page_size, out);
}

/* The same number is another group's in a guest. */
const struct untrusted *script_cgroup(const struct script_text *text, const struct script_sample *at)
{
	return machine_cgroup(at->thread ? at->thread->process->machine : text->machine, at->sample->cgroup);
}

void script_print_cgroup(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	const struct untrusted *path = script_cgroup(text, at);
	strbuf_add_char(out, ' ');
	if (path)
		text_add_untrusted(out, path);
	else
		strbuf_add_str(out, "unknown");
}
