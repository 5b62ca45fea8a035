/* System calls added up: by thread (or cgroup, or all together) and call. */
#pragma once

#include "analysis/syscalls/syscall.h"
#include "base/arena.h"
#include "base/untrusted.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum { SYSCALL_SUM_SLOTS = 40 }; /* of a histogram: by log2 of nanoseconds */

/* The calls of one kind that one thread made. */
struct syscall_total {
	const struct syscall_description *description;
	uint64_t calls, errors;
	uint64_t total, shortest, longest; /* ns */
	double squares;			   /* of ns */
	uint64_t *slots;		   /* SYSCALL_SUM_SLOTS of them, or NULL */
	VEC(struct syscall_errors {
		uint64_t error;
		uint64_t count;
	})
	errors_by_number;
};

/* What is added up together. */
struct syscall_owner {
	uint64_t id;	  /* tid, cgroup, or 0 */
	char *name;	  /* safe text; NULL = not known */
	uint64_t events;  /* entries and exits */
	uint64_t runtime; /* ns, --sched */
	uint64_t major_faults, minor_faults;
	VEC(struct syscall_total) totals;
};

struct syscall_sums;

struct syscall_sums *syscall_sums_create(void);
void syscall_sums_destroy(struct syscall_sums *sums);

/* Finds or makes; valid until the next call of either. */
struct syscall_owner *syscall_sums_owner(struct syscall_sums *sums, uint64_t id);
struct syscall_total *syscall_sums_total(struct syscall_owner *owner, const struct syscall_description *description);
bool syscall_sums_has(const struct syscall_sums *sums, uint64_t id);
void syscall_sums_name(struct syscall_sums *sums, uint64_t id, const struct untrusted *name);
/* It is called like another one until it has a name of its own. */
void syscall_sums_inherit_name(struct syscall_sums *sums, uint64_t id, uint64_t parent_id);
/* One more call. */
void syscall_sums_add(struct syscall_sums *sums, uint64_t id, const struct syscall *call, bool histogram);
void syscall_total_add_error(struct syscall_total *total, uint64_t error, uint64_t count);

struct syscall_sums_style {
	bool errors; /* failed calls by errno */
	bool histograms;
	bool by_id; /* owners have names and ids */
	bool runtime;
	bool json;
	const char *kind; /* "thread", "cgroup": what the owners are */
};
/* The tables: the busiest owner first, its calls by total time. */
void syscall_sums_add_text(struct syscall_sums *sums, const struct syscall_sums_style *style, struct strbuf *out);
