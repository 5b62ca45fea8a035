/* perf bench internals: what parts of perf itself cost: records made up of what already runs, the kernel's list of symbols, opening events,
 * reading PMUs, putting build-ids into a stream (internals_inject.c). */
#include "cmd/bench/bench.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "capture/synth/synth.h"
#include "cmd/targets.h"
#include "event/parse/parse.h"
#include "kernel/counter.h"
#include "kernel/hardware/cpus.h"
#include "kernel/ring_set.h"
#include "symbol/kernel/kallsyms.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static double us_since(uint64_t begin_ns)
{
	return (double)(clock_now_ns(CLOCK_MONOTONIC) - begin_ns) / 1e3;
}

/* ---- synthesize ---- */

struct synthesize_options {
	struct bench_common common;
	bool single, multi;
	uint64_t single_runs, multi_runs, min_threads, max_threads; /* 0 = as many as there are CPUs */
};

static const struct option synthesize_table[] = {
	OPTION_FLAG('s', "st", struct synthesize_options, single, "of perf itself, by one thread (default)"),
	OPTION_FLAG('t', "mt", struct synthesize_options, multi, "of all that runs, by several threads"),
	OPTION_U64('i', "single-iterations", struct synthesize_options, single_runs, "N", "runs with one thread (default 10000)"),
	OPTION_U64('I', "multi-iterations", struct synthesize_options, multi_runs, "N", "runs with several threads (default 10)"),
	OPTION_U64('m', "min-threads", struct synthesize_options, min_threads, "N", "begin with so many threads (default 1)"),
	OPTION_U64('M', "max-threads", struct synthesize_options, max_threads, "N",
		   "end with so many threads (default: the number of CPUs)"),
	BENCH_COMMON(struct synthesize_options),
	OPTION_END,
};

static size_t count_records(const struct strbuf *records)
{
	size_t count = 0;
	for (size_t at = 0; at < records->len; count++)
		at += ((const struct perf_event_header *)(records->data + at))->size;
	return count;
}

struct synthesis {
	struct statistics us, records;
};

/* With `threads` 0: of this process alone. */
static void synthesize(struct synthesis *synthesis, uint64_t runs, unsigned int threads, bool data_maps)
{
	const pid_t own = getpid();
	struct strbuf records = {0};
	for (uint64_t run = 0; run < runs; run++) {
		strbuf_clear(&records);
		struct synth synth = {.out = &records, .data_maps = data_maps};
		uint64_t begin_ns = clock_now_ns(CLOCK_MONOTONIC);
		if (threads)
			synth_all_tasks(&synth, threads);
		else
			synth_threads(&synth, &own, 1, false);
		statistics_add(&synthesis->us, us_since(begin_ns));
		statistics_add(&synthesis->records, (double)count_records(&records));
	}
	strbuf_deinit(&records);
}

static void tell_synthesis(const struct synthesis *synthesis, const char *indent, const char *what, const char *label)
{
	const struct statistics *us = &synthesis->us, *records = &synthesis->records;
	double each = records->mean > 0 ? us->mean / records->mean : 0;
	bench_print("%sAverage %s took: %.3f usec (+- %.3f usec)\n", indent, what, us->mean, statistics_deviation(us));
	bench_print("%sAverage num. events: %.3f (+- %.3f)\n", indent, records->mean, statistics_deviation(records));
	bench_print("%sAverage time per event %.3f usec\n", indent, each);
	bench_figure("us", us->mean, "%s", label);
	bench_figure("us", each, "%s, per record", label);
}

static void synthesize_own(uint64_t runs)
{
	struct synthesis code = {0}, data = {0};
	bench_print("Computing performance of single threaded perf event synthesis by\nsynthesizing events on the perf process itself:\n");
	synthesize(&code, runs, 0, false);
	tell_synthesis(&code, "  ", "synthesis", "synthesis");
	synthesize(&data, runs, 0, true);
	tell_synthesis(&data, "  ", "data synthesis", "synthesis with data");
}

static struct error *run_synthesize(int argc, char **argv, int *ret_status)
{
	struct synthesize_options options = {.single_runs = 10000, .multi_runs = 10, .min_threads = 1};
	struct bench_cpus cpus;
	struct error *error = options_parse_alone(synthesize_table, argc, argv, &options, "");
	if (!error)
		error = bench_check_positive("--single-iterations", options.single_runs);
	if (!error)
		error = bench_check_positive("--multi-iterations", options.multi_runs);
	if (!error)
		error = bench_check_positive("--min-threads", options.min_threads);
	if (error)
		return error;
	bench_cpus_init(&cpus);
	if (!options.max_threads)
		options.max_threads = cpus.count;
	bench_cpus_deinit(&cpus);
	if (options.max_threads > 1024 || options.min_threads > options.max_threads)
		return error_new_kind(ERROR_USAGE, "--min-threads and --max-threads: expected a range of at most 1024 threads");
	bench_begin("internals/synthesize", &options.common);
	if (options.single || !options.multi)
		synthesize_own(options.single_runs);
	if (options.multi)
		bench_print("Computing performance of multi threaded perf event synthesis by\nsynthesizing events on all CPUs:\n");
	for (uint64_t threads = options.min_threads; options.multi && threads <= options.max_threads; threads++) {
		struct synthesis all = {0};
		char label[64];
		snprintf(label, sizeof(label), "synthesis of all by %" PRIu64 " threads", threads);
		synthesize(&all, options.multi_runs, (unsigned int)threads, false);
		bench_print("  Number of synthesis threads: %" PRIu64 "\n", threads);
		tell_synthesis(&all, "    ", "synthesis", label);
	}
	bench_end();
	return NULL;
}

/* ---- kallsyms-parse, pmu-scan ---- */

struct repeat_options {
	struct bench_common common;
	uint64_t runs;
};

static const struct option kallsyms_table[] = {
	OPTION_U64('i', "iterations", struct repeat_options, runs, "N", "runs (default 1)"),
	BENCH_COMMON(struct repeat_options),
	OPTION_END,
};

static bool count_symbol(void *context, uint64_t address, char type, const char *name, const char *module)
{
	++*(uint64_t *)context;
	return true;
}

static struct error *run_kallsyms(int argc, char **argv, int *ret_status)
{
	struct repeat_options options = {.runs = 1};
	struct statistics ms = {0};
	struct error *error = options_parse_alone(kallsyms_table, argc, argv, &options, "");
	if (!error)
		error = bench_check_positive("--iterations", options.runs);
	if (error)
		return error;
	bench_begin("internals/kallsyms-parse", &options.common);
	for (uint64_t run = 0; run < options.runs; run++) {
		uint64_t begin_ns = clock_now_ns(CLOCK_MONOTONIC), symbols = 0;
		error = kallsyms_visit("/proc/kallsyms", count_symbol, &symbols);
		if (error)
			return error;
		statistics_add(&ms, us_since(begin_ns) / 1e3);
	}
	bench_print("  Average kallsyms__parse took: %.3f ms (+- %.3f ms)\n", ms.mean, statistics_deviation(&ms));
	bench_figure("ms", ms.mean, "kallsyms");
	bench_end();
	return NULL;
}

static const struct option scan_table[] = {
	OPTION_U64('i', "iterations", struct repeat_options, runs, "N", "runs (default 100)"),
	BENCH_COMMON(struct repeat_options),
	OPTION_END,
};

static void scan_pmus(bool core_alone, uint64_t runs, struct statistics *us)
{
	for (uint64_t run = 0; run < runs; run++) {
		uint64_t begin_ns = clock_now_ns(CLOCK_MONOTONIC);
		struct pmu_list *list = pmu_list_load("");
		for (size_t i = 0; i < list->pmus.len; i++) {
			pmu_load_head(list, list->pmus.data[i]);
			if (!core_alone || list->pmus.data[i]->is_core)
				pmu_load(list, list->pmus.data[i]);
		}
		pmu_list_destroy(list);
		statistics_add(us, us_since(begin_ns));
	}
}

static struct error *run_scan(int argc, char **argv, int *ret_status)
{
	struct repeat_options options = {.runs = 100};
	struct statistics core = {0}, all = {0};
	struct error *error = options_parse_alone(scan_table, argc, argv, &options, "");
	if (!error)
		error = bench_check_positive("--iterations", options.runs);
	if (error)
		return error;
	bench_begin("internals/pmu-scan", &options.common);
	bench_print("Computing performance of sysfs PMU event scan for %" PRIu64 " times\n", options.runs);
	scan_pmus(true, options.runs, &core);
	bench_print("  Average core PMU scanning took: %.3f usec (+- %.3f usec)\n", core.mean, statistics_deviation(&core));
	scan_pmus(false, options.runs, &all);
	bench_print("  Average PMU scanning took: %.3f usec (+- %.3f usec)\n", all.mean, statistics_deviation(&all));
	bench_figure("us", core.mean, "core PMUs");
	bench_figure("us", all.mean, "all PMUs");
	bench_end();
	return NULL;
}

/* ---- evlist-open-close ---- */

struct open_options {
	struct bench_common common;
	const char *events;
	uint64_t runs, count;
	bool per_thread;
	struct targets targets;
};

static const struct option open_table[] = {
	OPTION_STRING('e', "event", struct open_options, events, "EVENTS", "open these (default: dummy events)"),
	OPTION_U64('n', "nr-events", struct open_options, count, "N", "how many dummy events, or copies of those of -e (default 1)"),
	OPTION_U64('i', "iterations", struct open_options, runs, "N", "runs (default 100)"),
	OPTION_FLAG(0, "per-thread", struct open_options, per_thread, "a counter for each thread instead of one for each CPU"),
	OPTION_GROUP(targets_group, struct open_options, targets),
	BENCH_COMMON(struct open_options),
	OPTION_END,
};

/* As perf record opens an event: it samples. */
static struct error *open_one(const struct event *event, const struct counter_target *target, struct perf_open *state, struct counter *ret)
{
	struct counter_failure failure;
	struct perf_event_attr attr;
	memcpy(&attr, &event->attr, sizeof(attr));
	attr.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
	attr.disabled = 1;
	attr.inherit = target->cpus[0] >= 0; /* a ring of a thread has no room for what it starts */
	if (!attr.sample_period) {
		attr.freq = 1;
		attr.sample_freq = 4000;
	}
	int result = counter_open(ret, state, &attr, event->precise_max, target, NULL, NULL, 0, &failure);
	return result ? error_system(-result, "cannot open %s; 'perf doctor' shows what can be measured here", event->name) : NULL;
}

/* Rings as perf record has them, and all counters switched on and off. */
static struct error *map_and_switch(const struct ring_set_counter *counters, size_t count, const struct counter_target *target)
{
	enum { PAGES = 128 };
	struct ring_set rings = {0};
	int result = ring_set_open(&rings, counters, count, target, PAGES);
	if (result)
		return error_system(-result, "cannot map rings");
	for (size_t i = 0; i < count && !result; i++)
		result = counter_enable(counters[i].counter);
	for (size_t i = 0; i < count && !result; i++)
		result = counter_disable(counters[i].counter);
	ring_set_close(&rings);
	return result ? error_system(-result, "cannot switch counters on and off") : NULL;
}

/* All events at all places, and closed again. */
static struct error *open_and_close(const struct event_list *events, const struct counter_target *target)
{
	struct counter *counters = mem_zalloc_array(events->events.len, sizeof(*counters));
	struct ring_set_counter *mapped = mem_zalloc_array(events->events.len, sizeof(*mapped));
	struct perf_open state = {0};
	struct error *error = NULL;
	size_t opened = 0;
	for (; opened < events->events.len && !error; opened++) {
		mapped[opened].counter = &counters[opened];
		error = open_one(events->events.data[opened], target, &state, &counters[opened]);
	}
	if (!error)
		error = map_and_switch(mapped, opened, target);
	for (size_t i = 0; i < opened; i++)
		counter_close(&counters[i]);
	free(mapped);
	free(counters);
	return error;
}

static struct error *measure_opening(const struct open_options *options, const struct event_list *events,
				     const struct counter_target *target)
{
	struct statistics us = {0};
	size_t places = target->cpu_count * target->thread_count;
	bench_print(
		"  Number of cpus:\t%zu\n  Number of threads:\t%zu\n  Number of events:\t%zu (%zu fds)\n  Number of iterations:\t%" PRIu64
		"\n",
		target->cpu_count, target->thread_count, events->events.len, events->events.len * places, options->runs);
	for (uint64_t run = 0; run < options->runs; run++) {
		uint64_t begin_ns = clock_now_ns(CLOCK_MONOTONIC);
		struct error *error = open_and_close(events, target);
		if (error)
			return error;
		statistics_add(&us, us_since(begin_ns));
	}
	bench_print("  Average open-close took: %.3f usec (+- %.3f usec)\n", us.mean, statistics_deviation(&us));
	bench_figure("us", us.mean, "opening and closing");
	bench_end();
	return NULL;
}

/* Threads on CPUs; without a choice our own thread. */
static struct error *open_events(struct open_options *options, const struct event_list *events)
{
	const pid_t own = getpid(), all = -1;
	const int any = -1;
	int *cpus = NULL;
	size_t cpu_count = 0;
	struct pid_list threads = {0};
	struct counter_target target = {.threads = &own, .thread_count = 1, .cpus = &any, .cpu_count = 1, .cgroup = -1};
	struct error *error = NULL;
	if (options->targets.cpus)
		error = cpus_parse(options->targets.cpus, &cpus, &cpu_count);
	else if (!options->per_thread)
		cpus_online(&cpus, &cpu_count);
	if (!error && targets_are_tasks(&options->targets))
		error = targets_find_threads(&options->targets, &threads);
	if (cpu_count) {
		target.cpus = cpus;
		target.cpu_count = cpu_count;
	}
	if (targets_are_cpus(&options->targets)) {
		target.threads = &all;
	} else if (threads.len) {
		target.threads = threads.data;
		target.thread_count = threads.len;
	}
	if (!error)
		error = measure_opening(options, events, &target);
	free(cpus);
	vec_deinit(&threads);
	return error;
}

static struct error *run_open(int argc, char **argv, int *ret_status)
{
	enum { MOST = 100000 };
	struct open_options options = {.runs = 100, .count = 1};
	struct event_list events = {0};
	struct error *error = options_parse_alone(open_table, argc, argv, &options, "");
	if (!error)
		error = bench_check_positive("--iterations", options.runs);
	if (!error)
		error = bench_check_positive("--nr-events", options.count);
	if (!error && options.count > MOST)
		error = error_new_kind(ERROR_USAGE, "--nr-events: expected at most %d", MOST);
	if (error)
		return error;
	struct event_catalog *catalog = event_catalog_create("");
	for (uint64_t i = 0; i < options.count && !error; i++)
		error = event_parse(&events, catalog, options.events ? options.events : "dummy");
	if (!error) {
		targets_settle(&options.targets, true);
		bench_begin("internals/evlist-open-close", &options.common);
		error = open_events(&options, &events);
	}
	event_list_deinit(&events);
	event_catalog_destroy(catalog);
	return error;
}

static const struct command synthesize_command =
	BENCH(internals, "synthesize", "Records of what already runs", synthesize_table, run_synthesize);
static const struct command kallsyms =
	BENCH(internals, "kallsyms-parse", "Reading the kernel's list of symbols", kallsyms_table, run_kallsyms);
static const struct command open_close = BENCH(internals, "evlist-open-close", "Opening and closing events", open_table, run_open);
static const struct command scan = BENCH(internals, "pmu-scan", "Reading what sysfs tells of PMUs", scan_table, run_scan);
static const struct command *const benchmarks[] = {&synthesize_command, &kallsyms, &bench_internals_inject, &open_close, &scan, NULL};
BENCH_COLLECTION(internals, "What parts of perf itself cost", benchmarks);
