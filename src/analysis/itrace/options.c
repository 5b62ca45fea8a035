/* The language of --itrace. */
#include "analysis/itrace/options.h"

#include "analysis/itrace/last_branches.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_PERIOD_NS = 100000, CHAIN_DEFAULT = 16, CHAIN_MAX = 1024 };

static const struct letter {
	char letter;
	size_t flag; /* a bool of the options */
} LETTERS[] = {
#define LETTER(letter, flag)                                  \
	{                                                     \
		letter, offsetof(struct itrace_options, flag) \
	}
	LETTER('b', branches),	  LETTER('c', calls),	     LETTER('r', returns), LETTER('w', ptwrites),    LETTER('p', power),
	LETTER('f', first_level), LETTER('m', last_level),   LETTER('t', tlb),	   LETTER('a', remote),	     LETTER('M', memory),
	LETTER('Z', timeless),	  LETTER('x', transactions), LETTER('o', pebs),	   LETTER('I', event_trace),
#undef LETTER
};

/* What the kernel's tool knows and we refuse: why, and what does instead. */
static const struct refused {
	char letter;
	const char *why;
} REFUSED[] = {
	{'y', "the library that decodes counts no cycles; i1000t makes a sample each 1000 ticks of the clock"},
	{'d', "decoding writes no log; 'perf script -D' shows the packets, and 'e' where they could not be followed"},
	{'q',
	 "code is always followed, packets alone make no samples; --time and -C leave out what you don't look for, 'perf script -D' shows packets"},
	{'A', "the library that decodes counts no cycles, so there is no IPC to estimate; 'perf stat -e cycles,instructions' counts both"},
	{'T', "time stamps of a CoreSight trace aren't used as times of the kernel; what is decoded stands in the order of the trace"},
	{'R', "code that changes itself isn't looked for; 'e' shows where the trace and the code don't fit together"},
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

/* Behind 'i': "100us", "1000i", "5t", or nothing; a number at the end of all may be without a unit. Returns where it ends; NULL = the unit
 * is unknown. */
static const char *parse_period(const char *at, struct itrace_options *options)
{
	options->period = DEFAULT_PERIOD_NS;
	options->unit = ITRACE_NANOSECONDS;
	if (!isdigit((unsigned char)*at))
		return at;
	at = number_at(at, &options->period);
	if (!*at)
		return at;
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
	return error_new_kind(ERROR_USAGE,
			      "unknown letter '%c'; known are i b c r x w p o I e g G l L f m t a M Z s, e.g. --itrace=i1000ibe",
			      isprint((unsigned char)letter) ? letter : '?');
}

static const struct sized {
	char letter;
	size_t member; /* an uint32_t of the options */
	uint32_t usual, most;
	const char *what;
} SIZED[] = {
	{'g', offsetof(struct itrace_options, chain), CHAIN_DEFAULT, CHAIN_MAX, "addresses"},
	{'G', offsetof(struct itrace_options, added_chain), CHAIN_DEFAULT, CHAIN_MAX, "addresses"},
	{'l', offsetof(struct itrace_options, last_branches), LAST_BRANCHES_DEFAULT, LAST_BRANCHES_MAX, "branches"},
	{'L', offsetof(struct itrace_options, added_branches), LAST_BRANCHES_DEFAULT, LAST_BRANCHES_MAX, "branches"},
};

static const struct sized *find_sized(char letter)
{
	for (size_t i = 0; i < sizeof(SIZED) / sizeof(SIZED[0]); i++)
		if (SIZED[i].letter == letter)
			return &SIZED[i];
	return NULL;
}

/* How many, or nothing. NULL = that isn't possible. */
static const char *parse_size(const struct sized *sized, const char *at, struct itrace_options *options)
{
	uint64_t count = sized->usual;

	if (isdigit((unsigned char)*at))
		at = number_at(at, &count);
	*(uint32_t *)((char *)options + sized->member) = (uint32_t)count;
	return count && count <= sized->most ? at : NULL;
}

/* Behind 'e': "-o-l", kinds of errors that aren't wanted; + changes nothing. NULL = no such kind behind a sign. */
static const char *parse_kinds_of_errors(const char *at, struct itrace_options *options)
{
	options->errors = true;
	for (; *at == '+' || *at == '-'; at += 2) {
		if (at[1] != 'o' && at[1] != 'l')
			return NULL;
		if (at[1] == 'o')
			options->without_overflows |= *at == '-';
		if (at[1] == 'l')
			options->without_losses |= *at == '-';
	}
	return at;
}

/* One letter and what belongs to it. */
static const char *parse_letter(const char *at, struct itrace_options *options)
{
	char letter = *at++;
	if (letter >= 'A' && letter <= 'z')
		options->letters |= UINT64_C(1) << (letter - 'A');
	if (letter == 'i') {
		options->instructions = true;
		return parse_period(at, options);
	}
	const struct sized *sized = find_sized(letter);
	if (sized)
		return parse_size(sized, at, options);
	if (letter == 'e')
		return parse_kinds_of_errors(at, options);
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
		const struct sized *sized = find_sized(*at);
		if (!next && sized)
			return error_new_kind(ERROR_USAGE, "'%c' takes a number of %s from 1 to %u, e.g. %c%u", *at, sized->what,
					      sized->most, *at, sized->usual);
		if (!next && *at == 'e')
			return error_new_kind(ERROR_USAGE, "'e' takes kinds of errors with a sign: e-o without overflows, e-l without lost "
							   "data");
		if (!next && *at == 's')
			return error_new_kind(ERROR_USAGE, "'s' needs a number of events to skip, e.g. s1000000");
		if (!next)
			return refuse(*at);
	}
	*ret = options;
	return NULL;
}

void itrace_options_add_useless(const struct itrace_options *options, const char *meaning, struct strbuf *out)
{
	for (char letter = 'A'; letter <= 'z'; letter++)
		if (options->letters >> (letter - 'A') & 1 && !strchr(meaning, letter) && !find_sized(letter))
			strbuf_printf(out, "%s'%c'", out->len ? ", " : "", letter);
}

void itrace_options_add_chains(struct itrace_options *options)
{
	options->chain = options->added_chain = CHAIN_DEFAULT;
}

void itrace_options_default(struct itrace_options *ret, bool each)
{
	*ret = (struct itrace_options){
		.branches = true,
		.unchosen = true,
		.calls = each,
		.transactions = true,
		.pebs = true,
		.event_trace = true,
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
