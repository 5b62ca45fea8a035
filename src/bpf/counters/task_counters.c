/* Loads task_counters.bpf.c and reads its sums (task_counters.h). */
#include "bpf/counters/task_counters.h"

#include "base/mem.h"
#include "bpf/support.h"
#include "task_counters.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>

enum { MOST_TRIES = 100 };

struct bpf_task_counters {
	struct task_counters_bpf *skeleton;
	uint32_t cpus, cells;
	struct bpf_perf_event_value *values; /* room for one of each CPU */
};

static const char *const program = "the BPF program for counters";

static void size_maps(struct task_counters_bpf *skeleton, const struct counters_config *config, size_t targets)
{
	bpf_map__set_max_entries(skeleton->maps.counters, config->events * config->cpus + 1);
	bpf_map__set_max_entries(skeleton->maps.sums, config->events * config->cells + 1);
	bpf_map__set_max_entries(skeleton->maps.targets, (uint32_t)targets + 1);
}

static int load(struct task_counters_bpf *skeleton)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int failure = task_counters_bpf__load(skeleton);

	return failure ? failure : bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.find_level), &options);
}

struct error *bpf_task_counters_open(const struct bpf_task_counters_options *options, struct bpf_task_counters **ret)
{
	struct error *error = bpf_support_begin();
	if (error)
		return error;
	struct bpf_task_counters *counters = mem_zalloc(sizeof(*counters));
	counters->skeleton = task_counters_bpf__open();
	int failure = counters->skeleton ? 0 : -errno;
	if (!failure) {
		struct counters_config *config = (struct counters_config *)&counters->skeleton->rodata->config;
		*config = options->config;
		config->cpus = counters->cpus = (uint32_t)libbpf_num_possible_cpus();
		counters->cells = config->cells;
		counters->values = mem_zalloc_array(counters->cpus, sizeof(*counters->values));
		size_maps(counters->skeleton, config, options->targets);
		failure = load(counters->skeleton);
	}
	if (failure) {
		bpf_task_counters_close(counters);
		return bpf_support_explain(failure, program);
	}
	*ret = counters;
	return NULL;
}

void bpf_task_counters_close(struct bpf_task_counters *counters)
{
	if (!counters)
		return;
	task_counters_bpf__destroy(counters->skeleton);
	free(counters->values);
	free(counters);
}

struct error *bpf_task_counters_add_event(struct bpf_task_counters *counters, uint32_t event, int cpu, int fd)
{
	uint32_t key = event * counters->cpus + (uint32_t)cpu;
	int error = bpf_map__update_elem(counters->skeleton->maps.counters, &key, sizeof(key), &fd, sizeof(fd), BPF_ANY);

	return error ? error_system(-error, "a BPF program cannot read the counter") : NULL;
}

struct error *bpf_task_counters_add_target(struct bpf_task_counters *counters, pid_t tid, const struct counters_target *target)
{
	uint32_t key = (uint32_t)tid;
	int error = bpf_map__update_elem(counters->skeleton->maps.targets, &key, sizeof(key), target, sizeof(*target), BPF_NOEXIST);

	return error && error != -EEXIST ? error_system(-error, "thread %d cannot be followed", (int)tid) : NULL;
}

struct error *bpf_task_counters_start(struct bpf_task_counters *counters)
{
	int error = task_counters_bpf__attach(counters->skeleton);
	if (error)
		return bpf_support_explain(error, program);
	bpf_task_counters_update(counters);
	__atomic_store_n(&counters->skeleton->bss->begun, true, __ATOMIC_RELEASE);
	return NULL;
}

void bpf_task_counters_set_running(struct bpf_task_counters *counters, bool running)
{
	__atomic_store_n(&counters->skeleton->bss->running, running, __ATOMIC_RELEASE);
}

/* CPUs that are offline refuse. */
void bpf_task_counters_update(struct bpf_task_counters *counters)
{
	int fd = bpf_program__fd(counters->skeleton->progs.count_here);

	for (uint32_t cpu = 0; cpu < counters->cpus; cpu++)
		for (int i = 0; i < MOST_TRIES; i++) {
			LIBBPF_OPTS(bpf_test_run_opts, options, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);
			if (bpf_prog_test_run_opts(fd, &options) || !options.retval)
				break;
		}
}

void bpf_task_counters_read(struct bpf_task_counters *counters, uint32_t event, uint32_t cell, struct bpf_task_counters_value *ret)
{
	uint32_t key = event * counters->cells + cell;

	*ret = (struct bpf_task_counters_value){0};
	if (bpf_map__lookup_elem(counters->skeleton->maps.sums, &key, sizeof(key), counters->values,
				 counters->cpus * sizeof(*counters->values), 0))
		return;
	for (uint32_t cpu = 0; cpu < counters->cpus; cpu++) {
		ret->value += counters->values[cpu].counter;
		ret->enabled_ns += counters->values[cpu].enabled;
		ret->running_ns += counters->values[cpu].running;
	}
}

uint32_t bpf_task_counters_unfollowed(const struct bpf_task_counters *counters)
{
	return __atomic_load_n(&counters->skeleton->bss->unfollowed, __ATOMIC_RELAXED);
}

uint32_t bpf_task_counters_missed(const struct bpf_task_counters *counters)
{
	return __atomic_load_n(&counters->skeleton->bss->missed, __ATOMIC_RELAXED);
}
