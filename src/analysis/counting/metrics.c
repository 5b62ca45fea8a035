/* Planning metrics: which events they take, in which groups. A metric's events are counted at the same time where the hardware has room (a
 * weak group); a metric whose events are all in the group of another one shares them. */
#include "analysis/counting/metrics.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "event/builtin.h"
#include "event/parse/parse.h"

#include <linux/perf_event.h>
#include <string.h>

static const char *formula_of(const char *name)
{
	const struct metric *metric = metric_find(name);

	return metric ? metric->expression : NULL;
}

static bool any_literal(const void *context, const char *name, double *ret)
{
	*ret = 1;
	return true;
}

bool metric_is_known_here(const struct metric *metric, struct event_catalog *catalog, const struct metric_names *given)
{
	struct metric_names names = {.literal = any_literal, .lookup = formula_of};
	struct arena arena = {0};
	struct metric_expression expression = {0};
	struct event_list events = {0};

	if (given) {
		names.literal = given->literal;
		names.context = given->context;
	}
	struct error *error = metric_parse(&arena, metric->expression, &names, &expression);
	for (size_t i = 0; !error && i < expression.names.len; i++)
		error = event_parse(&events, catalog, expression.names.data[i]);
	bool known = !error;
	error_free(error);
	metric_expression_deinit(&expression);
	event_list_deinit(&events);
	arena_deinit(&arena);
	return known;
}

/* The event of this name among those that metrics brought, or NULL. */
static const struct event *find_event(const struct metric_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->uses.len; i++) {
		const struct metric_use *use = &plan->uses.data[i];
		for (size_t n = 0; n < use->expression.names.len; n++)
			if (!strcmp(use->expression.names.data[n], name))
				return use->events[n];
	}
	return NULL;
}

/* All names are there already, counted together: true, and `use` has their events. */
static bool share_group(const struct metric_plan *plan, struct metric_use *use)
{
	for (size_t i = 0; i < plan->uses.len; i++) {
		const struct metric_use *other = &plan->uses.data[i];
		size_t n = 0;
		for (; n < use->expression.names.len; n++) {
			const char *name = use->expression.names.data[n];
			size_t at = 0;
			while (at < other->expression.names.len && strcmp(other->expression.names.data[at], name))
				at++;
			if (at == other->expression.names.len)
				break;
			use->events[n] = other->events[at];
		}
		if (n && n == use->expression.names.len)
			return true;
	}
	return false;
}

/* Software events and the tool's own are always exact: they need no group, and one of each is enough. */
static bool is_exact(const char *name)
{
	const struct builtin_event *event = builtin_find(name, strlen(name));

	return event && event->type == PERF_TYPE_SOFTWARE;
}

static struct error *add_one(struct event_list *events, struct event_catalog *catalog, const char *text, const struct event **ret)
{
	size_t first = events->events.len;
	struct error *error = event_parse(events, catalog, text);

	if (!error)
		*ret = events->events.data[first];
	return error;
}

/* "{a,b}:W" for what is counted together, the rest one by one. */
static struct error *add_events(struct metric_use *use, const struct metric_plan *plan, struct event_list *events,
				struct event_catalog *catalog, const struct metric_plan_options *options)
{
	struct strbuf text = {0};
	size_t together = 0, first = events->events.len;
	struct error *error = NULL;

	for (size_t i = 0; i < use->expression.names.len; i++) {
		const char *name = use->expression.names.data[i];
		if (is_exact(name) || options->no_group)
			continue;
		strbuf_printf(&text, "%s%s", together++ ? "," : "{", name);
	}
	if (together) {
		strbuf_add_str(&text, "}:W");
		error = event_parse(events, catalog, strbuf_str(&text));
	}
	size_t next = first;
	for (size_t i = 0; !error && i < use->expression.names.len; i++) {
		const char *name = use->expression.names.data[i];
		bool alone = is_exact(name) || options->no_group;
		if (!alone && events->events.len - first == together)
			use->events[i] = events->events.data[next++];
		else if (alone && !options->no_merge)
			use->events[i] = find_event(plan, name);
		if (alone && !use->events[i])
			error = add_one(events, catalog, name, &use->events[i]);
		else if (!use->events[i])
			error = error_new_kind(ERROR_UNSUPPORTED,
					       "%s: '%s' stands for several events here (one per core type); choose one with --cputype",
					       use->metric->name, name);
	}
	strbuf_deinit(&text);
	return error;
}

static struct error *use_metric(struct metric_plan *plan, const struct metric *metric, struct event_list *events,
				struct event_catalog *catalog, const struct metric_plan_options *options)
{
	struct metric_use use = {.metric = metric};
	struct metric_names names = options->names;

	names.lookup = formula_of;
	struct error *error = metric_parse(&plan->arena, metric->expression, &names, &use.expression);

	if (!error && metric->threshold && !options->no_threshold)
		error = metric_parse(&plan->arena, metric->threshold, NULL, &use.threshold);
	if (error)
		return error_wrap(error, "metric %s", metric->name);
	use.events = arena_zalloc(&plan->arena, (use.expression.names.len + 1) * sizeof(*use.events));
	if (options->no_merge || options->no_group || !share_group(plan, &use))
		error = add_events(&use, plan, events, catalog, options);
	if (error) {
		metric_expression_deinit(&use.expression);
		metric_expression_deinit(&use.threshold);
		return error_wrap(error, "metric %s", metric->name);
	}
	for (size_t i = 0; i < use.expression.names.len; i++)
		if (!use.shown_at || (use.shown_at->tool && !use.events[i]->tool))
			use.shown_at = use.events[i];
	vec_push(&plan->uses, use);
	return NULL;
}

static struct error *unknown_metric(const char *name)
{
	size_t count;
	const struct metric *all = metrics_all(&count);
	cleanup_free const char **names = mem_alloc_array(count, sizeof(*names));

	for (size_t i = 0; i < count; i++)
		names[i] = all[i].name;
	const char *nearest = str_nearest(name, names, count);
	return error_new_kind(ERROR_USAGE, "unknown metric or metric group '%s'%s%s%s; 'perf list metric' lists them", name,
			      nearest ? ". Did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

/* Those with more events come first, so that others can share theirs. */
static size_t size_of(const struct metric *metric)
{
	size_t signs = 1;

	for (const char *at = metric->expression; *at; at++)
		signs += strchr("+-*/,", *at) && at > metric->expression && at[-1] != '\\';
	return signs;
}

static struct error *add_word(struct metric_plan *plan, const char *word, struct event_list *events, struct event_catalog *catalog,
			      const struct metric_plan_options *options)
{
	size_t count, matches = 0, largest = 0;
	const struct metric *all = metrics_all(&count), *exact = metric_find(word);
	struct error *error = NULL;

	if (exact)
		return use_metric(plan, exact, events, catalog, options);
	for (size_t i = 0; i < count; i++)
		if (metric_matches(&all[i], word) && size_of(&all[i]) > largest)
			largest = size_of(&all[i]);
	for (size_t size = largest; size && !error; size--)
		for (size_t i = 0; i < count && !error; i++) {
			if (!metric_matches(&all[i], word) || size_of(&all[i]) != size ||
			    !metric_is_known_here(&all[i], catalog, &options->names))
				continue;
			matches++;
			error = use_metric(plan, &all[i], events, catalog, options);
		}
	return error || matches ? error : unknown_metric(word);
}

struct error *metric_plan_add(struct metric_plan *plan, struct event_list *events, struct event_catalog *catalog, const char *text,
			      const struct metric_plan_options *options)
{
	cleanup_free char *copy = mem_strdup(text);
	char *rest = copy, *word;
	struct error *error = NULL;

	while (!error && (word = strsep(&rest, ",")))
		if (*word)
			error = add_word(plan, word, events, catalog, options);
	return error;
}

void metric_plan_copy(struct metric_plan *plan, size_t uses, const struct event_list *events, size_t first)
{
	for (size_t i = 0; i < uses; i++) {
		const struct metric_use *from = &plan->uses.data[i];
		size_t names = from->expression.names.len;
		struct metric_use to = *from;
		to.expression.names.data =
			arena_copy(&plan->arena, from->expression.names.data, names * sizeof(*from->expression.names.data));
		to.is_copy = true;
		to.events = arena_alloc(&plan->arena, (names + 1) * sizeof(*to.events));
		for (size_t n = 0; n < names; n++)
			to.events[n] = events->events.data[first + from->events[n]->index];
		to.shown_at = events->events.data[first + from->shown_at->index];
		vec_push(&plan->uses, to);
	}
}

void metric_plan_deinit(struct metric_plan *plan)
{
	for (size_t i = 0; i < plan->uses.len; i++) {
		if (plan->uses.data[i].is_copy)
			continue;
		metric_expression_deinit(&plan->uses.data[i].expression);
		metric_expression_deinit(&plan->uses.data[i].threshold);
	}
	vec_deinit(&plan->uses);
	arena_deinit(&plan->arena);
}

bool metric_plan_has_event(const struct metric_plan *plan, const struct event *event)
{
	for (size_t i = 0; i < plan->uses.len; i++)
		for (size_t n = 0; n < plan->uses.data[i].expression.names.len; n++)
			if (plan->uses.data[i].events[n] == event)
				return true;
	return false;
}
