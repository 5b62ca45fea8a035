/* The events that `perf stat` counts when nobody names any, and those of -d. */
#include "cmd/stat.h"

#include "event/parse.h"

/* The event is there when a core PMU names it: not every processor that counts cycles counts these. */
static bool core_names(struct event_catalog *catalog, const char *name)
{
	struct pmu_list *pmus = event_catalog_pmus(catalog);

	for (size_t i = 0; i < pmus->pmus.len; i++) {
		struct pmu *pmu = pmus->pmus.data[i];
		pmu_load_head(pmus, pmu);
		if (!pmu->is_core)
			continue;
		pmu_load(pmus, pmu);
		if (pmu_alias(pmu, name))
			return true;
	}
	return false;
}

static struct error *add(struct stat_run *run, const char *text)
{
	return event_parse(&run->events, run->catalog, text);
}

static struct error *add_defaults(struct stat_run *run)
{
	struct error *error = add(run, stat_by_cpu(&run->options) ? "cpu-clock" : "task-clock");

	if (!error)
		error = add(run, "context-switches,cpu-migrations,page-faults,cycles");
	if (!error && core_names(run->catalog, "stalled-cycles-frontend"))
		error = add(run, "stalled-cycles-frontend");
	if (!error && core_names(run->catalog, "stalled-cycles-backend"))
		error = add(run, "stalled-cycles-backend");
	return error ? error : add(run, "instructions,branches,branch-misses");
}

struct error *stat_choose_events(struct stat_run *run)
{
	static const char *const details[] = {
		"L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses",
		"L1-icache-loads,L1-icache-load-misses,dTLB-loads,dTLB-load-misses,iTLB-loads,iTLB-load-misses",
		"L1-dcache-prefetches,L1-dcache-prefetch-misses",
	};
	const struct stat_options *options = &run->options;

	run->catalog = event_catalog_create("");
	if (options->null_run)
		return NULL;
	struct error *error = event_words_apply(&options->words, &run->events, run->catalog, stat_by_cpu(options));
	if (!error && !run->events.events.len)
		error = add_defaults(run);
	for (int i = 0; !error && i < options->detailed && i < 3; i++)
		error = add(run, details[i]);
	return error;
}
