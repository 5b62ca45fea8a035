/* What perf ftrace makes of the trace: its text, the times of functions, a histogram of one function's times. */
#include "analysis/function_graph.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/ftrace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 46 };

/* ---- trace ---- */

struct writer {
	struct strbuf header, line;
};

static void write_line(void *context, const char *line, size_t size)
{
	struct writer *writer = context;

	if (writer->header.len) {
		fputs(writer->header.data, stdout);
		strbuf_clear(&writer->header);
	}
	strbuf_clear(&writer->line);
	while (size) {
		const char *tab = memchr(line, '\t', size);
		size_t len = tab ? (size_t)(tab - line) : size;
		text_add_safe(&writer->line, line, len);
		if (tab)
			strbuf_add_char(&writer->line, '\t');
		line += len + (tab != NULL);
		size -= len + (tab != NULL);
	}
	strbuf_add_char(&writer->line, '\n');
	fwrite(writer->line.data, 1, writer->line.len, stdout);
}

struct error *ftrace_trace(struct ftrace_options *options, char **command, int *ret_status)
{
	struct writer writer = {0};
	struct error *error = ftrace_run(options, command, &writer.header, write_line, &writer, ret_status);

	strbuf_deinit(&writer.header);
	strbuf_deinit(&writer.line);
	return error;
}

/* ---- profile ---- */

struct row {
	char *name;
	struct latency_histogram times;
};

struct profile {
	struct map64 rows; /* hash of the name → index + 1 */
	VEC(struct row) list;
};

static void add_call(void *context, const char *line, size_t size)
{
	struct profile *profile = context;
	struct function_call call;

	if (!function_graph_parse(line, size, &call))
		return;
	uint64_t *index = map64_insert(&profile->rows, hash_bytes(call.name, call.name_len), NULL);
	if (!*index) {
		vec_push(&profile->list, (struct row){.name = mem_strndup(call.name, call.name_len)});
		*index = profile->list.len;
	}
	latency_histogram_add(&profile->list.data[*index - 1].times, call.ns, false);
}

static uint64_t average(const struct row *row)
{
	return row->times.calls ? row->times.total_ns / row->times.calls : 0;
}

static int compare_rows(const void *a, const void *b, void *sort)
{
	const struct row *x = a, *y = b;
	uint64_t left = x->times.total_ns, right = y->times.total_ns;

	if (!strcmp(sort, "avg")) {
		left = average(x);
		right = average(y);
	} else if (!strcmp(sort, "max")) {
		left = x->times.longest_ns;
		right = y->times.longest_ns;
	} else if (!strcmp(sort, "count")) {
		left = x->times.calls;
		right = y->times.calls;
	} else if (!strcmp(sort, "name")) {
		left = right;
	}
	if (left != right)
		return left > right ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void print_profile(const struct ftrace_options *options, struct profile *profile)
{
	char *sort = mem_strdup(options->sort ? options->sort : "total");

	if (profile->list.len)
		qsort_r(profile->list.data, profile->list.len, sizeof(struct row), compare_rows, sort);
	printf("# %10s %10s %10s %10s   %s\n", "Total (us)", "Avg (us)", "Max (us)", "Count", "Function");
	for (size_t i = 0; i < profile->list.len; i++) {
		const struct row *row = &profile->list.data[i];
		printf("%12.3f %10.3f %10.3f %10llu   %s\n", (double)row->times.total_ns / 1e3, (double)average(row) / 1e3,
		       (double)row->times.longest_ns / 1e3, (unsigned long long)row->times.calls, row->name);
	}
	free(sort);
}

struct error *ftrace_profile(struct ftrace_options *options, char **command, int *ret_status)
{
	static const char *const sorts[] = {"total", "avg", "max", "count", "name"};
	struct profile profile = {0};
	bool known = !options->sort;

	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++)
		known = known || !strcmp(options->sort, sorts[i]);
	if (!known)
		return error_new_kind(ERROR_USAGE, "-s '%s': total, avg, max, count or name", options->sort);
	options->tracer = "function_graph";
	options->tracing.tail = true;
	struct error *error = ftrace_run(options, command, NULL, add_call, &profile, ret_status);
	if (!error)
		print_profile(options, &profile);
	for (size_t i = 0; i < profile.list.len; i++)
		free(profile.list.data[i].name);
	vec_deinit(&profile.list);
	map64_deinit(&profile.rows);
	return error;
}

/* ---- latency ---- */

struct latency {
	const char *function;
	bool in_ns;
	struct latency_histogram times;
};

static void add_latency(void *context, const char *line, size_t size)
{
	struct latency *latency = context;
	struct function_call call;

	if (function_graph_parse(line, size, &call))
		latency_histogram_add(&latency->times, call.ns, latency->in_ns);
}

static void print_bar(uint64_t count, uint64_t total)
{
	int len = total ? (int)(count * BAR / total) : 0;

	for (int i = 0; i < BAR; i++)
		putchar(i < len ? '#' : ' ');
}

/* From one unit on each bucket is twice as wide as the one before; 1024 of a unit are one of the next. */
static void print_histogram(const struct latency *latency)
{
	const char *unit = latency->in_ns ? "ns" : "us", *next = latency->in_ns ? "us" : "ms", *last = latency->in_ns ? "ms" : " s";
	const struct latency_histogram *times = &latency->times;

	printf("# %14s | %10s | %-*s |\n", "  DURATION    ", "COUNT", BAR, "GRAPH");
	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++) {
		uint64_t start = i ? 1u << (i - 1) : 0, stop = 1u << i;
		bool larger = start >= 1024;
		if (i + 1 == LATENCY_BUCKETS)
			printf("  %4d - %-4s %s | %10llu | ", 1, "...", last, (unsigned long long)times->counts[i]);
		else
			printf("  %4llu - %-4llu %s | %10llu | ", (unsigned long long)(larger ? start >> 10 : start),
			       (unsigned long long)(larger ? stop >> 10 : stop), larger ? next : unit,
			       (unsigned long long)times->counts[i]);
		print_bar(times->counts[i], times->calls);
		puts(" |");
	}
	if (times->calls)
		printf("\n# %llu calls, total %.3f us, average %.3f, longest %.3f, shortest %.3f\n", (unsigned long long)times->calls,
		       (double)times->total_ns / 1e3, (double)times->total_ns / (double)times->calls / 1e3, (double)times->longest_ns / 1e3,
		       (double)times->shortest_ns / 1e3);
}

struct error *ftrace_latency(struct ftrace_options *options, char **command, int *ret_status)
{
	struct latency latency = {.in_ns = options->in_ns};

	if (options->tracing.functions.items.len != 1)
		return error_new_kind(ERROR_USAGE, "latency needs one function: -T NAME");
	options->tracer = "function_graph";
	options->tracing.tail = true;
	struct error *error = ftrace_run(options, command, NULL, add_latency, &latency, ret_status);
	if (!error)
		print_histogram(&latency);
	return error;
}
