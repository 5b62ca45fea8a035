/* Reading the arguments of sampling options: call graph modes, branch filters, registers, clocks. The names are the kernel tool's. */
#include "capture/sampling.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"

#include <linux/perf_event.h>
#include <string.h>
#include <strings.h>
#include <time.h>

struct error *sampling_parse_callgraph(const char *text, struct sampling *sampling)
{
	size_t length = strcspn(text, ",");
	const char *rest = text[length] ? text + length + 1 : NULL;
	uint64_t size;

	static const struct {
		const char *name;
		enum callchain_mode mode;
	} plain[] = {{"fp", CALLCHAIN_FP}, {"lbr", CALLCHAIN_LBR}, {"auto", CALLCHAIN_AUTO}};

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (length != strlen(plain[i].name) || strncmp(text, plain[i].name, length))
			continue;
		if (rest)
			return error_new_kind(ERROR_USAGE, "call graph '%s' does not take a size", plain[i].name);
		sampling->callgraph = plain[i].mode;
		sampling->stack_grows = plain[i].mode == CALLCHAIN_AUTO;
		return NULL;
	}
	if (length != 5 || strncmp(text, "dwarf", 5))
		return error_new_kind(ERROR_USAGE, "unknown call graph mode '%s': use auto, fp, dwarf[,BYTES] or lbr", text);
	sampling->callgraph = CALLCHAIN_DWARF;
	sampling->stack_size = SAMPLING_STACK_DEFAULT;
	sampling->stack_grows = rest && !strcmp(rest, "auto");
	if (sampling->stack_grows)
		sampling->stack_size = SAMPLING_STACK_FIRST;
	if (!rest || sampling->stack_grows)
		return NULL;
	if (!number_parse_size(rest, &size) || !size || size > SAMPLING_STACK_MAX)
		return error_new_kind(ERROR_USAGE, "invalid stack size '%s': expected 8 to %d bytes, or auto", rest, SAMPLING_STACK_MAX);
	sampling->stack_size = (uint32_t)(size + 7) & ~7u;
	return NULL;
}

struct named_bits {
	const char *name;
	uint64_t bits;
};

static const struct named_bits branch_names[] = {
	{"u", PERF_SAMPLE_BRANCH_USER},
	{"k", PERF_SAMPLE_BRANCH_KERNEL},
	{"hv", PERF_SAMPLE_BRANCH_HV},
	{"any", PERF_SAMPLE_BRANCH_ANY},
	{"any_call", PERF_SAMPLE_BRANCH_ANY_CALL},
	{"any_ret", PERF_SAMPLE_BRANCH_ANY_RETURN},
	{"ind_call", PERF_SAMPLE_BRANCH_IND_CALL},
	{"abort_tx", PERF_SAMPLE_BRANCH_ABORT_TX},
	{"in_tx", PERF_SAMPLE_BRANCH_IN_TX},
	{"no_tx", PERF_SAMPLE_BRANCH_NO_TX},
	{"cond", PERF_SAMPLE_BRANCH_COND},
	{"ind_jmp", PERF_SAMPLE_BRANCH_IND_JUMP},
	{"call", PERF_SAMPLE_BRANCH_CALL},
	{"no_flags", PERF_SAMPLE_BRANCH_NO_FLAGS},
	{"no_cycles", PERF_SAMPLE_BRANCH_NO_CYCLES},
	{"save_type", PERF_SAMPLE_BRANCH_TYPE_SAVE},
	{"stack", PERF_SAMPLE_BRANCH_CALL_STACK},
	{"hw_index", PERF_SAMPLE_BRANCH_HW_INDEX},
	{"priv", 1u << 18},
	{"counter", EVENT_BRANCH_COUNTERS},
	{NULL, 0},
};

/* Adds the bits of each comma-separated word. */
static struct error *parse_words(const char *text, const struct named_bits *names, const char *what, uint64_t *ret)
{
	cleanup_free char *copy = mem_strdup(text);
	char *rest = copy, *word;
	uint64_t bits = 0;

	while ((word = strsep(&rest, ","))) {
		const struct named_bits *name = names;
		while (name->name && strcasecmp(name->name, word))
			name++;
		if (!name->name) {
			struct strbuf all = {0};
			for (name = names; name->name; name++)
				strbuf_printf(&all, " %s", name->name);
			struct error *error = error_new_kind(ERROR_USAGE, "unknown %s '%s'; choose from:%s", what, word, strbuf_str(&all));
			strbuf_deinit(&all);
			return error;
		}
		bits |= name->bits;
	}
	*ret = bits;
	return NULL;
}

struct error *sampling_parse_branch(const char *text, uint64_t *ret)
{
	uint64_t scopes = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;
	struct error *error = parse_words(text, branch_names, "branch filter", ret);

	if (!error && !(*ret & ~scopes))
		*ret |= PERF_SAMPLE_BRANCH_ANY; /* only where: then all kinds */
	return error;
}

/* Bits as in arch/ARCH/include/uapi/asm/perf_regs.h. */
static const struct named_bits register_names[] = {
#if defined(__x86_64__) || defined(__i386__)
	{"ax", 1 << 0},	  {"bx", 1 << 1},   {"cx", 1 << 2},    {"dx", 1 << 3},	 {"si", 1 << 4},   {"di", 1 << 5},   {"bp", 1 << 6},
	{"sp", 1 << 7},	  {"ip", 1 << 8},   {"flags", 1 << 9}, {"cs", 1 << 10},	 {"ss", 1 << 11},  {"r8", 1 << 16},  {"r9", 1 << 17},
	{"r10", 1 << 18}, {"r11", 1 << 19}, {"r12", 1 << 20},  {"r13", 1 << 21}, {"r14", 1 << 22}, {"r15", 1 << 23},
#elif defined(__aarch64__)
	{"x0", 1ull << 0},   {"x1", 1ull << 1},	  {"x2", 1ull << 2},   {"x3", 1ull << 3},   {"x4", 1ull << 4},	 {"x5", 1ull << 5},
	{"x6", 1ull << 6},   {"x7", 1ull << 7},	  {"x8", 1ull << 8},   {"x9", 1ull << 9},   {"x10", 1ull << 10}, {"x11", 1ull << 11},
	{"x12", 1ull << 12}, {"x13", 1ull << 13}, {"x14", 1ull << 14}, {"x15", 1ull << 15}, {"x16", 1ull << 16}, {"x17", 1ull << 17},
	{"x18", 1ull << 18}, {"x19", 1ull << 19}, {"x20", 1ull << 20}, {"x21", 1ull << 21}, {"x22", 1ull << 22}, {"x23", 1ull << 23},
	{"x24", 1ull << 24}, {"x25", 1ull << 25}, {"x26", 1ull << 26}, {"x27", 1ull << 27}, {"x28", 1ull << 28}, {"x29", 1ull << 29},
	{"lr", 1ull << 30},  {"sp", 1ull << 31},  {"pc", 1ull << 32},
#endif
	{NULL, 0},
};

struct error *sampling_parse_regs(const char *text, uint64_t *ret)
{
	return parse_words(text, register_names, "register", ret);
}

uint64_t sampling_unwind_regs(void)
{
	uint64_t all = 0;

	for (const struct named_bits *name = register_names; name->name; name++)
		all |= name->bits;
	return all;
}

uint64_t sampling_link_regs(void)
{
#if defined(__aarch64__)
	return (uint64_t)1 << 30; /* lr */
#else
	return 0;
#endif
}

struct error *sampling_parse_clock(const char *text, int32_t *ret)
{
	static const struct {
		const char *name;
		int32_t id;
	} clocks[] = {
		{"monotonic", CLOCK_MONOTONIC},
		{"monotonic_raw", CLOCK_MONOTONIC_RAW},
		{"realtime", CLOCK_REALTIME},
		{"boottime", CLOCK_BOOTTIME},
		{"tai", CLOCK_TAI},
		{"mono", CLOCK_MONOTONIC},
		{"raw", CLOCK_MONOTONIC_RAW},
		{"real", CLOCK_REALTIME},
		{"boot", CLOCK_BOOTTIME},
	};
	int64_t number;

	if (!strncasecmp(text, "CLOCK_", 6))
		text += 6;
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (!strcasecmp(text, clocks[i].name)) {
			*ret = clocks[i].id;
			return NULL;
		}
	if (!number_parse_s64(text, &number) || number < 0 || number > CLOCK_TAI)
		return error_new_kind(ERROR_USAGE, "unknown clock '%s': use monotonic, monotonic_raw, realtime, boottime or tai", text);
	*ret = (int32_t)number;
	return NULL;
}
