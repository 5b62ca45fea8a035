/* Parts of perf lock. */
#pragma once

#include "analysis/lock/contention.h"
#include "app/command.h"
#include "app/format_option.h"
#include "app/groups.h"
#include "cmd/opening.h"
#include "result/table.h"

#include <stdio.h>

enum { LOCK_MAX_STACK = 8, LOCK_STACK_SKIP = 3, LOCK_COLUMNS = 6 };

/* What waits for locks of programs are made from (analysis/lock/user.h). */
#define LOCK_USER_EVENTS "syscalls:sys_enter_futex,syscalls:sys_exit_futex/call-graph=no/,sched:sched_waking/call-graph=no/"

/* What all subcommands that read a recording share. */
struct lock_input {
	struct input_options input;
	struct output_options output;
	bool dump;	  /* -D: the records as they are, nothing else */
	const char *path; /* --output: a file instead of standard output, or NULL */
};

/* Rows of an option table of `type` with a `struct lock_input common`. -k and -m, which other commands have for symbols, mean something
 * else here. */
#define LOCK_INPUT_OPTIONS(type)                                                                                                           \
	OPTION_HEADING("Input"),                                                                                                           \
		OPTION_STRING('i', "input", type, common.input.input, "FILE",                                                              \
			      "recording to read (default perf.data, or standard input where that is a pipe; - for standard input)"),      \
		OPTION_FLAG('f', "force", type, common.input.force, "read the recording even if another user owns it"),                    \
		OPTION_STRING(0, "symfs", type, common.input.symfs, "DIRECTORY",                                                           \
			      "look for programs, libraries and debug files under DIRECTORY"),                                             \
		OPTION_STRING(0, "vmlinux", type, common.input.vmlinux, "FILE", "read kernel symbols from this kernel image"),             \
		OPTION_STRING(0, "kallsyms", type, common.input.kallsyms, "FILE", "read kernel symbols from this copy of /proc/kallsyms"), \
		OPTION_FLAG('D', "dump-raw-trace", type, common.dump, "dump the records of the recording instead"),                        \
		OPTION_STRING(0, "output", type, common.path, "FILE", "write the result to FILE"),                                         \
		OPTION_GROUP(output_option_group, type, common.output), OPTION_SANDBOX(type, common.input.sandbox)

void lock_input_init(struct lock_input *common);
/* Opens the recording, or with a reader the live source, for reading in the order of time. `threads`: rows keep pointers to them. */
struct error *lock_open(struct opening *opening, const struct lock_input *common, struct reader *reader, bool threads);
/* The records, when -D asks for them: *ret_done says that there is nothing else to show. */
struct error *lock_dump(struct opening *opening, const struct lock_input *common, bool *ret_done);
/* Whether the running kernel has the events: else an error that says which kernels have them, or how to get the right to see. */
struct error *lock_check_kernel(void);
/* Where the result goes: the file of --output, else standard output, `paged`. */
struct error *lock_output_open(const struct lock_input *common, bool paged, FILE **ret);
/* Closes it; returns `error`, or why not all could be written. */
struct error *lock_output_close(const struct lock_input *common, FILE *file, struct error *error);

/* ---- columns of figures ---- */

struct lock_columns {
	enum lock_value values[LOCK_COLUMNS];
	size_t count;
};

/* "contended,wait_max"; `acquired`: whether there is such a column. An error names those that there are. */
struct error *lock_columns_parse(const char *text, bool acquired, struct lock_columns *ret);
/* One of them, for -k; it is shown, too, behind the others if it isn't among them. */
struct error *lock_columns_sort(struct lock_columns *columns, const char *key, bool acquired, enum lock_value *ret);
/* Titles and figures, right-aligned, each with a blank behind it; or with `separator` "1234, 5678, " in nanoseconds. */
void lock_columns_add_titles(struct strbuf *out, const struct lock_columns *columns, const char *separator);
void lock_columns_add_row(struct strbuf *out, const struct lock_columns *columns, const struct lock_row *row, const char *separator);

/* What rows are about: the first four as in enum lock_by. */
enum lock_subject {
	LOCK_SUBJECT_CALLER,
	LOCK_SUBJECT_THREAD,
	LOCK_SUBJECT_LOCK,
	LOCK_SUBJECT_CGROUP,
	LOCK_SUBJECT_NAME,
	LOCK_SUBJECT_OWNER,
	LOCK_SUBJECT_USER_LOCK /* with its process and its owner */
};

/* "  3.23 s", "15.92 us". */
void lock_add_time(struct strbuf *out, uint64_t ns);

/* For programs: all figures of the rows, and who or what they are about. */
struct error *lock_print_table(const char *format, const struct machine *machine, struct lock_row *const *rows, size_t count,
			       enum lock_subject about, FILE *file);
/* The cgroup's path, "unknown" where it isn't known, escaped. */
void lock_add_cgroup(struct strbuf *out, const struct machine *machine, uint64_t id);
/* The thread's name at the end of the recording, escaped. */
void lock_add_comm(struct strbuf *out, const struct thread *thread);

/* What perf lock contention -o is told; the rest of its options doesn't go with it. */
struct lock_owners_options {
	const struct lock_input *common;
	const struct lock_columns *columns;
	enum lock_value key;
	uint64_t entries;		/* 0 = all */
	uint32_t room;			/* waits at a time, and owners; 0 = the default */
	const char *format, *separator; /* or NULL */
	struct lock_types types;
	char **command; /* of the workload, or NULL */
};
/* Who holds the locks that others wait for, on the whole system, until the workload ends or a signal comes. */
struct error *lock_owners_run(const struct lock_owners_options *options);

/* Those whose files are in this folder; made by the build. */
extern const struct command *const lock_subcommands[];
