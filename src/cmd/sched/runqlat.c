/* perf sched runqlat: how long threads wait for a CPU, as histograms that a BPF program keeps in the kernel (bpf/latency/run_queue.h). */
#include "cmd/sched/sched.h"

#include "app/ending.h"
#include "base/arena.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "bpf/latency/run_queue.h"
#include "capture/counting/measurement.h"
#include "cmd/targets.h"
#include "kernel/cgroups.h"
#include "result/distribution.h"
#include "view/distribution.h"
#include "view/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct runqlat_options {
	struct targets targets;
	enum run_queue_by by;
	struct form {
		const char *format; /* "csv", "json" or NULL */
		char separator;	    /* -x; 0 = a comma */
	} form;
	struct output_options output;
};

/* What one histogram is about. */
struct histogram {
	uint64_t id;
	const char *name; /* of a process or cgroup, or NULL */
	struct distribution delays;
};

struct runqlat {
	const struct runqlat_options *options;
	struct bpf_run_queue *bpf;
	struct workload workload;
	struct pid_list threads;
	struct arena arena;
	VEC(struct histogram) histograms;
};

/* ---- options ---- */

static const char *const subjects[] = {"", "cpu", "process", "cgroup"};

static struct error *parse_per(const struct option *option, const char *argument, bool negated, void *field)
{
	for (size_t i = 1; i < sizeof(subjects) / sizeof(*subjects); i++)
		if (!strcmp(argument, subjects[i])) {
			*(enum run_queue_by *)field = (enum run_queue_by)i;
			return NULL;
		}
	return error_new_kind(ERROR_USAGE, "unknown kind '%s': use cpu, process or cgroup", argument);
}

static struct error *parse_separator(const struct option *option, const char *argument, bool negated, void *field)
{
	struct form *form = field;
	const char *separator = strcmp(argument, "\\t") ? argument : "\t";
	if (strlen(separator) != 1 || strchr("\"\n\r", *separator))
		return error_new_kind(ERROR_USAGE, "-x %s: use one character, or \\t", argument);
	form->separator = *separator;
	form->format = "csv";
	return NULL;
}

#define O struct runqlat_options

static const struct option options[] = {
	OPTION_FLAG('a', "all-cpus", O, targets.system_wide, "all threads of the system (default without a command or target)"),
	OPTION_STRING('p', "pid", O, targets.pids, "PIDS", "existing processes with all their threads (comma-separated)"),
	OPTION_STRING('t', "tid", O, targets.tids, "TIDS", "existing threads (comma-separated)"),
	OPTION_STRING(0, "uid", O, targets.user, "USER", "all processes of this user, by name or number"),
	OPTION_CUSTOM_FLAGS(0, "per", O, by, "KIND", "one histogram for each cpu, process or cgroup", parse_per, OPTION_NO_NEGATION),
	OPTION_JSON('j', O, form.format),
	OPTION_CUSTOM_FLAGS('x', "field-separator", O, form, "SEPARATOR", "the same as --format csv, with this character between fields",
			    parse_separator, OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS(0, "format", O, form.format, "FORMAT", "machine-readable output: csv or json", option_table_format,
			    OPTION_NO_NEGATION),
	OPTION_GROUP(output_option_group, O, output),
	OPTION_END,
};

/* ---- measuring ---- */

static struct error *open_program(struct runqlat *runqlat)
{
	const struct targets *targets = &runqlat->options->targets;
	bool by_target = !targets_are_cpus(targets);
	struct error *error = by_target && targets_are_tasks(targets) ? targets_find_threads(targets, &runqlat->threads) : NULL;
	if (error)
		return error;
	if (by_target && !targets_are_tasks(targets))
		vec_push(&runqlat->threads, runqlat->workload.pid);
	const struct bpf_run_queue_options program = {
		.config = {.by = runqlat->options->by, .by_target = by_target, .inherit = !targets->tids}, .targets = runqlat->threads.len};
	error = bpf_run_queue_open(&program, &runqlat->bpf);
	for (size_t i = 0; i < runqlat->threads.len && !error; i++)
		error = bpf_run_queue_add_target(runqlat->bpf, runqlat->threads.data[i]);
	if (error)
		return error_wrap(error, "runqlat (without BPF: 'perf sched record', then 'perf sched latency')");
	return bpf_run_queue_start(runqlat->bpf);
}

static void begin(void *context)
{
	bpf_run_queue_switch(((struct runqlat *)context)->bpf, true);
}

/* Until the command ends, the last thread that was chosen has ended, or a signal comes. */
static struct error *measure(struct runqlat *runqlat, int *ret_status)
{
	bool watched = !runqlat->workload.pid && runqlat->threads.len;
	const struct measurement_options measured = {.workload = runqlat->workload.pid ? &runqlat->workload : NULL,
						     .threads = watched ? &runqlat->threads : NULL,
						     .begin = begin,
						     .context = runqlat};
	int ended_by;
	struct error *error = measurement_take(&measured, &ended_by);
	bpf_run_queue_switch(runqlat->bpf, false);
	workload_stop(&runqlat->workload);
	if (!error)
		*ret_status = ending_status(ENDING_TRACE, &runqlat->workload, ended_by);
	return error;
}

/* ---- histograms ---- */

static void take(void *context, uint64_t id, const struct run_queue_sums *sums)
{
	struct runqlat *runqlat = context;
	struct histogram histogram = {
		.id = id,
		.delays = {
			.unit_ns = 1000, .count = sums->count, .total_ns = sums->total, .longest_ns = sums->max, .shortest_ns = sums->min}};
	_Static_assert(RUN_QUEUE_BUCKETS == (int)DISTRIBUTION_BUCKETS, "the program counts in the same buckets");
	memcpy(histogram.delays.counts, sums->counts, sizeof(sums->counts));
	if (runqlat->options->by == RUN_QUEUE_BY_PROCESS)
		histogram.name = arena_strndup(&runqlat->arena, sums->name, strnlen(sums->name, sizeof(sums->name)));
	if (sums->count)
		vec_push(&runqlat->histograms, histogram);
}

static void name_cgroup(void *context, uint64_t id, const char *name)
{
	struct runqlat *runqlat = context;
	for (size_t i = 0; i < runqlat->histograms.len; i++)
		if (runqlat->histograms.data[i].id == id)
			runqlat->histograms.data[i].name = arena_strdup(&runqlat->arena, name);
}

/* CPUs by number; others by how long they waited in all. */
static int compare(const void *a, const void *b, void *by)
{
	const struct histogram *x = a, *y = b;
	if (*(const enum run_queue_by *)by != RUN_QUEUE_BY_CPU && x->delays.total_ns != y->delays.total_ns)
		return x->delays.total_ns > y->delays.total_ns ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static void add_title(struct strbuf *out, enum run_queue_by by, const struct histogram *histogram)
{
	if (by == RUN_QUEUE_BY_NOTHING)
		return;
	strbuf_printf(out, "# %s ", subjects[by]);
	if (histogram->name)
		text_add_safe(out, histogram->name, strlen(histogram->name));
	else if (by == RUN_QUEUE_BY_CGROUP)
		strbuf_add_str(out, "unknown");
	if (by != RUN_QUEUE_BY_CGROUP)
		strbuf_printf(out, histogram->name ? " (%" PRIu64 ")" : "%" PRIu64, histogram->id);
	strbuf_add_str(out, "\n");
}

static void print_text(const struct runqlat *runqlat)
{
	struct strbuf out = {0};
	for (size_t i = 0; i < runqlat->histograms.len; i++) {
		strbuf_add_str(&out, i ? "\n" : "");
		add_title(&out, runqlat->options->by, &runqlat->histograms.data[i]);
		distribution_add_text(&out, &runqlat->histograms.data[i].delays, "waits for a CPU");
	}
	fwrite(strbuf_str(&out), 1, out.len, stdout);
	strbuf_deinit(&out);
}

/* A row for each bucket that isn't empty. */
static void add_buckets(struct table *table, const struct histogram *histogram)
{
	const struct distribution *delays = &histogram->delays;
	for (unsigned int i = 0; i < DISTRIBUTION_BUCKETS; i++) {
		const union cell cells[] = {{.text = histogram->name ? histogram->name : ""},
					    {.integer = histogram->id},
					    {.integer = distribution_bucket_begin(i) * delays->unit_ns},
					    {.integer = delays->counts[i]}};
		if (delays->counts[i])
			table_add_row(table, cells);
	}
}

static struct error *print_table(const struct runqlat *runqlat)
{
	static const struct column columns[] = {{"name", "Name", COLUMN_TEXT},
						{"id", "Number", COLUMN_COUNT, ALIGN_RIGHT},
						{"from", "From", COLUMN_NANOSECONDS, ALIGN_RIGHT},
						{"count", "Count", COLUMN_COUNT, ALIGN_RIGHT}};
	struct table *table = table_create_columns("runqlat", columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < runqlat->histograms.len; i++)
		add_buckets(table, &runqlat->histograms.data[i]);
	const struct form *form = &runqlat->options->form;
	const struct view_options view = {.header = true, .separator = form->separator};
	struct sink out = sink_to_file(stdout);
	struct error *error = view_write_one(view_find(form->format), (struct result){RESULT_TABLE, .table = table}, &view, &out);
	table_destroy(table);
	return error;
}

static struct error *show(struct runqlat *runqlat)
{
	struct error *error = NULL;
	bpf_run_queue_read(runqlat->bpf, take, runqlat);
	if (runqlat->options->by == RUN_QUEUE_BY_CGROUP)
		cgroups_visit(true, name_cgroup, runqlat);
	enum run_queue_by by = runqlat->options->by;
	if (runqlat->histograms.len)
		qsort_r(runqlat->histograms.data, runqlat->histograms.len, sizeof(struct histogram), compare, &by);
	else
		log_warning("No wait for a CPU ended during the measurement.");
	if (runqlat->options->form.format)
		error = print_table(runqlat);
	else
		print_text(runqlat);
	uint64_t missed = bpf_run_queue_missed(runqlat->bpf);
	if (missed)
		log_warning("%" PRIu64 " waits are not counted: there were too many threads.", missed);
	uint64_t unseen = bpf_run_queue_unseen(runqlat->bpf);
	if (unseen)
		log_warning("%" PRIu64 " wait%s not counted: the kernel did not report when %s began or ended.", unseen,
			    unseen == 1 ? " is" : "s are", unseen == 1 ? "it" : "they");
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct runqlat_options command = {0};
	struct runqlat runqlat = {.options = &command};
	int words;
	struct error *error = options_parse(options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &command, &words);
	if (!error)
		targets_settle(&command.targets, words > 0);
	if (!error && words)
		error = workload_start(&runqlat.workload, argv, command.form.format != NULL);
	if (!error)
		error = open_program(&runqlat);
	if (!error)
		error = measure(&runqlat, ret_status);
	if (!error)
		error = show(&runqlat);
	bpf_run_queue_close(runqlat.bpf);
	workload_stop(&runqlat.workload);
	workload_deinit(&runqlat.workload);
	vec_deinit(&runqlat.threads);
	vec_deinit(&runqlat.histograms);
	arena_deinit(&runqlat.arena);
	return error;
}

static const char *const usage[] = {"[-a | -p PIDS | -t TIDS] [--per KIND] [--] [COMMAND]", NULL};
const struct command cmd_sched_runqlat = {"sched runqlat", "Show how long threads wait for a CPU, as histograms", usage, options, run};
