/* The fields of `perf script` lines: which there are, what -F asks for, and what each event of a recording can show.
 *
 * A field is one row of fields.def: its name, its help, what an event must have sampled for it, and the function
 * that prints it. The table's order is the order on the line. Rows without a print function change how others print (sym, dso, symoff
 * belong to ip and addr).
 *
 * Fields are chosen for types of events ("hw:", "sw:", "trace:" …), and start from each type's usual set. Facts: behaviour of the kernel's
 * perf 6.1.
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "event/event.h"

#include <stdbool.h>
#include <stdint.h>

enum script_field {
#define FIELD(identifier, ...) SCRIPT_##identifier,
#include "analysis/script/fields.def"
#undef FIELD
	SCRIPT_FIELD_COUNT,
};

#define SCRIPT_BIT(field) (1ull << (field))

/* Kinds of events that have their own set of fields: the kernel's PERF_TYPE_* numbers, and everything beyond. */
enum script_type {
	SCRIPT_HARDWARE,
	SCRIPT_SOFTWARE,
	SCRIPT_TRACEPOINT,
	SCRIPT_CACHE,
	SCRIPT_RAW,
	SCRIPT_BREAKPOINT,
	SCRIPT_OTHER,
	SCRIPT_SYNTHETIC, /* made of instruction traces */
	SCRIPT_TYPE_COUNT,
};

enum script_type script_type_of(const struct event *event);

/* What is to be shown, by type; sets of SCRIPT_BIT(). */
struct script_fields {
	uint64_t shown[SCRIPT_TYPE_COUNT];
	uint64_t asked[SCRIPT_TYPE_COUNT];   /* named by the user for all types: an event without them is an error */
	uint64_t removed[SCRIPT_TYPE_COUNT]; /* taken away by the user: nothing adds them again */
	bool chosen[SCRIPT_TYPE_COUNT];	     /* the user gave the whole set */
};

/* Each type's usual set. */
void script_fields_init(struct script_fields *fields);
/* One -F argument: [TYPE:]FIELD[,FIELD…], or with + and - before the fields. Several arguments apply one after the other. */
struct error *script_fields_parse(struct script_fields *fields, const char *text);

/* What a recording offers. */
struct script_offer {
	const struct event_list *events;
	bool pipe;	     /* the recording has the pipe format: events become known one by one */
	bool callchains;     /* stacks are wanted (not -G) */
	bool has_clock_data; /* the wall clock is known (tod) */
	bool traced;	     /* events are made of a hardware trace: what is asked for is of those of them that have it */
};

/* Takes away what the events of each type haven't sampled (an error where the user asked for it) and adds stacks to tracepoints that have
 * them. */
struct error *script_fields_check(struct script_fields *fields, const struct script_offer *offer);

/* Names and what they mean, for the help; `ret` gets one line a field. */
void script_fields_describe(struct strbuf *ret);
/* "comm,pid,tid,…" */
void script_fields_list(struct strbuf *ret);
