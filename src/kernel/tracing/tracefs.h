/* tracefs: the directory where the kernel lists its tracepoints and describes their records. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <stdbool.h>

enum tracefs_state {
	TRACEFS_READABLE,
	TRACEFS_FORBIDDEN, /* mounted, but this user may not read what is in it */
	TRACEFS_NOT_MOUNTED,
	TRACEFS_ABSENT, /* this kernel has none */
};

/* Where tracefs is mounted: `root`/sys/kernel/tracing, else `root`/sys/kernel/debug/tracing (`root` "" = this machine; tests give a fake
 * tree). *ret_path is set for TRACEFS_READABLE and TRACEFS_FORBIDDEN, freed by the caller. */
enum tracefs_state tracefs_look(const char *root, char **ret_path);

/* The same for who needs it: on this machine it is mounted when it is not and this user may (CAP_SYS_ADMIN), and stays so, as with the
 * kernel's tool; else the error says what is missing and how to fix it. */
struct error *tracefs_find(const char *root, char **ret_path);

struct tracefs_names {
	VEC(char *) names;
};

/* Frees the names, too. */
void tracefs_names_deinit(struct tracefs_names *list);

/* The names of all systems ("sched", "syscalls"), in the order of the directory. */
struct error *tracefs_systems(const char *tracefs, struct tracefs_names *ret);
/* The names of a system's events, in the order of the directory. A system that isn't there has none. */
struct error *tracefs_events(const char *tracefs, const char *system, struct tracefs_names *ret);

/* Whether there is a directory of events for it. */
bool tracefs_has_system(const char *tracefs, const char *system);
/* The number that perf_event_open() wants as attr.config; false when there is no such event (or no right to read it: errno is set). */
bool tracefs_event_id(const char *tracefs, const char *system, const char *event, int *ret_id);
/* Appends the text of events/SYSTEM/EVENT/format. */
struct error *tracefs_event_format(const char *tracefs, const char *system, const char *event, struct strbuf *out);
