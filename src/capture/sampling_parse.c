/* Reading the arguments of sampling options: call graph modes, branch filters, registers, clocks. The names are the kernel tool's. */
#include "capture/sampling.h"

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"

#include <ctype.h>
#include <linux/perf_event.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* What follows "auto,"; NULL = nothing does. */
static bool parse_way(const char *text, enum callchain_way *ret)
{
	*ret = !text ? CALLCHAIN_ANYHOW : !strcmp(text, "bpf") ? CALLCHAIN_BY_BPF : CALLCHAIN_BY_COPIES;
	return *ret != CALLCHAIN_BY_COPIES || !strcmp(text, "copy");
}

struct error *sampling_parse_callgraph(const char *text, struct sampling *sampling)
{
	size_t length = strcspn(text, ",");
	sampling->callgraph_implied = false;
	const char *rest = text[length] ? text + length + 1 : NULL;
	uint64_t size;

	static const struct {
		const char *name;
		enum callchain_mode mode;
	} plain[] = {{"fp", CALLCHAIN_FP}, {"lbr", CALLCHAIN_LBR}, {"auto", CALLCHAIN_AUTO}};

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (length != strlen(plain[i].name) || strncmp(text, plain[i].name, length))
			continue;
		if (plain[i].mode == CALLCHAIN_AUTO ? !parse_way(rest, &sampling->callgraph_way) : rest != NULL)
			return error_new_kind(ERROR_USAGE, "call graph '%s' does not take %s", plain[i].name,
					      plain[i].mode == CALLCHAIN_AUTO ? "that: use auto, auto,bpf or auto,copy" : "a size");
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

struct error *sampling_parse_regs(const char *text, uint64_t *ret)
{
	struct named_bits names[ARCH_SAMPLE_REGISTERS + 1];
	char texts[ARCH_SAMPLE_REGISTERS][8];
	uint64_t all = sampling_unwind_regs();
	size_t count = 0;

	for (unsigned int i = 0; i < ARCH_SAMPLE_REGISTERS; i++) {
		if (!(all >> i & 1))
			continue;
		const char *name = arch_own()->sample_names[i];
		size_t len = 0;
		for (; name[len] && len < sizeof(texts[i]) - 1; len++)
			texts[i][len] = (char)tolower((unsigned char)name[len]);
		texts[i][len] = '\0';
		names[count++] = (struct named_bits){texts[i], (uint64_t)1 << i};
	}
	names[count] = (struct named_bits){0};
	return parse_words(text, names, "register", ret);
}

uint64_t sampling_unwind_regs(void)
{
	const struct arch *own = arch_own();
	return own ? own->user_registers : 0;
}

uint64_t sampling_link_regs(void)
{
	const struct arch *own = arch_own();
	return own ? arch_link_bit(&own->frames) : 0;
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
