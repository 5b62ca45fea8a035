/* Counting as one JSON object a line, with the keys of the kernel's perf; values are strings, as there since Linux 6.12. */
#include "base/text.h"
#include "view/counting_internal.h"

#include <math.h>
#include <string.h>

static void add_string(struct strbuf *out, const char *key, const char *text)
{
	strbuf_printf(out, "\"%s\" : ", key);
	text_add_json(out, text, strlen(text));
	strbuf_add_str(out, ", ");
}

static void add_lead(struct strbuf *out, const struct counting *counting, const struct counting_row *row)
{
	strbuf_add_char(out, '{');
	if (counting->interval)
		strbuf_printf(out, "\"interval\" : %lu.%09lu, ", counting->time_ns / 1000000000u, counting->time_ns % 1000000000u);
	if (counting->summary)
		strbuf_add_str(out, "\"summary\" : true, ");
	if (!counting->places)
		return;
	add_string(out, counting->places->key, counting_place(counting, row));
	if (counting->places->members)
		strbuf_printf(out, "\"aggregate-number\" : %u, ", row->members);
}

static void add_figure(struct strbuf *out, const struct counting_figure *figure)
{
	double value = figure && figure->known && isfinite(figure->value) ? figure->value : 0;
	const char *unit = figure ? figure->unit : "";

	strbuf_printf(out, "\"metric-value\" : \"%f\", \"metric-unit\" : ", value);
	text_add_json(out, unit, strlen(unit));
	strbuf_add_str(out, "}\n");
}

static void add_row(struct strbuf *out, const struct counting *counting, const struct counting_row *row)
{
	static const char *const states[] = {NULL, "<not counted>", "<not supported>"};
	bool counted = row->state == COUNTING_COUNTED;
	char value[400];

	add_lead(out, counting, row);
	snprintf(value, sizeof(value), "%f", row->value);
	add_string(out, "counter-value", counted ? value : states[row->state]);
	add_string(out, "unit", row->unit);
	add_string(out, "event", row->event);
	if (counting->cgroups)
		add_string(out, "cgroup", row->cgroup ? row->cgroup : "");
	if (counting->runs > 1)
		strbuf_printf(out, "\"variance\" : %.2f, ", row->deviation);
	strbuf_printf(out, "\"event-runtime\" : %lu, \"pcnt-running\" : %.2f, ", row->running_ns, row->running);
	add_figure(out, counted && row->figure_count ? &row->figures[0] : NULL);
	for (unsigned int i = 1; counted && i < row->figure_count; i++) {
		add_lead(out, counting, row);
		add_figure(out, &row->figures[i]);
	}
}

/* One object for each place, with a key for each figure. */
static void add_only_figures(struct strbuf *out, const struct counting *counting, size_t first)
{
	size_t end = counting_place_end(counting, first), start;

	add_lead(out, counting, &counting->rows.data[first]);
	start = out->len;
	for (size_t i = first; i < end; i++) {
		const struct counting_row *row = &counting->rows.data[i];
		for (unsigned int f = 0; f < row->figure_count; f++) {
			const struct counting_figure *figure = &row->figures[f];
			struct strbuf title = {0};
			if (!figure->alone)
				continue;
			counting_add_title(&title, row, figure);
			if (out->len > start)
				strbuf_add_str(out, ", ");
			text_add_json(out, strbuf_str(&title), title.len);
			if (figure->known && isfinite(figure->value))
				strbuf_printf(out, " : \"%.*f\"", (int)figure->decimals, figure->value);
			else
				strbuf_add_str(out, " : \"none\"");
			strbuf_deinit(&title);
		}
	}
	if (out->len == start && out->len > 2 && out->data[out->len - 2] == ',') {
		out->len -= 2; /* a place without figures */
		out->data[out->len] = '\0';
	}
	strbuf_add_str(out, "}\n");
}

struct error *json_counting(const struct counting *counting, const struct view_options *options, FILE *file)
{
	struct strbuf out = {0};

	for (size_t i = 0; i < counting->rows.len;) {
		if (options->only_figures) {
			add_only_figures(&out, counting, i);
			i = counting_place_end(counting, i);
		} else {
			add_row(&out, counting, &counting->rows.data[i++]);
		}
	}
	fwrite(strbuf_str(&out), 1, out.len, file);
	strbuf_deinit(&out);
	return NULL;
}
