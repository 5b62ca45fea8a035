/* The self checks of `perf test`: what one of them is given and says. Each runs in a process of its own, so it may break what it likes. */
#pragma once

#include "base/strbuf.h"
#include "kernel/capability/capability.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

enum check_status { CHECK_OK, CHECK_SKIP, CHECK_FAILED };

struct check {
	enum check_status status;
	struct strbuf reason; /* why skipped or failed: the first that was said */
	struct strbuf log;    /* what -v shows */
	struct capability_context *probes;
	const char *dso; /* --dso: the file whose code is looked at; NULL = our own */
};

struct check_row {
	const char *name; /* as the kernel's tool calls it where that has the same check */
	void (*run)(struct check *check);
};

/* Each group of checks; ends with a NULL name. */
extern const struct check_row count_checks[]; /* count.c */
extern const struct check_row probe_checks[]; /* probes.c */
extern const struct check_row ring_checks[];  /* rings.c */
extern const struct check_row name_checks[];  /* names.c */
extern const struct check_row stack_checks[]; /* stacks.c */
extern const struct check_row tool_checks[];  /* tool.c */

/* Adds a line to what -v shows. */
void check_log(struct check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Not here, not for this user: no fault of anybody. */
void check_skip(struct check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Fails the check. It goes on; the first such reason is the one that is told. */
void check_fail(struct check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fails unless low <= value <= high. Returns whether it was so. */
bool check_range(struct check *check, const char *what, uint64_t value, uint64_t low, uint64_t high);
/* Fails the check when they differ, and says by what. */
bool check_equal(struct check *check, const char *what, uint64_t value, uint64_t expected);
/* For -errno of opening an event: skips when the right or the hardware for it is missing, with the reason that every command gives; fails
 * otherwise. Returns whether it was opened (>= 0). */
bool check_opened(struct check *check, int result, const struct perf_event_attr *attr, const char *event);
/* Skips, in the words of `perf doctor`, when that row is missing. Returns whether it is there. */
bool check_has(struct check *check, const char *row);
/* Is a row of `perf doctor` OK? */
bool check_is_ok(struct check *check, const char *row);

/* The workloads of -w. */
struct workload_row {
	const char *name, *arguments, *summary;
	int (*run)(int argc, char **argv);
};
extern const struct workload_row workload_rows[]; /* workloads.c; ends with a NULL name */
