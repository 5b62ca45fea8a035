/* The options before the command: perf [OPTIONS] COMMAND. */
#pragma once

#include <stdbool.h>

/* The exit status of a wrong command line, the kernel tool's. */
enum { GLOBALS_STATUS_USAGE = 129 };

/* Reads the options from argv[*next] on and leaves *next at the command. Returns false when the program ends there (an option that only
 * shows something, or a wrong one, which has been told), with its exit status in *ret_status. */
bool globals_read(int argc, char **argv, int *next, int *ret_status);
/* The command that an option stands for ("--version": "version"), or NULL. */
const char *globals_alias(const char *word);
