/* What a person can do about a file without names. */
#pragma once

#include "base/strbuf.h"
#include "symbol/resolve.h"

/* Adds, in words without a full stop, what would give the dso its names: "install bash-dbgsym". Adds nothing when its symbols are complete
 * or nothing is known to help. Reads the system's package lists: for a few files after a report, not for each sample. */
void resolver_remedy(struct resolver *resolver, const struct dso *dso, struct strbuf *out);
