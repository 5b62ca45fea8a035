/* Loads run_queue.bpf.c and reads its sums (run_queue.h). */
#include "bpf/latency/run_queue.h"

#include "base/log.h"
#include "base/mem.h"
#include "bpf/support.h"
#include "bpf/tracepoints.h"
#include "run_queue.skel.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 1 << 16, MOST_SUMS = 1 << 14 };

struct bpf_run_queue {
	struct run_queue_bpf *skeleton;
};

static const char *const program = "the BPF program that measures waits for a CPU (tracepoint sched:sched_switch)";

/* Where a task has its number; 0 = the kernel has no type information. */
static uint32_t find_pid_offset(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int task = btf ? btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT) : -1;
	const struct btf_type *type = task > 0 ? btf__type_by_id(btf, (uint32_t)task) : NULL;
	uint32_t offset = 0;
	for (uint32_t i = 0; type && i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off), "pid"))
			offset = btf_member_bit_offset(type, i) / CHAR_BIT;
	btf__free(btf);
	return offset;
}

/* Programs at raw tracepoints cost less: the kernel makes no event for them. */
static void choose_programs(struct run_queue_bpf *skeleton, bool raw)
{
	bpf_program__set_autoload(skeleton->progs.switch_tasks, raw);
	bpf_program__set_autoload(skeleton->progs.wake_task, raw);
	bpf_program__set_autoload(skeleton->progs.wake_new_task, raw);
	bpf_program__set_autoload(skeleton->progs.switch_threads, !raw);
	bpf_program__set_autoload(skeleton->progs.wake_thread, !raw);
	bpf_program__set_autoload(skeleton->progs.wake_new_thread, !raw);
}

static struct error *load(struct run_queue_bpf *skeleton, const struct bpf_run_queue_options *options, uint32_t pid_offset)
{
	struct run_queue_config *config = (struct run_queue_config *)&skeleton->rodata->config;
	*config = options->config;
	config->pid_offset = pid_offset;
	struct error *error = bpf_pid_namespace(&config->namespace_device, &config->namespace);
	if (error)
		return error;
	bool follow = config->by_target && config->inherit;
	bpf_map__set_max_entries(skeleton->maps.threads, MOST_THREADS);
	bpf_map__set_map_flags(skeleton->maps.threads, BPF_F_NO_PREALLOC);
	bpf_map__set_max_entries(skeleton->maps.sums, MOST_SUMS);
	bpf_map__set_map_flags(skeleton->maps.sums, BPF_F_NO_PREALLOC);
	bpf_map__set_max_entries(skeleton->maps.cpu_sums, (uint32_t)libbpf_num_possible_cpus());
	bpf_map__set_max_entries(skeleton->maps.followed, follow ? MOST_THREADS : 1);
	bpf_map__set_max_entries(skeleton->maps.targets, (uint32_t)(options->targets ? options->targets : 1));
	bpf_program__set_autoload(skeleton->progs.begin_thread, follow);
	choose_programs(skeleton, pid_offset);
	int failure = run_queue_bpf__load(skeleton);
	return failure ? bpf_support_explain(failure, program) : NULL;
}

static struct error *open_with(const struct bpf_run_queue_options *options, uint32_t pid_offset, struct bpf_run_queue **ret)
{
	struct bpf_run_queue *queue = mem_zalloc(sizeof(*queue));
	queue->skeleton = run_queue_bpf__open();
	struct error *error = queue->skeleton ? load(queue->skeleton, options, pid_offset) : bpf_support_explain(errno, program);
	if (error)
		bpf_run_queue_close(queue);
	else
		*ret = queue;
	return error;
}

struct error *bpf_run_queue_open(const struct bpf_run_queue_options *options, struct bpf_run_queue **ret)
{
	struct error *error = bpf_support_begin_at_tracepoints();
	if (!error)
		error = bpf_tracepoints_check();
	if (error)
		return error;
	uint32_t pid_offset = find_pid_offset();
	error = open_with(options, pid_offset, ret);
	if (!error || !pid_offset)
		return error;
	log_debug("%s", error_message(error));
	error_free(error);
	return open_with(options, 0, ret);
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

static void add_sums(struct run_queue_sums *to, const struct run_queue_sums *from)
{
	for (size_t i = 0; i < RUN_QUEUE_BUCKETS; i++)
		to->counts[i] += from->counts[i];
	to->count += from->count;
	to->total += from->total;
	if (from->max > to->max)
		to->max = from->max;
	if (from->min && (!to->min || from->min < to->min))
		to->min = from->min;
}

/* What each CPU has added up alone; all is 0 where others had to be asked whose the delays are. */
static void read_cpus(struct bpf_run_queue *queue, void (*take)(void *context, uint64_t id, const struct run_queue_sums *sums),
		      void *context)
{
	const struct bpf_map *map = queue->skeleton->maps.cpu_sums;
	bool by_cpu = queue->skeleton->rodata->config.by == RUN_QUEUE_BY_CPU;
	struct run_queue_sums all = {0};
	for (uint32_t cpu = 0; cpu < bpf_map__max_entries(map); cpu++) {
		struct run_queue_sums sums;
		if (bpf_map__lookup_elem(map, &cpu, sizeof(cpu), &sums, sizeof(sums), 0) || !sums.count)
			continue;
		add_sums(&all, &sums);
		if (by_cpu)
			take(context, cpu, &sums);
	}
	if (!by_cpu && all.count)
		take(context, 0, &all);
}

void bpf_run_queue_read(struct bpf_run_queue *queue, void (*take)(void *context, uint64_t id, const struct run_queue_sums *sums),
			void *context)
{
	const struct bpf_map *map = queue->skeleton->maps.sums;
	uint64_t key, *last = NULL;
	run_queue_bpf__detach(queue->skeleton);
	read_cpus(queue, take, context);
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
