/* perf kwork report, perf kwork latency: how long each work ran, or waited, those that did so longest first. */
#include "cmd/kwork/kwork.h"

#include "app/pager.h"
#include "base/log.h"
#include "view/view.h"

#include <inttypes.h>
#include <stdio.h>

struct report_command {
	struct kwork_input shared;
};

static const char rule[] =
	" --------------------------------------------------------------------------------------------------------------------------------\n";

/* ---- text ---- */

static void print_time(uint64_t ns)
{
	enum { NS_PER_US = 1000, US_PER_S = 1000000 };
	uint64_t us = ns / NS_PER_US;
	printf(" %10" PRIu64 ".%06" PRIu64 " s |", us / US_PER_S, us % US_PER_S);
}

static void print_row(const struct kwork_work *work, bool delays)
{
	enum { NAME_COLUMNS = 30, NAME_BYTES = 29 };
	static const double ns_per_ms = 1e6;
	struct strbuf name = {0};
	kwork_add_name(&name, work);
	printf("  %-*.*s | %04" PRIu32 " |", NAME_COLUMNS, NAME_BYTES, strbuf_str(&name), work->cpu);
	printf(" %10.3f ms | %9" PRIu64 " | %10.3f ms |", (double)work->total / (delays ? (double)work->count : 1) / ns_per_ms, work->count,
	       (double)work->max / ns_per_ms);
	print_time(work->max_begin);
	print_time(work->max_end);
	printf("\n");
	strbuf_deinit(&name);
}

/* The load is of one CPU. */
static void print_summary(const struct kwork *kwork)
{
	uint64_t count = 0, total = 0, span = kwork->end - kwork->begin;
	for (size_t i = 0; i < kwork->works.len; i++) {
		count += kwork->works.data[i]->count;
		total += kwork->works.data[i]->total;
	}
	printf("  Total count            : %9" PRIu64 "\n", count);
	printf("  Total runtime   (msec) : %9.3f (%.3f%% load average)\n", (double)total / 1e6,
	       span ? 100 * (double)total / (double)span : 0);
	printf("  Total time span (msec) : %9.3f\n", (double)span / 1e6);
	fputs(rule, stdout);
}

static void print_skipped(const struct kwork *kwork)
{
	uint64_t skipped = kwork->skipped[KWORK_RAISE] + kwork->skipped[KWORK_ENTRY] + kwork->skipped[KWORK_EXIT];
	if (skipped && kwork->records)
		printf("  INFO: %.3f%% skipped events (%" PRIu64 " including %" PRIu64 " raise, %" PRIu64 " entry, %" PRIu64 " exit)\n",
		       100 * (double)skipped / (double)kwork->records, skipped, kwork->skipped[KWORK_RAISE], kwork->skipped[KWORK_ENTRY],
		       kwork->skipped[KWORK_EXIT]);
}

static void print_text(const struct kwork *kwork, const struct report_command *command, bool delays)
{
	printf(delays ? "\n  Kwork Name                     | Cpu  | Avg delay     | Count     | Max delay     | Max delay start     | "
			"Max delay end       |\n"
		      : "\n  Kwork Name                     | Cpu  | Total Runtime | Count     | Max runtime   | Max runtime start   | "
			"Max runtime end     |\n");
	fputs(rule, stdout);
	for (size_t i = 0; i < kwork->works.len; i++)
		if (kwork->works.data[i]->count)
			print_row(kwork->works.data[i], delays);
	fputs(rule, stdout);
	if (command->shared.summary)
		print_summary(kwork);
	print_skipped(kwork);
	printf("\n");
}

/* ---- for programs ---- */

static struct error *write_table(const struct kwork *kwork, const char *format, bool delays)
{
	const struct column columns[] = {
		{"class", "Class", COLUMN_TEXT},
		{"name", "Name", COLUMN_TEXT},
		{"cpu", "CPU", COLUMN_COUNT, ALIGN_RIGHT},
		{delays ? "delay" : "runtime", delays ? "Delay" : "Runtime", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"count", "Count", COLUMN_COUNT, ALIGN_RIGHT},
		{"max", "Max", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"max_start", "Max start", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"max_end", "Max end", COLUMN_NANOSECONDS, ALIGN_RIGHT},
	};
	enum { COLUMNS = sizeof(columns) / sizeof(*columns) };
	struct table *table = table_create_columns(delays ? "kwork_latency" : "kwork_report", columns, COLUMNS);
	for (size_t i = 0; i < kwork->works.len; i++) {
		const struct kwork_work *work = kwork->works.data[i];
		if (!work->count)
			continue;
		const union cell cells[COLUMNS] = {
			{.text = kwork_class_name(work->class)},
			{.text = kwork_name_for_table(table, work)},
			{.integer = work->cpu},
			{.integer = work->total},
			{.integer = work->count},
			{.integer = work->max},
			{.integer = work->max_begin},
			{.integer = work->max_end},
		};
		table_add_row(table, cells);
	}
	return view_print_table(format, table, stdout);
}

/* ---- */

static struct error *read_and_show(const struct report_command *command, const struct kwork_options *wanted)
{
	const struct kwork_input *shared = &command->shared;
	bool delays = wanted->question == KWORK_DELAYS, done;
	struct kwork_source source = {0};
	struct kwork *kwork = NULL;
	struct strbuf events = {0};
	kwork_add_events(&events, wanted->classes, wanted->class_count);
	struct error *error = kwork_open(&source, shared, strbuf_str(&events), true, KWORK_KERNEL, &done);
	if (!error && !done)
		error = kwork_create(source.opening.session, source.opening.resolver, wanted, &kwork);
	if (kwork && !shared->common.format) {
		pager_start("kwork");
		print_text(kwork, command, delays);
	} else if (kwork) {
		error = write_table(kwork, shared->common.format, delays);
	}
	if (!error)
		opening_warn(&source.opening);
	kwork_destroy(kwork);
	kwork_close(&source);
	strbuf_deinit(&events);
	return error;
}

static struct error *run(const struct option *options, enum kwork_question question, int argc, char **argv)
{
	struct report_command command = {0};
	struct kwork_options wanted = {.question = question};
	uint64_t cpus[SCHED_CPUS / 64] = {0};
	sched_input_init(&command.shared.common);
	struct error *error = kwork_parse_live(options, argc, argv, &command, &command.shared);
	if (!error)
		error = kwork_parse_input(&command.shared, cpus, &wanted);
	return error ? error : read_and_show(&command, &wanted);
}

#define O struct report_command

static const struct option report_options[] = {
	KWORK_KINDS(O, shared.kinds),
	OPTION_STRING('n', "name", O, shared.name, "NAME", "only work of this name, without its number"),
	OPTION_STRING('s', "sort", O, shared.sort, "KEYS", "sort by: runtime, max, count (default runtime,max,count)"),
	OPTION_FLAG('S', "with-summary", O, shared.summary, "show sums of all rows, too"),
	KWORK_LIVE(O),
	KWORK_OPTIONS(O),
	OPTION_END,
};

static const struct option latency_options[] = {
	KWORK_KINDS(O, shared.kinds),
	OPTION_STRING('n', "name", O, shared.name, "NAME", "only work of this name, without its number"),
	OPTION_STRING('s', "sort", O, shared.sort, "KEYS", "sort by: avg, max, count (default avg,max,count)"),
	KWORK_LIVE(O),
	KWORK_OPTIONS(O),
	OPTION_END,
};

static struct error *run_report(int argc, char **argv, int *ret_status)
{
	return run(report_options, KWORK_RUNTIMES, argc, argv);
}

static struct error *run_latency(int argc, char **argv, int *ret_status)
{
	return run(latency_options, KWORK_DELAYS, argc, argv);
}

static const char *const usage[] = {"[-k LIST] [-n NAME] [-s KEYS] [-C LIST] [--time START,STOP] [-i FILE]",
				    "-b [-k LIST] [-n NAME] [-s KEYS] [-C LIST] [--] [COMMAND]", NULL};
const struct command cmd_kwork_report = {"kwork report", "Show how long kernel work ran", usage, report_options, run_report};
const struct command cmd_kwork_latency = {"kwork latency", "Show how long kernel work waited before it ran", usage, latency_options,
					  run_latency};
