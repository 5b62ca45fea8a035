/* What perf ftrace makes of the trace: its text, the times of functions, a histogram of one function's times. */
#include "analysis/function_graph.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/ftrace/ftrace.h"
#include "view/distribution.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- trace ---- */

struct text_writer {
	struct strbuf header, line;
};

static void write_line(void *context, const char *line, size_t size)
{
	struct text_writer *writer = context;

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
	struct text_writer writer = {0};
	struct error *error = ftrace_run(options, command, &writer.header, write_line, &writer, ret_status);

	strbuf_deinit(&writer.header);
	strbuf_deinit(&writer.line);
	return error;
}

/* ---- profile ---- */

struct function_row {
	char *name;
	struct distribution times;
};

struct profile {
	struct map64 rows; /* hash of the name → index + 1 */
	VEC(struct function_row) list;
};

static void add_call(void *context, const char *line, size_t size)
{
	struct profile *profile = context;
	struct function_call call;

	if (!function_graph_parse(line, size, &call))
		return;
	uint64_t *index = map64_insert(&profile->rows, hash_bytes(call.name, call.name_len), NULL);
	if (!*index) {
		vec_push(&profile->list, (struct function_row){.name = mem_strndup(call.name, call.name_len), .times.unit_ns = 1000});
		*index = profile->list.len;
	}
	distribution_add(&profile->list.data[*index - 1].times, call.ns);
}

static uint64_t average(const struct function_row *row)
{
	return row->times.count ? row->times.total_ns / row->times.count : 0;
}

static int compare_rows(const void *a, const void *b, void *sort)
{
	const struct function_row *x = a, *y = b;
	uint64_t left = x->times.total_ns, right = y->times.total_ns;

	if (!strcmp(sort, "avg")) {
		left = average(x);
		right = average(y);
	} else if (!strcmp(sort, "max")) {
		left = x->times.longest_ns;
		right = y->times.longest_ns;
	} else if (!strcmp(sort, "count")) {
		left = x->times.count;
		right = y->times.count;
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
		qsort_r(profile->list.data, profile->list.len, sizeof(struct function_row), compare_rows, sort);
	printf("# %10s %10s %10s %10s   %s\n", "Total (us)", "Avg (us)", "Max (us)", "Count", "Function");
	for (size_t i = 0; i < profile->list.len; i++) {
		const struct function_row *row = &profile->list.data[i];
		printf("%12.3f %10.3f %10.3f %10llu   %s\n", (double)row->times.total_ns / 1e3, (double)average(row) / 1e3,
		       (double)row->times.longest_ns / 1e3, (unsigned long long)row->times.count, row->name);
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
		return error_new_kind(ERROR_USAGE, "-s: invalid key '%s': use total, avg, max, count or name", options->sort);
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

static void add_latency(void *context, const char *line, size_t size)
{
	struct distribution *times = context;
	struct function_call call;

	if (function_graph_parse(line, size, &call))
		distribution_add(times, call.ns);
}

static void print_distribution(const struct distribution *times)
{
	struct strbuf text = {0};

	distribution_add_text(&text, times, "calls");
	fputs(strbuf_str(&text), stdout);
	strbuf_deinit(&text);
}

static struct error *measure_with_bpf(const struct ftrace_options *options, char **command, struct distribution *ret, int *ret_status)
{
	struct function_latency_sums sums = {0};
	struct error *error = ftrace_run_bpf(options, command, &sums, ret_status);

	static_assert((int)FUNCTION_LATENCY_BUCKETS == (int)DISTRIBUTION_BUCKETS, "both have the same buckets");
	*ret = (struct distribution){.unit_ns = ret->unit_ns,
				     .count = sums.calls,
				     .total_ns = sums.total_ns,
				     .longest_ns = sums.longest_ns,
				     .shortest_ns = sums.shortest_ns};
	memcpy(ret->counts, sums.counts, sizeof(ret->counts));
	return error;
}

struct error *ftrace_latency(struct ftrace_options *options, char **command, int *ret_status)
{
	struct distribution times = {.unit_ns = options->in_ns ? 1 : 1000};

	if (options->tracing.functions.items.len != 1)
		return error_new_kind(ERROR_USAGE, "latency requires one function: -T NAME");
	options->tracer = "function_graph";
	options->tracing.tail = true;
	struct error *error = options->use_bpf ? measure_with_bpf(options, command, &times, ret_status)
					       : ftrace_run(options, command, NULL, add_latency, &times, ret_status);
	if (!error)
		print_distribution(&times);
	return error;
}
