/* tracefs: the directory where the kernel lists its tracepoints and describes their records. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <stdbool.h>

/* Where tracefs is mounted: `root`/sys/kernel/tracing, else `root`/sys/kernel/debug/tracing (`root` "" = this machine; tests give a fake
 * tree). The error says what is missing and how to mend it: the mount, the right to look into it, or the kernel's support. Freed by the
 * caller. */
struct error *tracefs_find(const char *root, char **ret_path);

struct tracefs_names {
	VEC(char *) names;
};

void tracefs_names_deinit(struct tracefs_names *list);

/* The names of all systems ("sched", "syscalls"), in the order of the directory. */
struct error *tracefs_systems(const char *tracefs, struct tracefs_names *ret);
/* The names of a system's events, in the order of the directory. A system that isn't there has none. */
struct error *tracefs_events(const char *tracefs, const char *system, struct tracefs_names *ret);

bool tracefs_has_system(const char *tracefs, const char *system);
/* The number that perf_event_open() wants as attr.config; false when there is no such event (or no right to read it: errno is set). */
bool tracefs_event_id(const char *tracefs, const char *system, const char *event, int *ret_id);
/* Appends the text of events/SYSTEM/EVENT/format. */
struct error *tracefs_event_format(const char *tracefs, const char *system, const char *event, struct strbuf *out);
