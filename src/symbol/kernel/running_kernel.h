/* What the running kernel tells of itself in /sys: its build-id and those of its modules. */
#pragma once

#include "base/buildid.h"

#include <stdbool.h>

/* False when it tells none. */
bool running_kernel_build_id(struct buildid *ret);
/* Of a loaded module, by its file or name: "/lib/modules/…/ext4.ko.xz", "[ext4]". */
bool running_module_build_id(const char *name, struct buildid *ret);
