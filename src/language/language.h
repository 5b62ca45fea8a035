/* Languages that scripts for `perf script -s` are written in. A language is loaded when a script asks for it, and not before: the program
 * is not linked with its library.
 *
 * What a script sees (names of functions, their arguments) is the kernel tool's, so that its scripts run unchanged. A recording decides
 * which of the script's functions are called, but only among those that are made to be handlers: it can never name other code.
 */
#pragma once

#include "analysis/script/counted.h"
#include "analysis/stack.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "session/session.h"
#include "symbol/resolve.h"

#include <stdbool.h>

struct language;

struct language_setup {
	struct session *session;
	struct resolver *resolver;
	const char *script;	   /* path */
	char *const *arguments;	   /* of the script, NULL-terminated, without its name */
	const char *perl_plugin;   /* path of perf-perl.so */
	unsigned int max_stack;	   /* frames */
	bool inlines;		   /* unwound stacks have frames for inlined functions */
	struct stitcher *stitcher; /* --stitch-lbr, or NULL */
};

/* One sample on its way to a script. */
struct language_sample {
	const struct record *record;
	const struct sample *sample;
	struct thread *thread;
};

struct language_ops {
	const char *name;   /* "python": what -g and -s NAME:FILE say */
	const char *title;  /* "Python" */
	const char *suffix; /* "py" */
	void (*skeleton)(const struct event_list *events, struct strbuf *out, size_t *ret_skipped); /* language/skeleton.h */
	/* Loads the library, runs the script's top level. On failure nothing is left open. */
	struct error *(*open)(const struct language_setup *setup, struct language **ret);
	/* The calls below stop early when the script has ended itself: `ended`. */
	struct error *(*begin)(struct language *language);
	struct error *(*sample)(struct language *language, const struct language_sample *at);
	/* A record that is no sample. */
	struct error *(*record)(struct language *language, const struct record *record);
	/* A count of `perf stat record`, and the end of a round of them. NULL: the language has no functions for counts. */
	struct error *(*count)(struct language *language, const struct counted_row *row);
	struct error *(*interval)(struct language *language, uint64_t time_ns);
	struct error *(*end)(struct language *language);
	/* Ends the interpreter, which runs what the script left for its end and writes the output that it still holds. *ret_status: what
	 * the script ended with. Output that could not be written is an error or, in Perl, such a status; the reason is printed. */
	struct error *(*close)(struct language *language, int *ret_status);
};

/* What every language begins with. */
struct language {
	const struct language_ops *ops;
	bool ended; /* the script has called exit() */
	int status; /* … with this */
};

/* How stacks of samples are made for the script. */
struct stack_options language_stack_options(const struct language_setup *setup);

extern const struct language_ops language_python, language_perl;

/* By "py" or "python"; NULL when there is none. */
const struct language_ops *language_find(const char *name, size_t length);
/* Of a script: "LANGUAGE:FILE", or by its suffix. *ret_path points into `text`. NULL when neither tells. */
const struct language_ops *language_of_script(const char *text, const char **ret_path);
/* "python, perl" */
const char *language_names(void);

/* Whether a tracepoint's name from a recording can be the name of a handler: a letter, then letters, digits and underscores. */
bool language_is_identifier(const char *text);
