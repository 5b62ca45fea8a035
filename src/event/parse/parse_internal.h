/* What the files of the event grammar share. */
#pragma once

#include "event/parse/parse.h"

/* The attr.config of a generic event of one PMU, where several count the same: its type in the upper half (the kernel's
 * PERF_PMU_TYPE_SHIFT). */
enum { PMU_TYPE_SHIFT = 32 };

struct parser {
	struct event_list *list;
	struct event_catalog *catalog;
	const char *text; /* all of it, for messages */
	const char *at;	  /* next character */
};

/* One NAME or NAME=VALUE between slashes. Strings live in the list's arena. */
struct term {
	const char *at;	      /* where its name is in the text */
	const char *value_at; /* where its value is */
	const char *name;
	const char *value; /* NULL = none */
};

struct term_list {
	VEC(struct term) terms;
	bool present; /* there were slashes */
};

/* "MESSAGE\n  TEXT\n     ^ HINT": the caret stands under `at`; a NULL hint is left out. */
struct error *parse_fail(const struct parser *parser, const char *at, const char *hint, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Reads "/…/" when it is next; an absent one gives an empty list. */
struct error *parse_terms(struct parser *parser, struct term_list *ret);

/* Applies terms to the event `event`. `pmu`, or NULL for events without one, says which formats and aliases there are; it is loaded. */
struct error *parse_apply_terms(struct parser *parser, struct event *event, const struct pmu *pmu, const struct term_list *terms);

/* The text [begin, end), in the list's arena. */
char *parse_text(struct parser *parser, const char *begin, const char *end);
/* A number as texts of events have them: decimal, also with leading zeros, or 0x and hexadecimal. */
bool parse_number(const char *text, uint64_t *ret);

/* An event of the kernel's own numbering, counted everywhere. Named later by its text. */
struct event *parse_add_event(struct parser *parser, uint32_t type, uint64_t config);
/* An event of the CPU's cores; one for each kind of cores where there are several. */
void parse_add_core_event(struct parser *parser, uint32_t type, uint64_t config);
/* "NAME/TERMS/": NAME is a PMU, stands for several, or is a PMU's event. *ret_found false: it is none of that. */
struct error *parse_pmu(struct parser *parser, const char *begin, const char *name, const struct term_list *terms, bool *ret_found);
/* "NAME": an event of any PMU that has it. */
struct error *parse_alias(struct parser *parser, const char *begin, const char *name, const struct term_list *terms, bool *ret_found);
/* The events from `first` on become groups: one, or one for each PMU, as the kernel has it. */
void parse_make_groups(struct parser *parser, size_t first, const char *name);

/* A letter of the modifiers' alphabet. */
bool parse_is_modifier(char c);
/* Reads modifiers and applies them to the events from index `first` on; `group`: they are added to what each event already has. */
struct error *parse_modifiers(struct parser *parser, size_t first, bool group);

/* "SYSTEM:EVENT": adds the tracepoints that match. `at` is where the text of it starts. */
struct error *parse_tracepoints(struct parser *parser, const char *at, const char *system, const char *event,
				const struct term_list *terms);

/* True when tracefs is there and has such a system (or may have: a pattern). */
bool parse_has_system(struct parser *parser, const char *system);
/* Finds out which tracepoint an event of type PERF_TYPE_TRACEPOINT is that was given by its number. */
struct error *parse_tracepoint_number(struct parser *parser, struct event *event, const char *at);

/* The error for a name that nobody knows, with the nearest known names. */
struct error *parse_unknown_name(struct parser *parser, const char *at, const char *name);
/* The error for the name of a PMU that isn't there. */
struct error *parse_unknown_pmu(struct parser *parser, const char *at, const char *name);
/* The vendor's event whose name is near "EVENT:UNIT", freed by the caller; NULL when none is. */
char *parse_nearest_vendor_name(const char *name);
