/* Where a file can be opened that somebody has mapped, whatever its name leads to: when it was deleted, replaced by another one, is in
 * another mount namespace, or has no name at all (memfd). */
#pragma once

#include "model/machine.h"

/* For symbol_options.mapped_path, of the files of this machine. */
char *mapped_files_path(const struct dso *dso);
