/* perf lock report and perf lock info: locks of a recording, by their addresses. */
#include "cmd/lock/lock.h"

#include "analysis/lock/lockdep.h"
#include "base/log.h"
#include "base/text.h"
#include "view/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lock_report_options {
	struct lock_input common;
	const char *key, *format;
	struct lock_columns columns;
	uint64_t entries; /* 0 = all */
	bool combine, by_thread;
};

struct info_options {
	struct lock_input common;
	const char *format;
	bool threads, locks;
};

static struct error *parse_fields(const struct option *option, const char *argument, bool negated, void *field)
{
	return lock_columns_parse(argument, true, field);
}

static const struct option report_options[] = {
	OPTION_HEADING("Output"),
	OPTION_STRING('k', "key", struct lock_report_options, key, "FIELD",
		      "sort by: acquired (default), contended, avg_wait, wait_total, wait_max or wait_min"),
	OPTION_CUSTOM_FLAGS('F', "field", struct lock_report_options, columns, "FIELD,…", "fields to show, as for -k (default: all)",
			    parse_fields, OPTION_NO_NEGATION),
	OPTION_FLAG('c', "combine-locks", struct lock_report_options, combine, "one row for all locks of a name"),
	OPTION_FLAG('t', "threads", struct lock_report_options, by_thread, "one row per thread that waited"),
	OPTION_U64('E', "entries", struct lock_report_options, entries, "N", "show only the first N rows"),
	OPTION_CUSTOM_FLAGS(0, "format", struct lock_report_options, format, "FORMAT", "machine-readable output: csv or json",
			    option_table_format, OPTION_NO_NEGATION),
	OPTION_JSON(0, struct lock_report_options, format),
	LOCK_INPUT_OPTIONS(struct lock_report_options),
	OPTION_END,
};

static const struct option info_options[] = {
	OPTION_HEADING("Output"),
	OPTION_FLAG('t', "threads", struct info_options, threads, "only the threads"),
	OPTION_FLAG('m', "map", struct info_options, locks, "only the locks: addresses and names"),
	OPTION_CUSTOM_FLAGS(0, "format", struct info_options, format, "FORMAT", "machine-readable output: csv or json", option_table_format,
			    OPTION_NO_NEGATION),
	OPTION_JSON(0, struct info_options, format),
	LOCK_INPUT_OPTIONS(struct info_options),
	OPTION_END,
};

/* ---- what both read ---- */

/* By threads, and by locks, as far as wanted: of either kind of events, of which a recording has one or both. */
struct reading {
	struct opening opening;
	bool wanted[2];
	struct lock_contention *waits[2]; /* NULL: not wanted */
	struct lockdep *lockdep[2];
	bool dumped;
};

enum { BY_THREADS, BY_LOCKS };

static void create_waits(struct reading *reading, size_t which)
{
	const struct lock_options wanted = {
		.by = which == BY_THREADS ? LOCK_BY_THREAD : LOCK_BY_ADDRESS, .stack_skip = LOCK_STACK_SKIP, .max_stack = LOCK_MAX_STACK};
	reading->waits[which] = lock_contention_create(reading->opening.session, reading->opening.resolver, &wanted);
}

/* A single one of the two, of a recording whose events are known: what is shown comes from one tracker. */
static struct error *follow_one(struct reading *reading, size_t which)
{
	reading->lockdep[which] = lockdep_create(reading->opening.session, which == BY_THREADS);
	if (lockdep_has_events(reading->lockdep[which]))
		return lockdep_run(reading->lockdep[which]);
	create_waits(reading, which);
	return lock_contention_run(reading->waits[which]);
}

static struct error *follow_all(struct reading *reading)
{
	struct record record;
	struct error *error = NULL;
	for (size_t i = 0; i < 2; i++) {
		if (!reading->wanted[i])
			continue;
		create_waits(reading, i);
		reading->lockdep[i] = lockdep_create(reading->opening.session, i == BY_THREADS);
	}
	while (session_next_sample(reading->opening.session, &record, &error) > 0) {
		for (size_t i = 0; i < 2; i++) {
			if (!reading->wanted[i])
				continue;
			lock_contention_take(reading->waits[i], &record);
			lockdep_take(reading->lockdep[i], &record);
		}
	}
	return error;
}

static struct error *follow(struct reading *reading)
{
	size_t any = reading->wanted[BY_THREADS] ? BY_THREADS : BY_LOCKS;
	bool is_one = reading->wanted[BY_THREADS] != reading->wanted[BY_LOCKS] && reading->opening.session->reader->stable;
	struct error *error = is_one ? follow_one(reading, any) : follow_all(reading);
	if (!error && !lockdep_has_events(reading->lockdep[any]))
		error = lock_contention_require(reading->waits[any]);
	return error;
}

static struct error *read_waits(struct reading *reading, const struct lock_input *common)
{
	struct error *error = lock_open(&reading->opening, common, NULL, true);
	if (!error)
		error = lock_dump(&reading->opening, common, &reading->dumped);
	return error || reading->dumped ? error : follow(reading);
}

/* Those of lockdep tell more. */
static struct lock_rows *rows_of(const struct reading *reading, bool threads)
{
	size_t which = threads ? BY_THREADS : BY_LOCKS;
	return lockdep_has_events(reading->lockdep[which]) ? lockdep_rows(reading->lockdep[which])
							   : lock_contention_rows(reading->waits[which]);
}

static void reading_deinit(struct reading *reading)
{
	for (size_t i = 0; i < 2; i++) {
		lock_contention_destroy(reading->waits[i]);
		lockdep_destroy(reading->lockdep[i]);
	}
	opening_end(&reading->opening);
}

static struct error *parse(const struct option *options, int argc, char **argv, void *values)
{
	int words;
	struct error *error = options_parse(options, OPTIONS_PERMUTE, argc, argv, values, &words);
	if (!error && words)
		error = error_new_kind(ERROR_USAGE, "unexpected argument '%s'", argv[0]);
	return error;
}

/* ---- report ---- */

/* Right-aligned; a long name is cut after its first 16 bytes. */
static void add_name(struct strbuf *out, const struct lock_row *row, bool by_thread)
{
	enum { WIDTH = 20, CUT = 16 };
	struct strbuf name = {0};
	if (by_thread)
		lock_add_comm(&name, row->thread);
	else
		text_add_safe(&name, row->name, strlen(row->name));
	if (name.len < WIDTH)
		strbuf_printf(out, "%*s ", WIDTH, strbuf_str(&name));
	else
		strbuf_printf(out, "%*.*s... ", WIDTH - 3, CUT, strbuf_str(&name));
	strbuf_deinit(&name);
}

static void print_report(const struct lock_report_options *command, struct lock_row *const *rows, size_t count, FILE *file)
{
	struct strbuf out = {0};
	if (!command->common.output.quiet) {
		strbuf_printf(&out, "%20s ", "Name");
		lock_columns_add_titles(&out, &command->columns, NULL);
		strbuf_add_str(&out, "\n\n");
	}
	for (size_t i = 0; i < count; i++) {
		add_name(&out, rows[i], command->by_thread);
		lock_columns_add_row(&out, &command->columns, rows[i], NULL);
		strbuf_add_char(&out, '\n');
	}
	fwrite(strbuf_str(&out), 1, out.len, file);
	strbuf_deinit(&out);
}

static void tell_nothing(size_t count)
{
	if (!count)
		log_warning("There were no waits for locks of the kernel.");
}

static struct error *show_report(const struct lock_report_options *command, const struct reading *reading, enum lock_value key)
{
	struct lock_rows *rows = rows_of(reading, command->by_thread);
	lock_rows_keep_acquired(rows);
	if (command->combine)
		lock_rows_combine(rows);
	lock_rows_sort(rows, key);
	size_t count = command->entries && command->entries < rows->all.len ? command->entries : rows->all.len;
	tell_nothing(count);
	FILE *file;
	struct error *error = lock_output_open(&command->common, !command->format, &file);
	if (error)
		return error;
	if (command->format)
		error = lock_print_table(command->format, reading->opening.session->machine, rows->all.data, count,
					 command->by_thread ? LOCK_SUBJECT_THREAD : LOCK_SUBJECT_NAME, file);
	else
		print_report(command, rows->all.data, count, file);
	return lock_output_close(&command->common, file, error);
}

static struct error *run_report(int argc, char **argv, int *ret_status)
{
	struct lock_report_options command = {
		.columns = {{LOCK_ACQUIRED, LOCK_CONTENDED, LOCK_AVERAGE, LOCK_TOTAL, LOCK_MAX, LOCK_MIN}, LOCK_COLUMNS}};
	struct reading reading = {0};
	enum lock_value key;
	lock_input_init(&command.common);
	struct error *error = parse(report_options, argc, argv, &command);
	if (!error)
		error = lock_columns_sort(&command.columns, command.key ? command.key : "acquired", true, &key);
	if (!error && command.combine && command.by_thread)
		error = error_new_kind(ERROR_USAGE, "-c and -t cannot be combined");
	reading.wanted[command.by_thread ? BY_THREADS : BY_LOCKS] = true;
	if (!error)
		error = read_waits(&reading, &command.common);
	if (!error && !reading.dumped)
		error = show_report(&command, &reading, key);
	if (!error)
		opening_warn(&reading.opening);
	reading_deinit(&reading);
	return error;
}

/* ---- info ---- */

static int compare_threads(const void *a, const void *b)
{
	const struct lock_row *one = *(const struct lock_row *const *)a, *other = *(const struct lock_row *const *)b;
	return (one->thread->tid > other->thread->tid) - (one->thread->tid < other->thread->tid);
}

static int compare_locks(const void *a, const void *b)
{
	const struct lock_row *one = *(const struct lock_row *const *)a, *other = *(const struct lock_row *const *)b;
	int names = strcmp(one->name, other->name);
	return names ? names : (one->address > other->address) - (one->address < other->address);
}

/* Those that are asked for, in order. */
static struct lock_rows *info_rows(const struct reading *reading, bool threads)
{
	struct lock_rows *rows = rows_of(reading, threads);
	if (rows->all.len)
		qsort(rows->all.data, rows->all.len, sizeof(*rows->all.data), threads ? compare_threads : compare_locks);
	return rows;
}

static void print_info(const struct lock_rows *rows, bool threads, FILE *file)
{
	struct strbuf out = {0};
	strbuf_printf(&out, threads ? "%10s: comm\n" : "Address of instance: name of class\n", "Thread ID");
	for (size_t i = 0; i < rows->all.len; i++) {
		const struct lock_row *row = rows->all.data[i];
		if (threads) {
			strbuf_printf(&out, "%10u: ", row->thread->tid);
			lock_add_comm(&out, row->thread);
		} else {
			strbuf_printf(&out, " %#" PRIx64 ": ", row->address);
			text_add_safe(&out, row->name, strlen(row->name));
		}
		strbuf_add_char(&out, '\n');
	}
	fwrite(strbuf_str(&out), 1, out.len, file);
	strbuf_deinit(&out);
}

static struct table *info_table(const struct lock_rows *rows, bool threads)
{
	static const struct column columns[2][2] = {
		{{"tid", "TID", COLUMN_COUNT, ALIGN_RIGHT}, {"comm", "Comm", COLUMN_TEXT}},
		{{"address", "Address", COLUMN_ADDRESS}, {"name", "Name", COLUMN_TEXT}},
	};
	struct table *table = table_create_columns(threads ? "lock_threads" : "locks", columns[!threads], 2);
	for (size_t i = 0; i < rows->all.len; i++) {
		const struct lock_row *row = rows->all.data[i];
		const union cell cells[] = {{.integer = threads ? row->thread->tid : row->address},
					    {.text = threads ? untrusted_raw(thread_comm(row->thread, UINT64_MAX)) : row->name}};
		table_add_row(table, cells);
	}
	return table;
}

static struct error *show_info(const struct info_options *command, const struct reading *reading)
{
	FILE *file;
	struct table *tables[2];
	size_t count = 0, rows_shown = 0;
	struct error *error = lock_output_open(&command->common, !command->format, &file);
	if (error)
		return error;
	for (int threads = 1; threads >= 0; threads--) {
		if (!reading->wanted[threads ? BY_THREADS : BY_LOCKS])
			continue;
		const struct lock_rows *rows = info_rows(reading, threads);
		rows_shown += rows->all.len;
		if (command->format) {
			tables[count++] = info_table(rows, threads);
			continue;
		}
		if (count++)
			fputc('\n', file);
		print_info(rows, threads, file);
	}
	tell_nothing(rows_shown);
	if (command->format)
		error = view_print_tables(command->format, tables, count, file);
	return lock_output_close(&command->common, file, error);
}

static struct error *run_info(int argc, char **argv, int *ret_status)
{
	struct info_options command = {0};
	struct reading reading = {0};
	lock_input_init(&command.common);
	struct error *error = parse(info_options, argc, argv, &command);
	reading.wanted[BY_THREADS] = command.threads || !command.locks;
	reading.wanted[BY_LOCKS] = command.locks || !command.threads;
	if (!error)
		error = read_waits(&reading, &command.common);
	if (!error && !reading.dumped)
		error = show_info(&command, &reading);
	if (!error)
		opening_warn(&reading.opening);
	reading_deinit(&reading);
	return error;
}

static const char *const report_usage[] = {"[-k FIELD] [-F FIELD,…] [-c | -t] [-E N] [-i FILE]", NULL};
static const char *const info_usage[] = {"[-t] [-m] [-i FILE]", NULL};
const struct command cmd_lock_report = {"lock report", "Show how often each lock was waited for, and for how long", report_usage,
					report_options, run_report};
const struct command cmd_lock_info = {"lock info", "List threads that waited, and locks", info_usage, info_options, run_info};
