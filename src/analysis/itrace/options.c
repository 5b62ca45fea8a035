/* The language of --itrace. */
#include "analysis/itrace/options.h"

#include "analysis/itrace/last_branches.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_PERIOD_NS = 100000 };

static const struct letter {
	char letter;
	size_t flag; /* a bool of the options */
} LETTERS[] = {
#define LETTER(letter, flag)                                  \
	{                                                     \
		letter, offsetof(struct itrace_options, flag) \
	}
	LETTER('b', branches), LETTER('c', calls),  LETTER('r', returns),     LETTER('w', ptwrites),
	LETTER('p', power),    LETTER('e', errors), LETTER('f', first_level), LETTER('m', last_level),
	LETTER('t', tlb),      LETTER('a', remote), LETTER('M', memory),      LETTER('Z', timeless),
#undef LETTER
};

/* What the kernel's tool knows and we refuse. */
static const struct refused {
	char letter;
	const char *why;
} REFUSED[] = {
	{'y', "cycles aren't made as events of their own: 'i' has a period in ticks"},
	{'g', "call chains aren't made of traces: 'cr' shows each call and return"},
	{'G', "call chains of other events aren't made of traces"},
	{'L', "stacks of branches for other events aren't made of traces: 'b' shows each branch"},
	{'d', "decoding writes no log: 'perf script -D' shows the packets"},
	{'x', "transactions don't become events"},
	{'o', "records of PEBS in a trace don't become events"},
	{'I', "event traces don't become events"},
	{'q', "the trace is always decoded whole"},
	{'A', "instructions per cycle aren't estimated"},
	{'T', "times are always those of the recording"},
	{'R', "code that changes itself isn't looked for"},
};

const struct itrace_options ITRACE_MEMORY = {.given = true, .memory = true};
const struct itrace_options ITRACE_NONE = {.none = true};

static const char *number_at(const char *at, uint64_t *ret)
{
	char *end;
	*ret = strtoull(at, &end, 10);
	return end;
}

static const struct unit {
	const char *name;
	enum itrace_unit unit;
	uint64_t factor;
} UNITS[] = {
	{"ns", ITRACE_NANOSECONDS, 1}, {"us", ITRACE_NANOSECONDS, 1000}, {"ms", ITRACE_NANOSECONDS, 1000000},
	{"i", ITRACE_INSTRUCTIONS, 1}, {"t", ITRACE_TICKS, 1},
};

/* Behind 'i': "100us", "1000i", "5t", or nothing. Returns where it ends; NULL = the unit is unknown. */
static const char *parse_period(const char *at, struct itrace_options *options)
{
	options->period = DEFAULT_PERIOD_NS;
	options->unit = ITRACE_NANOSECONDS;
	if (!isdigit((unsigned char)*at))
		return at;
	at = number_at(at, &options->period);
	for (size_t i = 0; i < sizeof(UNITS) / sizeof(UNITS[0]); i++) {
		const struct unit *unit = &UNITS[i];
		if (strncmp(at, unit->name, strlen(unit->name)) != 0)
			continue;
		options->unit = unit->unit;
		if (__builtin_mul_overflow(options->period, unit->factor, &options->period))
			return NULL;
		return at + strlen(unit->name);
	}
	return NULL;
}

static bool set_flag(struct itrace_options *options, char letter)
{
	for (size_t i = 0; i < sizeof(LETTERS) / sizeof(LETTERS[0]); i++)
		if (LETTERS[i].letter == letter) {
			*(bool *)((char *)options + LETTERS[i].flag) = true;
			return true;
		}
	return false;
}

static struct error *refuse(char letter)
{
	for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++)
		if (REFUSED[i].letter == letter)
			return error_new_kind(ERROR_USAGE, "'%c': %s", letter, REFUSED[i].why);
	return error_new_kind(ERROR_USAGE, "unknown letter '%c'; known are i b c r l w p e f m t a M Z s, e.g. --itrace=i1000ibe",
			      isprint((unsigned char)letter) ? letter : '?');
}

/* Behind 'l': how many, or nothing. NULL = that isn't possible. */
static const char *parse_last_branches(const char *at, struct itrace_options *options)
{
	uint64_t count = LAST_BRANCHES_DEFAULT;

	if (isdigit((unsigned char)*at))
		at = number_at(at, &count);
	options->last_branches = (uint32_t)count;
	return count && count <= LAST_BRANCHES_MAX ? at : NULL;
}

/* One letter and what belongs to it. */
static const char *parse_letter(const char *at, struct itrace_options *options)
{
	char letter = *at++;
	if (letter == 'i') {
		options->instructions = true;
		return parse_period(at, options);
	}
	if (letter == 'l')
		return parse_last_branches(at, options);
	if (letter == 's')
		return isdigit((unsigned char)*at) ? number_at(at, &options->skipped) : NULL;
	return letter == ' ' || letter == ',' || set_flag(options, letter) ? at : NULL;
}

struct error *itrace_options_parse(const char *text, struct itrace_options *ret)
{
	struct itrace_options options = {.asked = true, .given = true};
	const char *next;
	ret->asked = true;
	if (!text || !*text)
		return NULL;
	for (const char *at = text; *at; at = next) {
		next = parse_letter(at, &options);
		if (!next && *at == 'i')
			return error_new_kind(ERROR_USAGE, "the unit of the period must be i, t, ns, us or ms, e.g. i100us");
		if (!next && *at == 'l')
			return error_new_kind(ERROR_USAGE, "'l' takes a number of branches from 1 to %d, e.g. l%d", LAST_BRANCHES_MAX,
					      LAST_BRANCHES_DEFAULT);
		if (!next && *at == 's')
			return error_new_kind(ERROR_USAGE, "'s' needs a number of events to skip, e.g. s1000000");
		if (!next)
			return refuse(*at);
	}
	*ret = options;
	return NULL;
}

void itrace_options_default(struct itrace_options *ret, bool each)
{
	*ret = (struct itrace_options){
		.branches = true,
		.calls = each,
		.ptwrites = true,
		.power = true,
		.errors = true,
		.first_level = true,
		.last_level = true,
		.tlb = true,
		.remote = true,
		.memory = true,
		.instructions = !each,
		.period = DEFAULT_PERIOD_NS,
	};
}
