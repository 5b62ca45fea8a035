/* perf leaks: which memory a process allocates and doesn't free, by the stack that allocated it.
 *
 *	BPF program at malloc, free, … ──► allocations by stack ─┐
 *	live source: what is mapped where ──► machine ───────────┴──► rows, now and then and at the end
 */
#include "bpf/leaks.h"
#include "app/command.h"
#include "app/ending.h"
#include "app/format_option.h"
#include "app/groups.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "capture/live.h"
#include "cmd/opening.h"
#include "cmd/targets.h"
#include "event/catalog.h"
#include "event/parse/parse.h"
#include "kernel/workload.h"
#include "view/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000, DEFAULT_TOP = 10 };

struct leaks_options {
	struct input_options input; /* for symbols */
	struct output_options output;
	struct targets targets;
	const char *object, *format;
	uint64_t interval_s, count, top, older_s, sample;
	bool sums_only;
};

/* A stack with what it holds. */
struct leak {
	int64_t stack;
	uint64_t bytes, units; /* allocations, in 1/LEAKS_COUNT_UNIT */
	uint64_t oldest;       /* ns of CLOCK_MONOTONIC; 0 = unknown */
	int64_t growth;	       /* bytes since the interval before */
};

struct leaks {
	const struct leaks_options *options;
	struct workload workload;
	pid_t pid;
	struct event_list events;
	struct targets_place place;
	struct live *live;
	struct opening opening;
	struct bpf_leaks *bpf;
	uint64_t begin_ns, newest_ns; /* only allocations until then */
	uint64_t shown;		      /* intervals */
	VEC(struct leak) rows;
	struct map64 places; /* stack → its row's number + 1 */
	struct map64 before; /* stack → bytes in the interval before */
};

static struct error *parse_bytes(const struct option *option, const char *argument, bool negated, void *field)
{
	enum { MOST_BYTES = 1 << 30 };
	uint64_t bytes;
	if (!number_parse_size(argument, &bytes) || !bytes || bytes > MOST_BYTES)
		return error_new_kind(ERROR_USAGE, "--sample %s: expected a number of bytes such as 64K, at most 1G", argument);
	*(uint64_t *)field = bytes;
	return NULL;
}

#define O struct leaks_options
static const struct option options[] = {
	OPTION_STRING('p', "pid", O, targets.pids, "PID", "watch this running process"),
	OPTION_STRING(0, "object", O, object, "FILE", "file that contains the allocator (default: the C library)"),
	OPTION_CUSTOM_FLAGS(0, "sample", O, sample, "BYTES",
			    "sample about one allocation per BYTES bytes, and estimate from these; larger ones are all sampled",
			    parse_bytes, OPTION_NO_NEGATION),
	OPTION_U64(0, "interval", O, interval_s, "SECONDS", "show what is outstanding every SECONDS seconds, and how it grew"),
	OPTION_U64(0, "count", O, count, "N", "stop after N intervals"),
	OPTION_U64(0, "top", O, top, "N", "show the N stacks that hold the most (default 10; 0: all)"),
	OPTION_U64(0, "older", O, older_s, "SECONDS", "count only allocations that are at least this old"),
	OPTION_FLAG(0, "combined-only", O, sums_only, "read only the sums of stacks, without ages: cheaper with millions of allocations"),
	OPTION_CUSTOM_FLAGS(0, "format", O, format, "FORMAT", "machine-readable output: csv or json", option_table_format,
			    OPTION_NO_NEGATION),
	OPTION_JSON(0, O, format),
	OPTION_STRING(0, "symfs", O, input.symfs, "DIRECTORY", "look for programs, libraries and debug files under DIRECTORY"),
	OPTION_GROUP(output_option_group, O, output),
	OPTION_END,
};

static struct error *check(const struct leaks_options *options, bool workload, pid_t *ret_pid)
{
	uint32_t pid = 0;
	if (workload == (options->targets.pids != NULL))
		return error_new_kind(ERROR_USAGE,
				      workload ? "a command and -p cannot be combined" : "name a command, or a process with -p");
	if (options->targets.pids && (!number_parse_u32(options->targets.pids, &pid) || !pid))
		return error_new_kind(ERROR_USAGE, "-p %s: expected the number of one process", options->targets.pids);
	if (options->count && !options->interval_s)
		return error_new_kind(ERROR_USAGE, "--count counts intervals: use it with --interval");
	if (options->sums_only && options->older_s)
		return error_new_kind(ERROR_USAGE, "--combined-only keeps no ages: omit it, or --older");
	if (options->interval_s > UINT32_MAX || options->older_s > UINT32_MAX)
		return error_new_kind(ERROR_USAGE, "--interval and --older: at most %" PRIu32 " seconds", UINT32_MAX);
	*ret_pid = (pid_t)pid;
	return NULL;
}

/* ---- rows ---- */

static struct leak *row_of(struct leaks *leaks, int64_t stack)
{
	bool is_new;
	int64_t known = stack < 0 ? -1 : stack; /* all without a stack */
	uint64_t *place = map64_insert(&leaks->places, (uint64_t)known, &is_new);
	if (is_new) {
		vec_push(&leaks->rows, (struct leak){.stack = known});
		*place = leaks->rows.len;
	}
	return &leaks->rows.data[*place - 1];
}

static void take_allocation(void *context, const struct leaks_allocation *allocation)
{
	struct leaks *leaks = context;
	if (allocation->time > leaks->newest_ns)
		return;
	struct leak *row = row_of(leaks, allocation->stack);
	row->bytes += allocation->bytes;
	row->units += allocation->count;
	if (!row->oldest || allocation->time < row->oldest)
		row->oldest = allocation->time;
}

static void take_sums(void *context, int64_t stack, const struct leaks_sums *sums)
{
	struct leak *row = row_of(context, stack);
	row->bytes += sums->bytes;
	row->units += sums->count;
}

static int compare_leaks(const void *a, const void *b)
{
	const struct leak *left = a, *right = b;
	int order = (left->bytes < right->bytes) - (left->bytes > right->bytes);
	if (!order)
		order = (left->units < right->units) - (left->units > right->units);
	return order ? order : (left->stack > right->stack) - (left->stack < right->stack);
}

/* A stack that had nothing in the interval before grows from 0, whatever it had earlier. */
static void find_growth(struct leaks *leaks)
{
	struct map64 now = {0};
	for (size_t i = 0; i < leaks->rows.len; i++) {
		struct leak *row = &leaks->rows.data[i];
		const uint64_t *before = map64_find(&leaks->before, (uint64_t)row->stack);
		row->growth = (int64_t)(row->bytes - (before ? *before : 0));
		*map64_insert(&now, (uint64_t)row->stack, NULL) = row->bytes;
	}
	map64_deinit(&leaks->before);
	leaks->before = now;
}

static void read_rows(struct leaks *leaks)
{
	uint64_t now = clock_now_ns(CLOCK_MONOTONIC), age = leaks->options->older_s * NS_PER_S;
	leaks->rows.len = 0;
	map64_deinit(&leaks->places);
	leaks->newest_ns = now > age ? now - age : 0;
	if (leaks->options->sums_only)
		bpf_leaks_each_stack(leaks->bpf, take_sums, leaks);
	else
		bpf_leaks_each(leaks->bpf, take_allocation, leaks);
	size_t kept = 0;
	for (size_t i = 0; i < leaks->rows.len; i++)
		if (leaks->rows.data[i].units)
			leaks->rows.data[kept++] = leaks->rows.data[i];
	leaks->rows.len = kept;
	find_growth(leaks);
	if (kept)
		qsort(leaks->rows.data, kept, sizeof(*leaks->rows.data), compare_leaks);
}

/* ---- stacks ---- */

static bool is_root(const char *name)
{
	static const char *const names[] = {"_start",
					    "main",
					    "__libc_start_call_main",
					    "__libc_start_main_impl",
					    "__libc_start_main",
					    "start_thread",
					    "clone",
					    "clone3",
					    "__clone3",
					    "__clone"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Adds the frames, innermost first; false when the stack doesn't reach the function that its thread started in. All addresses are where
 * calls return to: the call is a byte before. */
static bool add_stack(struct leaks *leaks, int64_t stack, const char *before, const char *behind, struct strbuf *out)
{
	uint64_t frames[LEAKS_FRAMES];
	size_t count = bpf_leaks_stack(leaks->bpf, stack, frames);
	struct machine *machine = leaks->opening.session->machine;
	const struct thread *thread = machine_thread_or_new(machine, (uint32_t)leaks->pid, (uint32_t)leaks->pid, UINT64_MAX);
	bool whole = false;
	for (size_t i = 0; i < count; i++) {
		struct frame frame;
		resolver_frame(leaks->opening.resolver, thread_maps(thread), CPUMODE_USER, frames[i] - 1, UINT64_MAX, &frame);
		strbuf_add_str(out, before);
		if (frame.symbol) {
			text_add_safe(out, frame.symbol->name, strlen(frame.symbol->name));
			whole |= is_root(frame.symbol->name);
		} else {
			strbuf_printf(out, "0x%" PRIx64, frames[i]);
		}
		if (frame.map) {
			strbuf_add_str(out, " [");
			text_add_safe(out, frame.map->dso->short_name, strlen(frame.map->dso->short_name));
			strbuf_add_char(out, ']');
		}
		strbuf_add_str(out, behind);
	}
	if (!count)
		strbuf_printf(out, "%s[unknown stack]%s", before, behind);
	return whole;
}

/* ---- output ---- */

static size_t row_count(const struct leaks *leaks)
{
	uint64_t top = leaks->options->top;
	return top && top < leaks->rows.len ? (size_t)top : leaks->rows.len;
}

static double allocations_of(uint64_t units)
{
	return (double)units / LEAKS_COUNT_UNIT;
}

static void add_head(const struct leaks *leaks, struct strbuf *out)
{
	char bytes[32], count[32];
	uint64_t all = 0, units = 0;
	for (size_t i = 0; i < leaks->rows.len; i++) {
		all += leaks->rows.data[i].bytes;
		units += leaks->rows.data[i].units;
	}
	strbuf_printf(out, "Outstanding after %.1f s: %s%s bytes", (double)(clock_now_ns(CLOCK_MONOTONIC) - leaks->begin_ns) / NS_PER_S,
		      leaks->options->sample ? "about " : "", number_format_grouped(all, bytes));
	strbuf_printf(out, " in %s allocations by %zu stacks\n", number_format_grouped((uint64_t)(allocations_of(units) + 0.5), count),
		      leaks->rows.len);
}

static bool add_row(struct leaks *leaks, const struct leak *row, struct strbuf *out)
{
	char bytes[32], count[32];
	strbuf_printf(out, "\n%s bytes", number_format_grouped(row->bytes, bytes));
	strbuf_printf(out, " in %s allocations", number_format_grouped((uint64_t)(allocations_of(row->units) + 0.5), count));
	if (leaks->shown)
		strbuf_printf(out, ", %+" PRId64 " bytes since the interval before", row->growth);
	if (row->oldest)
		strbuf_printf(out, ", the oldest for %.1f s", (double)(clock_now_ns(CLOCK_MONOTONIC) - row->oldest) / NS_PER_S);
	strbuf_add_char(out, '\n');
	return add_stack(leaks, row->stack, "        ", "\n", out);
}

static void print_text(struct leaks *leaks)
{
	struct strbuf out = {0};
	size_t cut = 0;
	add_head(leaks, &out);
	for (size_t i = 0; i < row_count(leaks); i++)
		cut += !add_row(leaks, &leaks->rows.data[i], &out);
	if (cut)
		strbuf_printf(&out,
			      "\n%zu of these stacks end early: stacks are followed by frame pointers; compile with "
			      "-fno-omit-frame-pointer to see all callers.\n",
			      cut);
	strbuf_add_char(&out, '\n');
	fwrite(out.data, 1, out.len, stdout);
	fflush(stdout);
	strbuf_deinit(&out);
}

static struct error *write_table(struct leaks *leaks)
{
	static const struct column columns[] = {
		{"interval", "Interval", COLUMN_COUNT, ALIGN_RIGHT},
		{"bytes", "Bytes", COLUMN_BYTES, ALIGN_RIGHT},
		{"allocations", "Allocations", COLUMN_REAL, ALIGN_RIGHT, .decimals = 1},
		{"age", "Oldest", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"stack", "Stack", COLUMN_TEXT},
	};
	enum { COLUMNS = sizeof(columns) / sizeof(*columns) };
	struct table *table = table_create_columns("leaks", columns, COLUMNS);
	for (size_t i = 0; i < row_count(leaks); i++) {
		const struct leak *row = &leaks->rows.data[i];
		struct strbuf stack = {0};
		add_stack(leaks, row->stack, "", ";", &stack);
		const union cell cells[COLUMNS] = {
			{.integer = leaks->shown + 1},
			{.integer = row->bytes},
			{.real = allocations_of(row->units)},
			{.integer = row->oldest ? clock_now_ns(CLOCK_MONOTONIC) - row->oldest : 0},
			{.text = arena_strndup(&table->arena, strbuf_str(&stack), stack.len ? stack.len - 1 : 0)},
		};
		strbuf_deinit(&stack);
		table_add_row(table, cells);
	}
	const struct view_options view = {.header = !leaks->shown};
	struct sink out = sink_to_file(stdout);
	struct error *error = view_write_one(view_find(leaks->options->format), (struct result){RESULT_TABLE, .table = table}, &view, &out);
	table_destroy(table);
	return error;
}

static struct error *show(struct leaks *leaks)
{
	struct error *error = NULL;
	read_rows(leaks);
	if (leaks->options->format)
		error = write_table(leaks);
	else
		print_text(leaks);
	leaks->shown++;
	return error;
}

/* ---- measuring ---- */

/* Records of no event: what is told is what the process maps. */
static struct error *open_live(struct leaks *leaks, struct event_catalog *catalog)
{
	const struct sampling sampling = {.period = 1, .workload = leaks->workload.pid != 0};
	struct error *error = event_parse(&leaks->events, catalog, "dummy:u");
	if (!error)
		error = targets_place(&leaks->options->targets, &sampling, leaks->workload.pid, &leaks->place);
	if (error)
		return error;
	const struct live_options live = {
		.name = "leaks",
		.events = &leaks->events,
		.catalog = catalog,
		.sampling = &sampling,
		.target = &leaks->place.target,
		.workload = leaks->workload.pid ? &leaks->workload : NULL,
	};
	return live_open(&live, &leaks->live);
}

/* The C library that the process has, or, before a command runs, that we have ourselves. Freed by the caller; NULL = none. *ret_path: by
 * which it is reached, freed too. What the process has mapped counts, not what is there now by its name, which may be in another root
 * directory, or something else that the process's owner put there. */
static char *find_library(pid_t pid, char **ret_path)
{
	char path[64], *line = NULL, *found = NULL;
	uint64_t begin, end;
	size_t room = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)(pid ? pid : getpid()));
	FILE *file = fopen(path, "re");
	while (file && !found && getline(&line, &room, file) > 0) {
		char *name = strchr(line, '/'), *slash = name ? strrchr(name, '/') : NULL;
		if (!slash || (strncmp(slash, "/libc.so", strlen("/libc.so")) != 0 && strncmp(slash, "/libc-2", strlen("/libc-2")) != 0))
			continue;
		name[strcspn(name, "\n")] = '\0';
		found = mem_strdup(name);
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &begin, &end) == 2)
			*ret_path = mem_printf("/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, begin, end);
	}
	if (found && (!pid || !*ret_path || access(*ret_path, R_OK))) { /* the folder is root's */
		free(*ret_path);
		*ret_path = mem_strdup(found);
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

static struct error *start_watching(struct leaks *leaks)
{
	const struct leaks_config config = {.sample = leaks->options->sample};
	pid_t running = leaks->workload.pid ? 0 : leaks->pid;
	char *path = leaks->options->object ? mem_strdup(leaks->options->object) : NULL;
	char *library = path ? mem_strdup(path) : find_library(running, &path);
	struct error *error = library ? bpf_leaks_open(&config, &leaks->bpf)
				      : error_new("process %d has no C library mapped; --object names the file that contains its allocator",
						  (int)leaks->pid);
	if (!error)
		error = bpf_leaks_start(leaks->bpf, leaks->pid, path, library);
	free(library);
	free(path);
	leaks->begin_ns = clock_now_ns(CLOCK_MONOTONIC);
	return error;
}

/* Until the process ends, a signal comes, or there were enough intervals. */
static struct error *follow(struct leaks *leaks)
{
	const struct leaks_options *options = leaks->options;
	struct record record;
	struct error *error = NULL;
	uint64_t interval = options->interval_s * NS_PER_S;
	while (!error && session_next(leaks->opening.session, &record, &error) > 0) {
		if (record.is_sample || record.header->type != RECORD_FINISHED_ROUND || !interval ||
		    clock_now_ns(CLOCK_MONOTONIC) - leaks->begin_ns < (leaks->shown + 1) * interval)
			continue;
		error = show(leaks);
		if (options->count && leaks->shown >= options->count)
			break;
	}
	if (!error && !(options->count && leaks->shown >= options->count))
		error = show(leaks);
	return error;
}

static struct error *measure(struct leaks *leaks)
{
	const struct opening_options opening = {
		.input = &leaks->options->input, .reader = live_take_reader(leaks->live), .remembers = true, .streaming = true};
	struct error *error = opening_begin(&leaks->opening, &opening);
	if (!error)
		error = start_watching(leaks);
	if (!error)
		error = follow(leaks);
	uint64_t missed = leaks->bpf ? bpf_leaks_missed(leaks->bpf) : 0;
	if (missed)
		log_warning("%" PRIu64 " allocations are not counted: more than %d were outstanding; --sample BYTES notes fewer.", missed,
			    LEAKS_ALLOCATIONS);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct leaks_options values = {.top = DEFAULT_TOP};
	struct leaks leaks = {.options = &values};
	struct event_catalog *catalog = event_catalog_create("");
	int words;
	input_options_init(&values.input);
	struct error *error = options_parse(options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &values, &words);
	if (!error)
		error = check(&values, words > 0, &leaks.pid);
	if (!error && words)
		error = workload_start(&leaks.workload, argv, values.format != NULL);
	if (leaks.workload.pid)
		leaks.pid = leaks.workload.pid;
	if (!error)
		error = open_live(&leaks, catalog);
	if (!error)
		error = measure(&leaks);
	workload_stop(&leaks.workload);
	if (!error)
		*ret_status = ending_status(ENDING_TRACE, &leaks.workload, live_signal(leaks.live));
	opening_end(&leaks.opening);
	bpf_leaks_close(leaks.bpf);
	live_close(leaks.live, true);
	event_list_deinit(&leaks.events);
	targets_place_deinit(&leaks.place);
	workload_deinit(&leaks.workload);
	event_catalog_destroy(catalog);
	vec_deinit(&leaks.rows);
	map64_deinit(&leaks.places);
	map64_deinit(&leaks.before);
	return error;
}

static const char *const usage[] = {"[--sample BYTES] [--interval SECONDS] [--top N] [--older SECONDS] {-p PID | [--] COMMAND}", NULL};
const struct command cmd_leaks = {"leaks", "Show which memory a process does not free, by stack", usage, options, run};
