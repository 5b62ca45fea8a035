/* perf report: which keys and columns, from -s, -F and what else asks for columns.
 *
 * -s alone: the overheads come first, in the order of rows and as columns. -F alone: its fields are the order too. Both: columns as -F
 * says, then keys that are only sorted by. A '+' in front adds to the default. */
#include "cmd/report/report.h"

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

static const char DEFAULT_SORT[] = "comm,dso,symbol";
static const char HISTORY_SORT[] = "srcline,symbol,dso,ipc_null";
static const char MEMORY_SORT[] =
	"local_weight,mem,sym,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,blocked,local_ins_lat,local_p_stage_cyc";
static const char BRANCH_SORT[] = "comm,dso_from,symbol_from,symbol_to,cycles";

static void add_once(struct key_list *list, const struct key *key)
{
	for (size_t i = 0; i < list->keys.len; i++) {
		const struct key *known = list->keys.data[i];
		if (known == key || (known->field && known->field == key->field && known->event == key->event))
			return;
	}
	vec_push(&list->keys, key);
}

static const struct key *by_name(const char *name)
{
	return key_find(name, true);
}

static struct error *unknown_key(const char *name, const char *option)
{
	struct strbuf names = {0};
	const char *near = key_nearest(name);
	key_names(&names, 2, 100);
	struct error *error =
		error_new_kind(ERROR_USAGE, "%s: unknown key '%s'%s%s%s The keys are\n%s\nand fields of recorded tracepoints", option, name,
			       near ? "; did you mean '" : "", near ? near : "", near ? "'?" : ".", strbuf_str(&names));
	strbuf_deinit(&names);
	return error;
}

/* Keys of the kernel's perf that need what recordings don't tell here. */
static struct error *check_refused(const char *name, const char *option)
{
	if (!strcmp(name, "simd"))
		return error_new_kind(ERROR_USAGE, "%s simd: only hardware traces (Arm SPE) contain it, and decoding them is not supported",
				      option);
	return NULL;
}

/* A name may stand for several keys, as a pattern of a tracepoint's fields does. `option` is told in errors. */
static struct error *add_name(struct report *report, const char *name, const char *option, struct key_list *list)
{
	const struct key *key = key_find(name, report->branch_mode);
	struct error *refused = check_refused(name, option);
	if (refused)
		return refused;
	if (key && (key->flags & KEY_BRANCH) && !report->branch_mode)
		return error_new_kind(ERROR_USAGE, "%s %s requires branch records: record with -b, report with -b", option, name);
	if (key && (key->flags & KEY_MEMORY) && !report->options->mem_mode)
		return error_new_kind(ERROR_USAGE, "%s %s is for memory accesses: report with --mem-mode", option, name);
	if (key) {
		add_once(list, key);
		return NULL;
	}
	struct key_list dynamic = {0};
	bool found = key_find_dynamic(name, &report->session->reader->events, &report->arena, &dynamic);
	for (size_t i = 0; i < dynamic.keys.len; i++)
		add_once(list, dynamic.keys.data[i]);
	vec_deinit(&dynamic.keys);
	/* Without tracepoints there are no fields to show, which is no mistake. */
	if (found || !strcmp(name, "trace_fields"))
		return NULL;
	return unknown_key(name, option);
}

/* Braces of groups count as commas. */
static struct error *add_names(struct report *report, const char *text, const char *option, struct key_list *list)
{
	char *copy = arena_strdup(&report->arena, text), *save = NULL;
	for (char *name = strtok_r(copy, ", {}", &save); name; name = strtok_r(NULL, ", {}", &save)) {
		struct error *error = add_name(report, name, option, list);
		if (error)
			return error;
	}
	return NULL;
}

/* What no recording can make right, but tracepoints with such a field. */
static struct error *check_names(const char *text, const char *option)
{
	cleanup_free char *copy = text ? mem_strdup(text + (*text == '+')) : NULL;
	char *rest = copy;
	for (char *name = strsep(&rest, ", {}"); name; name = strsep(&rest, ", {}"))
		if (*name && !key_find(name, true) && !strpbrk(name, ".:") && strcmp(name, "trace_fields"))
			return unknown_key(name, option);
	return NULL;
}

struct error *report_check_keys(const struct report_options *options)
{
	return check_names(options->sort, "-s") ?: check_names(options->fields, "-F");
}

/* -F without a plus: exactly these columns. */
static bool is_strict(const char *order)
{
	return order && *order != '+';
}

/* Whether all events are tracepoints; their own text is the best row then. */
static bool only_tracepoints(const struct report *report)
{
	const struct event_list *events = &report->session->reader->events;
	for (size_t i = 0; i < events->events.len; i++)
		if (!events->events.data[i]->tp_name)
			return false;
	return true;
}

/* Whether samples tell of a pipeline's stages: the order by default has a key for that then, as the kernel tool's. */
static bool has_stages(const struct report *report)
{
	const char *name = report->session->reader->features.arch;
	const struct arch *arch = name ? arch_find(name) : NULL;
	return arch && arch->tells_stages;
}

/* What -s stands for where it isn't given, by the mode and the events. */
static const char *default_sort(const struct report *report)
{
	if (report->options->mem_mode)
		return MEMORY_SORT;
	if (report->branch_mode)
		return BRANCH_SORT;
	if (report->options->branch_history)
		return HISTORY_SORT;
	if (report->options->default_sort)
		return report->options->default_sort;
	return !only_tracepoints(report) ? DEFAULT_SORT : report->options->raw_trace ? "trace_fields" : "trace";
}

/* The text of -s as it counts: with the default where it is added to or not given, and with the overheads in front. */
static const char *sort_text(struct report *report)
{
	const struct report_options *options = report->options;
	const char *defaults = default_sort(report), *text = options->sort;
	if (!text) {
		if (is_strict(options->fields))
			return "";
		text = defaults;
	} else if (*text == '+') {
		text = arena_printf(&report->arena, "%s,%s", defaults, text + 1);
	} else if (strstr(text, "symbol") && !options->mem_mode && !options->compares) {
		/* The kernel tool then has a column for what annotation knows. */
		text = arena_printf(&report->arena, "%s,%s", text, report->branch_mode ? "ipc_lbr" : "ipc_null");
	}
	report->sort_order = text;
	if (text == MEMORY_SORT && !has_stages(report))
		text = arena_printf(&report->arena, "%.*s", (int)(strrchr(text, ',') - text), text);
	if (is_strict(options->fields))
		return text;
	if (!strstr(text, "overhead"))
		text = arena_printf(&report->arena, "overhead,%s", text);
	if (report->children && !strstr(text, "overhead_children"))
		text = arena_printf(&report->arena, "overhead_children,%s", text);
	return text;
}

/* The numbers in front, as far as options ask for them. */
static void default_columns(struct report *report)
{
	const struct report_options *options = report->options;
	struct key_list *shown = &report->shown;
	if (is_strict(options->fields))
		return;
	if (report->children)
		add_once(shown, by_name("overhead_children"));
	add_once(shown, by_name("overhead"));
	if (options->show_modes) {
		add_once(shown, by_name("overhead_sys"));
		add_once(shown, by_name("overhead_us"));
	}
	if (options->show_samples)
		add_once(shown, by_name("sample"));
	if (options->show_period)
		add_once(shown, by_name("period"));
}

/* Fields of different tracepoints use the same words, unless events are shown together. */
static struct error *count_words(struct report *report)
{
	size_t shared = 0, most = 0;
	const struct event_list *events = &report->session->reader->events;
	for (size_t k = 0; k < report->extras.keys.len; k++)
		shared += report->group || !report->extras.keys.data[k]->event;
	for (size_t i = 0; i < events->events.len && !report->group; i++) {
		size_t own = 0;
		for (size_t k = 0; k < report->extras.keys.len; k++)
			own += report->extras.keys.data[k]->event == events->events.data[i];
		if (own > most)
			most = own;
	}
	report->extra_words = (unsigned int)(shared + most);
	if (report->extra_words > ROWS_KEYS_MAX)
		return error_new_kind(ERROR_USAGE, "-s, -F: more than %d keys", ROWS_KEYS_MAX);
	return NULL;
}

struct error *report_setup_keys(struct report *report)
{
	const struct report_options *options = report->options;
	struct error *error = add_names(report, sort_text(report), "-s", &report->sort);
	if (error)
		return error;
	if (options->parent || options->exclude_other)
		add_once(&report->sort, by_name("parent"));
	default_columns(report);
	if (options->fields) {
		error = add_names(report, options->fields + (*options->fields == '+'), "-F", &report->shown);
		if (error)
			return error;
	}
	for (size_t i = 0; i < report->sort.keys.len; i++)
		add_once(&report->shown, report->sort.keys.data[i]);
	for (size_t i = 0; i < report->shown.keys.len; i++)
		add_once(&report->sort, report->shown.keys.data[i]);
	for (size_t i = 0; i < report->sort.keys.len; i++) {
		const struct key *key = report->sort.keys.data[i];
		if (key->domain == KEY_EXTRA)
			vec_push(&report->extras.keys, key);
		if (key->flags & KEY_HAS_DSO)
			report->context.has_dso = true;
		if (key->flags & KEY_BY_ADDRESS)
			report->by_line = true;
		if (key->domain == KEY_STACK && !report->chains)
			return error_new_kind(ERROR_USAGE, "-s parent: the recording has no call chains; record with -g");
	}
	return count_words(report);
}

static bool is_shown(const struct report *report, const struct key *key)
{
	for (size_t i = 0; i < report->shown.keys.len; i++)
		if (report->shown.keys.data[i] == key)
			return true;
	return false;
}

/* Whether the key has the same text in each row, since a filter lets no other through. */
static bool filtered_to_one(const struct report *report, const struct key *key)
{
	const struct report_options *options = report->options;
	switch (key->filter) {
	case KEY_FILTER_COMM:
		return options->comms.names.len == 1;
	case KEY_FILTER_DSO:
		return options->dsos.names.len == 1;
	case KEY_FILTER_SYMBOL:
		return options->symbols.names.len == 1;
	default:
		return false;
	}
}

bool report_is_elided(const struct report *report, const struct key *key)
{
	if (!filtered_to_one(report, key) || !is_shown(report, key))
		return false;
	for (size_t i = 0; i < report->shown.keys.len; i++) {
		const struct key *other = report->shown.keys.data[i];
		if (other->domain != KEY_TOTAL && !filtered_to_one(report, other))
			return true;
	}
	return false;
}
