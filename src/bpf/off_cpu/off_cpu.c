/* Loads off_cpu.bpf.c and reads what it has measured (off_cpu.h). */
#include "bpf/off_cpu/off_cpu.h"

#include "base/mem.h"
#include "bpf/off_cpu/off_cpu_internal.h"
#include "bpf/ring.h"
#include "bpf/support.h"
#include "bpf/tracepoints.h"
#include "off_cpu.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

enum { MOST_THREADS = 1 << 16, MOST_SUMS = 1 << 14, STACKS_TOLD = 1 << 15, RING_BYTES = 1 << 23, AT_ONCE = 256 };

struct bpf_off_cpu {
	struct off_cpu_program program;
	struct bpf_ring ring;
	struct bpf_off_cpu_wait *taken; /* AT_ONCE */
	void *keys;
	size_t key_size;
};

static const char *const program = "the BPF program that measures time off the CPU (tracepoint sched:sched_switch)";

/* Room is taken when it is used: nearly all entries are never needed. */
static void size_map(struct bpf_map *map, size_t entries)
{
	bpf_map__set_max_entries(map, (uint32_t)(entries ? entries : 1));
	bpf_map__set_map_flags(map, BPF_F_NO_PREALLOC);
}

static void size_maps(const struct off_cpu_program *maps, const struct bpf_off_cpu_options *options)
{
	uint32_t cpus = (uint32_t)libbpf_num_possible_cpus();

	size_map(maps->waits, MOST_THREADS);
	size_map(maps->even_sums, MOST_SUMS);
	size_map(maps->odd_sums, MOST_SUMS);
	size_map(maps->followed, options->config.inherit ? MOST_THREADS : 1);
	bpf_map__set_max_entries(maps->targets, (uint32_t)(options->targets ? options->targets : 1));
	bpf_map__set_max_entries(maps->ring, RING_BYTES);
	bpf_map__set_max_entries(maps->told, STACKS_TOLD);
	bpf_map__set_max_entries(maps->walks, cpus);
	if (options->config.on_cpus)
		bpf_map__set_max_entries(maps->cpus, cpus);
	bpf_program__set_autoload(maps->begin_thread, options->config.by_target && options->config.inherit);
}

/* The one that walks user stacks, where there are rows. */
static int open_program(const struct bpf_off_cpu_options *options, struct off_cpu_program *ret)
{
	if (options->stacks)
		return off_cpu_open_walking(options->stacks, options->depth, RING_BYTES / 4 * 3, ret);
	struct off_cpu_bpf *open = off_cpu_bpf__open();
	if (!open)
		return -errno;
	*ret = OFF_CPU_PROGRAM(open);
	return 0;
}

static struct error *load(struct bpf_off_cpu *off_cpu, const struct bpf_off_cpu_options *options)
{
	const struct off_cpu_program *loaded = &off_cpu->program;
	uint8_t one = 1;
	*loaded->config = options->config;
	loaded->config->wake_bytes = RING_BYTES / 4;
	struct error *error = bpf_pid_namespace(&loaded->config->namespace_device, &loaded->config->namespace);
	if (error)
		return error;
	size_maps(loaded, options);
	int failure = bpf_object__load_skeleton(loaded->skeleton);
	for (size_t i = 0; options->config.on_cpus && i < options->cpu_count && !failure; i++)
		failure = bpf_map__update_elem(loaded->cpus, &options->cpus[i], sizeof(int), &one, sizeof(one), BPF_ANY);
	if (failure)
		return bpf_support_explain(failure, program);
	off_cpu->key_size = bpf_map__key_size(loaded->even_sums);
	off_cpu->keys = mem_alloc(off_cpu->key_size * AT_ONCE);
	off_cpu->taken = mem_alloc(sizeof(*off_cpu->taken) * AT_ONCE);
	return bpf_ring_open(&off_cpu->ring, bpf_map__fd(loaded->ring), RING_BYTES);
}

struct error *bpf_off_cpu_open(const struct bpf_off_cpu_options *options, struct bpf_off_cpu **ret)
{
	struct error *error = bpf_support_begin_at_tracepoints();
	if (!error)
		error = bpf_tracepoints_check();
	if (error)
		return error;
	struct bpf_off_cpu *off_cpu = mem_zalloc(sizeof(*off_cpu));
	int failure = open_program(options, &off_cpu->program);
	error = failure ? bpf_support_explain(failure, program) : load(off_cpu, options);
	if (error)
		bpf_off_cpu_close(off_cpu);
	else
		*ret = off_cpu;
	return error;
}

void bpf_off_cpu_close(struct bpf_off_cpu *off_cpu)
{
	if (!off_cpu)
		return;
	bpf_ring_close(&off_cpu->ring);
	bpf_object__destroy_skeleton(off_cpu->program.skeleton);
	free(off_cpu->program.memory);
	free(off_cpu->keys);
	free(off_cpu->taken);
	free(off_cpu);
}

struct error *bpf_off_cpu_add_target(struct bpf_off_cpu *off_cpu, pid_t tid)
{
	return bpf_support_add_target(off_cpu->program.targets, (int)tid, "time off the CPU");
}

struct error *bpf_off_cpu_start(struct bpf_off_cpu *off_cpu)
{
	int failure = bpf_object__attach_skeleton(off_cpu->program.skeleton);
	return failure ? bpf_support_explain(failure, program) : NULL;
}

void bpf_off_cpu_switch(struct bpf_off_cpu *off_cpu, bool on)
{
	uint32_t period = *off_cpu->program.period;
	if ((period & 1) != on)
		__atomic_store_n(off_cpu->program.period, period + 1, __ATOMIC_RELEASE);
}

void bpf_off_cpu_turn(struct bpf_off_cpu *off_cpu)
{
	__atomic_fetch_add(off_cpu->program.turn, 1, __ATOMIC_ACQ_REL);
}

/* Empties the map of sums that is at rest. */
static int take_sums(struct bpf_off_cpu *off_cpu, const struct bpf_map *sums,
		     void (*take)(void *context, const struct bpf_off_cpu_wait *wait), void *context)
{
	uint32_t place = 0, count = AT_ONCE;
	int failure = 0;
	for (bool more = false; !failure; more = true, count = AT_ONCE) {
		failure = bpf_map_lookup_and_delete_batch(bpf_map__fd(sums), more ? &place : NULL, &place, off_cpu->keys, off_cpu->taken,
							  &count, NULL);
		for (uint32_t i = 0; (!failure || failure == -ENOENT) && i < count; i++)
			take(context, &off_cpu->taken[i]);
	}
	return failure == -ENOENT ? 0 : failure;
}

static void take_record(const struct bpf_off_cpu_taker *taker, void *context, const void *record, size_t size)
{
	const struct bpf_off_cpu_python *python = record;
	size_t names = offsetof(struct bpf_off_cpu_python, code.lines);
	switch (size < sizeof(uint64_t) ? OFF_CPU_WAIT : (enum off_cpu_kind) * (const uint64_t *)record) {
	case OFF_CPU_WAIT:
		if (size >= sizeof(struct bpf_off_cpu_wait))
			taker->take_wait(context, record);
		break;
	case OFF_CPU_STACK:
		if (size >= sizeof(struct bpf_off_cpu_stack))
			taker->take_stack(context, record, size - sizeof(struct bpf_off_cpu_stack));
		break;
	case OFF_CPU_PYTHON:
		if (size >= names && user_stacks_count(python->word) <= size - names)
			taker->take_python(context, python, user_stacks_count(python->word));
		break;
	}
}

struct error *bpf_off_cpu_take(struct bpf_off_cpu *off_cpu, const struct bpf_off_cpu_taker *taker, void *context)
{
	const struct off_cpu_program *loaded = &off_cpu->program;
	const void *record;
	uint32_t size;
	while ((record = bpf_ring_next(&off_cpu->ring, &size)))
		take_record(taker, context, record, size);
	bpf_ring_release(&off_cpu->ring);
	int failure = take_sums(off_cpu, *loaded->turn & 1 ? loaded->even_sums : loaded->odd_sums, taker->take_wait, context);
	return failure ? error_system(-failure, "sums of time off the CPU cannot be read") : NULL;
}

void bpf_off_cpu_stop(struct bpf_off_cpu *off_cpu)
{
	bpf_object__detach_skeleton(off_cpu->program.skeleton);
}

int bpf_off_cpu_fd(const struct bpf_off_cpu *off_cpu)
{
	return off_cpu->ring.fd;
}

uint64_t bpf_off_cpu_missed(const struct bpf_off_cpu *off_cpu)
{
	return __atomic_load_n(off_cpu->program.missed, __ATOMIC_RELAXED) + __atomic_load_n(off_cpu->program.unfollowed, __ATOMIC_RELAXED);
}

void bpf_off_cpu_forget(struct bpf_off_cpu *off_cpu, uint64_t stack)
{
	__atomic_store_n(off_cpu->program.forgets, 1, __ATOMIC_RELEASE);
	bpf_map__delete_elem(off_cpu->program.told, &stack, sizeof(stack), 0);
}

void bpf_off_cpu_forget_codes(struct bpf_off_cpu *off_cpu)
{
	if (!off_cpu->program.python_codes)
		return;
	bpf_support_empty(off_cpu->program.python_codes);
	bpf_support_empty(off_cpu->program.python_threads);
}

void bpf_off_cpu_each_wait(struct bpf_off_cpu *off_cpu, void (*look)(void *context, const struct bpf_off_cpu_wait *wait), void *context)
{
	uint32_t place = 0, count = AT_ONCE;
	int failure = 0;
	for (bool more = false; !failure; more = true, count = AT_ONCE) {
		failure = bpf_map_lookup_batch(bpf_map__fd(off_cpu->program.waits), more ? &place : NULL, &place, off_cpu->keys,
					       off_cpu->taken, &count, NULL);
		for (uint32_t i = 0; (!failure || failure == -ENOENT) && i < count; i++)
			if (off_cpu->taken[i].since)
				look(context, &off_cpu->taken[i]);
	}
}

uint64_t bpf_off_cpu_unseen(const struct bpf_off_cpu *off_cpu)
{
	return __atomic_load_n(off_cpu->program.unseen, __ATOMIC_RELAXED);
}
