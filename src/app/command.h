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
	/* argv[0] is the command's name. *ret_status becomes the exit status when NULL is returned (0 beforehand). An error is printed by main: exit
	 * status 129 for ERROR_USAGE (with the usage), else 255 as the kernel's perf does for most failures (-1), unless *ret_status was set. */
	struct error *(*run)(int argc, char **argv, int *ret_status);
	const struct config_binding *configuration; /* what presets its options, as run() applies it; or NULL */
};

/* All commands, sorted by name; ends with NULL. Made by the build. */
extern const struct command *const command_list[];

const struct command *command_find(const char *name);

/* The "Usage:" lines, and the whole text that `perf NAME -h` shows, wrapped at `columns`. */
void command_add_usage(struct strbuf *out, const struct command *command);
void command_add_help(struct strbuf *out, const struct command *command, unsigned int columns);
