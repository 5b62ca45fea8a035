/* Time off the CPU as samples of a recording: event offcpu-time, whose period is how long a thread slept, in ns. Measured by a BPF program
 * (bpf/off_cpu/off_cpu.h), which adds up short waits of a thread with the same stack; the sample of a sum is of when the last one ended.
 *
 * The event is a bpf-output one that no program writes to: the kernel knows its name and its side-band, the samples are made here. All
 * events must use CLOCK_MONOTONIC, the clock of BPF programs. */
#pragma once

#include "base/error.h"
#include "capture/counting/counter_set.h"
#include "capture/recorder.h"
#include "capture/sampling.h"
#include "capture/stacks/stack_walker.h"
#include "event/catalog.h"

#define OFF_CPU_EVENT "offcpu-time"

/* Adds the event, before sampling_configure(). */
struct error *off_cpu_samples_add_event(struct event_list *events, struct event_catalog *catalog);
/* What its samples have, after sampling_configure(). `walked`: there is a walker, so chains aren't those that the kernel gives. */
void off_cpu_samples_configure(struct event_list *events, bool walked);

struct off_cpu_samples_options {
	const struct event_list *events;     /* with open counters: ids are known */
	const struct counter_target *target; /* whose threads are measured; with `by_cpu` all */
	bool by_cpu;
	const int *cpus; /* those of -C, or NULL = all */
	size_t cpu_count;
	bool inherit;
	bool inherit_late; /* what threads make before measuring begins is left out, since no record tells of it */
	bool kernel_stacks, user_stacks;
	uint64_t threshold_ns; /* waits that last so long have a sample each */
	uint64_t every_ns; /* sums are of so long at least: fewer samples, which come late. 0 = from one pass over the rings to the next */
	/* Whose rows user stacks are walked by, the recorder's; it is closed after the samples. NULL: by frame pointers. */
	const struct stack_walker *walker;
	size_t depth; /* with a walker: user frames at most; 0 = as many as there are */
};

struct off_cpu_samples;

/* Ready to measure: that begins when the recorder says so. An error says why no BPF program can measure here. */
struct error *off_cpu_samples_open(const struct off_cpu_samples_options *options, struct off_cpu_samples **ret);
/* NULL is fine. */
void off_cpu_samples_close(struct off_cpu_samples *samples);
/* For the recorder; as long as the samples are open. */
const struct recorder_source *off_cpu_samples_source(const struct off_cpu_samples *samples);
/* Waits for which the program had no room. */
uint64_t off_cpu_samples_missed(const struct off_cpu_samples *samples);
/* Waits of whose end the kernel did not tell. */
uint64_t off_cpu_samples_unseen(const struct off_cpu_samples *samples);
