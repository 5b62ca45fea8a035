/* How long threads wait for a CPU, added up in the kernel.
 *
 *	bpf_run_queue_open(&options, &queue);
 *	bpf_run_queue_add_target(queue, tid);		// for each, with config.by_target
 *	bpf_run_queue_start(queue);
 *	bpf_run_queue_switch(queue, true);
 *	…
 *	bpf_run_queue_read(queue, take, context);
 *	bpf_run_queue_close(queue);
 */
#pragma once

#include "base/error.h"
#include "bpf/latency/run_queue_shared.h"

#include <stddef.h>
#include <sys/types.h>

struct bpf_run_queue;

struct bpf_run_queue_options {
	struct run_queue_config config; /* the namespace is filled in */
	size_t targets;			/* at most so many are added */
};

/* Loads the program; an error says why that isn't possible here. */
struct error *bpf_run_queue_open(const struct bpf_run_queue_options *options, struct bpf_run_queue **ret);
/* NULL is fine. */
void bpf_run_queue_close(struct bpf_run_queue *queue);
/* A thread, in our pid namespace. Before bpf_run_queue_start(). */
struct error *bpf_run_queue_add_target(struct bpf_run_queue *queue, pid_t tid);
/* Nothing is measured yet. */
struct error *bpf_run_queue_start(struct bpf_run_queue *queue);
void bpf_run_queue_switch(struct bpf_run_queue *queue, bool on);
/* The sums of each CPU, process or cgroup by its number, or of all (0). The program runs no more. */
void bpf_run_queue_read(struct bpf_run_queue *queue, void (*take)(void *context, uint64_t id, const struct run_queue_sums *sums),
			void *context);
/* Delays and threads for which there was no room. */
uint64_t bpf_run_queue_missed(const struct bpf_run_queue *queue);
/* Delays that are in no sum, since the kernel did not tell of their end. */
uint64_t bpf_run_queue_unseen(const struct bpf_run_queue *queue);
