/* Loads run_queue.bpf.c and reads its sums (run_queue.h). */
#include "bpf/latency/run_queue.h"

#include "base/mem.h"
#include "bpf/support.h"
#include "bpf/tracepoints.h"
#include "run_queue.skel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

enum { MOST_THREADS = 1 << 16, MOST_SUMS = 1 << 14 };

struct bpf_run_queue {
	struct run_queue_bpf *skeleton;
};

static const char *const program = "the BPF program that measures waits for a CPU (tracepoint sched:sched_switch)";

static struct error *load(struct run_queue_bpf *skeleton, const struct bpf_run_queue_options *options)
{
	struct run_queue_config *config = (struct run_queue_config *)&skeleton->rodata->config;
	*config = options->config;
	struct error *error = bpf_pid_namespace(&config->namespace_device, &config->namespace);
	if (error)
		return error;
	bool follow = config->by_target && config->inherit;
	bpf_map__set_max_entries(skeleton->maps.threads, MOST_THREADS);
	bpf_map__set_map_flags(skeleton->maps.threads, BPF_F_NO_PREALLOC);
	bpf_map__set_max_entries(skeleton->maps.sums, MOST_SUMS);
	bpf_map__set_map_flags(skeleton->maps.sums, BPF_F_NO_PREALLOC);
	bpf_map__set_max_entries(skeleton->maps.followed, follow ? MOST_THREADS : 1);
	bpf_map__set_max_entries(skeleton->maps.targets, (uint32_t)(options->targets ? options->targets : 1));
	bpf_program__set_autoload(skeleton->progs.begin_thread, follow);
	int failure = run_queue_bpf__load(skeleton);
	return failure ? bpf_support_explain(failure, program) : NULL;
}

struct error *bpf_run_queue_open(const struct bpf_run_queue_options *options, struct bpf_run_queue **ret)
{
	struct error *error = bpf_support_begin_at_tracepoints();
	if (!error)
		error = bpf_tracepoints_check();
	if (error)
		return error;
	struct bpf_run_queue *queue = mem_zalloc(sizeof(*queue));
	queue->skeleton = run_queue_bpf__open();
	error = queue->skeleton ? load(queue->skeleton, options) : bpf_support_explain(errno, program);
	if (error)
		bpf_run_queue_close(queue);
	else
		*ret = queue;
	return error;
}

void bpf_run_queue_close(struct bpf_run_queue *queue)
{
	if (!queue)
		return;
	run_queue_bpf__destroy(queue->skeleton);
	free(queue);
}

struct error *bpf_run_queue_add_target(struct bpf_run_queue *queue, pid_t tid)
{
	return bpf_support_add_target(queue->skeleton->maps.targets, (int)tid, "waits");
}

struct error *bpf_run_queue_start(struct bpf_run_queue *queue)
{
	int failure = run_queue_bpf__attach(queue->skeleton);
	return failure ? bpf_support_explain(failure, program) : NULL;
}

void bpf_run_queue_switch(struct bpf_run_queue *queue, bool on)
{
	__atomic_store_n(&queue->skeleton->bss->running, on, __ATOMIC_RELEASE);
}

void bpf_run_queue_read(struct bpf_run_queue *queue, void (*take)(void *context, uint64_t id, const struct run_queue_sums *sums),
			void *context)
{
	const struct bpf_map *map = queue->skeleton->maps.sums;
	uint64_t key, *last = NULL;
	run_queue_bpf__detach(queue->skeleton);
	while (!bpf_map__get_next_key(map, last, &key, sizeof(key))) {
		struct run_queue_sums sums;
		if (!bpf_map__lookup_elem(map, &key, sizeof(key), &sums, sizeof(sums), 0))
			take(context, key, &sums);
		last = &key;
	}
}

uint64_t bpf_run_queue_missed(const struct bpf_run_queue *queue)
{
	return __atomic_load_n(&queue->skeleton->bss->missed, __ATOMIC_RELAXED) +
	       __atomic_load_n(&queue->skeleton->bss->unfollowed, __ATOMIC_RELAXED);
}

uint64_t bpf_run_queue_unseen(const struct bpf_run_queue *queue)
{
	return __atomic_load_n(&queue->skeleton->bss->unseen, __ATOMIC_RELAXED);
}
