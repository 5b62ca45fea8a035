/* What becomes of the cells (analysis/counting/cells.h), live or of a recording, when an interval or the whole ends. */
#include "cmd/stat/stat.h"

#include "base/log.h"

/* What the options say of how cells become numbers. */
static void prepare(const struct stat_run *run, struct counts *counts)
{
	const struct stat_display *display = &run->options.display;

	counts_init(counts, run->events, &run->places);
	counts->raw = run->options.no_scale;
	counts->no_merge = display->no_merge;
	counts->merge_cores = display->merge_cores;
	counts->percore_threads = display->percore_threads;
	counts->metrics = &run->metrics;
}

void stat_prepare_counts(struct stat_run *run)
{
	prepare(run, &run->counts);
	prepare(run, &run->total);
}

static uint64_t time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000;
}

/* Adds what was counted since `before` (or at all) to the numbers to be shown. */
static void add_counts(struct stat_run *run, struct counts *counts, struct counter_value *const *before, uint64_t length_ns)
{
	struct counts_reading reading = {.now = run->cells.now,
					 .before = before,
					 .cpus = run->cells.cpus,
					 .threads = run->cells.threads,
					 .duration_ns = length_ns,
					 .user_ns = time_ns(&run->workload.usage.ru_utime),
					 .system_ns = time_ns(&run->workload.usage.ru_stime)};

	counts_add(counts, &reading);
}

/* What was counted until now is what the next interval is counted from. */
void stat_end_interval(struct stat_run *run, uint64_t time_ns)
{
	counts_clear(&run->counts);
	run->counts.absent = run->counters.absent;
	add_counts(run, &run->counts, run->cells.before, time_ns - run->shown_ns);
	counter_cells_keep(&run->cells);
	run->shown_ns = time_ns;
	run->intervals++;
	stat_show_interval(run, time_ns - run->start_ns);
}

/* -v: what was read, before anything is computed from it. */
static void log_counts(const struct stat_run *run)
{
	for (size_t i = 0; i < run->events->events.len && log_level() >= LOG_INFO; i++) {
		struct counter_value sum = counter_cells_sum(&run->cells, i);
		log_info("%s: %lu %lu %lu", run->events->events.data[i]->name, sum.value, sum.enabled_ns, sum.running_ns);
	}
}

/* Without intervals several runs are added up in `counts`, with them in `total`. */
void stat_end(struct stat_run *run, uint64_t time_ns)
{
	struct counts *counts = run->options.interval_ms ? &run->total : &run->counts;

	log_counts(run);
	counts->absent = run->counters.absent;
	add_counts(run, counts, NULL, time_ns - run->start_ns);
	vec_push(&run->each_elapsed, (double)(time_ns - run->start_ns) / 1e9);
}
