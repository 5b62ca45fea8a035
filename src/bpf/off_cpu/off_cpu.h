/* Time off the CPU, measured in the kernel: sums of short waits by thread and stack, and long ones one by one.
 *
 *	bpf_off_cpu_open(&options, &off_cpu);
 *	bpf_off_cpu_add_target(off_cpu, tid);		// for each, with config.by_target
 *	bpf_off_cpu_start(off_cpu);
 *	bpf_off_cpu_switch(off_cpu, true);
 *	… bpf_off_cpu_turn(off_cpu); … bpf_off_cpu_take(off_cpu, &taker, context); …
 *	bpf_off_cpu_stop(off_cpu);			// then turn and take once more
 *	bpf_off_cpu_close(off_cpu);
 */
#pragma once

#include "base/error.h"
#include "bpf/off_cpu/off_cpu_shared.h"
#include "bpf/user_stacks.h"

#include <stddef.h>
#include <sys/types.h>

struct bpf_off_cpu;

struct bpf_off_cpu_options {
	struct off_cpu_config config; /* the namespace and wake_bytes are filled in */
	const int *cpus;	      /* with config.on_cpus */
	size_t cpu_count;
	size_t targets; /* at most so many are added */
	/* User stacks are walked by these rows, which live as long as what is opened; NULL: by frame pointers. */
	const struct bpf_user_stacks *stacks;
	uint32_t depth; /* with stacks: user frames that are followed at most */
};

/* Loads the program; an error says why that isn't possible here. */
struct error *bpf_off_cpu_open(const struct bpf_off_cpu_options *options, struct bpf_off_cpu **ret);
/* NULL is fine. */
void bpf_off_cpu_close(struct bpf_off_cpu *off_cpu);
/* A thread, in our pid namespace. Before bpf_off_cpu_start(). */
struct error *bpf_off_cpu_add_target(struct bpf_off_cpu *off_cpu, pid_t tid);
/* Nothing is measured yet. */
struct error *bpf_off_cpu_start(struct bpf_off_cpu *off_cpu);
void bpf_off_cpu_switch(struct bpf_off_cpu *off_cpu, bool on);
/* Waits that end from now on aren't in what bpf_off_cpu_take() gives, but for long ones. Some microseconds should pass between the two:
 * what programs add just now isn't there before. */
void bpf_off_cpu_turn(struct bpf_off_cpu *off_cpu);
/* Who is told: of a code of Python before the first stack that names it, of a stack before the first wait that began with it. What a
 * stack is followed by has so many bytes. */
struct bpf_off_cpu_taker {
	void (*take_stack)(void *context, const struct bpf_off_cpu_stack *stack, size_t behind);
	void (*take_python)(void *context, const struct bpf_off_cpu_python *python, size_t lines);
	void (*take_wait)(void *context, const struct bpf_off_cpu_wait *wait);
};
/* Waits that ended since the last time. */
struct error *bpf_off_cpu_take(struct bpf_off_cpu *off_cpu, const struct bpf_off_cpu_taker *taker, void *context);
/* What began with this stack is told of anew, with the stack. */
void bpf_off_cpu_forget(struct bpf_off_cpu *off_cpu, uint64_t stack);
/* Codes of Python that were told of are told of again, by other numbers, when they are met. */
void bpf_off_cpu_forget_codes(struct bpf_off_cpu *off_cpu);
/* Waits that go on. */
void bpf_off_cpu_each_wait(struct bpf_off_cpu *off_cpu, void (*look)(void *context, const struct bpf_off_cpu_wait *wait), void *context);
/* No program runs any more. */
void bpf_off_cpu_stop(struct bpf_off_cpu *off_cpu);
/* Readable when long waits should be taken soon. */
int bpf_off_cpu_fd(const struct bpf_off_cpu *off_cpu);
/* Waits and threads for which there was no room. */
uint64_t bpf_off_cpu_missed(const struct bpf_off_cpu *off_cpu);
/* Waits that are not told of, since the kernel did not tell of their end. */
uint64_t bpf_off_cpu_unseen(const struct bpf_off_cpu *off_cpu);
