/* The texts that explain perf as a whole and one command: used by main, and by `perf help`. */
#pragma once

struct command;

/* "Usage: perf …" in one line. */
extern const char usage_line[];

/* The list of all commands with their summaries. */
void usage_show(void);
/* What `perf COMMAND -h` shows, paged on a terminal. */
void usage_show_command(const struct command *command);
/* The names of all commands in one line. */
void usage_list_commands(void);
