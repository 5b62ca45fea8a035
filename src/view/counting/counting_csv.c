/* Counting with a separator between fields, for programs. The order of the fields is that of the kernel's perf:
 *
 *	[time] [place [CPUs]] value unit name [cgroup] [deviation] running-ns running-% metric unit-of-metric
 */
#include "base/text.h"
#include "view/counting/counting_internal.h"

#include <string.h>

/* A name may hold the separator: "syscalls:sys_enter_read" with -x:. The kernel's perf quotes none, and neither are plain names here. */
static void add_name(struct strbuf *out, const char *name, const char *between)
{
	text_add_csv(out, name, strlen(name), between);
}

static void add_lead(struct strbuf *out, const struct counting *counting, const struct counting_row *row,
		     const struct view_options *options, const char *between)
{
	if (counting->interval) {
		counting_add_time(out, counting->time_ns);
		strbuf_add_str(out, between);
	} else if (counting->summary && !options->plain_summary) {
		strbuf_printf(out, "%16s%s", "summary", between);
	}
	if (!counting->places)
		return;
	add_name(out, row->place, between);
	strbuf_add_str(out, between);
	if (counting->places->members)
		strbuf_printf(out, "%u%s", row->members, between);
}

static void add_value(struct strbuf *out, const struct counting_row *row)
{
	if (row->state == COUNTING_COUNTED)
		strbuf_printf(out, "%.*f", row->real ? 2 : 0, row->value);
	else
		strbuf_add_str(out, row->state == COUNTING_NOT_COUNTED ? "<not counted>" : "<not supported>");
}

static void add_metric(struct strbuf *out, const struct derived_metric *metric, const char *between)
{
	if (metric && metric->known)
		strbuf_printf(out, "%s%.*f%s%s", between, (int)metric->decimals, metric->value, between, metric->unit);
	else
		strbuf_printf(out, "%s%s", between, between);
}

static void add_row(struct strbuf *out, const struct counting *counting, const struct counting_row *row, const struct view_options *options,
		    const char *between)
{
	bool counted = row->state == COUNTING_COUNTED;
	unsigned int empty = 4 + counting->cgroups + (counting->runs > 1);

	add_lead(out, counting, row, options, between);
	add_value(out, row);
	strbuf_add_str(out, between);
	add_name(out, row->unit, between);
	strbuf_add_str(out, between);
	add_name(out, row->name, between);
	strbuf_add_str(out, between);
	if (counting->cgroups) {
		add_name(out, row->cgroup ? row->cgroup : "", between);
		strbuf_add_str(out, between);
	}
	if (counting->runs > 1)
		strbuf_printf(out, "%.2f%%%s", row->deviation, between);
	strbuf_printf(out, "%lu%s%.2f", row->running_ns, between, row->running);
	add_metric(out, counted && row->metric_count ? &row->metrics[0] : NULL, between);
	strbuf_add_char(out, '\n');
	for (unsigned int i = 1; counted && i < row->metric_count; i++) {
		add_lead(out, counting, row, options, between);
		for (unsigned int field = 0; field < empty; field++)
			strbuf_add_str(out, between);
		add_metric(out, &row->metrics[i], between);
		strbuf_add_char(out, '\n');
	}
}

static void add_title(struct strbuf *out, const struct counting_row *row, const struct derived_metric *metric, const char *between)
{
	struct strbuf title = {0};

	counting_add_title(&title, row, metric);
	add_name(out, strbuf_str(&title), between);
	strbuf_deinit(&title);
}

static void add_only_metrics(struct strbuf *out, const struct counting *counting, const struct view_options *options, const char *between,
			     size_t first, bool titles)
{
	size_t end = counting_place_end(counting, first);

	for (size_t i = first; i < end; i++) {
		const struct counting_row *row = &counting->rows.data[i];
		for (unsigned int f = 0; f < row->metric_count; f++) {
			const struct derived_metric *metric = &row->metrics[f];
			if (!metric->alone)
				continue;
			if (titles)
				add_title(out, row, metric, between);
			else if (metric->known)
				strbuf_printf(out, "%.*f", (int)metric->decimals, metric->value);
			strbuf_add_str(out, between);
		}
	}
	strbuf_add_char(out, '\n');
}

struct error *csv_counting(const struct counting *counting, const struct view_options *options, const struct sink *output)
{
	const char *between = options->between ? options->between : ",";
	struct strbuf out = {0};

	if (options->only_metrics && options->header && counting->rows.len) {
		if (counting->interval)
			strbuf_printf(&out, "time%s", between);
		if (counting->places)
			strbuf_printf(&out, "%s%s%s", counting->places->key, between, counting->places->members ? "cpus" : "");
		if (counting->places && counting->places->members)
			strbuf_add_str(&out, between);
		add_only_metrics(&out, counting, options, between, 0, true);
	}
	for (size_t i = 0; i < counting->rows.len;) {
		if (!options->only_metrics) {
			add_row(&out, counting, &counting->rows.data[i++], options, between);
			continue;
		}
		add_lead(&out, counting, &counting->rows.data[i], options, between);
		add_only_metrics(&out, counting, options, between, i, false);
		i = counting_place_end(counting, i);
	}
	sink_move(output, &out);
	strbuf_deinit(&out);
	return NULL;
}
