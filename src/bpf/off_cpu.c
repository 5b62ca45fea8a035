/* Loads off_cpu.bpf.c and reads what it has measured (off_cpu.h). */
#include "bpf/off_cpu.h"

#include "base/mem.h"
#include "bpf/ring.h"
#include "bpf/support.h"
#include "bpf/tracepoints.h"
#include "off_cpu.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

enum { MOST_THREADS = 1 << 16, MOST_SUMS = 1 << 14, RING_BYTES = 1 << 23, AT_ONCE = 256 };

struct bpf_off_cpu {
	struct off_cpu_bpf *skeleton;
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

static void size_maps(struct off_cpu_bpf *skeleton, const struct bpf_off_cpu_options *options)
{
	size_map(skeleton->maps.waits, MOST_THREADS);
	size_map(skeleton->maps.even_sums, MOST_SUMS);
	size_map(skeleton->maps.odd_sums, MOST_SUMS);
	size_map(skeleton->maps.followed, options->config.inherit ? MOST_THREADS : 1);
	bpf_map__set_max_entries(skeleton->maps.targets, (uint32_t)(options->targets ? options->targets : 1));
	bpf_map__set_max_entries(skeleton->maps.ring, RING_BYTES);
	if (options->config.on_cpus)
		bpf_map__set_max_entries(skeleton->maps.cpus, (uint32_t)libbpf_num_possible_cpus());
	bpf_program__set_autoload(skeleton->progs.begin_thread, options->config.by_target && options->config.inherit);
}

static struct error *load(struct bpf_off_cpu *off_cpu, const struct bpf_off_cpu_options *options)
{
	struct off_cpu_bpf *skeleton = off_cpu->skeleton;
	struct off_cpu_config *config = (struct off_cpu_config *)&skeleton->rodata->config;
	uint8_t one = 1;
	*config = options->config;
	config->wake_bytes = RING_BYTES / 4;
	struct error *error = bpf_pid_namespace(&config->namespace_device, &config->namespace);
	if (error)
		return error;
	size_maps(skeleton, options);
	int failure = off_cpu_bpf__load(skeleton);
	for (size_t i = 0; options->config.on_cpus && i < options->cpu_count && !failure; i++)
		failure = bpf_map__update_elem(skeleton->maps.cpus, &options->cpus[i], sizeof(int), &one, sizeof(one), BPF_ANY);
	if (failure)
		return bpf_support_explain(failure, program);
	off_cpu->key_size = bpf_map__key_size(skeleton->maps.even_sums);
	off_cpu->keys = mem_alloc(off_cpu->key_size * AT_ONCE);
	off_cpu->taken = mem_alloc(sizeof(*off_cpu->taken) * AT_ONCE);
	return bpf_ring_open(&off_cpu->ring, bpf_map__fd(skeleton->maps.ring), RING_BYTES);
}

struct error *bpf_off_cpu_open(const struct bpf_off_cpu_options *options, struct bpf_off_cpu **ret)
{
	struct error *error = bpf_support_begin_at_tracepoints();
	if (!error)
		error = bpf_tracepoints_check();
	if (error)
		return error;
	struct bpf_off_cpu *off_cpu = mem_zalloc(sizeof(*off_cpu));
	off_cpu->skeleton = off_cpu_bpf__open();
	error = off_cpu->skeleton ? load(off_cpu, options) : bpf_support_explain(errno, program);
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
	off_cpu_bpf__destroy(off_cpu->skeleton);
	free(off_cpu->keys);
	free(off_cpu->taken);
	free(off_cpu);
}

struct error *bpf_off_cpu_add_target(struct bpf_off_cpu *off_cpu, pid_t tid)
{
	return bpf_support_add_target(off_cpu->skeleton->maps.targets, (int)tid, "time off the CPU");
}

struct error *bpf_off_cpu_start(struct bpf_off_cpu *off_cpu)
{
	int failure = off_cpu_bpf__attach(off_cpu->skeleton);
	return failure ? bpf_support_explain(failure, program) : NULL;
}

void bpf_off_cpu_switch(struct bpf_off_cpu *off_cpu, bool on)
{
	uint32_t period = off_cpu->skeleton->bss->period;
	if ((period & 1) != on)
		__atomic_store_n(&off_cpu->skeleton->bss->period, period + 1, __ATOMIC_RELEASE);
}

void bpf_off_cpu_turn(struct bpf_off_cpu *off_cpu)
{
	__atomic_fetch_add(&off_cpu->skeleton->bss->turn, 1, __ATOMIC_ACQ_REL);
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

struct error *bpf_off_cpu_take(struct bpf_off_cpu *off_cpu, void (*take)(void *context, const struct bpf_off_cpu_wait *wait), void *context)
{
	const struct off_cpu_bpf *skeleton = off_cpu->skeleton;
	const void *record;
	uint32_t size;
	while ((record = bpf_ring_next(&off_cpu->ring, &size)))
		if (size >= sizeof(struct bpf_off_cpu_wait))
			take(context, record);
	bpf_ring_release(&off_cpu->ring);
	int failure = take_sums(off_cpu, skeleton->bss->turn & 1 ? skeleton->maps.even_sums : skeleton->maps.odd_sums, take, context);
	return failure ? error_system(-failure, "sums of time off the CPU cannot be read") : NULL;
}

void bpf_off_cpu_stop(struct bpf_off_cpu *off_cpu)
{
	off_cpu_bpf__detach(off_cpu->skeleton);
}

int bpf_off_cpu_fd(const struct bpf_off_cpu *off_cpu)
{
	return off_cpu->ring.fd;
}

uint64_t bpf_off_cpu_missed(const struct bpf_off_cpu *off_cpu)
{
	return __atomic_load_n(&off_cpu->skeleton->bss->missed, __ATOMIC_RELAXED) +
	       __atomic_load_n(&off_cpu->skeleton->bss->unfollowed, __ATOMIC_RELAXED);
}

uint64_t bpf_off_cpu_unseen(const struct bpf_off_cpu *off_cpu)
{
	return __atomic_load_n(&off_cpu->skeleton->bss->unseen, __ATOMIC_RELAXED);
}
