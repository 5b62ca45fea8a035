/* Where the scripts that are installed with us are. */
#pragma once

#include "base/error.h"

/* The folder that has scripts/LANGUAGE: PERF_EXEC_PATH if it is set, else beside the program (source tree), or where it was installed to.
 * Freed by the caller. */
char *places_root(void);
/* A shared object that is installed beside the scripts, by its name. Freed by the caller. */
char *places_plugin(const char *name);
/* Lets scripts find their modules, and the commands that they start find this perf: sets PERF_EXEC_PATH, and puts the program's folder
 * first in PATH. */
void places_export(void);
