/* Work that the kernel does on its own: interrupts, soft interrupts, items of work queues. How long each kind runs, how long it waits from
 * being asked for until it runs, and each run by itself.
 *
 *	softirq_raise ──── delay ────► softirq_entry ─── runs ───► softirq_exit
 *
 * Rules are those of the kernel's tool, so that its figures come out: a work is one for each CPU; an end belongs to the newest beginning on
 * that CPU that has none yet. */
#pragma once

#include "analysis/sched/scope.h"
#include "analysis/stack.h"
#include "base/error.h"
#include "base/intern.h"
#include "session/session.h"
#include "symbol/resolve.h"

#include <stdbool.h>
#include <stdint.h>

enum kwork_class { KWORK_IRQ, KWORK_SOFTIRQ, KWORK_WORKQUEUE, KWORK_SCHED, KWORK_CLASSES };
enum kwork_step { KWORK_RAISE, KWORK_ENTRY, KWORK_EXIT, KWORK_STEPS };
enum kwork_question { KWORK_RUNTIMES, KWORK_DELAYS, KWORK_RUNS };

struct kwork_work {
	enum kwork_class class;
	uint32_t cpu;
	uint64_t id;				 /* number of the interrupt or soft interrupt; address of the item */
	const char *name;			 /* "eth0", "RCU", "vmstat_update", made safe; NULL = unknown */
	uint64_t count;				 /* of runs, or of delays: those that are in the sums */
	uint64_t total, max, max_begin, max_end; /* ns */
	VEC(uint64_t) pending[KWORK_STEPS];	 /* times of steps whose other end hasn't come */
	VEC(uint64_t) delays;			 /* KWORK_RUNS: of each pending ENTRY, 0 = unknown */
	VEC(const char *) stacks;		 /* … and its callers, NULL = none */
};

/* A run that has ended; valid during the call. */
struct kwork_run {
	const struct kwork_work *work;
	uint64_t begin, end, delay; /* ns; 0 = unknown */
	const char *stack;	    /* where it began: " <- " between functions, made safe; or NULL */
};

struct kwork_options {
	enum kwork_question question;
	enum kwork_class classes[KWORK_CLASSES]; /* these, in this order */
	size_t class_count;
	struct sched_scope scope;
	const char *name;	/* only works of this name; or NULL */
	const char *sort;	/* keys with commas: runtime, max, count; of delays: avg, max, count; NULL = that order */
	unsigned int max_stack; /* frames of the stacks of runs; 0 = no stacks */
	void (*run)(void *context, const struct kwork_run *run); /* KWORK_RUNS */
	void *context;
};

struct kwork {
	struct arena arena;
	struct intern names;
	VEC(struct kwork_work *) works; /* sorted; those that were never counted, too */
	uint64_t skipped[KWORK_STEPS];	/* steps without their other end */
	uint64_t records;		/* of the recording, of all types */
	uint64_t begin, end;		/* of the steps that were wanted */
};

/* "irq", "softirq", "workqueue", "sched". */
const char *kwork_class_name(enum kwork_class class);
/* "eth0:10", "(s)RCU:9", "(w)vmstat_update". */
void kwork_add_name(struct strbuf *out, const struct kwork_work *work);
/* Reads the session, which is streaming, to its end. An error of kind ERROR_USAGE for an unknown key; another one when the recording has no
 * event of the classes. */
struct error *kwork_create(struct session *session, struct resolver *resolver, const struct kwork_options *options, struct kwork **ret);
void kwork_destroy(struct kwork *kwork);
