/* The two programs that measure time off the CPU, and what off_cpu.c does with either. */
#pragma once

#include "bpf/off_cpu/off_cpu.h"

#include <bpf/libbpf.h>

/* One that is open, not yet loaded. */
struct off_cpu_program {
	void *memory; /* of the skeleton's own structure, which is freed at the end */
	struct bpf_object_skeleton *skeleton;
	struct off_cpu_config *config;
	struct bpf_map *waits, *even_sums, *odd_sums, *ring, *told, *walks, *followed, *targets, *cpus;
	struct bpf_map *python_codes, *python_threads; /* of the one that walks, or NULL */
	struct bpf_program *begin_thread;
	uint32_t *period, *turn, *forgets;
	const uint64_t *missed, *unseen, *unfollowed;
};

/* From a skeleton of off_cpu.bpf.h. */
#define OFF_CPU_PROGRAM(open)                                                                 \
	((struct off_cpu_program){.memory = (open),                                           \
				  .skeleton = (open)->skeleton,                               \
				  .config = (struct off_cpu_config *)&(open)->rodata->config, \
				  .waits = (open)->maps.waits,                                \
				  .even_sums = (open)->maps.even_sums,                        \
				  .odd_sums = (open)->maps.odd_sums,                          \
				  .ring = (open)->maps.ring,                                  \
				  .told = (open)->maps.told,                                  \
				  .walks = (open)->maps.walks,                                \
				  .followed = (open)->maps.followed,                          \
				  .targets = (open)->maps.targets,                            \
				  .cpus = (open)->maps.cpus,                                  \
				  .begin_thread = (open)->progs.begin_thread,                 \
				  .period = &(open)->bss->period,                             \
				  .turn = &(open)->bss->turn,                                 \
				  .forgets = &(open)->bss->forgets,                           \
				  .missed = &(open)->bss->missed,                             \
				  .unseen = &(open)->bss->unseen,                             \
				  .unfollowed = &(open)->bss->unfollowed})

/* off_cpu_walk.c: the one that walks user stacks by the rows of `stacks`, and copies them while no more than `room` bytes are in the ring.
 * Returns 0, or a negative error number. */
int off_cpu_open_walking(const struct bpf_user_stacks *stacks, uint32_t depth, uint64_t room, struct off_cpu_program *ret);
