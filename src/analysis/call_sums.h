/* System calls added up: by thread (or cgroup, or all together) and call. */
#pragma once

#include "analysis/call.h"
#include "base/arena.h"
#include "base/untrusted.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum { CALL_SUM_SLOTS = 40 }; /* of a histogram: by log2 of nanoseconds */

/* The calls of one kind that one thread made. */
struct call_total {
	const struct call_description *description;
	uint64_t calls, errors;
	uint64_t total, shortest, longest; /* ns */
	double squares;			   /* of ns */
	uint64_t *slots;		   /* CALL_SUM_SLOTS of them, or NULL */
	VEC(struct call_errors {
		uint64_t error;
		uint64_t count;
	})
	errors_by_number;
};

/* What is added up together. */
struct call_owner {
	uint64_t id;	  /* tid, cgroup, or 0 */
	char *name;	  /* safe text; NULL = not known */
	uint64_t events;  /* entries and exits */
	uint64_t runtime; /* ns, --sched */
	uint64_t major_faults, minor_faults;
	VEC(struct call_total) totals;
};

struct call_sums;

struct call_sums *call_sums_create(void);
void call_sums_destroy(struct call_sums *sums);

/* Finds or makes; valid until the next call of either. */
struct call_owner *call_sums_owner(struct call_sums *sums, uint64_t id);
struct call_total *call_sums_total(struct call_owner *owner, const struct call_description *description);
bool call_sums_has(const struct call_sums *sums, uint64_t id);
void call_sums_name(struct call_sums *sums, uint64_t id, const struct untrusted *name);
/* It is called like another one until it has a name of its own. */
void call_sums_inherit_name(struct call_sums *sums, uint64_t id, uint64_t parent_id);
/* One more call. */
void call_sums_add(struct call_sums *sums, uint64_t id, const struct call *call, bool histogram);
void call_total_add_error(struct call_total *total, uint64_t error, uint64_t count);

struct call_sums_style {
	bool errors; /* failed calls by errno */
	bool histograms;
	bool by_id; /* owners have names and ids */
	bool runtime;
	bool json;
	const char *kind; /* "thread", "cgroup": what the owners are */
};
/* The tables: the busiest owner first, its calls by total time. */
void call_sums_add_text(struct call_sums *sums, const struct call_sums_style *style, struct strbuf *out);
