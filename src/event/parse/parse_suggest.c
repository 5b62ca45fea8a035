/* What to say about a name that is no event: the nearest known one. */
#include "event/parse/parse_internal.h"

#include "base/text.h"
#include "event/builtin.h"
#include "event/trace_pmus.h"
#include "event/vendor.h"

#include <ctype.h>
#include <string.h>

struct candidates {
	VEC(const char *) names;
	struct arena arena;
	bool lower_case; /* vendors' names, which may be typed so */
	char separator;	 /* before the unit of a vendor's event */
};

static void add_cache_name(void *context, const char *name, uint64_t config)
{
	struct candidates *candidates = context;

	(void)config;
	vec_push(&candidates->names, arena_strdup(&candidates->arena, name));
}

static void add_builtin_names(struct candidates *candidates)
{
	size_t count;
	const struct builtin_event *events = builtin_events(&count);

	for (size_t i = 0; i < count; i++) {
		vec_push(&candidates->names, events[i].name);
		if (events[i].alias)
			vec_push(&candidates->names, events[i].alias);
	}
}

static void add_pmu_names(struct candidates *candidates, struct pmu_list *pmus)
{
	for (size_t i = 0; i < pmus->pmus.len; i++) {
		struct pmu *pmu = pmus->pmus.data[i];
		pmu_load(pmus, pmu);
		for (size_t j = 0; j < pmu->aliases.len; j++)
			vec_push(&candidates->names, pmu->aliases.data[j].name);
	}
}

static void add_vendor_text(struct candidates *candidates, char *text)
{
	for (char *c = text; candidates->lower_case && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	vec_push(&candidates->names, text);
}

static void add_vendor_name(void *context, const struct vendor_event *event)
{
	struct candidates *candidates = context;

	if (event->is_first)
		add_vendor_text(candidates, arena_strdup(&candidates->arena, event->name));
	if (event->unit)
		add_vendor_text(candidates, arena_printf(&candidates->arena, "%s%c%s", event->name, candidates->separator, event->unit));
}

static bool has_lower_case(const char *text)
{
	while (*text && !islower((unsigned char)*text))
		text++;
	return *text;
}

char *parse_nearest_vendor_name(const char *name)
{
	struct candidates candidates = {.lower_case = has_lower_case(name), .separator = ':'};

	vendor_visit(add_vendor_name, &candidates);
	const char *nearest = str_nearest(name, candidates.names.data, candidates.names.len);
	char *copy = nearest ? mem_strdup(nearest) : NULL;
	vec_deinit(&candidates.names);
	arena_deinit(&candidates.arena);
	return copy;
}

/* A tracepoint of that name in any system, as "system:name", or NULL. */
static const char *find_in_systems(struct parser *parser, struct candidates *candidates, const char *name)
{
	struct tracefs_names systems = {0};
	const char *tracefs, *found = NULL;
	struct error *error = event_catalog_tracefs(parser->catalog, &tracefs);
	int id;

	if (!error)
		error = tracefs_systems(tracefs, &systems);
	for (size_t i = 0; !error && !found && i < systems.names.len; i++)
		if (!strchr(name, '/') && tracefs_event_id(tracefs, systems.names.data[i], name, &id))
			found = arena_printf(&candidates->arena, "%s:%s", systems.names.data[i], name);
	error_free(error);
	tracefs_names_deinit(&systems);
	return found;
}

struct error *parse_unknown_name(struct parser *parser, const char *at, const char *name)
{
	struct candidates candidates = {.lower_case = has_lower_case(name), .separator = '.'};
	struct pmu_list *pmus = event_catalog_pmus(parser->catalog);
	char *hint = NULL;

	add_builtin_names(&candidates);
	builtin_visit_cache(add_cache_name, &candidates);
	add_pmu_names(&candidates, pmus);
	vendor_visit(add_vendor_name, &candidates);
	const char *near = str_nearest(name, candidates.names.data, candidates.names.len);
	if (!near)
		near = find_in_systems(parser, &candidates, name);
	if (str_ends_with(name, ".c") || str_ends_with(name, ".o"))
		hint = mem_strdup("BPF programs as events are not supported (the kernel's perf dropped them in 6.8); to filter "
				  "tracepoints, use 'perf record --filter'");
	else if (near)
		hint = mem_printf("did you mean '%s'?", near);
	else if (pmu_by_name(pmus, name))
		hint = mem_printf("this is a PMU: write %s/EVENT/ or %s/config=NUMBER/", name, name);
	struct error *error =
		parse_fail(parser, at,
			   hint ? hint
				: "events are hardware events (cycles), software events (cpu-clock, page-faults), cache events "
				  "(LLC-loads), PMU events (msr/tsc/) and tracepoints (sched:sched_switch)",
			   "unknown event '%s'", name);
	free(hint);
	vec_deinit(&candidates.names);
	arena_deinit(&candidates.arena);
	return error;
}

struct error *parse_unknown_pmu(struct parser *parser, const char *at, const char *name)
{
	struct pmu_list *pmus = event_catalog_pmus(parser->catalog);
	struct candidates candidates = {0};
	struct strbuf hint = {0};

	for (size_t i = 0; i < pmus->pmus.len; i++)
		vec_push(&candidates.names, pmus->pmus.data[i]->name);
	const char *near = str_nearest(name, candidates.names.data, candidates.names.len), *needs = trace_pmu_needs(name);
	/* "arm_spe" is meant to be "arm_spe_0", but "intel_pt" isn't "intel_bts". */
	if (near && needs && trace_pmu_needs(near) != needs)
		near = NULL;
	for (size_t i = 0; !near && !needs && i < candidates.names.len && i < 20; i++)
		strbuf_printf(&hint, "%s%s", i ? ", " : "this machine has: ", candidates.names.data[i]);
	if (near)
		strbuf_printf(&hint, "did you mean '%s'?", near);
	else if (needs)
		strbuf_add_str(&hint, needs);
	struct error *error = parse_fail(parser, at, hint.len ? strbuf_str(&hint) : NULL, "no PMU '%s' on this machine", name);
	vec_deinit(&candidates.names);
	strbuf_deinit(&hint);
	return error;
}
