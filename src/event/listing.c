/* Entries from the tables of built-in names, from sysfs, tracefs and the vendor's library. */
#include "event/listing.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "event/builtin.h"
#include "event/tracepoint/tracepoint.h"
#include "event/vendor.h"
#include "kernel/measure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void listing_deinit(struct listing *listing)
{
	vec_deinit(&listing->entries);
	arena_deinit(&listing->arena);
}

struct listing_entry *listing_add_entry(struct listing *listing, enum listing_group group, const char *name, const char *kind)
{
	vec_push(&listing->entries, (struct listing_entry){.group = group, .name = arena_strdup(&listing->arena, name), .kind = kind});
	return vec_last(&listing->entries);
}

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare(const void *a, const void *b)
{
	const struct listing_entry *left = a, *right = b;
	int topics = compare_texts(left->topic, right->topic);

	return topics ? topics : strcmp(left->name, right->name);
}

void listing_sort(struct listing *listing, size_t first)
{
	if (listing->entries.len > first)
		qsort(listing->entries.data + first, listing->entries.len - first, sizeof(*listing->entries.data), compare);
}

static enum listing_support try_open(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = measure_attr(type, config, true);
	int status = measure_can_open(&attr, 0, -1);

	if (status == -EACCES || status == -EPERM) {
		attr = measure_attr(type, config, false);
		status = measure_can_open(&attr, 0, -1);
	}
	log_debug("%u:%#llx: %s", type, (unsigned long long)config, status ? strerror(-status) : "can be opened");
	/* Busy counters are there all the same. */
	if (!status || status == -EBUSY)
		return LISTING_SUPPORTED;
	return status == -EACCES || status == -EPERM ? LISTING_FORBIDDEN : LISTING_UNSUPPORTED;
}

/* An event of the cores: on any of several kinds. */
static enum listing_support try_core(struct event_catalog *catalog, uint32_t type, uint64_t config)
{
	struct pmu *kinds[PMU_CORE_KINDS_MAX];
	size_t count = event_catalog_core_kinds(catalog, kinds, PMU_CORE_KINDS_MAX);
	enum listing_support support = count ? LISTING_UNSUPPORTED : try_open(type, config);

	for (size_t i = 0; i < count && support == LISTING_UNSUPPORTED; i++)
		support = try_open(type, config | (uint64_t)kinds[i]->type << 32);
	return support;
}

/* The PMUs of the cores: "cpu", or "cpu_atom,cpu_core". */
static const char *core_unit(struct listing *listing, struct event_catalog *catalog)
{
	struct pmu *kinds[PMU_CORE_KINDS_MAX];
	size_t count = event_catalog_core_kinds(catalog, kinds, PMU_CORE_KINDS_MAX);
	struct strbuf names = {0};

	for (size_t i = 0; i < count; i++)
		strbuf_printf(&names, "%s%s", i ? "," : "", kinds[i]->name);
	const char *unit = arena_strdup(&listing->arena, count ? strbuf_str(&names) : "cpu");
	strbuf_deinit(&names);
	return unit;
}

static void add_builtin(struct listing *listing, struct event_catalog *catalog, enum listing_group group,
			const struct listing_options *options)
{
	size_t count;
	const struct builtin_event *events = builtin_events(&count);
	const char *cores = core_unit(listing, catalog);

	for (size_t i = 0; i < count; i++) {
		bool hardware = events[i].type == PERF_TYPE_HARDWARE;
		enum listing_group own = events[i].tool ? LISTING_TOOL : hardware ? LISTING_HARDWARE : LISTING_SOFTWARE;
		if (own != group)
			continue;
		struct listing_entry *entry = listing_add_entry(listing, group, events[i].name,
								group == LISTING_TOOL ? "Tool event"
								: hardware	      ? "Hardware event"
										      : "Software event");
		entry->alias = events[i].alias;
		entry->unit = group == LISTING_TOOL ? "tool" : hardware ? cores : "software";
		entry->long_description = events[i].description;
		if (group == LISTING_TOOL)
			continue;
		entry->encoding = arena_printf(&listing->arena, "%u:%#llx", events[i].type, (unsigned long long)events[i].config);
		if (options->try)
			entry->support =
				hardware ? try_core(catalog, events[i].type, events[i].config) : try_open(events[i].type, events[i].config);
	}
}

struct cache_visit {
	struct listing *listing;
	struct event_catalog *catalog;
	const struct listing_options *options;
	const char *cores;
};

static void add_cache(void *context, const char *name, uint64_t config)
{
	struct cache_visit *visit = context;
	struct listing_entry *entry = listing_add_entry(visit->listing, LISTING_CACHE, name, "Hardware cache event");
	char description[96];

	builtin_describe_cache(config, description, sizeof(description));
	entry->unit = visit->cores;
	entry->long_description = arena_strdup(&visit->listing->arena, description);
	entry->encoding = arena_printf(&visit->listing->arena, "%u:%#llx", PERF_TYPE_HW_CACHE, (unsigned long long)config);
	if (visit->options->try)
		entry->support = try_core(visit->catalog, PERF_TYPE_HW_CACHE, config);
}

/* A name with the parameters that it needs: "parameter,umask=?". */
static char *alias_with_parameters(struct listing *listing, const struct pmu_alias *alias)
{
	struct strbuf text = {0};

	strbuf_add_str(&text, alias->name);
	for (const char *term = alias->terms; *term; term += strcspn(term, ",") + (strchr(term, ',') != NULL)) {
		size_t len = strcspn(term, ",");
		if (len > 2 && !memcmp(term + len - 2, "=?", 2))
			strbuf_printf(&text, ",%.*s", (int)len, term);
	}
	char *copy = arena_strdup(&listing->arena, strbuf_str(&text));
	strbuf_deinit(&text);
	return copy;
}

static void add_pmu_events(struct listing *listing, struct event_catalog *catalog, struct pmu *pmu)
{
	struct arena *arena = &listing->arena;

	pmu_load(event_catalog_pmus(catalog), pmu);
	if (!event_catalog_is_chosen(catalog, pmu))
		return;
	for (size_t i = 0; i < pmu->aliases.len; i++) {
		const struct pmu_alias *alias = &pmu->aliases.data[i];
		const char *text = arena_printf(arena, "%s/%s/", pmu->name, alias_with_parameters(listing, alias));
		struct listing_entry *entry = listing_add_entry(listing, LISTING_PMU, text, "Kernel PMU event");
		entry->alias = pmu->is_core ? arena_strdup(arena, alias->name) : NULL;
		entry->unit = arena_strdup(arena, pmu->name);
		entry->encoding = arena_printf(arena, "%s/%s/", pmu->name, alias->terms);
		entry->per_package = alias->per_package;
		if (alias->unit)
			entry->scale_unit = arena_printf(arena, "%g%s", alias->scale, alias->unit);
	}
}

/* "event=0..0xff,edge": what values the PMU's formats take. */
static void add_pmu_formats(struct listing *listing, struct event_catalog *catalog, struct pmu *pmu)
{
	struct strbuf text = {0};

	pmu_load(event_catalog_pmus(catalog), pmu);
	for (size_t i = 0; i < pmu->formats.len; i++) {
		const struct pmu_format *format = &pmu->formats.data[i];
		unsigned long long most = UINT64_MAX >> (64 - __builtin_popcountll(format->mask));
		strbuf_printf(&text, most > 1 ? "%s%s=0..%#llx" : "%s%s", i ? "," : "", format->name, most);
	}
	if (pmu->formats.len) {
		const char *name = arena_printf(&listing->arena, "%s/%s/modifier", pmu->name, strbuf_str(&text));
		listing_add_entry(listing, LISTING_RAW, name, "Raw event descriptor")->unit = arena_strdup(&listing->arena, pmu->name);
	}
	strbuf_deinit(&text);
}

static void add_pmus(struct listing *listing, struct event_catalog *catalog,
		     void (*add)(struct listing *listing, struct event_catalog *catalog, struct pmu *pmu))
{
	struct pmu_list *pmus = event_catalog_pmus(catalog);

	for (size_t i = 0; i < pmus->pmus.len; i++)
		add(listing, catalog, pmus->pmus.data[i]);
}

/* What each event carries, as C declares it. */
static char *describe_fields(struct listing *listing, const char *tracefs, const char *system, const char *event)
{
	struct tracepoint_formats *formats = tracepoint_formats_create();
	struct strbuf format = {0}, text = {0};
	struct error *error = tracefs_event_format(tracefs, system, event, &format);
	char *copy = NULL;

	if (!error)
		error = tracepoint_formats_add(formats, system, strbuf_str(&format), format.len);
	const struct tracepoint *tracepoint = error ? NULL : tracepoint_by_name(formats, system, event);
	for (size_t i = 0; tracepoint && i < tracepoint->field_count; i++) {
		const struct tracepoint_field *field = &tracepoint->fields[i];
		size_t type = strcspn(field->type, "[");
		if (!(field->flags & TRACEPOINT_FIELD_COMMON))
			strbuf_printf(&text, "%s%.*s %s%s", text.len ? "; " : "fields: ", (int)type, field->type, field->name,
				      field->type + type);
	}
	if (text.len)
		copy = arena_strdup(&listing->arena, strbuf_str(&text));
	error_free(error);
	strbuf_deinit(&format);
	strbuf_deinit(&text);
	tracepoint_formats_destroy(formats);
	return copy;
}

static void add_system(struct listing *listing, const char *tracefs, const char *system, const struct listing_options *options)
{
	struct tracefs_names events = {0};
	int id;

	error_free(tracefs_events(tracefs, system, &events));
	for (size_t i = 0; i < events.names.len; i++) {
		cleanup_free char *name = mem_printf("%s:%s", system, events.names.data[i]);
		if (options->tracepoints && !str_glob_match(options->tracepoints, name))
			continue;
		/* The tracer's own records have formats, but most of them no number to open them by. */
		if (!strcmp(system, "ftrace") && !tracefs_event_id(tracefs, system, events.names.data[i], &id))
			continue;
		struct listing_entry *entry = listing_add_entry(listing, LISTING_TRACEPOINT, name, "Tracepoint event");
		entry->unit = "tracepoint";
		if (options->encoding && tracefs_event_id(tracefs, system, events.names.data[i], &id))
			entry->encoding = arena_printf(&listing->arena, "%u:%d", PERF_TYPE_TRACEPOINT, id);
		if (options->fields)
			entry->long_description = describe_fields(listing, tracefs, system, events.names.data[i]);
	}
	tracefs_names_deinit(&events);
}

static void add_tracepoints(struct listing *listing, struct event_catalog *catalog, const struct listing_options *options)
{
	struct tracefs_names systems = {0};
	const char *tracefs;
	struct error *error = event_catalog_tracefs(catalog, &tracefs);

	if (!error)
		error = tracefs_systems(tracefs, &systems);
	for (size_t i = 0; !error && i < systems.names.len; i++)
		add_system(listing, tracefs, systems.names.data[i], options);
	error_free(error);
	tracefs_names_deinit(&systems);
}

struct vendor_visit {
	struct listing *listing;
	struct event_catalog *catalog;
	bool encoding;
	enum listing_support cores;    /* whether they count anything here; LISTING_UNTRIED = nobody asked */
	const char *part;	       /* the last part of the chip, by the library's name … */
	enum listing_support has_part; /* … and whether the kernel has a PMU for it */
};

/* What the event is to the kernel, as TYPE:CONFIG. */
static const char *encode_vendor(struct vendor_visit *visit, const char *name)
{
	struct event_list list = {0};
	const struct event *event = vendor_add(&list, visit->catalog, name);
	const char *text =
		event ? arena_printf(&visit->listing->arena, "%u:%#llx", event->attr.type, (unsigned long long)event->attr.config) : NULL;

	event_list_deinit(&list);
	return text;
}

/* What isn't of the cores needs a PMU of its own, which the library looks for. */
static enum listing_support try_part(struct vendor_visit *visit, const struct vendor_event *event, const char *name)
{
	if (!visit->cores || event->of_core)
		return visit->cores;
	if (!visit->part || strcmp(visit->part, event->pmu)) {
		struct event_list list = {0};
		visit->part = event->pmu;
		visit->has_part = vendor_add(&list, visit->catalog, name) ? LISTING_UNTRIED : LISTING_UNSUPPORTED;
		event_list_deinit(&list);
	}
	return visit->has_part;
}

static void add_vendor(void *context, const struct vendor_event *event)
{
	struct vendor_visit *visit = context;
	struct arena *arena = &visit->listing->arena;
	cleanup_free char *name = mem_printf("%s%s%s", event->name, event->unit ? ":" : "", event->unit ? event->unit : "");
	struct listing_entry *entry = listing_add_entry(visit->listing, LISTING_VENDOR, name, "Vendor event");

	entry->topic = entry->unit = arena_strdup(arena, event->pmu);
	entry->description = arena_printf(arena, "%s%s%s", event->description,
					  event->description[0] && event->unit_description[0] ? ". " : "", event->unit_description);
	entry->deprecated = strcasestr(entry->description, "deprecated") != NULL;
	entry->support = try_part(visit, event, name);
	if (visit->encoding)
		entry->encoding = encode_vendor(visit, name);
}

static void add_raw(struct listing *listing, struct event_catalog *catalog)
{
	listing_add_entry(listing, LISTING_RAW, "rNNN", "Raw hardware event descriptor")->long_description =
		"NNN: hexadecimal value of the counter's control register, from the processor's manual";
	listing_add_entry(listing, LISTING_RAW, "cpu/t1=v1[,t2=v2,t3 ...]/modifier", "Raw hardware event descriptor")->long_description =
		"a PMU and values of its format terms; modifiers: u k h (user, kernel, hypervisor), p to ppp (precise), ...";
	add_pmus(listing, catalog, add_pmu_formats);
}

void listing_add(struct listing *listing, struct event_catalog *catalog, enum listing_group group, const struct listing_options *options)
{
	size_t first = listing->entries.len;
	struct cache_visit cache = {listing, catalog, options, NULL};
	struct vendor_visit vendor = {listing, catalog, options->encoding, LISTING_UNTRIED, NULL, LISTING_UNTRIED};

	switch (group) {
	case LISTING_HARDWARE:
	case LISTING_SOFTWARE:
	case LISTING_TOOL:
		add_builtin(listing, catalog, group, options);
		break;
	case LISTING_CACHE:
		cache.cores = core_unit(listing, catalog);
		builtin_visit_cache(add_cache, &cache);
		listing_sort(listing, first);
		break;
	case LISTING_PMU:
		add_pmus(listing, catalog, add_pmu_events);
		listing_sort(listing, first);
		break;
	case LISTING_RAW:
		add_raw(listing, catalog);
		break;
	case LISTING_BREAKPOINT:
		listing_add_entry(listing, group, "mem:<addr>[/len][:access]", "Hardware breakpoint")->long_description =
			"a hardware breakpoint: an address, a length of 1 to 8 bytes, and the types of access: r, w, x or several";
		vec_last(&listing->entries)->unit = "breakpoint";
		break;
	case LISTING_TRACEPOINT:
		add_tracepoints(listing, catalog, options);
		listing_sort(listing, first);
		break;
	case LISTING_VENDOR:
		if (options->try)
			vendor.cores = try_core(catalog, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
		vendor_visit(add_vendor, &vendor);
		listing_sort(listing, first);
		break;
	default:
		break;
	}
}
