/* perf sched latency: how long tasks waited for a CPU, those that waited longest first. */
#include "cmd/sched/sched.h"

#include "analysis/sched/latency.h"
#include "app/pager.h"
#include "base/log.h"
#include "base/text.h"
#include "view/view.h"

#include <inttypes.h>
#include <stdio.h>

struct latency_options {
	struct sched_input common;
	const char *sort;
	bool by_task;
};

static const struct option options[] = {
	OPTION_STRING('s', "sort", struct latency_options, sort, "KEYS",
		      "sort by: runtime, switch, avg, max, pid (default avg,max,switch,runtime)"),
	OPTION_FLAG('p', "pids", struct latency_options, by_task, "show one row per task instead of per name"),
	OPTION_STRING('C', "CPU", struct latency_options, common.cpus, "LIST", "only delays that end on these CPUs, such as 0-3,7"),
	OPTION_STRING(0, "time", struct latency_options, common.time, "START,STOP", "only delays that end in this time range, in seconds"),
	SCHED_FORMAT(struct latency_options),
	SCHED_OPTIONS(struct latency_options),
	SCHED_DUMP(struct latency_options),
	OPTION_END,
};

/* "firefox:4711", or "firefox:(8)" for eight tasks of the name. */
static void add_name(struct strbuf *out, const struct sched_latency_row *row)
{
	text_add_untrusted(out, row->comm);
	strbuf_printf(out, row->tasks > 1 ? ":(%u)" : ":%u", row->tasks > 1 ? row->tasks : row->thread->tid);
}

static void print_row(const struct sched_latency_row *row)
{
	enum { NAME_COLUMNS = 22, NS_PER_US = 1000, US_PER_S = 1000000 };
	uint64_t begin = row->max_begin / NS_PER_US, end = row->max_end / NS_PER_US;
	struct strbuf name = {0};
	add_name(&name, row);
	printf("  %-*s|%11.3f ms |%9" PRIu64 " | avg:%8.3f ms | max:%8.3f ms | max start: %5" PRIu64 ".%06" PRIu64 " s | max end: %5" PRIu64
	       ".%06" PRIu64 " s\n",
	       NAME_COLUMNS, strbuf_str(&name), (double)row->runtime / 1e6, row->count, (double)row->delay / 1e6 / (double)row->count,
	       (double)row->max_delay / 1e6, begin / US_PER_S, begin % US_PER_S, end / US_PER_S, end % US_PER_S);
	strbuf_deinit(&name);
}

static void print_share(const char *what, uint64_t part, uint64_t all)
{
	if (part && all)
		printf("  INFO: %.3f%% %s (%" PRIu64 " out of %" PRIu64 ")\n", 100.0 * (double)part / (double)all, what, part, all);
}

static void print_text(const struct sched_latency *latency)
{
	static const char line[] =
		" -------------------------------------------------------------------------------------------------------------------------------------------\n";
	printf("\n%s  Task                  |   Runtime ms  |  Count   | Avg delay ms    | Max delay ms    | Max delay start           | Max delay end          |\n%s",
	       line, line);
	for (size_t i = 0; i < latency->row_count; i++)
		print_row(&latency->rows[i]);
	printf(" -----------------------------------------------------------------------------------------------------------------\n"
	       "  TOTAL:                |%11.3f ms |%9" PRIu64 " |\n ---------------------------------------------------\n",
	       (double)latency->runtime / 1e6, latency->count);
	print_share("unordered timestamps", latency->unordered, latency->checked);
	print_share("context switch bugs", latency->wrong, latency->checked);
	printf("\n");
}

/* For programs: a row a task. */
static struct error *print_table(const struct sched_latency *latency, const struct latency_options *command)
{
	static const struct column columns[] = {
		{"comm", "Task", COLUMN_TEXT},
		{"tid", "TID", COLUMN_COUNT, ALIGN_RIGHT},
		{"tasks", "Tasks", COLUMN_COUNT, ALIGN_RIGHT},
		{"runtime", "Runtime", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"count", "Count", COLUMN_COUNT, ALIGN_RIGHT},
		{"avg", "Avg delay", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"max", "Max delay", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"max_start", "Max delay start", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"max_end", "Max delay end", COLUMN_NANOSECONDS, ALIGN_RIGHT},
	};
	enum { COLUMNS = sizeof(columns) / sizeof(*columns) };
	struct table *table = table_create_columns("latency", columns, COLUMNS);
	for (size_t i = 0; i < latency->row_count; i++) {
		const struct sched_latency_row *row = &latency->rows[i];
		const union cell cells[COLUMNS] = {
			{.text = untrusted_raw(row->comm)}, {.integer = row->thread->tid}, {.integer = row->tasks},
			{.integer = row->runtime},	    {.integer = row->count},	   {.integer = row->delay / row->count},
			{.integer = row->max_delay},	    {.integer = row->max_begin},   {.integer = row->max_end},
		};
		table_add_row(table, cells);
	}
	return view_print_table(command->common.format, table, stdout);
}

static struct error *show(struct opening *opening, const struct latency_options *command, const struct sched_latency_options *wanted)
{
	struct sched_latency *latency = NULL;
	struct error *error = sched_latency_create(opening->session, wanted, &latency);
	if (!error && !command->common.format)
		pager_start("sched");
	if (!error && command->common.format)
		error = print_table(latency, command);
	else if (!error)
		print_text(latency);
	const bool empty = !opening->session->record_counts[RECORD_SAMPLE];
	if (!error && !latency->row_count && (empty || command->common.cpus || command->common.time))
		sched_tell_nothing(opening, "-C and --time");
	if (!error)
		opening_warn(opening);
	sched_latency_destroy(latency);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct latency_options command = {0};
	struct opening opening = {0};
	bool done;
	sched_input_init(&command.common);
	struct error *error = options_parse_alone(options, argc, argv, &command, "");
	struct sched_latency_options wanted = {.sort = command.sort, .merge = !command.by_task, .scope = {.cpu_words = SCHED_CPUS / 64}};
	uint64_t cpus[SCHED_CPUS / 64] = {0};
	wanted.scope.cpus = command.common.cpus ? cpus : NULL;
	if (!error)
		error = sched_parse_bits("-C", command.common.cpus, SCHED_CPUS, cpus);
	if (!error && command.common.time)
		error = sched_parse_time(command.common.time, &wanted.scope);
	if (!error)
		error = sched_open(&opening, &command.common, false, &done);
	if (!error && !done)
		error = show(&opening, &command, &wanted);
	opening_end(&opening);
	return error;
}

static const char *const usage[] = {"[-s KEYS] [-p] [-C LIST] [-i FILE]", NULL};
const struct command cmd_sched_latency = {"sched latency", "Show how long tasks waited for a CPU", usage, options, run};
