/* --itrace=LETTERS: which events are made of a hardware trace. Some have a number and a unit behind them; the manual pages have the
 * list. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

enum itrace_unit { ITRACE_NANOSECONDS, ITRACE_TICKS, ITRACE_INSTRUCTIONS };

struct itrace_options {
	bool asked;    /* the option is there … */
	bool given;    /* … with letters; else what is made is the command's choice */
	bool none;     /* --no-itrace: nothing is decoded */
	bool unchosen; /* nobody has said what is to be made: the decoder may make less, or more, for who adds up */
	bool instructions, branches, calls, returns, transactions, ptwrites, power, errors;
	bool pebs, event_trace;				   /* asked for; neither is decoded, and a trace that has them says so */
	bool without_overflows, without_losses;		   /* of the errors */
	bool first_level, last_level, tlb, remote, memory; /* of memory accesses */
	bool timeless;					   /* times in the trace aren't used */
	bool flow;					   /* samples bring their struct sample_flow (flow.h) */
	uint64_t period;				   /* of instructions; 0 = the decoder's own */
	enum itrace_unit unit;
	uint32_t chain, last_branches;	      /* addresses and branches in samples of instructions; 0 = none … */
	uint32_t added_chain, added_branches; /* … and in those that were recorded beside the trace */
	uint64_t skipped;		      /* events that are passed over at first */
	uint64_t letters;		      /* that were given: a bit for each, from 'A' on */
};

/* Reads `text`; NULL or "" = everything, as the command has it. An error names the letter that isn't possible, and why. */
struct error *itrace_options_parse(const char *text, struct itrace_options *ret);
/* For commands about memory accesses: these alone. */
extern const struct itrace_options ITRACE_MEMORY;
/* For dumps, which show the trace itself. */
extern const struct itrace_options ITRACE_NONE;
/* What is made when nothing is asked for: all kinds of events, with instructions every 100 µs, or instead of these, for commands that tell
 * what happened (`each`), calls. */
void itrace_options_default(struct itrace_options *ret, bool each);
/* Adds those of the letters that aren't in `meaning`: "'f', 'M'". */
void itrace_options_add_useless(const struct itrace_options *options, const char *meaning, struct strbuf *out);
/* Call chains in what is made, and in what was recorded. */
void itrace_options_add_chains(struct itrace_options *options);
