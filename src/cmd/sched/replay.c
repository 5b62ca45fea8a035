/* perf sched replay: threads that do what the tasks of a recording did: run as long, wake each other, and sleep until they are woken. How
 * long that takes here and now is shown, over and over again.
 *
 * A step that ran burns as much CPU time; the time of an idle CPU is slept through, so that timers and interrupts come when they came. */
#include "cmd/sched/sched.h"

#include "analysis/sched/replay.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 8192, STACK_BYTES = 1 << 16, TESTS = 10, NS_PER_S = 1000000000 };

struct replay_options {
	struct sched_input common;
	int repeat; /* -1 = until a signal ends us */
};

struct stage {
	const struct sched_replay *pattern;
	sem_t *wakeups; /* by number */
	pthread_barrier_t ready, over;
	int runs; /* -1 = without end */
};

struct actor {
	struct stage *stage;
	const struct sched_actor *part;
	pthread_t thread;
};

static void burn(uint64_t ns)
{
	uint64_t end = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	while (clock_now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void rest(uint64_t ns)
{
	struct timespec time = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &time) == EINTR)
		;
}

static void play(const struct actor *actor)
{
	for (size_t i = 0; i < actor->part->steps.len; i++) {
		const struct sched_step *step = &actor->part->steps.data[i];
		if (step->kind == SCHED_STEP_WAKE)
			sem_post(&actor->stage->wakeups[step->wakeup]);
		else if (step->kind == SCHED_STEP_RUN && actor->part->idle)
			rest(step->ns);
		else if (step->kind == SCHED_STEP_RUN)
			burn(step->ns);
		else
			while (sem_wait(&actor->stage->wakeups[step->wakeup]) < 0 && errno == EINTR)
				;
	}
}

static void *act(void *context)
{
	const struct actor *actor = context;
	for (int run = 0; actor->stage->runs < 0 || run < actor->stage->runs; run++) {
		pthread_barrier_wait(&actor->stage->ready);
		play(actor);
		pthread_barrier_wait(&actor->stage->over);
	}
	return NULL;
}

/* ---- text: lines are those of the kernel's tool ---- */

static void print_overhead(void)
{
	uint64_t run = UINT64_MAX, sleep = UINT64_MAX;
	for (int i = 0; i < TESTS; i++) {
		uint64_t begin = clock_now_ns(CLOCK_MONOTONIC), end;
		burn(0);
		end = clock_now_ns(CLOCK_MONOTONIC);
		run = end - begin < run ? end - begin : run;
		begin = end;
		rest(1);
		end = clock_now_ns(CLOCK_MONOTONIC);
		sleep = end - begin < sleep ? end - begin : sleep;
	}
	printf("run measurement overhead: %" PRIu64 " nsecs\nsleep measurement overhead: %" PRIu64 " nsecs\n", run, sleep);
}

static void print_pattern(const struct sched_replay *pattern)
{
	printf("nr_run_events:        %" PRIu64 "\nnr_sleep_events:      %" PRIu64 "\nnr_wakeup_events:     %" PRIu32 "\n", pattern->runs,
	       pattern->sleeps, pattern->wakeups);
	for (size_t i = 0; i < pattern->all.len; i++) {
		const struct sched_actor *part = pattern->all.data[i];
		struct strbuf name = {0};
		text_add_untrusted(&name, part->comm);
		printf("task %6zu (%20s:%10" PRIu32 "), nr_events: %zu\n", i, strbuf_str(&name), part->head.tid, part->steps.len);
		strbuf_deinit(&name);
	}
	printf("------------------------------------------------------------\n");
}

/* All threads do it once. */
static void run_once(struct stage *stage, int number, double *wall_average, double *cpu_average)
{
	uint64_t cpu = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID), begin = clock_now_ns(CLOCK_MONOTONIC);
	pthread_barrier_wait(&stage->ready);
	pthread_barrier_wait(&stage->over);
	double wall_ms = (double)(clock_now_ns(CLOCK_MONOTONIC) - begin) / 1e6;
	double cpu_ms = (double)(clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / 1e6;
	*wall_average += (wall_ms - *wall_average) / number;
	*cpu_average += (cpu_ms - *cpu_average) / number;
	printf("#%-3d: %0.3f, ravg: %0.2f, cpu: %0.2f / %0.2f\n", number, wall_ms, *wall_average, cpu_ms, *cpu_average);
	fflush(stdout);
}

/* ---- */

static struct error *start_threads(struct stage *stage, struct actor *actors)
{
	const struct sched_replay *pattern = stage->pattern;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	int failure = 0;
	for (size_t i = 0; i < pattern->all.len && !failure; i++) {
		actors[i] = (struct actor){.stage = stage, .part = pattern->all.data[i]};
		failure = pthread_create(&actors[i].thread, &attributes, act, &actors[i]);
	}
	pthread_attr_destroy(&attributes);
	return failure ? error_system(failure, "cannot start %zu threads, one for each task of the recording", pattern->all.len) : NULL;
}

/* After an error the threads that have begun wait until the process ends. */
static struct error *replay(const struct sched_replay *pattern, int repeat)
{
	struct stage *stage = mem_zalloc(sizeof(*stage));
	struct actor *actors = mem_zalloc_array(pattern->all.len, sizeof(*actors));
	double wall_average = 0, cpu_average = 0;
	*stage = (struct stage){
		.pattern = pattern, .runs = repeat, .wakeups = mem_zalloc_array((size_t)pattern->wakeups + 1, sizeof(sem_t))};
	for (uint32_t i = 0; i < pattern->wakeups; i++)
		sem_init(&stage->wakeups[i], 0, 0);
	pthread_barrier_init(&stage->ready, NULL, (unsigned int)pattern->all.len + 1);
	pthread_barrier_init(&stage->over, NULL, (unsigned int)pattern->all.len + 1);
	struct error *error = start_threads(stage, actors);
	if (error)
		return error;
	for (int number = 1; repeat < 0 || number <= repeat; number++)
		run_once(stage, number, &wall_average, &cpu_average);
	for (size_t i = 0; i < pattern->all.len; i++)
		pthread_join(actors[i].thread, NULL);
	pthread_barrier_destroy(&stage->ready);
	pthread_barrier_destroy(&stage->over);
	free(stage->wakeups);
	free(stage);
	free(actors);
	return NULL;
}

#define O struct replay_options

static const struct option options[] = {
	OPTION_INT('r', "repeat", O, repeat, "N", "repeat the pattern N times (default 10; -1: until Ctrl-C)"),
	SCHED_OPTIONS(O),
	SCHED_DUMP(O),
	OPTION_END,
};

static struct error *check_size(const struct sched_replay *pattern)
{
	if (!pattern->all.len)
		return error_new("the recording has no context switches to repeat");
	if (pattern->all.len > MOST_THREADS)
		return error_new("the recording has %zu tasks, and each needs a thread: at most %d can be repeated. Record a shorter time",
				 pattern->all.len, MOST_THREADS);
	return NULL;
}

static struct error *repeat(struct opening *opening, int repeat)
{
	struct sched_replay *pattern = NULL;
	struct error *error = sched_replay_create(opening->session, &pattern);
	if (!error)
		error = check_size(pattern);
	if (!error) {
		print_overhead();
		print_pattern(pattern);
		error = replay(pattern, repeat);
	}
	if (!error)
		opening_warn(opening);
	sched_replay_destroy(pattern);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct replay_options command = {.repeat = 10};
	struct opening opening = {0};
	bool done;
	sched_input_init(&command.common);
	struct error *error = options_parse_alone(options, argc, argv, &command, "");
	if (!error && (!command.repeat || command.repeat < -1))
		error = error_new_kind(ERROR_USAGE, "-r %d: a number of runs, or -1", command.repeat);
	if (!error)
		error = sched_open(&opening, &command.common, false, &done);
	if (!error && !done)
		error = repeat(&opening, command.repeat);
	opening_end(&opening);
	return error;
}

static const char *const usage[] = {"[-r N] [-i FILE]", NULL};
const struct command cmd_sched_replay = {"sched replay", "Repeat what the tasks of a recording did, with threads", usage, options, run};
