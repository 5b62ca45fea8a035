/* Looking for them in sysfs. The names of files there are those of the kernel's drivers: arch/x86/events/intel (mem-loads, mem-loads-aux,
 * mem-stores, format ldlat), arch/powerpc/perf (mem-loads, mem-stores), arch/x86/events/amd/ibs.c (ibs_op), drivers/perf/arm_spe_pmu.c. */
#include "event/memory_events.h"

#include "base/cleanup.h"

#include <inttypes.h>
#include <string.h>

enum { USUAL_LATENCY = 30 };

static void add(struct memory_events *to, const char *name, unsigned int kinds, const char *text)
{
	vec_push(&to->events, ((struct memory_event){.name = name, .text = text, .kinds = kinds}));
}

/* Intel's from Nehalem on, and POWER's. From Sapphire Rapids and Alder Lake on, loads are only counted in a group behind a helper. */
static void add_core(struct memory_events *to, struct pmu_list *pmus, struct pmu *pmu, uint64_t latency)
{
	pmu_load(pmus, pmu);
	const char *name = pmu->name;
	bool tells_latency = pmu_format(pmu, "ldlat");
	const char *loads = tells_latency
				    ? arena_printf(&to->arena, "%s/mem-loads,ldlat=%" PRIu64 "/", name, latency ? latency : USUAL_LATENCY)
				    : arena_printf(&to->arena, "%s/mem-loads/", name);
	const char *modifier = tells_latency ? "P" : "";
	if (pmu_alias(pmu, "mem-loads"))
		add(to, "ldlat-loads", MEMORY_LOADS,
		    pmu_alias(pmu, "mem-loads-aux") ? arena_printf(&to->arena, "{%s/mem-loads-aux/,%s}:%s", name, loads, modifier)
						    : arena_printf(&to->arena, "%s%s", loads, modifier));
	if (pmu_alias(pmu, "mem-stores"))
		add(to, "ldlat-stores", MEMORY_STORES, arena_printf(&to->arena, "%s/mem-stores/%s", name, modifier));
}

/* AMD's Instruction Based Sampling chooses operations, not accesses. */
static void add_ibs(struct memory_events *to, struct pmu_list *pmus, struct pmu *pmu, uint64_t latency)
{
	pmu_load(pmus, pmu);
	bool by_latency = latency && pmu_format(pmu, "ldlat");
	add(to, "mem-ldst", MEMORY_LOADS | MEMORY_STORES,
	    by_latency ? arena_printf(&to->arena, "ibs_op/ldlat=%" PRIu64 "/", latency) : "ibs_op//");
}

/* Arm's Statistical Profiling Extension. */
static void add_spe(struct memory_events *to, const struct pmu *pmu, uint64_t latency)
{
	static const struct {
		const char *name, *filter;
		unsigned int kinds;
	} rows[] = {{"spe-load", "load_filter=1,", MEMORY_LOADS},
		    {"spe-store", "store_filter=1", MEMORY_STORES},
		    {"spe-ldst", "load_filter=1,store_filter=1,", MEMORY_LOADS | MEMORY_STORES}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *least = rows[i].kinds & MEMORY_LOADS
					    ? arena_printf(&to->arena, "min_latency=%" PRIu64, latency ? latency : USUAL_LATENCY)
					    : "";
		add(to, rows[i].name, rows[i].kinds,
		    arena_printf(&to->arena, "%s/ts_enable=1,pa_enable=1,%s%s/", pmu->name, rows[i].filter, least));
	}
}

void memory_events_find(struct event_catalog *catalog, uint64_t latency, struct memory_events *ret)
{
	struct pmu_list *pmus = event_catalog_pmus(catalog);
	struct pmu *cores[PMU_CORE_KINDS_MAX];
	size_t count = pmu_core_kinds(pmus, cores, PMU_CORE_KINDS_MAX);
	*ret = (struct memory_events){0};
	for (size_t i = 0; i < count && i < PMU_CORE_KINDS_MAX; i++)
		add_core(ret, pmus, cores[i], latency);
	struct pmu *ibs = pmu_by_name(pmus, "ibs_op");
	if (ibs)
		add_ibs(ret, pmus, ibs, latency);
	for (size_t i = 0; i < pmus->pmus.len; i++)
		if (!strncmp(pmus->pmus.data[i]->name, "arm_spe_", strlen("arm_spe_"))) {
			add_spe(ret, pmus->pmus.data[i], latency);
			break;
		}
}

void memory_events_deinit(struct memory_events *events)
{
	vec_deinit(&events->events);
	arena_deinit(&events->arena);
}

static void add_text(struct strbuf *out, const char *text)
{
	if (out->len)
		strbuf_add_char(out, ',');
	strbuf_add_str(out, text);
}

static struct error *nothing_here(void)
{
	return error_new_kind(
		ERROR_UNSUPPORTED,
		"this machine has no events that sample memory accesses. Intel processors since Nehalem (PMU 'cpu', events mem-loads and "
		"mem-stores), AMD's since family 10h (PMU 'ibs_op'; some firmware has a switch for IBS), Arm's with the Statistical Profiling "
		"Extension (PMU 'arm_spe_0'; the kernel needs kpti=off) and POWER7 and newer have them; virtual machines only where the hypervisor "
		"passes the PMU through. 'perf mem record -e page-faults' samples the first access to each page on any machine");
}

/* Whether the machine has one that does both: then two aren't needed. */
static bool has(const struct memory_events *events, unsigned int kinds)
{
	for (size_t i = 0; i < events->events.len; i++)
		if (events->events.data[i].kinds == kinds)
			return true;
	return false;
}

struct error *memory_events_choose(const struct memory_events *events, unsigned int kinds, struct strbuf *out)
{
	enum { BOTH = MEMORY_LOADS | MEMORY_STORES };
	bool single = has(events, kinds), only_both = !has(events, MEMORY_LOADS) && !has(events, MEMORY_STORES);
	for (size_t i = 0; i < events->events.len; i++) {
		const struct memory_event *event = &events->events.data[i];
		if (single ? event->kinds == kinds : only_both ? event->kinds == BOTH : event->kinds != BOTH && (event->kinds & kinds))
			add_text(out, event->text);
	}
	return out->len ? NULL : nothing_here();
}

/* Adds all events whose name has the word in it. */
static bool add_named(const struct memory_events *events, const char *word, struct strbuf *out)
{
	bool found = false;
	for (size_t i = 0; i < events->events.len; i++) {
		const struct memory_event *event = &events->events.data[i];
		if (!*word || !strstr(event->name, word))
			continue;
		add_text(out, event->text);
		found = true;
	}
	return found;
}

static bool is_name_of_some_machine(const char *word)
{
	static const char *const names[] = {"ldlat-loads", "ldlat-stores", "mem-ldst", "spe-load", "spe-store", "spe-ldst"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(word, names[i]))
			return true;
	return false;
}

struct error *memory_events_named(const struct memory_events *events, const char *names, struct strbuf *out)
{
	cleanup_free char *copy = mem_strdup(names);
	struct strbuf chosen = {0};
	struct error *error = NULL;
	bool all = true;
	char *rest = copy, *word;
	while (all && !error && (word = strsep(&rest, ","))) {
		all = add_named(events, word, &chosen);
		if (!all && is_name_of_some_machine(word))
			error = events->events.len
					? error_new_kind(
						  ERROR_UNSUPPORTED,
						  "this machine has no event '%s'; 'perf mem record -e list' shows those that it has", word)
					: nothing_here();
	}
	if (!error)
		add_text(out, all ? strbuf_str(&chosen) : names);
	strbuf_deinit(&chosen);
	return error;
}
