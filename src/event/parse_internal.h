/* What the files of the event grammar share. */
#pragma once

#include "event/parse.h"

struct parser {
	struct event_list *list;
	struct event_catalog *catalog;
	const char *text;   /* all of it, for messages */
	const char *at;	    /* next character */
	bool per_core_kind; /* the event just read stands for one of each kind of cores */
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

/* A letter of the modifiers' alphabet. */
bool parse_is_modifier(char c);
/* Reads modifiers and applies them to the events from index `first` on; `group`: they are added to what each event already has. */
struct error *parse_modifiers(struct parser *parser, size_t first, bool group);

/* "SYSTEM:EVENT": adds the tracepoints that match. `at` is where the text of it starts. */
struct error *parse_tracepoints(struct parser *parser, const char *at, const char *system, const char *event,
				const struct term_list *terms);

/* The error for a name that nobody knows, with the nearest known names. */
struct error *parse_unknown_name(struct parser *parser, const char *at, const char *name);
