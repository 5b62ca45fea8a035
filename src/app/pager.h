/* Pages standard output when it is a terminal: PERF_PAGER, pager.CMD / core.pager of the config, PAGER, less. As git's: LESS=FRX unless
 * set. */
#pragma once

#include <stdbool.h>

/* Starts the pager for `command` unless output is no terminal, or paging is off (--no-pager, pager.COMMAND = false). Standard error is
 * paged too, so call it right before the first output: what comes earlier (progress, warnings) goes to the terminal. */
void pager_start(const char *command);
/* Makes the process that pager_start() turns into the pager: for commands that may start no program any more by then. It ends with us if it
 * isn't needed. */
void pager_prepare(const char *command);
/* Closes the output and waits for the pager; called by main. */
void pager_finish(void);
/* Columns of the terminal that output goes to, also through a pager; 0 when there is none, which means no limit. */
unsigned int output_columns(void);
/* By what the environment says, whether a terminal may be coloured: TERM is set and not dumb, NO_COLOR is not set. */
bool terminal_takes_color(void);
/* Whether output may be coloured: it goes to a terminal, also through a pager, that isn't dumb, and NO_COLOR is not set. */
bool output_color(void);
