/* perf sched stats: what the scheduler itself counts (/proc/schedstat), over the time of a command or until Ctrl-C.
 *
 *	perf sched stats record -- COMMAND      two snapshots in a perf.data
 *	perf sched stats report                 what was counted between them
 *	perf sched stats diff FILE FILE         the same of two recordings
 */
#include "cmd/sched/sched.h"

#include "analysis/sched/stats.h"
#include "app/ending.h"
#include "app/pager.h"
#include "base/log.h"
#include "capture/counting/measurement.h"
#include "capture/gather/gather.h"
#include "event/parse/parse.h"
#include "kernel/schedstat.h"
#include "perfdata/writer.h"
#include "view/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct stats_options {
	struct sched_input common;
	const char *output;
};

#define O struct stats_options

static const struct option options[] = {
	OPTION_STRING('o', "output", O, output, "FILE", "record: file to write (default perf.data)"),
	SCHED_FORMAT(O),
	SCHED_OPTIONS(O),
	OPTION_END,
};

/* ---- record ---- */

struct snapshots {
	struct writer *writer;
	struct schedstat_head head;
	struct strbuf records; /* of a snapshot; their heads are completed when all is read */
	struct error *error;
};

static void add_cpu(struct strbuf *out, const struct schedstat_line *line)
{
	const uint64_t *values = line->values;
	const struct record_schedstat_cpu record = {
		.header = {.type = RECORD_SCHEDSTAT_CPU, .size = sizeof(record)},
		.cpu = line->cpu,
		.yld_count = (uint32_t)values[0],
		.array_exp = (uint32_t)values[1],
		.sched_count = (uint32_t)values[2],
		.sched_goidle = (uint32_t)values[3],
		.ttwu_count = (uint32_t)values[4],
		.ttwu_local = (uint32_t)values[5],
		.rq_cpu_time = values[6],
		.run_delay = values[7],
		.pcount = values[8],
	};
	strbuf_add(out, &record, sizeof(record));
}

/* A record's size is a multiple of 8: one more value than there is makes an odd number even. */
static void add_domain(struct strbuf *out, const struct schedstat_line *line)
{
	uint32_t values[SCHEDSTAT_VALUES + 1] = {0};
	size_t size = (line->count + line->count % 2) * sizeof(*values);
	struct record_schedstat_domain record = {.header = {.type = RECORD_SCHEDSTAT_DOMAIN, .size = (uint16_t)(sizeof(record) + size)},
						 .cpu = line->cpu,
						 .domain = (uint16_t)line->domain};
	for (size_t i = 0; i < line->count; i++)
		values[i] = (uint32_t)line->values[i];
	strbuf_add(out, &record, sizeof(record));
	strbuf_add(out, values, size);
}

static void add_line(void *context, const struct schedstat_line *line)
{
	struct snapshots *snapshots = context;
	if (line->domain < 0)
		add_cpu(&snapshots->records, line);
	else
		add_domain(&snapshots->records, line);
}

/* What is known only when all is read is in the same place in both. */
_Static_assert(offsetof(struct record_schedstat_cpu, version) == offsetof(struct record_schedstat_domain, version), "heads are alike");

static struct error *take_snapshot(struct snapshots *snapshots)
{
	strbuf_clear(&snapshots->records);
	struct error *error = schedstat_read(&snapshots->head, add_line, snapshots);
	for (size_t at = 0; at < snapshots->records.len && !error;) {
		struct record_schedstat_cpu *record = (void *)(snapshots->records.data + at);
		record->timestamp = snapshots->head.timestamp;
		record->version = (uint16_t)snapshots->head.version;
		at += record->header.size;
		error = writer_add(snapshots->writer, record, record->header.size);
	}
	return error;
}

static void begin(void *context)
{
	struct snapshots *snapshots = context;
	snapshots->error = take_snapshot(snapshots);
}

static struct error *measure(struct snapshots *snapshots, char **command, int *ret_status)
{
	struct workload workload = {0};
	const struct measurement_options measured = {.workload = command ? &workload : NULL, .begin = begin, .context = snapshots};
	struct error *error = command ? workload_start(&workload, command, false) : NULL;
	if (error)
		return error;
	int ended_by;
	error = measurement_take(&measured, &ended_by);
	if (!error)
		error = snapshots->error;
	if (!error)
		error = take_snapshot(snapshots);
	workload_stop(&workload);
	if (!error)
		*ret_status = ending_status(ENDING_RECORD, &workload, ended_by);
	workload_deinit(&workload);
	return error;
}

/* Counts on while it lasts, if the kernel doesn't anyway. */
static bool start_counting(void)
{
	bool counting = false;
	if (!schedstat_is_counting(&counting) || counting)
		return false;
	if (schedstat_set_counting(true))
		return true;
	log_warning(
		"The kernel counts only a part of its scheduler's statistics, and switching on the others requires root:  sudo sysctl -w "
		"kernel.sched_schedstats=1");
	return false;
}

static struct error *record_into(struct snapshots *snapshots, char **arguments, char **command, const char *output, int *ret_status)
{
	struct event_catalog *catalog = event_catalog_create("");
	struct event_list events = {0};
	struct features features = {0};
	const struct gather_options gather = {.arguments = (const char *const *)arguments, .catalog = catalog};
	const struct writer_options writing = {.path = output, .keep_old = true};
	struct error *error = event_parse(&events, catalog, "dummy");
	gather_features(&gather, &features);
	if (!error)
		error = writer_open(&writing, &events, &features, &snapshots->writer);
	bool counts = !error && start_counting();
	if (!error)
		error = measure(snapshots, command, ret_status);
	if (counts)
		schedstat_set_counting(false);
	if (!error)
		error = writer_finish_data(snapshots->writer);
	if (!error)
		error = writer_finish(snapshots->writer, &features);
	if (!error && log_level() >= LOG_WARNING)
		fprintf(stderr, "[ perf sched stats: Wrote two snapshots to %s ]\n", writer_path(snapshots->writer));
	writer_close(snapshots->writer);
	features_deinit(&features);
	event_list_deinit(&events);
	event_catalog_destroy(catalog);
	return error;
}

static void ignore(void *context, const struct schedstat_line *line)
{
}

static struct error *record(const struct stats_options *command, char **arguments, char **words, int *ret_status)
{
	struct snapshots snapshots = {0};
	struct error *error = schedstat_read(&snapshots.head, ignore, NULL); /* before a recording is replaced */
	if (!error)
		error = record_into(&snapshots, arguments, *words ? words : NULL, command->output, ret_status);
	strbuf_deinit(&snapshots.records);
	return error;
}

/* ---- report, diff ---- */

enum { MOST_LEVELS = 1 << 16 };

static const char rule[] = "------------------------------------------------------------------------------------------\n";

/* What a count is beside another one, or how long it was from one occurrence to the next. */
static void print_remark(const struct sched_stats *stats, const struct sched_stats_field *fields, size_t at, const uint64_t *values)
{
	int base = fields[at].base;
	if (base >= 0 && values[base])
		printf("   %6.2f %% of %s", 100.0 * (double)values[at] / (double)values[base], fields[base].name);
	if (fields[at].intervals && values[at])
		printf("   every %.2f jiffies", (double)stats->jiffies / (double)values[at]);
}

static void print_change(uint64_t before, uint64_t now)
{
	printf(" %15" PRIu64, now);
	if (before)
		printf("   %+8.2f %%", 100.0 * ((double)now - (double)before) / (double)before);
}

/* The same row of one recording or of two. */
static void print_row(const struct sched_stats *stats, const struct sched_stats_row *first, const struct sched_stats_row *second)
{
	struct sched_stats_field fields[SCHED_STATS_VALUES];
	size_t count = sched_stats_fields(stats->version, first->domain >= 0, fields);
	for (size_t i = 0; i < count && i < first->count; i++) {
		printf("%-24s : %15" PRIu64, fields[i].name, first->values[i]);
		if (second)
			print_change(first->values[i], second->values[i]);
		else
			print_remark(stats, fields, i, first->values);
		putchar('\n');
	}
	putchar('\n');
}

static void print_title(const struct sched_stats_row *row)
{
	if (row->domain < 0)
		printf("%sCPU %" PRIu32 "\n%s", rule, row->cpu, rule);
	else
		printf("CPU %" PRIu32 ", domain %d\n%s", row->cpu, row->domain, rule);
}

/* All CPUs together: first themselves, then their domains of each level. */
static void print_sums(const struct sched_stats *first, const struct sched_stats *second)
{
	for (int domain = -1; domain < MOST_LEVELS; domain++) {
		struct sched_stats_row sum = sched_stats_sum(first, domain), other = {0};
		if (!sum.count)
			break;
		if (second)
			other = sched_stats_sum(second, domain);
		if (domain < 0)
			printf("%sAll CPUs, added up\n%s", rule, rule);
		else
			printf("All CPUs, domain %d\n%s", domain, rule);
		print_row(first, &sum, second ? &other : NULL);
	}
}

/* ---- for programs ---- */

static struct table *span_table(const struct sched_stats *first, const struct sched_stats *second)
{
	const struct column columns[] = {
		{second ? "before" : "jiffies", second ? "Before" : "Jiffies", COLUMN_COUNT, ALIGN_RIGHT},
		{"now", "Now", COLUMN_COUNT, ALIGN_RIGHT},
	};
	struct table *table = table_create_columns("sched_stats_jiffies", columns, second ? 2 : 1);
	const union cell cells[] = {{.integer = first->jiffies}, {.integer = second ? second->jiffies : 0}};
	table_add_row(table, cells);
	return table;
}

/* A row of text is several here, one for each value. A CPU itself has no domain. */
static void add_values(struct table *table, const struct sched_stats *stats, const struct sched_stats_row *row, const uint64_t *now)
{
	struct sched_stats_field fields[SCHED_STATS_VALUES];
	size_t count = sched_stats_fields(stats->version, row->domain >= 0, fields);
	const char *domain = row->domain < 0 ? "" : arena_printf(&table->arena, "%d", row->domain);
	for (size_t i = 0; i < count && i < row->count; i++) {
		const union cell cells[] = {{.integer = now ? row->values[i] : row->cpu},
					    {.integer = now ? now[i] : row->values[i]},
					    {.text = domain},
					    {.text = fields[i].name}};
		table_add_row(table, cells);
	}
}

static struct table *values_table(const struct sched_stats *first, const struct sched_stats *second)
{
	const struct column columns[] = {
		{second ? "before" : "cpu", second ? "Before" : "CPU", COLUMN_COUNT, ALIGN_RIGHT},
		{second ? "now" : "value", second ? "Now" : "Value", COLUMN_COUNT, ALIGN_RIGHT},
		{"domain", "Domain", COLUMN_TEXT},
		{"name", "Name", COLUMN_TEXT},
	};
	struct table *table = table_create_columns("sched_stats", columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < first->rows.len && !second; i++)
		add_values(table, first, &first->rows.data[i], NULL);
	for (int domain = -1; second && domain < MOST_LEVELS; domain++) {
		struct sched_stats_row sum = sched_stats_sum(first, domain), other = sched_stats_sum(second, domain);
		if (!sum.count)
			break;
		sum.domain = domain;
		add_values(table, first, &sum, other.values);
	}
	return table;
}

/* Of one recording the values of each CPU, of two the sums of all. */
static struct error *write_tables(const char *format, const struct sched_stats *first, const struct sched_stats *second)
{
	struct table *const tables[] = {span_table(first, second), values_table(first, second)};
	return view_print_tables(format, tables, sizeof(tables) / sizeof(*tables), stdout);
}

static struct error *read_stats(const struct stats_options *command, const char *path, struct opening *opening, struct sched_stats **ret)
{
	struct sched_input input = command->common;
	if (path)
		input.input.input = path;
	bool dumped; /* there is no -D */
	struct error *error = sched_open(opening, &input, false, &dumped);
	return error ? error : sched_stats_create(opening->session, ret);
}

static struct error *report(const struct stats_options *command)
{
	struct opening opening = {0};
	struct sched_stats *stats = NULL;
	struct error *error = read_stats(command, NULL, &opening, &stats);
	if (!error && command->common.format) {
		error = write_tables(command->common.format, stats, NULL);
	} else if (!error) {
		pager_start("sched");
		printf("Time between the snapshots: %" PRIu64 " jiffies. Times are in nanoseconds.\n\n", stats->jiffies);
		print_sums(stats, NULL);
		for (size_t i = 0; i < stats->rows.len; i++) {
			print_title(&stats->rows.data[i]);
			print_row(stats, &stats->rows.data[i], NULL);
		}
	}
	if (!error)
		opening_warn(&opening);
	sched_stats_destroy(stats);
	opening_end(&opening);
	return error;
}

static struct error *compare(const struct stats_options *command, const char *before, const char *now)
{
	struct opening openings[2] = {0};
	struct sched_stats *stats[2] = {0};
	struct stats_options second = *command;
	second.common.input.sandbox = false; /* the rights that reading doesn't need are given up once */
	struct error *error = read_stats(command, before, &openings[0], &stats[0]);
	if (!error)
		error = read_stats(&second, now, &openings[1], &stats[1]);
	if (!error && stats[0]->version != stats[1]->version)
		error = error_new("%s and %s are of kernels with different statistics (versions %" PRIu32 " and %" PRIu32 ")", before, now,
				  stats[0]->version, stats[1]->version);
	if (!error && command->common.format) {
		error = write_tables(command->common.format, stats[0], stats[1]);
	} else if (!error) {
		printf("Time between the snapshots: %" PRIu64 " and %" PRIu64 " jiffies. Times are in nanoseconds.\n\n", stats[0]->jiffies,
		       stats[1]->jiffies);
		print_sums(stats[0], stats[1]);
	}
	for (size_t i = 0; i < 2; i++) {
		sched_stats_destroy(stats[i]);
		opening_end(&openings[i]);
	}
	return error;
}

/* ---- */

/* Options of the word that says what to do may follow it. */
static struct error *run(int argc, char **argv, int *ret_status)
{
	struct stats_options command = {0};
	char **arguments = argv;
	int words;
	sched_input_init(&command.common);
	struct error *error = options_parse(options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &command, &words);
	if (error)
		return error;
	const char *what = words ? argv[0] : "";
	if (words)
		error = options_parse(options, OPTIONS_STOP_AT_FIRST_WORD, words, argv, &command, &words);
	if (error)
		return error;
	if (!strcmp(what, "record") && command.common.format)
		return error_new_kind(ERROR_USAGE, "record writes a recording: --format and -j are for report and diff");
	if (!strcmp(what, "record"))
		return record(&command, arguments, argv, ret_status);
	if (!strcmp(what, "report") && !words)
		return report(&command);
	if (!strcmp(what, "diff") && (!words || words == 2))
		return compare(&command, words ? argv[0] : "perf.data.old", words ? argv[1] : "perf.data");
	return error_new_kind(ERROR_USAGE, !strcmp(what, "diff")     ? "diff compares two recordings: name both, or none"
					   : !strcmp(what, "report") ? "report reads one recording, -i FILE"
								     : "which one: record, report or diff?");
}

static const char *const usage[] = {"record [-o FILE] [--] [COMMAND]", "report [-i FILE]", "diff [FILE FILE]", NULL};
const struct command cmd_sched_stats = {"sched stats", "Show the kernel's own scheduler statistics", usage, options, run};
