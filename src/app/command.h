/* A command: one file in cmd/ with one `const struct command cmd_NAME`. The build makes the list from the files of cmd/meson.build. */
#pragma once

#include "app/options.h"

/* A command's status beyond this one: the number of a signal, by which the program is to end, behind it. */
enum { COMMAND_ENDS_BY_SIGNAL = 256 };

struct command {
	const char *name;	      /* "buildid-list" */
	const char *summary;	      /* one line for `perf help` */
	const char *const *usage;     /* synopsis lines after "perf NAME ", NULL-terminated */
	const struct option *options; /* for help, completion and the man page */
	/* argv[0] is the command's name. *ret_status becomes the exit status when NULL is returned (0 beforehand). An error is printed by
	 * main: exit status 129 for ERROR_USAGE (with the usage), else 255 as the kernel's perf does for most failures (-1), unless
	 * *ret_status was set. */
	struct error *(*run)(int argc, char **argv, int *ret_status);
	const struct config_binding *configuration; /* what presets its options, as run() applies it; or NULL */
	/* Ends with NULL; or NULL. "perf sched latency" is one of `sched`, whose name is "sched latency". The command's own options may
	 * stand before the subcommand's word: it gets them, and takes them too. run() of a command with subcommands is called where none of
	 * them is named. */
	const struct command *const *subcommands;
	const char *runs; /* the command that it runs with its arguments, whose options it has therefore; or NULL */
	bool own_options; /* of a subcommand: those of its command mean something else here, and must not stand before its word */
	bool whole_word;  /* of a subcommand: its word can't be shortened, since the name of a program may stand in its place */
};

/* All commands, sorted by name; ends with NULL. Made by the build. */
extern const struct command *const command_list[];

const struct command *command_find(const char *name);
/* Runs the command before[0], with the other words of `before` (`count` with the first) ahead of `words`: for a command that is another one
 * with some options. It may change the order of words, not their texts. */
struct error *command_run_with(const char *const *before, size_t count, char *const *words, int word_count, int *ret_status);
/* The subcommand that a command line names, or NULL. Moves the command's options behind it, so that argv[*ret_at] is the first word that
 * the subcommand's run() takes as its argv[0]. */
const struct command *command_find_subcommand(const struct command *command, int argc, char **argv, int *ret_at);

/* The "Usage:" lines, and the whole text that `perf NAME -h` shows, wrapped at `columns`. */
void command_add_usage(struct strbuf *out, const struct command *command);
void command_add_help(struct strbuf *out, const struct command *command, unsigned int columns);
