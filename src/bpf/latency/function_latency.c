/* Loads function_latency.bpf.c and reads its sums (function_latency.h). */
#include "bpf/latency/function_latency.h"

#include "base/mem.h"
#include "bpf/support.h"
#include "function_latency.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

struct bpf_function_latency {
	struct function_latency_bpf *skeleton;
};

static const char *const program = "the BPF program that measures functions (fentry, fexit)";

static int fill_cpus(const struct bpf_function_latency *latency, const struct bpf_function_latency_options *options)
{
	uint8_t one = 1;
	int failure = 0;

	for (size_t i = 0; options->config.on_cpus && i < options->cpu_count && !failure; i++)
		failure = bpf_map__update_elem(latency->skeleton->maps.cpus, &options->cpus[i], sizeof(int), &one, sizeof(one), BPF_ANY);
	return failure;
}

static int load(struct function_latency_bpf *skeleton, const char *function)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int failure = bpf_program__set_attach_target(skeleton->progs.begin, 0, function);

	if (!failure)
		failure = bpf_program__set_attach_target(skeleton->progs.end, 0, function);
	if (!failure)
		failure = function_latency_bpf__load(skeleton);
	return failure ? failure : bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.find_level), &options);
}

struct error *bpf_function_latency_open(const char *function, const struct bpf_function_latency_options *options,
					struct bpf_function_latency **ret)
{
	struct error *error = bpf_support_begin();
	if (error)
		return error;
	struct bpf_function_latency *latency = mem_zalloc(sizeof(*latency));
	struct function_latency_bpf *skeleton = latency->skeleton = function_latency_bpf__open();
	int failure = skeleton ? 0 : -errno;
	if (!failure) {
		*(struct function_latency_config *)&skeleton->rodata->config = options->config;
		bpf_map__set_max_entries(skeleton->maps.targets, (uint32_t)options->targets + 1);
		bpf_map__set_max_entries(skeleton->maps.cpus, (uint32_t)libbpf_num_possible_cpus());
		failure = load(skeleton, function);
	}
	if (!failure)
		failure = fill_cpus(latency, options);
	if (!failure) {
		*ret = latency;
		return NULL;
	}
	bpf_function_latency_close(latency);
	if (failure == -ESRCH || failure == -ENOENT || failure == -EINVAL)
		return error_new_kind(ERROR_UNSUPPORTED,
				      "cannot attach BPF programs to '%s': the kernel has no such function, or no BTF for it; omit -b",
				      function);
	return bpf_support_explain(failure, program);
}

void bpf_function_latency_close(struct bpf_function_latency *latency)
{
	if (!latency)
		return;
	function_latency_bpf__destroy(latency->skeleton);
	free(latency);
}

struct error *bpf_function_latency_add_target(struct bpf_function_latency *latency, pid_t tid)
{
	return bpf_support_add_target(latency->skeleton->maps.targets, (int)tid, "calls");
}

/* The end first: each beginning that is noted has its end then. */
struct error *bpf_function_latency_start(struct bpf_function_latency *latency)
{
	struct function_latency_bpf *skeleton = latency->skeleton;

	skeleton->links.end = bpf_program__attach_trace(skeleton->progs.end);
	skeleton->links.begin = skeleton->links.end ? bpf_program__attach_trace(skeleton->progs.begin) : NULL;
	return skeleton->links.begin ? NULL : bpf_support_explain(-errno, program);
}

void bpf_function_latency_switch(struct bpf_function_latency *latency, bool on)
{
	__atomic_store_n(&latency->skeleton->bss->running, on, __ATOMIC_RELEASE);
}

static void add(struct function_latency_sums *to, const struct function_latency_sums *from)
{
	if (!from->calls)
		return;
	for (size_t i = 0; i < FUNCTION_LATENCY_BUCKETS; i++)
		to->counts[i] += from->counts[i];
	if (!to->calls || from->shortest_ns < to->shortest_ns)
		to->shortest_ns = from->shortest_ns;
	if (from->longest_ns > to->longest_ns)
		to->longest_ns = from->longest_ns;
	to->total_ns += from->total_ns;
	to->calls += from->calls;
}

void bpf_function_latency_read(struct bpf_function_latency *latency, struct function_latency_sums *ret)
{
	uint32_t zero = 0, cpus = (uint32_t)libbpf_num_possible_cpus();
	struct function_latency_sums *each = mem_zalloc_array(cpus, sizeof(*each));

	*ret = (struct function_latency_sums){0};
	if (!bpf_map__lookup_elem(latency->skeleton->maps.sums, &zero, sizeof(zero), each, cpus * sizeof(*each), 0))
		for (uint32_t i = 0; i < cpus; i++)
			add(ret, &each[i]);
	free(each);
}

uint64_t bpf_function_latency_missed(const struct bpf_function_latency *latency)
{
	return __atomic_load_n(&latency->skeleton->bss->missed, __ATOMIC_RELAXED);
}
