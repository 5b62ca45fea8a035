/* Counting as text for people: a count in 18 columns, its unit, what was counted, and behind '#' the metric computed from it. The widths
 * are those of the kernel's perf. */
#include "base/text.h"
#include "view/counting/counting_internal.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_WIDTH = 18, UNIT_WIDTH = 4, NAME_WIDTH = 32, METRIC_WIDTH = 35, ALONE_WIDTH = 20, HEADER_EVERY = 25 };

static const char *const level_colours[] = {"", "\033[33m", "\033[35m", "\033[31m"};

static void add_padded(struct strbuf *out, const char *text, size_t width)
{
	size_t before = out->len;

	text_add_safe(out, text, strlen(text));
	size_t used = text_width(strbuf_str(out) + before, out->len - before);
	if (used < width)
		strbuf_add_chars(out, ' ', width - used);
}

/* "1,234,567.89" right-aligned, grouped as the locale does it: not at all in the locale C. */
static void add_number(struct strbuf *out, double value, bool real, bool grouped)
{
	char number[800];
	int length = snprintf(number, sizeof(number), grouped ? "%'.*f" : "%.*f", real ? 2 : 0, value);
	size_t width = text_width(number, (size_t)length);

	strbuf_add_chars(out, ' ', width < VALUE_WIDTH ? VALUE_WIDTH - width : 0);
	strbuf_add_str(out, number);
}

static void add_value(struct strbuf *out, const struct counting_row *row, const struct view_options *options)
{
	if (row->state == COUNTING_COUNTED)
		add_number(out, row->value, row->real, !options->ungrouped);
	else
		strbuf_printf(out, "%*s", VALUE_WIDTH, row->state == COUNTING_NOT_COUNTED ? "<not counted>" : "<not supported>");
}

/* "85.12%" with its colour; returns the columns that it takes. */
static size_t add_metric_number(struct strbuf *out, const struct derived_metric *metric, const struct view_options *options)
{
	char number[400];
	int length = snprintf(number, sizeof(number), "%*.*f%s", (int)metric->width, (int)metric->decimals, metric->value, metric->sign);
	bool coloured = options->colours && metric->level != COUNTING_PLAIN;

	strbuf_printf(out, "%s%s%s", coloured ? level_colours[metric->level] : "", number, coloured ? "\033[m" : "");
	return (size_t)length;
}

/* " #    0.85  insn per cycle   ", or as many blanks. */
static void add_metric(struct strbuf *out, const struct derived_metric *metric, const struct view_options *options)
{
	if (!metric || !metric->known) {
		strbuf_add_chars(out, ' ', METRIC_WIDTH);
		return;
	}
	strbuf_add_str(out, " # ");
	size_t used = 3 + add_metric_number(out, metric, options);
	strbuf_add_char(out, ' ');
	add_padded(out, metric->unit, used + 1 < METRIC_WIDTH ? METRIC_WIDTH - used - 1 : 0);
}

static void add_place(struct strbuf *out, const struct counting *counting, const struct counting_row *row)
{
	if (!counting->places)
		return;
	/* A thread's name is aligned at the dash before its number. */
	const char *dash = counting->places->right_to_dash ? strrchr(row->place, '-') : NULL;
	enum { DASH_COLUMN = 16 };
	if (dash && (size_t)(dash - row->place) < DASH_COLUMN) {
		size_t lead = DASH_COLUMN - (size_t)(dash - row->place);
		strbuf_add_chars(out, ' ', lead);
		add_padded(out, row->place, counting->places->width - lead);
	} else {
		add_padded(out, row->place, counting->places->width);
	}
	strbuf_add_char(out, ' ');
	if (counting->places->members)
		strbuf_printf(out, "%4u ", row->members);
}

static void add_lead(struct strbuf *out, const struct counting *counting, const struct counting_row *row)
{
	if (counting->interval) {
		counting_add_time(out, counting->time_ns);
		strbuf_add_char(out, ' ');
	}
	add_place(out, counting, row);
}

static void add_row(struct strbuf *out, const struct counting *counting, const struct counting_row *row, const struct view_options *options)
{
	add_lead(out, counting, row);
	add_value(out, row, options);
	strbuf_add_char(out, ' ');
	add_padded(out, row->unit, UNIT_WIDTH);
	strbuf_add_char(out, ' ');
	add_padded(out, row->name, NAME_WIDTH);
	if (row->cgroup) {
		strbuf_add_char(out, ' ');
		add_padded(out, row->cgroup, 0);
	}
	bool counted = row->state == COUNTING_COUNTED;
	add_metric(out, counted && row->metric_count ? &row->metrics[0] : NULL, options);
	if (counted && row->deviation != 0)
		strbuf_printf(out, "  ( +-%6.2f%% )", row->deviation);
	if (counted && row->multiplexed)
		strbuf_printf(out, "  (%.2f%%)", row->running);
	strbuf_add_char(out, '\n');
	for (unsigned int i = 1; counted && i < row->metric_count; i++) {
		add_lead(out, counting, row);
		strbuf_add_chars(out, ' ', VALUE_WIDTH + 1 + UNIT_WIDTH + 1 + NAME_WIDTH + (row->cgroup ? 1 + strlen(row->cgroup) : 0));
		add_metric(out, &row->metrics[i], options);
		strbuf_add_char(out, '\n');
	}
}

static void add_interval_header(struct strbuf *out, const struct counting *counting, const struct view_options *options)
{
	strbuf_add_str(out, "#           time ");
	if (counting->places) {
		add_padded(out, counting->places->title, counting->places->width);
		strbuf_add_str(out, counting->places->members ? " cpus " : " ");
	}
	if (!options->only_metrics)
		strbuf_printf(out, "            counts unit %ss\n", counting->subject_id);
}

/* Only the metrics: a line for each place, titles above. */
static void add_only_metrics(struct strbuf *out, const struct counting *counting, const struct view_options *options)
{
	for (size_t first = 0; first < counting->rows.len;) {
		size_t end = counting_place_end(counting, first);
		add_lead(out, counting, &counting->rows.data[first]);
		for (size_t i = first; i < end; i++) {
			const struct counting_row *row = &counting->rows.data[i];
			for (unsigned int f = 0; f < row->metric_count; f++) {
				struct strbuf title = {0}, number = {0};
				if (!row->metrics[f].alone)
					continue;
				counting_add_title(&title, row, &row->metrics[f]);
				size_t used = row->metrics[f].known ? add_metric_number(&number, &row->metrics[f], options) : 0;
				size_t width = title.len > ALONE_WIDTH ? title.len : ALONE_WIDTH;
				strbuf_add_chars(out, ' ', width > used ? width - used : 0);
				strbuf_add_str(out, strbuf_str(&number));
				strbuf_add_char(out, ' ');
				strbuf_deinit(&title);
				strbuf_deinit(&number);
			}
		}
		strbuf_add_char(out, '\n');
		first = end;
	}
}

static void add_only_titles(struct strbuf *out, const struct counting *counting)
{
	size_t end = counting->rows.len ? counting_place_end(counting, 0) : 0;

	if (!counting->interval && counting->places)
		strbuf_add_chars(out, ' ', counting->places->width + (counting->places->members ? 6 : 1));
	for (size_t i = 0; i < end; i++) {
		const struct counting_row *row = &counting->rows.data[i];
		for (unsigned int f = 0; f < row->metric_count; f++) {
			struct strbuf title = {0};
			if (!row->metrics[f].alone)
				continue;
			counting_add_title(&title, row, &row->metrics[f]);
			strbuf_printf(out, "%*s ", ALONE_WIDTH, strbuf_str(&title));
			strbuf_deinit(&title);
		}
	}
	strbuf_add_char(out, '\n');
}

/* As many decimals as the deviation is worth. */
static int elapsed_decimals(double deviation)
{
	return deviation > 0 ? (int)ceil(log10(1 / deviation)) + 2 : 9;
}

static void add_each_elapsed(struct strbuf *out, const struct counting *counting, int decimals)
{
	strbuf_printf(out, "%*s# Table of individual measurements:\n", 18 - decimals - 2, "");
	for (unsigned int i = 0; i < counting->runs; i++) {
		double value = counting->each_elapsed[i], away = value - counting->elapsed;
		strbuf_printf(out, " %17.*f (%+.*f) ", decimals, value, decimals, away);
		strbuf_add_chars(out, '#', 1 + (size_t)fabs(100 * away / value / 5));
		strbuf_add_char(out, '\n');
	}
	strbuf_printf(out, "\n%*s# Final result:\n", 18 - decimals - 2, "");
}

static void add_footer(struct strbuf *out, const struct counting *counting, const struct view_options *options)
{
	if (counting->rows.len)
		strbuf_add_char(out, '\n');
	if (counting->runs <= 1) {
		strbuf_printf(out, " %17.9f seconds time elapsed\n", counting->elapsed);
	} else {
		int decimals = elapsed_decimals(counting->elapsed_deviation);
		if (options->table && counting->each_elapsed)
			add_each_elapsed(out, counting, decimals);
		strbuf_printf(out, " %17.*f +- %.*f seconds time elapsed", decimals, counting->elapsed, decimals,
			      counting->elapsed_deviation);
		if (counting->elapsed_deviation != 0)
			strbuf_printf(out, "  ( +-%6.2f%% )", 100 * counting->elapsed_deviation / counting->elapsed);
		strbuf_add_char(out, '\n');
	}
	if (counting->has_times)
		strbuf_printf(out, "\n %17.9f seconds user\n %17.9f seconds sys\n\n", counting->user, counting->system);
	for (size_t i = 0; i < counting->remarks.len; i++) {
		strbuf_add_str(out, i || counting->has_times ? " " : "\n ");
		text_add_safe(out, counting->remarks.data[i], strlen(counting->remarks.data[i]));
		strbuf_add_char(out, '\n');
	}
	strbuf_add_char(out, '\n');
}

static void add_header(struct strbuf *out, const struct counting *counting)
{
	strbuf_add_str(out, "\n Performance counter stats for ");
	text_add_safe(out, counting->what, strlen(counting->what));
	if (counting->runs > 1)
		strbuf_printf(out, " (%u runs)", counting->runs);
	strbuf_add_str(out, ":\n\n");
}

struct error *stdio_counting(const struct counting *counting, const struct view_options *options, const struct sink *output)
{
	/* Here alone numbers are the locale's: people read them. */
	locale_t numbers = newlocale(LC_NUMERIC_MASK, "", (locale_t)0), before = numbers ? uselocale(numbers) : (locale_t)0;
	struct strbuf out = {0};

	if (!counting->interval)
		add_header(&out, counting);
	else if (options->header)
		add_interval_header(&out, counting, options);
	if (options->only_metrics && (!counting->interval || options->header))
		add_only_titles(&out, counting);
	if (options->only_metrics)
		add_only_metrics(&out, counting, options);
	for (size_t i = 0; !options->only_metrics && i < counting->rows.len; i++)
		add_row(&out, counting, &counting->rows.data[i], options);
	if (!counting->interval)
		add_footer(&out, counting, options);
	sink_move(output, &out);
	strbuf_deinit(&out);
	if (numbers) {
		uselocale(before);
		freelocale(numbers);
	}
	return NULL;
}
