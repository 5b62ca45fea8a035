/* The reasons why a run took so long: pieces of its critical path (or of all chosen threads) added up by what they have in common. */
#pragma once

#include "analysis/where/path.h"

#include <stddef.h>
#include <stdint.h>

/* A part of a reason's time. */
struct where_detail {
	const char *syscall, *function; /* where: either may be NULL; or */
	const struct untrusted *comm;	/* who; or */
	const char *object;		/* what was waited for: where_object_of(), may be NULL; … */
	uint64_t lock;			/* … and of what kind it is, as in struct where_place */
	uint64_t ns, count;		/* `count`: of waits, or of samples of the clock */
};

typedef VEC(struct where_detail) where_details;

struct where_reason {
	enum where_kind kind;
	const struct untrusted *comm;	     /* the threads' */
	uint32_t device, below;		     /* 0 = none */
	enum where_kind waited;		     /* what for others waited for these meanwhile; WHERE_CPU = none did */
	const struct untrusted *waiter_comm; /* … and who, or NULL */
	uint64_t waited_lock;		     /* … of WHERE_LOCK: at what kind of lock, as in struct where_place */
	bool of_same_process;		     /* … which belongs to the same process */
	uint64_t lock;			     /* of WHERE_LOCK: the kind, as in struct where_place */
	uint64_t ns;
	uint64_t count;				 /* waits; of WHERE_CPU the times that it ran */
	uint64_t held_ns;			 /* … of waits that haven't ended, for what others are known to have */
	uint64_t longest;			 /* ns, of a single one */
	bool are_named;				 /* `comm` is the threads' own name, not that of their process */
	uint64_t threads, processes;		 /* so many took part */
	uint64_t samples, kernel_samples;	 /* WHERE_CPU: of the clock; … */
	uint64_t fault_samples;			 /* … of the kernel's those in which it served page faults */
	where_details places;			 /* where: the longest first */
	where_details objects;			 /* what was waited for, as far as is known; … */
	where_details waited_objects;		 /* … and what others waited for meanwhile */
	VEC(const struct where_thread *) queued; /* WHERE_QUEUE: a thread of each process that waited */
	where_details who;			 /* WHERE_QUEUE: who had the CPU; of other waits: who woke them up */
};

struct where_reasons {
	VEC(struct where_reason) all; /* the longest first */
	uint64_t total_ns;
};

/* Of the critical path, if the timeline has a root, else of all chosen threads but those that are idle, as where_sums tell. */
struct where_sums;
void where_reasons_find(const struct where_timeline *timeline, const struct where_sums *sums, struct where_reasons *ret);
void where_reasons_deinit(struct where_reasons *reasons);

/* The time of a thread between the timeline's ends. */
struct where_thread_sums {
	const struct where_thread *thread;
	const struct untrusted *comm;
	uint64_t wall, ns[WHERE_KINDS]; /* ns add up to wall */
	uint64_t user_ns;		/* of WHERE_CPU, by samples of the clock; without any all is user's */
	uint64_t mutex_ns;		/* of WHERE_LOCK: for locks that somebody had */
	uint64_t waits;			/* all, but those for a CPU */
	bool is_idle;			/* hardly ran: it has waited for work */
};

struct where_sums {
	VEC(struct where_thread_sums) threads; /* chosen ones that were seen: those that ran longest first */
	uint64_t endless;		       /* waits of theirs whose end was not recorded */
};

void where_sums_find(const struct where_timeline *timeline, struct where_sums *ret);
void where_sums_deinit(struct where_sums *sums);
