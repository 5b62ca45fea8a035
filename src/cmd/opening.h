/* What every command that reads a recording begins with: the session and the resolver for the options that all of them share. */
#pragma once

#include "analysis/itrace/options.h"
#include "analysis/stack.h"
#include "app/groups.h"
#include "app/options.h"
#include "app/progress.h"
#include "session/session.h"
#include "symbol/debug_server.h"
#include "symbol/resolve.h"

struct opening_options {
	const struct input_options *input;
	/* Instead of a recording (capture/live.h); the opening's from now on, also after an error; or NULL. The session forgets what has
	 * ended. */
	struct reader *reader;
	const char *cpus; /* "0-3,7" or NULL */
	const char *time; /* --time, or NULL */
	bool streaming;	  /* session_next() will be used */
	bool unordered;	  /* … and gives the order of the file */
	bool sparing;	  /* see struct session_options */
	bool kernel_only; /* see struct session_options */
	bool threadless;
	bool names_kernel; /* places in the kernel are named, whatever was sampled: its symbols are read beside a large recording */
	/* The command's name: it writes to standard output and `output` only, and enters the sandbox. NULL: it stays outside. */
	const char *confined;
	const char *unconfined; /* … and why, for -v: "WHAT are programs of your own"; or NULL */
	bool remembers;		/* … doesn't: for folds, which keep pointers into the machine */
	const char *recorder;	/* see struct reader_options */
	const char *output;	/* of a confined command: the file that it writes, without a pager then; NULL or - = none */
	/* Only so many bytes of records, from the first one on, to be shown at once: no server is asked for debug files. 0 = all. */
	uint64_t first_bytes;
	/* What is made of a hardware trace; NULL = all, as for commands that add up. */
	const struct itrace_options *itrace;
	/* Instead of a bar on standard error, for who opens it behind a screen; or NULL. See struct session_options. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *progress_context;
};

struct opening {
	struct itrace *itrace; /* or NULL */
	struct session *session;
	struct resolver *resolver;
	struct carried *carried;      /* what the recording brought itself, or NULL */
	struct kallsyms_ahead *ahead; /* or NULL */
	uint64_t *cpu_bits;	      /* the filter's, or NULL */
	size_t cpu_words;
	char *kcore_dir;   /* in the recording, or NULL */
	char *buildid_dir; /* of the configuration, or NULL */
	struct progress progress;
	struct progress fetching; /* of a debug file, and what is shown with it */
	char fetching_name[200], fetching_title[40];
	struct debug_server *debug_server; /* or NULL */
};

/* Opens the recording and shows progress while its first pass runs. `opening` must stay where it is: tracepoints that print kernel
 * addresses ask it for names. All zero is an opening that opening_end() accepts. */
struct error *opening_begin(struct opening *opening, const struct opening_options *options);
/* Closes and frees all, in the order in which one refers to the other. An all-zero one is fine. */
void opening_end(struct opening *opening);
/* Gives up what reading doesn't need (kernel/sandbox.h): for commands that open the recording by themselves; opening_begin() does it for
 * the others. `pager`: the name of the command whose output is paged, or NULL. `output`: as above. */
void opening_sandbox(const struct input_options *input, const char *output, const char *pager);
/* The same for a command that puts files into the build-id cache in the folder `cache`, which is made, as well. */
void opening_sandbox_and_cache(const struct input_options *input, const char *output, const char *cache);
/* The same for a command whose output is the build-id cache in the folder `cache`, which is made. `network`: debug servers are asked. */
void opening_sandbox_with_cache(const char *cache, bool network);
/* How many events have samples. */
size_t opening_events_sampled(const struct opening *opening);
/* The event called `wanted`, which --show-event asks for; NULL: the first one with samples. Warns when others have some, too; `doing` is
 * what is done with the one ("drawing"). */
struct error *opening_choose_event(const struct opening *opening, const char *wanted, const char *doing, const struct event **ret);
/* --stitch-lbr: NULL, with a warning, when the recording gives nothing to stitch. Freed by the caller. */
struct stitcher *opening_stitcher(const struct opening *opening);
/* Warns of what was lost, and of what is wrong with the recording: what every command says at its end. */
void opening_warn(const struct opening *opening);

/* --no-sandbox of commands that are confined. */
#define OPTION_SANDBOX(type, field)                                                                                                \
	OPTION_FLAG(0, "sandbox", type, field,                                                                                     \
		    "give up the rights to write files, start programs and use the network while reading the recording (default; " \
		    "--no-sandbox: keep them)")

/* The kernel's code in a recording that is a directory (record --kcore); freed by the caller, NULL = there is none. */
char *opening_kcore_dir(const struct input_options *input);

/* --itrace of commands that show what hardware traces become. Nothing is asked for at first. */
option_parse_fn option_itrace;
#define OPTION_ITRACE(type, field)                                                                                                   \
	OPTION_CUSTOM_FLAGS(                                                                                                         \
		0, "itrace", type, field, "LETTERS",                                                                                 \
		"which events are made of a hardware trace (AUX area), such as i1000ib for instructions, every 1000, and branches: " \
		"the manual page has the letters; all by default; --no-itrace: none",                                                \
		option_itrace, OPTION_OPTIONAL_ARGUMENT)

/* --inline of commands that show stacks; `field` is an enum stack_inlines, which is to be STACK_INLINES_ALL at first. */
option_parse_fn option_inline;
#define OPTION_INLINE(type, field)                                                                                                  \
	OPTION_CUSTOM_FLAGS(                                                                                                        \
		0, "inline", type, field, "WHICH",                                                                                  \
		"show inlined functions as frames, from debug information: in all stacks (default), or only in those unwound from " \
		"stack copies (unwound), as the kernel's perf does it",                                                             \
		option_inline, OPTION_OPTIONAL_ARGUMENT)
