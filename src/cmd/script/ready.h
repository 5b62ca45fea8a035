/* Ready-made scripts: those that are installed with us, and others in the same layout. For NAME there are shell scripts bin/NAME-record and
 * bin/NAME-report in a folder scripts/LANGUAGE; the second one has lines "# description: …" and "# args: …". */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>

/* perf script -l. */
void script_ready_list(struct strbuf *out);

/* The names of those that report, in order. */
void script_ready_each(void (*visit)(void *context, const char *name), void *context);

/* `words` after the options, ended by NULL, of which the first is "record", "report" or a name. Runs the scripts and waits for them.
 * `system_wide`: -a. */
struct error *script_ready_run(char **words, bool system_wide, int *ret_status);
