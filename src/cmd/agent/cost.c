/* The contract of cost. What the agent spends in user space and in its system calls the kernel counts; what others spend for it (samples
 * and records that are written in their interrupts and system calls) is estimated, and what its BPF programs take is measured in some of
 * the windows: measuring costs a little, and for all BPF programs of the machine.
 *
 *	percent = (own CPU time + records x their price + programs) / time, over the last windows with one rate
 *
 * Above the budget the rate becomes smaller by as much as it is exceeded, by a tenth at least and a half at most; far below it, it grows
 * again. Each sample has a weight, how much time it stands for (rate.c), so that sums stay what they are at any rate. */
#include "cmd/agent/agent.h"

#include "base/clock.h"
#include "base/log.h"
#include "bpf/own/run_time.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the kernel does for a record in a ring, and for a sample besides (an interrupt, its stack without what programs do), in nanoseconds:
 * on a virtual machine 200,000 calls of mmap() took 1.0 us longer each with records of them, and a loop 13 us longer for each sample of
 * 20,000 a second. Where interrupts don't leave a virtual machine they cost less. */
enum { RECORD_NS = 1000, SAMPLE_NS = 12000 };
/* A sample with all that we do for it: its stack, names, the window, to send it. Measured at 19 samples a second and CPU, under a build. */
enum { ALL_OF_SAMPLE_NS = 100000 };
/* Programs are measured in one window of so many. */
enum { BPF_EVERY = 30 };
/* Windows before anything is judged: files that are new to us are read once. */
enum { LEAST_WINDOWS = 3 };

static uint64_t own_ns(void)
{
	return clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Once a second: what is open already costs a quarter of what opening it does. */
static uint64_t read_rss(const struct agent_cost *cost)
{
	char line[256];
	ssize_t got = cost->statm >= 0 ? pread(cost->statm, line, sizeof(line) - 1, 0) : 0;
	line[got > 0 ? got : 0] = '\0';
	const char *resident = strchr(line, ' '); /* behind the whole size */
	return resident ? strtoull(resident, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

void agent_cost_init(struct agent_cost *cost, const struct agent_settings *settings)
{
	*cost = (struct agent_cost){.budget_percent = settings->budget_percent,
				    .memory_budget = settings->memory,
				    .wanted_hz = settings->sampling.period ? 0 : settings->sampling.freq,
				    .hz = settings->sampling.period ? 0 : settings->sampling.freq,
				    .statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC),
				    .bpf_stats = -1,
				    .bpf_age = BPF_EVERY};
}

static void end_bpf(struct agent_cost *cost)
{
	if (cost->bpf_stats >= 0)
		close(cost->bpf_stats);
	cost->bpf_stats = -1;
}

void agent_cost_deinit(struct agent_cost *cost)
{
	end_bpf(cost);
	if (cost->statm >= 0)
		close(cost->statm);
}

void agent_cost_begin(struct agent_cost *cost, struct agent_records records)
{
	if (cost->bpf_age >= BPF_EVERY && cost->bpf_stats < 0) {
		cost->bpf_at_begin = bpf_run_time_own();
		cost->bpf_stats = bpf_run_time_measure();
	}
	cost->begun_ns = clock_now_ns(CLOCK_MONOTONIC);
	cost->cpu_ns = own_ns();
	cost->records = records;
}

static void take_bpf(struct agent_cost *cost, uint64_t elapsed_ns)
{
	if (cost->bpf_stats < 0) {
		cost->bpf_age++;
		return;
	}
	uint64_t now = bpf_run_time_own(); /* less than at the beginning where a program is gone, or cannot be asked */
	if (now >= cost->bpf_at_begin)
		cost->bpf_percent = 100.0 * (double)(now - cost->bpf_at_begin) / (double)elapsed_ns;
	cost->bpf_age = 0;
	end_bpf(cost);
}

static void add_window(struct agent_cost *cost, uint64_t elapsed_ns, uint64_t used_ns)
{
	unsigned int at = cost->window_count++ % AGENT_COST_WINDOWS;
	unsigned int kept = cost->window_count < AGENT_COST_WINDOWS ? cost->window_count : AGENT_COST_WINDOWS;
	uint64_t elapsed = 0, used = 0;
	cost->windows[at].elapsed_ns = elapsed_ns;
	cost->windows[at].used_ns = used_ns;
	for (unsigned int i = 0; i < kept; i++) {
		elapsed += cost->windows[i].elapsed_ns;
		used += cost->windows[i].used_ns;
	}
	cost->percent = 100.0 * (double)used / (double)elapsed;
}

/* What is known holds for the old rate. */
static bool change_rate(struct agent_cost *cost, uint64_t hz)
{
	if (hz == cost->hz)
		return false;
	bool lower = hz < cost->hz;
	cost->lowered += lower;
	cost->raised += !lower;
	log_warning("%s: %.2f%% of a CPU %s, the budget is %g%%: %llu instead of %llu samples a second and CPU from now on",
		    lower ? "costs too much" : "there is room again", cost->percent, lower ? "was used" : "is used", cost->budget_percent,
		    (unsigned long long)hz, (unsigned long long)cost->hz);
	cost->hz = hz;
	cost->window_count = 0;
	cost->bpf_age = BPF_EVERY;
	return true;
}

/* Where samples are not what costs, fewer of them save nothing: processes that come and go cost what they do at any rate. So it isn't
 * lowered any more where all that is done for samples takes a fifth of the budget. */
static uint64_t lowest_rate(const struct agent_cost *cost)
{
	double per_second = cost->budget_percent / 100 / 5 * 1e9 / ALL_OF_SAMPLE_NS;
	uint64_t hz = (uint64_t)(per_second / (double)sysconf(_SC_NPROCESSORS_ONLN));
	return hz < 1 ? 1 : hz < cost->wanted_hz ? hz : cost->wanted_hz;
}

static bool settle_rate(struct agent_cost *cost)
{
	uint64_t lowest = lowest_rate(cost);
	bool exceeds = cost->percent > cost->budget_percent, was_exceeding = cost->exceeds;
	double part = cost->budget_percent / (cost->percent > 0 ? cost->percent : cost->budget_percent);
	if (cost->window_count < LEAST_WINDOWS)
		return false;
	cost->exceeds = exceeds && cost->hz <= lowest;
	if (cost->exceeds && !was_exceeding)
		log_warning("%.2f%% of a CPU is used even at the lowest rate: the budget of %g%% cannot be kept here", cost->percent,
			    cost->budget_percent);
	if (exceeds && cost->hz > lowest) {
		uint64_t hz = (uint64_t)((double)cost->hz * (part > 0.9 ? 0.9 : part < 0.5 ? 0.5 : part));
		return change_rate(cost, hz > lowest ? hz : lowest);
	}
	if (cost->hz < cost->wanted_hz && part > 1.5 && cost->window_count >= AGENT_COST_WINDOWS) {
		uint64_t hz = cost->hz + cost->hz / 4 + 1;
		return change_rate(cost, hz < cost->wanted_hz ? hz : cost->wanted_hz);
	}
	return false;
}

unsigned int agent_cost_memory(const struct agent_cost *cost)
{
	return (unsigned int)(100 * read_rss(cost) / (cost->memory_budget ? cost->memory_budget : 1));
}

static void look_at_memory(struct agent_cost *cost)
{
	bool exceeds;
	cost->rss = read_rss(cost);
	exceeds = cost->rss > cost->memory_budget;
	if (exceeds && !cost->exceeds_memory)
		log_warning("%llu MB of memory is used, the budget is %llu MB", (unsigned long long)cost->rss >> 20,
			    (unsigned long long)cost->memory_budget >> 20);
	cost->exceeds_memory = exceeds;
}

bool agent_cost_end(struct agent_cost *cost, struct agent_records records)
{
	uint64_t elapsed = clock_now_ns(CLOCK_MONOTONIC) - cost->begun_ns;
	if (!elapsed)
		return false;
	take_bpf(cost, elapsed);
	uint64_t written = (records.all - cost->records.all) * RECORD_NS + (records.samples - cost->records.samples) * SAMPLE_NS;
	uint64_t kernel = written + (uint64_t)(cost->bpf_percent / 100 * (double)elapsed);
	cost->kernel_percent = 100.0 * (double)kernel / (double)elapsed;
	add_window(cost, elapsed, own_ns() - cost->cpu_ns + kernel);
	look_at_memory(cost);
	return settle_rate(cost);
}
