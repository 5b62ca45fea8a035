/* Parts of perf sched. */
#pragma once

#include "analysis/sched/scope.h"
#include "app/command.h"
#include "app/format_option.h"
#include "app/groups.h"
#include "base/digits.h"
#include "base/strbuf.h"
#include "cmd/opening.h"

/* What all subcommands that read a recording share. */
struct sched_input {
	struct input_options input;
	struct output_options output;
	bool dump;		 /* -D: the records as they are, nothing else */
	const char *cpus, *time; /* of a struct sched_scope; or NULL */
	const char *format;	 /* "csv", "json" or NULL = text for people and for scripts that know the kernel's tool */
};

/* Rows of an option table of `type` with a `struct sched_input common`. */
#define SCHED_OPTIONS(type)                                                                                           \
	OPTION_GROUP(input_option_group, type, common.input), OPTION_GROUP(output_option_group, type, common.output), \
		OPTION_SANDBOX(type, common.input.sandbox)

#define SCHED_DUMP(type) OPTION_FLAG('D', "dump-raw-trace", type, common.dump, "dump the records of the recording instead")

#define SCHED_FORMAT(type)                                                                                                           \
	OPTION_CUSTOM_FLAGS(0, "format", type, common.format, "FORMAT", "machine-readable output: csv or json", option_table_format, \
			    OPTION_NO_NEGATION),                                                                                     \
		OPTION_JSON('j', type, common.format)

enum { SCHED_CPUS = 4096 };

/* "START,STOP", either of which may be missing, into begin and end. */
struct error *sched_parse_time(const char *text, struct sched_scope *ret);
/* A list of numbers below `most`: sets their bits; no `text`, no bits. */
struct error *sched_parse_bits(const char *option, const char *text, int most, uint64_t bits[]);

/* Tells that nothing of the recording was shown, since there is nothing, or these options, of those that were given, choose nothing. */
void sched_tell_nothing(const struct opening *opening, const char *options);

/* Before the options are parsed. */
void sched_input_init(struct sched_input *common);
/* Opens the recording for reading in the order of time, confined; *ret_done: it was dumped, which is all. */
struct error *sched_open(struct opening *opening, const struct sched_input *common, bool with_stacks, bool *ret_done);

/* Parts of a line, of which there may be one for each of millions of events; those that put need the room that base/digits.h tells of, and
 * return where the next part goes. "12.034", with `whole` right-aligned in `width` and `part` in so many digits; */
void sched_add_fraction(struct strbuf *out, uint64_t whole, unsigned int width, uint64_t part, unsigned int digits);
/* the same with three digits, of a whole in 3 to 11 columns; */
static inline char *sched_put_thousandths(char *to, uint64_t thousandths, unsigned int width)
{
	to = digits_put_column(to, thousandths / 1000, width);
	*to++ = '.';
	return digits_put_three(to, thousandths % 1000);
}
/* seconds to the microsecond, right-aligned in `width`; */
static inline char *sched_put_time(char *to, uint64_t time, unsigned int width)
{
	enum { NS_PER_US = 1000, US_PER_S = 1000000, DIGITS = 6 };
	uint64_t us = time / NS_PER_US;
	to = digits_put_column(to, us / US_PER_S, width - DIGITS - 1);
	*to++ = '.';
	return digits_put_six(to, (uint32_t)(us % US_PER_S));
}
void sched_add_time(struct strbuf *out, uint64_t time, unsigned int width);
/* " [0003] ". */
static inline char *sched_put_cpu(char *to, uint32_t cpu)
{
	enum { MOST = 1000 };
	memcpy(to, " [0", 3);
	to = cpu < MOST ? digits_put_three(to + 3, cpu) : digits_put_u64(to + 2, cpu, 0);
	memcpy(to, "] ", 2);
	return to + 2;
}
void sched_add_cpu(struct strbuf *out, uint32_t cpu);

/* Those whose files are in this folder; made by the build. */
extern const struct command *const sched_subcommands[];
