/* Where the counts go and in which form. */
#include "cmd/stat/stat.h"

#include "analysis/counting/advice.h"
#include "app/hint.h"
#include "base/files/output.h"
#include "base/files/replacement.h"
#include "base/mem.h"
#include "view/view.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Intervals repeat their titles every so often. */
enum { TITLES_EVERY = 25 };

/* --log-fd. A copy is closed at the end, not what we were given. */
static struct error *open_descriptor(struct stat_run *run)
{
	int fd = dup(run->options.display.log_fd);

	if (fd >= 0)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	run->out = fd < 0 ? NULL : fdopen(fd, run->options.display.append ? "a" : "w");
	return run->out ? NULL : error_system(errno, "--log-fd %d", run->options.display.log_fd);
}

struct error *stat_open_output(struct stat_run *run)
{
	const struct stat_options *options = &run->options;
	time_t now = time(NULL);
	char text[64];

	run->out = stderr;
	if (options->display.log_fd >= 0)
		return open_descriptor(run);
	if (!options->display.output || options->recorded)
		return NULL;
	struct error *error = output_stream_open(options->display.output, options->display.append, &run->out);
	if (error)
		return error;
	if (!options->display.format || strcmp(options->display.format, "json") != 0)
		fprintf(run->out, "# started on %s\n", ctime_r(&now, text));
	return NULL;
}

struct error *stat_close_output(struct stat_run *run)
{
	FILE *out = run->out;

	run->out = NULL;
	int failure = out && out != stderr ? output_close(out) : 0;
	if (!failure)
		return NULL;
	return run->options.display.output ? error_system(failure, "cannot write %s", run->options.display.output)
					   : error_system(failure, "--log-fd %d", run->options.display.log_fd);
}

/* Takes over the result. */
static void show(struct stat_run *run, struct counting *result, bool header)
{
	const struct stat_options *options = &run->options;
	struct view_options view = {.header = header,
				    .between = options->display.separator,
				    .ungrouped = options->display.ungrouped,
				    .colours = isatty(fileno(run->out)),
				    .only_metrics = options->display.metric_only,
				    .table = options->display.table,
				    .plain_summary = options->display.no_csv_summary};

	struct sink out = sink_to_file(run->out);
	error_free(view_write_one(view_find(options->display.format ? options->display.format : "stdio"),
				  (struct result){RESULT_COUNTING, .counting = result}, &view, &out));
	fflush(run->out);
	counting_destroy(result);
}

/* What is to be shown of the counts; freed by show(). */
static struct counting *make_result(struct stat_run *run, const struct counts *counts)
{
	bool threads = run->places.by == COUNTS_BY_THREAD;
	struct counts_result_options options = {.sort = threads,
						.skip_zero = run->options.display.skip_empty,
						.skip_idle = threads && !targets_are_tasks(&run->options.targets),
						.place_by_place = run->options.display.metric_only};

	return counts_result(counts, &options);
}

void stat_show_interval(struct stat_run *run, uint64_t time_ns)
{
	struct counting *result;

	if (run->options.verbosity.quiet)
		return;
	result = make_result(run, &run->counts);
	result->interval = true;
	result->time_ns = time_ns;
	if (run->options.display.interval_clear)
		fputs("\033[H\033[2J", run->out);
	show(run, result, run->options.display.interval_clear || (run->intervals - 1) % TITLES_EVERY == 0);
}

/* For a person who reads a table. */
static bool wants_advice(const struct stat_run *run)
{
	const struct stat_display *display = &run->options.display;

	return !display->no_advice && !display->format && display->per == STAT_PER_ALL && !display->metric_only &&
	       hint_is_wanted(fileno(run->out));
}

/* Sentences below the table. Times are those of one run. */
static void add_advice(struct stat_run *run, struct counting *result)
{
	bool tasks = !targets_are_cpus(&run->options.targets);
	struct advice_scope scope = {.tasks = tasks, .workload = tasks && !targets_are_tasks(&run->options.targets)};
	double runs = (double)(run->each_elapsed.len ? run->each_elapsed.len : 1);

	scope.ran = (double)run->scheduled.ran_ns / 1e9 / runs;
	scope.waited = (double)run->scheduled.waited_ns / 1e9 / runs;

	const struct counts *counts = run->options.interval_ms ? &run->total : &run->counts;
	scope.tells_no_hardware = advice_lacks_hardware(counts) && hint_is_due("no-hardware");
	advice_add(counts, &scope, result);
}

void stat_show(struct stat_run *run)
{
	bool of_intervals = run->options.interval_ms;
	struct counting *result;

	if (run->options.verbosity.quiet || (of_intervals && !run->options.summary))
		return;
	result = make_result(run, of_intervals ? &run->total : &run->counts);
	result->what = run->what;
	result->summary = of_intervals;
	result->has_times =
		run->command && !targets_are_cpus(&run->options.targets) && !targets_are_tasks(&run->options.targets) && result->runs <= 1;
	result->each_elapsed = run->each_elapsed.data;
	if (wants_advice(run))
		add_advice(run, result);
	show(run, result, true);
}
