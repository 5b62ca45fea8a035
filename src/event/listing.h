/* What can be measured, one entry each: for `perf list`, and for completing names. */
#pragma once

#include "event/catalog.h"

#include "base/arena.h"
#include "base/vec.h"

#include <stdbool.h>

/* In the order in which they are shown. */
enum listing_group {
	LISTING_HARDWARE,
	LISTING_SOFTWARE,
	LISTING_TOOL,
	LISTING_CACHE,
	LISTING_PMU,
	LISTING_RAW,	    /* forms of names rather than names */
	LISTING_BREAKPOINT, /* the same */
	LISTING_TRACEPOINT,
	LISTING_SDT,
	LISTING_VENDOR,
	LISTING_METRIC_GROUP,
	LISTING_METRIC,
	LISTING_GROUPS
};

/* Whether this machine can count it, found out by opening a counter of the own process. */
enum listing_support { LISTING_UNTRIED, LISTING_SUPPORTED, LISTING_UNSUPPORTED, LISTING_FORBIDDEN /* this user may not even try */ };

/* Strings live as long as the listing; those that may be NULL say so. */
struct listing_entry {
	enum listing_group group;
	enum listing_support support;
	const char *name;	      /* what to write behind -e (metrics: -M) */
	const char *alias;	      /* another name, or NULL */
	const char *kind;	      /* "Hardware event" */
	const char *topic;	      /* of entries that are shown under a heading, or NULL */
	const char *unit;	      /* the PMU that counts it, or NULL */
	const char *description;      /* a few words, or NULL */
	const char *long_description; /* more of them, or NULL */
	const char *encoding;	      /* what it is to the kernel, as a text for -e, or NULL */
	const char *scale_unit;	      /* "6.1e-05MiB" of a count, or NULL */
	const char *expression;	      /* of a metric, or NULL */
	const char *metric_groups;    /* "Branches;Default", or NULL */
	bool deprecated, per_package;
};

struct listing {
	struct arena arena;
	VEC(struct listing_entry) entries;
};

struct listing_options {
	bool try;		 /* fills `support` of hardware, software and cache events */
	bool encoding;		 /* fills `encoding` where that takes a file or a library call each (tracepoints, vendors' events) */
	bool fields;		 /* `long_description` of tracepoints: their fields */
	const char *tracepoints; /* only these: a pattern for "SYSTEM:EVENT" without which thousands of files might be read; NULL = all */
};

/* Appends the entries of a group, sorted by name. Groups that other layers know (SDT, metrics) have none here; neither have tracepoints
 * where tracefs is closed. */
void listing_add(struct listing *listing, struct event_catalog *catalog, enum listing_group group, const struct listing_options *options);
void listing_deinit(struct listing *listing);

/* Appends one entry with its group, name and kind; for groups that are filled elsewhere. */
struct listing_entry *listing_add_entry(struct listing *listing, enum listing_group group, const char *name, const char *kind);
/* Sorts the entries from `first` on by topic and name. */
void listing_sort(struct listing *listing, size_t first);
