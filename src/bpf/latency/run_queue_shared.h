/* What run_queue.bpf.c and its loader share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { RUN_QUEUE_BUCKETS = 22, RUN_QUEUE_NAME = 16 };

enum run_queue_by { RUN_QUEUE_BY_NOTHING, RUN_QUEUE_BY_CPU, RUN_QUEUE_BY_PROCESS, RUN_QUEUE_BY_CGROUP };

struct run_queue_config {
	uint64_t namespace_device, namespace; /* of pids: device and inode of ours */
	uint32_t by;			      /* enum run_queue_by */
	uint32_t pid_offset;		      /* in a task_struct; 0 = not known */
	bool by_target;			      /* only threads of processes that were added, */
	bool inherit;			      /* … and threads that targets make */
};

/* Delays of one CPU, process or cgroup, in ns; buckets are those of struct distribution with a unit of a microsecond. */
struct run_queue_sums {
	uint64_t counts[RUN_QUEUE_BUCKETS];
	uint64_t count, total, max, min;
	char name[RUN_QUEUE_NAME]; /* with RUN_QUEUE_BY_PROCESS: the last one of its main thread */
};

/* A thread that is on its way to a CPU, or on one. */
struct run_queue_thread {
	uint64_t queued; /* when it became runnable; 0 = it does not wait for a CPU */
	uint64_t delay;	 /* of the run that goes on */
	bool running;
	bool delayed;  /* `delay` is known and not added yet */
	bool unqueued; /* it runs, and nobody knows since when it had waited */
	uint8_t whose; /* enum run_queue_whose; with by_target */
};

enum run_queue_whose { RUN_QUEUE_UNKNOWN, RUN_QUEUE_OWN, RUN_QUEUE_OTHERS };
