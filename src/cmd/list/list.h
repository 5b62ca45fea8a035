/* What `perf list` shows, and how; within cmd/list*.c. */
#pragma once

#include "event/listing.h"

#include "base/strbuf.h"

struct list_options {
	bool no_description;
	bool long_description;
	bool details;
	bool deprecated;
	bool json;
	bool raw_dump;
	bool debug;
	const char *unit; /* a pattern for the PMU, or NULL */
	const char *cputype;
	const char *output;
};

/* Appends the static tracepoints of the programs in the build-id cache. */
void list_add_sdt(struct listing *listing);
/* Appends metrics, `by_group` under each of their groups, else once; or the names of groups. */
void list_add_metrics(struct listing *listing, struct event_catalog *catalog, bool by_group);
void list_add_metric_groups(struct listing *listing);

/* The entries as the options want them: lines for people wrapped at `columns`, JSON, or the names alone. */
void list_print(const struct listing *listing, const struct list_options *options, unsigned int columns, struct strbuf *out);
