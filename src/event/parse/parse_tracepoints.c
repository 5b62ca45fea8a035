/* Tracepoints on the command line: SYSTEM:EVENT with patterns on either side, looked up in tracefs. */
#include "event/parse/parse_internal.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "kernel/fix.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The event is this tracepoint: it samples raw data, each time. */
static void become_tracepoint(struct parser *parser, struct event *event, const char *system, const char *name)
{
	event->tp_system = arena_strdup(&parser->list->arena, system);
	event->tp_name = arena_strdup(&parser->list->arena, name);
	event->attr.sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	if (!event->period_given)
		event->attr.sample_period = 1;
}

static struct error *add_tracepoint(struct parser *parser, const char *system, const char *name, int id, const struct term_list *terms)
{
	struct event *event = parse_add_event(parser, PERF_TYPE_TRACEPOINT, (uint64_t)id);

	event->name = arena_printf(&parser->list->arena, "%s:%s", system, name);
	become_tracepoint(parser, event, system, name);
	return parse_apply_terms(parser, event, NULL, terms);
}

/* All events of one system that match. */
static struct error *add_matching(struct parser *parser, const char *tracefs, const char *system, const char *pattern,
				  const struct term_list *terms)
{
	struct tracefs_names events = {0};
	struct error *error = tracefs_events(tracefs, system, &events);
	int id;

	for (size_t i = 0; !error && i < events.names.len; i++)
		if (str_glob_match(pattern, events.names.data[i]) && tracefs_event_id(tracefs, system, events.names.data[i], &id))
			error = add_tracepoint(parser, system, events.names.data[i], id, terms);
	tracefs_names_deinit(&events);
	return error;
}

/* The nearest name in the list, NULL when none is near. */
static const char *nearest(const char *word, const struct tracefs_names *list)
{
	return str_nearest(word, (const char *const *)list->names.data, list->names.len);
}

/* What is known about tracepoints that some kernels lack. */
static bool explain_missing(const char *tracefs, const char *system, const char *event, struct strbuf *hint)
{
	bool user = str_starts_with(system, "probe_") || !strcmp(system, "uprobes");

	if (!strcmp(system, "sched") && str_starts_with(event, "sched_stat_")) {
		strbuf_add_str(
			hint,
			"this kernel was built without CONFIG_SCHEDSTATS; record sched:sched_switch,sched:sched_waking with -a instead, "
			"then use 'perf inject -s'");
		return true;
	}
	if (!user && strcmp(system, "probe") && strcmp(system, "kprobes"))
		return false;
	char *path = mem_printf("%s/%s", tracefs, user ? "uprobe_events" : "kprobe_events");
	if (access(path, F_OK) == 0)
		strbuf_printf(hint, "no such probe exists; probes are listed in %s", path);
	else
		strbuf_printf(hint, "this kernel was built without %s", user ? "CONFIG_UPROBE_EVENTS" : "CONFIG_KPROBE_EVENTS");
	free(path);
	return true;
}

static bool has_event(const char *tracefs, const char *system, const char *pattern)
{
	struct tracefs_names events = {0};
	bool found = false;
	int id;

	if (!str_has_glob(pattern))
		return tracefs_event_id(tracefs, system, pattern, &id);
	error_free(tracefs_events(tracefs, system, &events));
	for (size_t i = 0; i < events.names.len && !found; i++)
		found = str_glob_match(pattern, events.names.data[i]);
	tracefs_names_deinit(&events);
	return found;
}

/* The nearest of the systems that have this very event, NULL when none is near. */
static const char *system_with(const char *tracefs, const char *word, const char *event, const struct tracefs_names *systems)
{
	VEC(const char *) having = {0};

	for (size_t i = 0; i < systems->names.len; i++)
		if (str_nearest(word, (const char *const *)&systems->names.data[i], 1) && has_event(tracefs, systems->names.data[i], event))
			vec_push(&having, systems->names.data[i]);
	const char *near = str_nearest(word, having.data, having.len);
	vec_deinit(&having);
	return near;
}

/* The nearest tracepoint there is, or vendor's event where there is no such system, or where to look. */
static void suggest(const char *tracefs, const char *system, const char *event, struct strbuf *hint)
{
	struct tracefs_names systems = {0}, events = {0};
	bool known = tracefs_has_system(tracefs, system);
	const char *near = NULL;

	error_free(tracefs_systems(tracefs, &systems));
	if (!known && !str_has_glob(system))
		near = system_with(tracefs, system, event, &systems) ?: nearest(system, &systems);
	const char *in = near ? near : system;
	cleanup_free char *text = known || near ? NULL : mem_printf("%s:%s", system, event);
	cleanup_free char *vendor = text ? parse_nearest_vendor_name(text) : NULL;
	error_free(tracefs_events(tracefs, in, &events));
	const char *near_event = str_has_glob(event) ? NULL : nearest(event, &events);
	if (near_event && (near || strcmp(near_event, event)))
		strbuf_printf(hint, "did you mean '%s:%s'?", in, near_event);
	else if (near || vendor)
		strbuf_printf(hint, "did you mean '%s%s%s'?", near ? near : vendor, near ? ":" : "", near ? event : "");
	else
		strbuf_printf(hint, "the tracepoints of this kernel are listed in %s/events%s%s", tracefs, known ? "/" : "",
			      known ? system : "");
	tracefs_names_deinit(&systems);
	tracefs_names_deinit(&events);
}

static struct error *unknown_tracepoint(struct parser *parser, const char *tracefs, const char *at, const char *system, const char *event)
{
	struct strbuf hint = {0};

	if (!explain_missing(tracefs, system, event, &hint))
		suggest(tracefs, system, event, &hint);
	struct error *error = parse_fail(parser, at, strbuf_str(&hint), "unknown tracepoint '%s:%s'", system, event);
	strbuf_deinit(&hint);
	return error;
}

/* Every system that matches a pattern. */
static struct error *add_systems(struct parser *parser, const char *tracefs, const char *pattern, const char *event,
				 const struct term_list *terms)
{
	struct tracefs_names systems = {0};
	struct error *error = tracefs_systems(tracefs, &systems);

	for (size_t i = 0; !error && i < systems.names.len; i++)
		if (str_glob_match(pattern, systems.names.data[i]))
			error = add_matching(parser, tracefs, systems.names.data[i], event, terms);
	tracefs_names_deinit(&systems);
	return error;
}

static struct error *refuse_tracepoint(const char *tracefs, const char *system, const char *event)
{
	struct strbuf remedy = {0};

	fix_tracefs_rights(&remedy, tracefs);
	struct error *error = error_new_kind(ERROR_PERMISSION,
					     "no permission to read the tracepoint %s:%s: run as root, or join a group that has "
					     "permission:\n  %s",
					     system, event, strbuf_str(&remedy));
	strbuf_deinit(&remedy);
	return error;
}

struct error *parse_tracepoints(struct parser *parser, const char *at, const char *system, const char *event, const struct term_list *terms)
{
	size_t before = parser->list->events.len;
	const char *tracefs;
	int id;
	struct error *error = event_catalog_tracefs(parser->catalog, &tracefs);

	if (error)
		return error_wrap(error, "event '%s:%s'", system, event);
	errno = 0;
	if (strchr(system, '/') || strchr(event, '/') || !strcmp(system, "..") || !strcmp(event, ".."))
		return unknown_tracepoint(parser, tracefs, at, system, event);
	if (str_has_glob(system))
		error = add_systems(parser, tracefs, system, event, terms);
	else if (str_has_glob(event))
		error = add_matching(parser, tracefs, system, event, terms);
	else if (tracefs_event_id(tracefs, system, event, &id))
		error = add_tracepoint(parser, system, event, id, terms);
	else if (errno == EACCES || errno == EPERM)
		return refuse_tracepoint(tracefs, system, event);
	if (!error && parser->list->events.len == before)
		error = unknown_tracepoint(parser, tracefs, at, system, event);
	return error;
}

/* The event of `system` with this number. */
static bool find_number(struct parser *parser, struct event *event, const char *tracefs, const char *system)
{
	struct tracefs_names events = {0};
	bool found = false;
	int id;

	error_free(tracefs_events(tracefs, system, &events));
	for (size_t i = 0; i < events.names.len && !found; i++) {
		found = tracefs_event_id(tracefs, system, events.names.data[i], &id) && (uint64_t)id == event->attr.config;
		if (found)
			become_tracepoint(parser, event, system, events.names.data[i]);
	}
	tracefs_names_deinit(&events);
	return found;
}

struct error *parse_tracepoint_number(struct parser *parser, struct event *event, const char *at)
{
	struct tracefs_names systems = {0};
	const char *tracefs;
	bool found = false;
	struct error *error = event_catalog_tracefs(parser->catalog, &tracefs);

	if (!error)
		error = tracefs_systems(tracefs, &systems);
	for (size_t i = 0; !error && !found && i < systems.names.len; i++)
		found = find_number(parser, event, tracefs, systems.names.data[i]);
	tracefs_names_deinit(&systems);
	if (!error && !found)
		error = parse_fail(parser, at, "give tracepoints by name: sched:sched_switch", "no tracepoint has the id %llu",
				   (unsigned long long)event->attr.config);
	return error;
}

bool parse_has_system(struct parser *parser, const char *system)
{
	const char *tracefs;
	struct error *error = event_catalog_tracefs(parser->catalog, &tracefs);
	bool has = str_has_glob(system) || (!error && tracefs_has_system(tracefs, system));

	error_free(error);
	return has;
}
