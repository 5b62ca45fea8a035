/* Names of events through libpfm4, and the language of --pfm-events. The library's structures stay in here. It is loaded with the first
 * name that nothing else knows: the tables of all processors cost the loader as much as the rest of a command's start. */
#include "event/vendor.h"

#include "base/cleanup.h"
#include "base/library.h"
#include "base/text.h"

#include <ctype.h>
#include <perfmon/pfmlib_perf_event.h>
#include <string.h>

/* clang-format off */
#define LIBPFM_FUNCTIONS(X) \
	X(initialize) X(get_pmu_info) X(get_event_next) X(get_event_info) X(get_event_attr_info) X(get_os_event_encoding) X(strerror)
/* clang-format on */

/* pfm.initialize() is pfm_initialize(). */
static struct {
#define LIBPFM_MEMBER(name) __typeof__(pfm_##name) *name;
	LIBPFM_FUNCTIONS(LIBPFM_MEMBER)
#undef LIBPFM_MEMBER
} pfm;

static struct error *load(void)
{
#define LIBPFM_ROW(name) LIBRARY_FUNCTION(pfm_##name, &pfm.name),
	const struct library_function rows[] = {LIBPFM_FUNCTIONS(LIBPFM_ROW)};
#undef LIBPFM_ROW
	struct error *error = library_load(LIBPFM4, rows, sizeof(rows) / sizeof(*rows));
	if (!error && pfm.initialize() != PFM_SUCCESS)
		error = error_new_kind(ERROR_UNSUPPORTED, "libpfm4 does not support this processor");
	return error;
}

bool vendor_is_available(void)
{
	struct error *error = load();
	bool available = !error;
	error_free(error);
	return available;
}

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

static void visit_event(void (*visit)(void *context, const struct vendor_event *event), void *context, const pfm_pmu_info_t *pmu, int index)
{
	pfm_event_info_t info = {.size = sizeof(info)};
	bool any = false;

	if (pfm.get_event_info(index, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS)
		return;
	struct vendor_event event = {.pmu = pmu->name,
				     .name = info.name,
				     .description = text_or_empty(info.desc),
				     .unit_description = "",
				     .code = info.code,
				     .of_core = pmu->type == PFM_PMU_TYPE_CORE,
				     .is_first = true};
	for (int i = 0; i < info.nattrs; i++) {
		pfm_event_attr_info_t unit = {.size = sizeof(unit)};
		if (pfm.get_event_attr_info(index, i, PFM_OS_PERF_EVENT, &unit) != PFM_SUCCESS || unit.type != PFM_ATTR_UMASK)
			continue;
		event.unit = unit.name;
		event.unit_description = text_or_empty(unit.desc);
		visit(context, &event);
		event.is_first = false;
		any = true;
	}
	if (!any)
		visit(context, &event);
}

void vendor_visit(void (*visit)(void *context, const struct vendor_event *event), void *context)
{
	if (!vendor_is_available())
		return;
	for (int pmu = 0; pmu < PFM_PMU_MAX; pmu++) {
		pfm_pmu_info_t info = {.size = sizeof(info)};
		if (pfm.get_pmu_info((pfm_pmu_t)pmu, &info) != PFM_SUCCESS || !info.is_present)
			continue;
		/* What the kernel calls by its own names is no vendor's. */
		if (info.type == PFM_PMU_TYPE_OS_GENERIC)
			continue;
		for (int event = info.first_event; event != -1; event = pfm.get_event_next(event))
			visit_event(visit, context, &info, event);
	}
}

/* Encodes with the library's modifiers. Returns its status. */
static int encode(const char *text, struct event_attr *ret)
{
	struct perf_event_attr attr = {0};
	pfm_perf_encode_arg_t argument = {.attr = &attr, .size = sizeof(argument)};

	if (!vendor_is_available())
		return PFM_ERR_NOTSUPP;
	int status = pfm.get_os_event_encoding(text, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &argument);
	if (status != PFM_SUCCESS)
		return status;
	/* The library's copy of the kernel's structure is an older, shorter one. */
	_Static_assert(sizeof(attr) <= sizeof(*ret), "kernel ABI");
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &attr, sizeof(attr));
	ret->size = sizeof(*ret);
	return PFM_SUCCESS;
}

struct names {
	struct arena arena;
	VEC(const char *) list;
};

static void add_name(void *context, const struct vendor_event *event)
{
	struct names *names = context;

	vec_push(&names->list, event->name);
	if (event->unit)
		vec_push(&names->list, arena_printf(&names->arena, "%s:%s", event->name, event->unit));
}

static struct error *unknown(const char *name, int status)
{
	cleanup_free char *upper = mem_strdup(name);
	struct names names = {0};
	struct error *error;

	for (char *c = upper; *c; c++)
		*c = *c == '.' ? ':' : (char)toupper((unsigned char)*c);
	vendor_visit(add_name, &names);
	const char *nearest = str_nearest(upper, names.list.data, names.list.len);
	if (nearest && strcmp(nearest, upper))
		error = error_new_kind(ERROR_USAGE, "--pfm-events: '%s': %s; did you mean '%s'?", name, pfm.strerror(status), nearest);
	else
		error = error_new_kind(ERROR_USAGE, "--pfm-events: '%s': %s; 'perf list pfm' lists the events of this processor", name,
				       pfm.strerror(status));
	vec_deinit(&names.list);
	arena_deinit(&names.arena);
	return error;
}

/* The PMU of an event of a chip's part, for the CPUs to open it on. */
static void bind_to_pmu(struct event_list *list, struct event_catalog *catalog, struct event *event)
{
	struct pmu_list *pmus = event_catalog_pmus(catalog);

	for (size_t i = 0; i < pmus->pmus.len && event->attr.type > PERF_TYPE_BREAKPOINT; i++) {
		struct pmu *pmu = pmus->pmus.data[i];
		if (pmu->type != event->attr.type)
			continue;
		pmu_load_head(pmus, pmu);
		event->pmu_name = arena_strdup(&list->arena, pmu->name);
		event->pmu_cpus = pmu->cpus ? arena_strdup(&list->arena, pmu->cpus) : NULL;
	}
}

struct event *vendor_add(struct event_list *list, struct event_catalog *catalog, const char *name)
{
	struct event_attr attr;

	/* Events of the kernel have other names, and may not come from the library's. */
	if (encode(name, &attr) != PFM_SUCCESS || attr.type < PERF_TYPE_RAW)
		return NULL;
	struct event *event = event_list_add(list, "");
	event->attr.type = attr.type;
	event->attr.config = attr.config;
	event->attr.config1 = attr.config1;
	event->attr.config2 = attr.config2;
	event->attr.exclude_guest = 1;
	bind_to_pmu(list, catalog, event);
	return event;
}

static struct error *add_event(struct event_list *list, struct event_catalog *catalog, const char *name)
{
	struct event_attr attr;
	int status = encode(name, &attr);

	if (status != PFM_SUCCESS)
		return unknown(name, status);
	struct event *event = event_list_add(list, name);
	event->attr = attr;
	event->user_modified = attr.exclude_user || attr.exclude_kernel;
	event->period_given = attr.sample_period;
	bind_to_pmu(list, catalog, event);
	return NULL;
}

static struct error *end_group(struct event_list *list, size_t first)
{
	if (first == list->events.len)
		return error_new_kind(ERROR_USAGE, "--pfm-events: empty group");
	for (size_t i = first; i < list->events.len; i++) {
		list->events.data[i]->leader = (unsigned int)first;
		list->events.data[i]->members = i == first ? (unsigned int)(list->events.len - first) : 0;
	}
	return NULL;
}

static struct error *parse(struct event_list *list, struct event_catalog *catalog, const char *text)
{
	const size_t none = SIZE_MAX;
	size_t group = none;
	struct error *error = NULL;

	while (!error && *(text += strspn(text, ", \t\n"))) {
		size_t len = strcspn(text, ",{} \t\n");
		if (len) {
			cleanup_free char *name = mem_strndup(text, len);
			error = add_event(list, catalog, name);
			text += len;
		} else if (*text == '{' && group == none) {
			group = list->events.len;
			text++;
		} else if (*text == '}' && group != none) {
			error = end_group(list, group);
			group = none;
			text++;
		} else {
			return error_new_kind(ERROR_USAGE, "--pfm-events: unexpected '%c' in '%s'", *text, text);
		}
	}
	if (!error && group != none)
		error = error_new_kind(ERROR_USAGE, "--pfm-events: missing '}' at the end of a group");
	return error;
}

struct error *vendor_parse(struct event_list *list, struct event_catalog *catalog, const char *text)
{
	size_t before = list->events.len;

	struct error *error = load();
	if (error)
		return error_wrap(error, "--pfm-events");
	error = parse(list, catalog, text);
	if (!error && list->events.len == before)
		error = error_new_kind(ERROR_USAGE, "--pfm-events: missing event");
	if (error)
		list->events.len = before;
	return error;
}
