/* Events of PMUs: "PMU/terms/", names that stand for several PMUs, the named events that PMUs bring, machines with several kinds of cores,
 * and groups, each of which lies on one PMU. */
#include "event/parse/parse_internal.h"

#include "base/log.h"
#include "base/text.h"
#include "event/trace_pmus.h"

#include <linux/perf_event.h>
#include <string.h>

struct event *parse_add_event(struct parser *parser, uint32_t type, uint64_t config)
{
	struct event *event = event_list_add(parser->list, "");

	event->attr.type = type;
	event->attr.config = config;
	event->attr.exclude_guest = 1;
	return event;
}

static void bind_to_pmu(struct parser *parser, struct event *event, const struct pmu *pmu)
{
	event->pmu_name = arena_strdup(&parser->list->arena, pmu->name);
	event->pmu_cpus = pmu->cpus ? arena_strdup(&parser->list->arena, pmu->cpus) : NULL;
}

void parse_add_core_event(struct parser *parser, uint32_t type, uint64_t config)
{
	struct pmu *kinds[PMU_CORE_KINDS_MAX];
	size_t count = event_catalog_core_kinds(parser->catalog, kinds, PMU_CORE_KINDS_MAX), first = parser->list->events.len;

	if (!count)
		parse_add_event(parser, type, config);
	for (size_t i = 0; i < count; i++) {
		bool raw = type == PERF_TYPE_RAW;
		struct event *event = parse_add_event(parser, raw ? kinds[i]->type : type,
						      raw ? config : config | (uint64_t)kinds[i]->type << PMU_TYPE_SHIFT);
		bind_to_pmu(parser, event, kinds[i]);
		event->core_kind = true;
		event->part_of = i ? parser->list->events.data[first] : NULL;
	}
}

static struct error *add_pmu_event(struct parser *parser, struct pmu *pmu, const struct term_list *terms)
{
	struct pmu *kinds[PMU_CORE_KINDS_MAX];

	pmu_load(event_catalog_pmus(parser->catalog), pmu);
	struct event *event = parse_add_event(parser, pmu->type, 0);
	bind_to_pmu(parser, event, pmu);
	event->core_kind = pmu->is_core && event_catalog_core_kinds(parser->catalog, kinds, PMU_CORE_KINDS_MAX);
	return parse_apply_terms(parser, event, pmu, terms);
}

/* "uncore_imc" as "imc". */
static const char *short_name(const char *name)
{
	return str_starts_with(name, "uncore_") ? name + 7 : name;
}

/* A PMU by a pattern, or by what the names of its instances have in common; "cpu" is any kind of cores. */
static bool is_pmu_wanted(struct parser *parser, struct pmu *pmu, const char *wanted)
{
	const char *name = short_name(pmu->name);
	const char *part = short_name(wanted);

	if (str_has_glob(wanted))
		return str_glob_match(wanted, name) || str_glob_match(wanted, pmu->name);
	if (!strcmp(wanted, "cpu")) {
		pmu_load_head(event_catalog_pmus(parser->catalog), pmu);
		return pmu->is_core;
	}
	return !strcmp(name, part) || (pmu_stem(name) == strlen(part) && str_starts_with(name, part));
}

/* Sums make sense within one sort of PMU: the new event joins the first since `first` whose PMU has the same stem. */
static void join_parts(struct parser *parser, size_t first)
{
	struct event *event = *vec_last(&parser->list->events);
	size_t stem = pmu_stem(event->pmu_name);

	for (size_t i = first; i + 1 < parser->list->events.len; i++) {
		const struct event *other = parser->list->events.data[i];
		bool same_sort = pmu_stem(other->pmu_name) == stem && !strncmp(other->pmu_name, event->pmu_name, stem);
		if (other->part_of || !(same_sort || (event->core_kind && other->core_kind)))
			continue;
		event->part_of = other;
		return;
	}
}

/* Adds the event on one of several PMUs. One that doesn't know the terms is left out, as long as another does: the error is kept in
 * *failure. */
static void try_pmu(struct parser *parser, struct pmu *pmu, const struct term_list *terms, size_t first, struct error **failure)
{
	size_t before = parser->list->events.len;

	pmu_load_head(event_catalog_pmus(parser->catalog), pmu);
	if (!event_catalog_is_chosen(parser->catalog, pmu))
		return;
	struct error *error = add_pmu_event(parser, pmu, terms);
	if (!error) {
		join_parts(parser, first);
		return;
	}
	parser->list->events.len = before;
	if (*failure)
		error_free(error);
	else
		*failure = error;
}

/* The end of a search in several PMUs: an error only when none agreed. */
static struct error *conclude(struct parser *parser, size_t first, struct error *failure, bool *ret_found)
{
	if (parser->list->events.len == first) {
		*ret_found |= failure != NULL;
		return failure;
	}
	*ret_found = true;
	error_free(failure);
	return NULL;
}

struct error *parse_alias(struct parser *parser, const char *begin, const char *name, const struct term_list *given, bool *ret_found)
{
	struct pmu_list *pmus = event_catalog_pmus(parser->catalog);
	size_t first = parser->list->events.len;
	struct term_list terms = {0};
	struct error *failure = NULL;

	vec_push(&terms.terms, (struct term){.at = begin, .value_at = begin, .name = name});
	for (size_t i = 0; i < given->terms.len; i++)
		vec_push(&terms.terms, given->terms.data[i]);
	for (size_t i = 0; i < pmus->pmus.len; i++) {
		pmu_load(pmus, pmus->pmus.data[i]);
		if (pmu_alias(pmus->pmus.data[i], name))
			try_pmu(parser, pmus->pmus.data[i], &terms, first, &failure);
	}
	vec_deinit(&terms.terms);
	return conclude(parser, first, failure, ret_found);
}

struct error *parse_pmu(struct parser *parser, const char *begin, const char *name, const struct term_list *terms, bool *ret_found)
{
	struct pmu_list *pmus = event_catalog_pmus(parser->catalog);
	struct pmu *exact = pmu_find(pmus, name);
	size_t first = parser->list->events.len;
	struct error *failure = NULL;

	if (exact) {
		*ret_found = true;
		return add_pmu_event(parser, exact, terms);
	}
	for (size_t i = 0; i < pmus->pmus.len; i++)
		if (is_pmu_wanted(parser, pmus->pmus.data[i], name))
			try_pmu(parser, pmus->pmus.data[i], terms, first, &failure);
	struct error *error = conclude(parser, first, failure, ret_found);
	return *ret_found ? error : parse_alias(parser, begin, name, terms, ret_found);
}

enum { ANY_PMU = UINT32_MAX };

/* The PMU that a group with this event lies on, as its type; ANY_PMU for what the kernel lets join any group. */
static uint32_t group_pmu(struct parser *parser, const struct event *event)
{
	static const char *const joiners[] = {"msr", "kprobe", "uprobe"}; /* of the kernel's software context */
	uint32_t type = event->attr.type;
	struct pmu *core;

	for (size_t i = 0; event->pmu_name && i < sizeof(joiners) / sizeof(joiners[0]); i++)
		if (!strcmp(event->pmu_name, joiners[i]))
			return ANY_PMU;
	if (trace_pmu_kind(event->pmu_name) != TRACE_NONE)
		return ANY_PMU;
	if (type == PERF_TYPE_SOFTWARE || type == PERF_TYPE_TRACEPOINT || type == PERF_TYPE_BREAKPOINT)
		return ANY_PMU;
	if ((type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE) && event->attr.config >> PMU_TYPE_SHIFT)
		return (uint32_t)(event->attr.config >> PMU_TYPE_SHIFT);
	if (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW)
		return pmu_core_kinds(event_catalog_pmus(parser->catalog), &core, 1) == 1 ? core->type : (uint32_t)PERF_TYPE_RAW;
	return type;
}

static void make_group(struct parser *parser, size_t first, size_t end, const char *name)
{
	for (size_t i = first; i < end; i++) {
		parser->list->events.data[i]->leader = (unsigned int)first;
		parser->list->events.data[i]->members = i == first ? (unsigned int)(end - first) : 0;
	}
	if (name[0])
		parser->list->events.data[first]->group_name = name;
}

/* Moves the events that belong to the PMU of events[begin] up behind it, in the order of the text. Returns the end of its group. */
static size_t gather_group(struct event **events, uint32_t *types, size_t begin, size_t len)
{
	size_t to = begin + 1;

	for (size_t i = to; i < len; i++) {
		struct event *event = events[i];
		uint32_t type = types[i];
		if (type != types[begin])
			continue;
		memmove(&events[to + 1], &events[to], (i - to) * sizeof(*events));
		memmove(&types[to + 1], &types[to], (i - to) * sizeof(*types));
		types[to] = type;
		events[to++] = event;
	}
	return to;
}

void parse_make_groups(struct parser *parser, size_t first, const char *name)
{
	struct event **events = parser->list->events.data + first;
	size_t len = parser->list->events.len - first, groups = 0;
	uint32_t *types = mem_alloc_array(len, sizeof(*types)), joined = ANY_PMU;
	bool parts = false;

	for (size_t i = 0; i < len; i++) {
		types[i] = group_pmu(parser, events[i]);
		joined = joined == ANY_PMU ? types[i] : joined;
		parts |= events[i]->part_of != NULL;
	}
	for (size_t i = 0; i < len; i++)
		types[i] = types[i] == ANY_PMU ? joined : types[i];
	for (size_t begin = 0, end; begin < len; begin = end, groups++) {
		end = gather_group(events, types, begin, len);
		make_group(parser, first + begin, first + end, name);
	}
	for (size_t i = 0; i < len; i++)
		events[i]->index = (unsigned int)(first + i);
	if (groups > 1 && !parts)
		log_warning("%s: the events of a group must belong to one PMU; using %zu groups", parser->text, groups);
	free(types);
}
