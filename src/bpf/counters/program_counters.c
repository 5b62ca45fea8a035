/* Loads program_counters.bpf.c once for each program that is measured, and reads its sums (program_counters.h). */
#include "bpf/counters/program_counters.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "bpf/support.h"
#include "program_counters.skel.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct measured {
	struct program_counters_bpf *skeleton; /* or NULL */
	uint32_t id;
};

struct bpf_program_counters {
	struct measured *programs;
	size_t count;
	uint32_t cpus;
	struct bpf_perf_event_value *values; /* room for one of each CPU */
};

/* The name of its function as its type information has it: the program's own name is cut to 15 bytes. NULL when there is none. Freed by the
 * caller. */
static char *find_function(int fd)
{
	struct bpf_func_info function = {0};
	struct bpf_prog_info info = {.nr_func_info = 1, .func_info_rec_size = sizeof(function), .func_info = (uintptr_t)&function};
	uint32_t size = sizeof(info);
	char *name = NULL;

	if (bpf_obj_get_info_by_fd(fd, &info, &size) || !info.btf_id || !info.nr_func_info)
		return NULL;
	struct btf *btf = btf__load_from_kernel_by_id(info.btf_id);
	const struct btf_type *type = btf ? btf__type_by_id(btf, function.type_id) : NULL;
	const char *text = type ? btf__name_by_offset(btf, type->name_off) : NULL;
	if (text && *text)
		name = mem_strdup(text);
	btf__free(btf);
	return name;
}

static struct error *open_one(const struct bpf_program_counters *counters, uint32_t events, struct measured *program)
{
	cleanup_free char *what = mem_printf("the BPF program that measures program %u", program->id);
	cleanup_close int fd = bpf_prog_get_fd_by_id(program->id);
	if (fd < 0 && errno == ENOENT)
		return error_new("no BPF program %u; 'bpftool prog' lists the programs", program->id);
	if (fd < 0)
		return error_system(errno, "BPF program %u", program->id);
	cleanup_free char *function = find_function(fd);
	if (!function)
		return error_new_kind(ERROR_UNSUPPORTED,
				      "BPF program %u was loaded without type information (BTF), so the kernel does not allow "
				      "attaching to it",
				      program->id);
	program->skeleton = program_counters_bpf__open();
	if (!program->skeleton)
		return bpf_support_explain(-errno, what);
	struct program_counters_bpf *skeleton = program->skeleton;
	struct program_counters_config *config = (struct program_counters_config *)&skeleton->rodata->config;
	*config = (struct program_counters_config){.events = events, .cpus = counters->cpus};
	bpf_map__set_max_entries(skeleton->maps.counters, events * counters->cpus + 1);
	int failure = bpf_program__set_attach_target(skeleton->progs.begin, fd, function);
	if (!failure)
		failure = bpf_program__set_attach_target(skeleton->progs.end, fd, function);
	if (!failure)
		failure = program_counters_bpf__load(skeleton);
	if (failure == -EINVAL || (failure == -EPERM && !geteuid()))
		return error_new_kind(
			ERROR_UNSUPPORTED,
			"the kernel does not allow attaching to BPF program %u (%s): it may be a tracing program itself, or this "
			"kernel does not support it",
			program->id, function);
	return failure ? bpf_support_explain(failure, what) : NULL;
}

struct error *bpf_program_counters_open(const uint32_t *ids, size_t count, uint32_t events, struct bpf_program_counters **ret)
{
	struct error *error = bpf_support_begin();
	if (error)
		return error;
	struct bpf_program_counters *counters = mem_zalloc(sizeof(*counters));
	counters->programs = mem_zalloc_array(count, sizeof(*counters->programs));
	counters->count = count;
	counters->cpus = (uint32_t)libbpf_num_possible_cpus();
	counters->values = mem_zalloc_array(counters->cpus, sizeof(*counters->values));
	for (size_t i = 0; i < count && !error; i++) {
		counters->programs[i].id = ids[i];
		error = open_one(counters, events, &counters->programs[i]);
	}
	if (error)
		bpf_program_counters_close(counters);
	else
		*ret = counters;
	return error;
}

void bpf_program_counters_close(struct bpf_program_counters *counters)
{
	if (!counters)
		return;
	for (size_t i = 0; i < counters->count; i++)
		program_counters_bpf__destroy(counters->programs[i].skeleton);
	free(counters->programs);
	free(counters->values);
	free(counters);
}

struct error *bpf_program_counters_add_event(struct bpf_program_counters *counters, uint32_t event, int cpu, int fd)
{
	uint32_t key = event * counters->cpus + (uint32_t)cpu;
	int error = 0;

	for (size_t i = 0; i < counters->count && !error; i++)
		error = bpf_map__update_elem(counters->programs[i].skeleton->maps.counters, &key, sizeof(key), &fd, sizeof(fd), BPF_ANY);
	return error ? error_system(-error, "a BPF program cannot read the counter") : NULL;
}

/* The end first: each beginning that is noted has its end then. */
struct error *bpf_program_counters_start(struct bpf_program_counters *counters)
{
	for (size_t i = 0; i < counters->count; i++) {
		struct program_counters_bpf *skeleton = counters->programs[i].skeleton;
		skeleton->links.end = bpf_program__attach_trace(skeleton->progs.end);
		skeleton->links.begin = skeleton->links.end ? bpf_program__attach_trace(skeleton->progs.begin) : NULL;
		if (!skeleton->links.begin) {
			cleanup_free char *what = mem_printf("the BPF program that measures program %u", counters->programs[i].id);
			return bpf_support_explain(-errno, what);
		}
	}
	return NULL;
}

void bpf_program_counters_set_running(struct bpf_program_counters *counters, bool running)
{
	for (size_t i = 0; i < counters->count; i++)
		__atomic_store_n(&counters->programs[i].skeleton->bss->running, running, __ATOMIC_RELEASE);
}

void bpf_program_counters_read(struct bpf_program_counters *counters, uint32_t event, int cpu, struct bpf_task_counters_value *ret)
{
	*ret = (struct bpf_task_counters_value){0};
	for (size_t i = 0; i < counters->count && (uint32_t)cpu < counters->cpus; i++) {
		const struct bpf_map *sums = counters->programs[i].skeleton->maps.sums;
		const struct bpf_perf_event_value *value = &counters->values[cpu];
		if (bpf_map__lookup_elem(sums, &event, sizeof(event), counters->values, counters->cpus * sizeof(*counters->values), 0))
			continue;
		ret->value += value->counter;
		ret->enabled_ns += value->enabled;
		ret->running_ns += value->running;
	}
}
