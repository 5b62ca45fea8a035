/* Counting as one JSON object a line, with the keys of the kernel's perf; values are strings, as there since Linux 6.12. */
#include "base/json.h"
#include "view/counting/counting_internal.h"

#include <math.h>

static struct json begin_lead(struct strbuf *out, const struct counting *counting, const struct counting_row *row)
{
	struct json json = {.out = out, .comma = ", ", .colon = " : "};

	json_begin_object(&json);
	if (counting->interval) {
		json_name(&json, "interval");
		json_value(&json, "%lu.%09lu", counting->time_ns / 1000000000u, counting->time_ns % 1000000000u);
	}
	if (counting->summary) {
		json_name(&json, "summary");
		json_bool(&json, true);
	}
	if (counting->places) {
		json_add_string(&json, counting->places->key, counting_place(counting, row));
		if (counting->places->members)
			json_add_u64(&json, "aggregate-number", row->members);
	}
	return json;
}

static void end_line(struct json *json)
{
	json_end_object(json);
	strbuf_add_char(json->out, '\n');
}

static void add_metric(struct json *json, const struct derived_metric *metric)
{
	double value = metric && metric->known && isfinite(metric->value) ? metric->value : 0;

	json_name(json, "metric-value");
	json_value(json, "\"%f\"", value);
	json_add_string(json, "metric-unit", metric ? metric->unit : "");
	end_line(json);
}

static void add_row(struct strbuf *out, const struct counting *counting, const struct counting_row *row)
{
	static const char *const states[] = {NULL, "<not counted>", "<not supported>"};
	bool counted = row->state == COUNTING_COUNTED;
	char value[400], runtime[40];
	struct json json = begin_lead(out, counting, row);

	snprintf(value, sizeof(value), "%f", row->value);
	json_add_string(&json, "counter-value", counted ? value : states[row->state]);
	json_add_string(&json, "unit", row->unit);
	json_add_string(&json, counting->subject_id, row->name);
	if (counting->cgroups)
		json_add_string(&json, "cgroup", row->cgroup ? row->cgroup : "");
	if (counting->runs > 1) {
		json_name(&json, "variance");
		json_value(&json, "%.2f", row->deviation);
	}
	snprintf(runtime, sizeof(runtime), "%s-runtime", counting->subject_id);
	json_add_u64(&json, runtime, row->running_ns);
	json_name(&json, "pcnt-running");
	json_value(&json, "%.2f", row->running);
	add_metric(&json, counted && row->metric_count ? &row->metrics[0] : NULL);
	for (unsigned int i = 1; counted && i < row->metric_count; i++) {
		json = begin_lead(out, counting, row);
		add_metric(&json, &row->metrics[i]);
	}
}

/* One object for each place, with a key for each metric. */
static void add_only_metrics(struct strbuf *out, const struct counting *counting, size_t first)
{
	size_t end = counting_place_end(counting, first);
	struct json json = begin_lead(out, counting, &counting->rows.data[first]);

	for (size_t i = first; i < end; i++) {
		const struct counting_row *row = &counting->rows.data[i];
		for (unsigned int m = 0; m < row->metric_count; m++) {
			const struct derived_metric *metric = &row->metrics[m];
			struct strbuf title = {0};
			if (!metric->alone)
				continue;
			counting_add_title(&title, row, metric);
			json_name(&json, strbuf_str(&title));
			if (metric->known && isfinite(metric->value))
				json_value(&json, "\"%.*f\"", (int)metric->decimals, metric->value);
			else
				json_string(&json, "none");
			strbuf_deinit(&title);
		}
	}
	end_line(&json);
}

struct error *json_counting(const struct counting *counting, const struct view_options *options, const struct sink *output)
{
	struct strbuf out = {0};

	for (size_t i = 0; i < counting->rows.len;) {
		if (options->only_metrics) {
			add_only_metrics(&out, counting, i);
			i = counting_place_end(counting, i);
		} else {
			add_row(&out, counting, &counting->rows.data[i++]);
		}
	}
	sink_move(output, &out);
	strbuf_deinit(&out);
	return NULL;
}
