/* Filters in shared objects (perf script --dlfilter): code of the person who runs perf, which is asked about each sample. Its side of the
 * interface is include/perf/perf_dlfilter.h. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "language/language.h"

#include <stdbool.h>

struct dlfilter;

struct dlfilter_setup {
	struct session *session;
	struct resolver *resolver;
	const char *file;   /* a path, or a name that is looked for here, in `folder`, and where the linker looks */
	const char *folder; /* of installed filters */
	char **arguments;   /* --dlarg */
	int argument_count;
};

/* Loads the filter and calls its start(). */
struct error *dlfilter_open(const struct dlfilter_setup *setup, struct dlfilter **ret);
/* Calls its stop(). */
struct error *dlfilter_close(struct dlfilter *filter);

/* Whether it keeps the sample. `early`: before any other filter; then *ret_keep is true for a filter that doesn't want to be asked so
 * early. */
struct error *dlfilter_passes(struct dlfilter *filter, const struct language_sample *at, bool early, bool *ret_keep);

/* The filters of the folder with their descriptions; `verbose`: the long ones. */
void dlfilter_list(const char *folder, bool verbose, struct strbuf *out);
