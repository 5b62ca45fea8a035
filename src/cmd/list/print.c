/* Entries as lines in the layout of the kernel's perf, as JSON with its keys, or as bare names. */
#include "cmd/list/list.h"

#include "base/json.h"
#include "base/text.h"

#include <string.h>

enum { NAME_WIDTH = 50, DESCRIPTION_INDENT = 8, COLUMNS_UNKNOWN = 80 };

static void add_safe(struct strbuf *out, const char *text)
{
	text_add_safe(out, text, strlen(text));
}

/* "       [TEXT]", wrapped behind the bracket. */
static void add_description(struct strbuf *out, const char *text, unsigned int columns)
{
	struct strbuf bracketed = {0};

	add_safe(&bracketed, text);
	strbuf_add_chars(out, ' ', DESCRIPTION_INDENT - 1);
	strbuf_add_char(out, '[');
	strbuf_add_char(&bracketed, ']');
	text_add_wrapped(out, strbuf_str(&bracketed), DESCRIPTION_INDENT, DESCRIPTION_INDENT, columns);
	strbuf_deinit(&bracketed);
}

static const char *support_note(const struct listing_entry *entry)
{
	return entry->support == LISTING_UNSUPPORTED ? ", not supported here"
	       : entry->support == LISTING_FORBIDDEN ? ", no permission to test"
						     : "";
}

static void add_names(struct strbuf *out, const struct listing_entry *entry)
{
	/* The short name of a PMU's event comes first. */
	bool swapped = entry->alias && entry->group == LISTING_PMU;

	add_safe(out, swapped ? entry->alias : entry->name);
	if (!entry->alias)
		return;
	strbuf_add_str(out, " OR ");
	add_safe(out, swapped ? entry->name : entry->alias);
}

static void add_details(struct strbuf *out, const struct listing_entry *entry, unsigned int columns)
{
	const char *const texts[] = {entry->encoding, entry->expression, entry->scale_unit};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct strbuf safe = {0};
		if (!texts[i])
			continue;
		add_safe(&safe, texts[i]);
		strbuf_add_chars(out, ' ', DESCRIPTION_INDENT);
		text_add_wrapped(out, strbuf_str(&safe), DESCRIPTION_INDENT, DESCRIPTION_INDENT, columns);
		strbuf_deinit(&safe);
	}
}

static void add_entry(struct strbuf *out, const struct listing_entry *entry, const struct list_options *options, unsigned int columns)
{
	struct strbuf names = {0};
	bool described = entry->description && !options->no_description;
	const char *more = options->long_description ? entry->long_description : NULL;

	add_names(&names, entry);
	size_t width = text_width(strbuf_str(&names), names.len);
	strbuf_printf(out, "  %s", strbuf_str(&names));
	/* What kind metrics and vendors' events are stands above them; they are known by their descriptions. */
	if (!described) {
		strbuf_add_chars(out, ' ', width < NAME_WIDTH ? NAME_WIDTH - width : 0);
		strbuf_printf(out, " [%s%s]", entry->kind, support_note(entry));
	}
	strbuf_add_char(out, '\n');
	if (described)
		add_description(out, entry->description, columns);
	if (more)
		add_description(out, more, columns);
	if (options->details)
		add_details(out, entry, columns);
	strbuf_deinit(&names);
}

/* The heading of a group or a topic where a new one begins. */
static void add_heading(struct strbuf *out, const struct listing_entry *entry, const struct listing_entry *before)
{
	bool same_group = before && before->group == entry->group;

	if (!same_group && entry->group == LISTING_METRIC)
		strbuf_add_str(out, entry->topic ? "\nMetric Groups:\n" : "\nMetrics:\n\n");
	if (!same_group && entry->group == LISTING_METRIC_GROUP)
		strbuf_add_str(out, "\nMetric Groups:\n\n");
	if (!entry->topic || (same_group && before->topic && !strcmp(before->topic, entry->topic)))
		return;
	strbuf_add_char(out, '\n');
	add_safe(out, entry->topic);
	if (entry->support > LISTING_SUPPORTED)
		strbuf_printf(out, " (%s)", support_note(entry) + 2);
	strbuf_add_str(out, ":\n");
}

static void print_text(const struct listing *listing, const struct list_options *options, unsigned int columns, struct strbuf *out)
{
	for (size_t i = 0; i < listing->entries.len; i++) {
		const struct listing_entry *entry = &listing->entries.data[i];
		add_heading(out, entry, i ? entry - 1 : NULL);
		if (entry->group != LISTING_METRIC_GROUP) {
			add_entry(out, entry, options, columns);
			continue;
		}
		add_safe(out, entry->name);
		strbuf_add_char(out, '\n');
	}
}

static void add_field(struct json *json, const char *name, const char *value)
{
	if (value)
		json_add_string(json, name, value);
}

static void add_object(struct json *json, const struct listing_entry *entry)
{
	bool metric = entry->group == LISTING_METRIC || entry->group == LISTING_METRIC_GROUP;
	const char *const support[] = {NULL, "1", "0", NULL};

	json_begin_object(json);
	add_field(json, "Unit", entry->unit);
	add_field(json, metric ? "MetricGroup" : "Topic", metric ? entry->metric_groups : entry->topic);
	add_field(json, metric ? "MetricName" : "EventName", entry->group == LISTING_METRIC_GROUP ? NULL : entry->name);
	add_field(json, "EventAlias", entry->alias);
	add_field(json, "ScaleUnit", entry->scale_unit);
	add_field(json, "EventType", metric ? NULL : entry->kind);
	add_field(json, "Supported", support[entry->support]);
	add_field(json, "Deprecated", entry->deprecated ? "1" : NULL);
	add_field(json, "PerPkg", entry->per_package ? "1" : NULL);
	add_field(json, "BriefDescription", entry->description);
	add_field(json, "PublicDescription", entry->long_description);
	add_field(json, "Encoding", entry->encoding);
	add_field(json, "MetricExpr", entry->expression);
	strbuf_add_char(json->out, '\n');
	json_end_object(json);
}

static void print_json(const struct listing *listing, struct strbuf *out)
{
	struct json json = {.out = out, .colon = ": ", .indent = "\n\t"};

	json_begin_array(&json);
	strbuf_add_char(out, '\n');
	for (size_t i = 0; i < listing->entries.len; i++) {
		strbuf_add_str(out, i ? ",\n" : "");
		json.needs_comma = false; /* it stands at the end of the line */
		add_object(&json, &listing->entries.data[i]);
	}
	strbuf_add_char(out, '\n');
	json_end_array(&json);
	strbuf_add_char(out, '\n');
}

/* Bytes of a name without the program that a static tracepoint is in. */
static size_t bare_length(const struct listing_entry *entry)
{
	return entry->group == LISTING_SDT ? strcspn(entry->name, "@") : strlen(entry->name);
}

static void print_names(const struct listing *listing, struct strbuf *out)
{
	const struct listing_entry *before = NULL;

	for (size_t i = 0; i < listing->entries.len; i++) {
		const struct listing_entry *entry = &listing->entries.data[i];
		size_t len = bare_length(entry);
		bool repeated = before && bare_length(before) == len && !memcmp(before->name, entry->name, len);
		if (repeated || entry->support > LISTING_SUPPORTED || entry->group == LISTING_RAW || entry->group == LISTING_BREAKPOINT)
			continue;
		text_add_safe(out, entry->name, len);
		strbuf_add_char(out, ' ');
		before = entry;
	}
	strbuf_add_char(out, '\n');
}

void list_print(const struct listing *listing, const struct list_options *options, unsigned int columns, struct strbuf *out)
{
	if (options->json)
		print_json(listing, out);
	else if (options->raw_dump)
		print_names(listing, out);
	else
		print_text(listing, options, columns ? columns : COLUMNS_UNKNOWN, out);
}
