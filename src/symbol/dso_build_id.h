/* The build-id of what is mapped: as recorded, else of the file, the running kernel, a module or the vDSO on this machine. */
#pragma once

#include "base/buildid.h"
#include "model/machine.h"

#include <stdbool.h>

/* False when there is none. The file of a process in a container is looked for below /proc/PID/root. */
bool dso_read_build_id(const struct dso *dso, struct buildid *ret);
/* The same for who asks again and again: the dso remembers it. One thread at a time. */
void dso_learn_build_id(struct dso *dso);
