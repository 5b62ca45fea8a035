/* The events that `perf stat` counts when nobody names any, those of -d, -T and --topdown, and what metrics need. */
#include "cmd/stat/stat.h"

#include "base/text.h"
#include "event/cgroups.h"
#include "event/parse/parse.h"
#include "kernel/hardware/cpus.h"
#include "kernel/hardware/smi_freeze.h"
#include "kernel/hardware/topology.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Events by their text, as of -e. */
static struct error *add(struct stat_run *run, const char *text)
{
	return event_parse(&run->own_events, run->catalog, text);
}

/* In the order of the kernel's perf, which people know by heart. */
static struct error *add_defaults(struct stat_run *run)
{
	struct error *error = add(run, targets_are_cpus(&run->options.targets) ? "cpu-clock" : "task-clock");

	if (!error)
		error = add(run, "context-switches,cpu-migrations,page-faults,cycles");
	if (!error && core_names(run->catalog, "stalled-cycles-frontend"))
		error = add(run, "stalled-cycles-frontend");
	if (!error && core_names(run->catalog, "stalled-cycles-backend"))
		error = add(run, "stalled-cycles-backend");
	return error ? error : add(run, "instructions,branches,branch-misses");
}

/* -T. All in one group, since metrics compare them. */
static struct error *add_transaction(struct stat_run *run)
{
	if (!core_names(run->catalog, "tx-start"))
		return error_new_kind(ERROR_UNSUPPORTED, "-T counts hardware transactions, which this processor does not support "
							 "(event tx-start of Intel TSX)");
	bool elision = core_names(run->catalog, "el-start") && core_names(run->catalog, "cycles-ct");
	return add(run, elision ? "task-clock,{instructions,cycles,cpu/cycles-t/,cpu/tx-start/,cpu/el-start/,cpu/cycles-ct/}"
				: "task-clock,{instructions,cycles,cpu/cycles-t/,cpu/tx-start/}");
}

/* How many operations a core can begin in each cycle, where the kernel says so. */
static bool find_slots(double *ret)
{
	int64_t slots;
	char path[64];

	for (const char *const *name = (const char *const[]){"cpu", "armv8_pmuv3_0", "armv8_pmuv3", NULL}; *name; name++) {
		snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/caps/slots", *name);
		if (proc_read_int(path, &slots) && slots > 0) {
			*ret = (double)slots;
			return true;
		}
	}
	return false;
}

/* How many different packages, dies or cores the CPUs are on. */
static double count_different(const char *what)
{
	int *cpus;
	size_t count, different = 0;

	cpus_online(&cpus, &count);
	struct cpu_topology *places = mem_alloc_array(count, sizeof(*places));
	for (size_t i = 0; i < count; i++) {
		struct cpu_topology *place = &places[different];
		topology_of_cpu("", cpus[i], place);
		if (!strcmp(what, "num_packages"))
			place->die = -1;
		if (strcmp(what, "num_cores"))
			place->core = -1;
		size_t same = 0;
		while (same < different &&
		       (places[same].socket != place->socket || places[same].die != place->die || places[same].core != place->core))
			same++;
		different += same == different;
	}
	free(places);
	free(cpus);
	return (double)different;
}

/* The words of metrics that are no events, such as #num_cores. */
static bool find_literal(const void *context, const char *name, double *ret)
{
	const struct stat_run *run = context;
	int64_t number;

	if (!strcmp(name, "target_cpu"))
		*ret = targets_are_cpus(&run->options.targets);
	else if (!strcmp(name, "core_wide"))
		*ret = run->options.targets.system_wide;
	else if (!strcasecmp(name, "smt_on"))
		*ret = proc_read_int("/sys/devices/system/cpu/smt/active", &number) && number == 1;
	else if (!strcmp(name, "num_cpus"))
		*ret = (double)sysconf(_SC_NPROCESSORS_CONF);
	else if (!strcmp(name, "num_cpus_online"))
		*ret = (double)sysconf(_SC_NPROCESSORS_ONLN);
	else if (!strcmp(name, "num_packages") || !strcmp(name, "num_dies") || !strcmp(name, "num_cores"))
		*ret = count_different(name);
	else
		return !strcmp(name, "slots") && find_slots(ret);
	return true;
}

/* The error says which processors have the events, and what to use instead. */
static struct error *add_topdown(struct stat_run *run, const struct metric_plan_options *options)
{
	bool second = run->options.topdown_level == 2;
	struct error *error = metric_plan_add(&run->metrics, &run->own_events, run->catalog, second ? "TopdownL2" : "TopdownL1", options);

	if (!error)
		return NULL;
	error_free(error);
	if (second)
		return error_new_kind(
			ERROR_UNSUPPORTED,
			"--topdown --td-level 2 requires level 2 events (Intel's topdown-heavy-ops … since Sapphire Rapids), which "
			"this machine does not have. For the first level:  perf stat --topdown");
	return error_new_kind(ERROR_UNSUPPORTED,
			      "--topdown requires events that count slots (Intel's topdown-retiring … since Ice Lake, Arm's stall_slot and "
			      "op_retired), which this machine does not have. For instructions per cycle and cache misses:  perf stat -d");
}

/* The time is counted by a counter that goes on (aperf), and by one that stands still. */
static struct error *add_smi_cost(struct stat_run *run, const struct metric_plan_options *options)
{
	struct error *error = smi_freeze_begin(&run->smi_thawed);

	if (error)
		return error_wrap(error, "--smi-cost");
	error = metric_plan_add(&run->metrics, &run->own_events, run->catalog, "smi", options);
	if (!error)
		return NULL;
	error_free(error);
	return error_new_kind(ERROR_UNSUPPORTED, "--smi-cost requires the events aperf and smi of the PMU 'msr', which this machine "
						 "does not have");
}

/* -M, and the options that stand for metrics. */
static struct error *add_metrics(struct stat_run *run)
{
	struct metric_plan_options options = run->options.metrics;
	struct error *error = NULL;

	options.names = (struct metric_names){.literal = find_literal, .context = run};
	for (size_t i = 0; !error && i < run->options.metric_words.len; i++)
		error = metric_plan_add(&run->metrics, &run->own_events, run->catalog, run->options.metric_words.data[i], &options);
	if (!error && run->options.smi_cost)
		error = add_smi_cost(run, &options);
	if (!error && run->options.topdown)
		error = add_topdown(run, &options);
	return error;
}

/* All in one group: they are counted at the same time or not at all. */
static void group_all(struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++) {
		events->events.data[i]->leader = 0;
		events->events.data[i]->members = i ? 0 : (unsigned int)events->events.len;
	}
}

/* Each control group has events of its own, and its own metrics. */
static struct error *spread_over_cgroups(struct stat_run *run)
{
	size_t events = run->own_events.events.len, uses = run->metrics.uses.len;
	struct error *error = event_for_each_cgroup(&run->own_events, run->options.for_each_cgroup);

	for (size_t first = events; !error && first < run->own_events.events.len; first += events)
		metric_plan_copy(&run->metrics, uses, &run->own_events, first);
	return error;
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
	run->events = &run->own_events;
	if (options->null_run)
		return NULL;
	struct error *error = options->cputype ? event_catalog_choose_cores(run->catalog, options->cputype) : NULL;
	if (!error)
		error = event_words_apply(&options->words, &run->own_events, run->catalog, targets_are_cpus(&options->targets));
	if (!error && options->transaction)
		error = add_transaction(run);
	if (!error)
		error = add_metrics(run);
	if (!error && !run->own_events.events.len)
		error = add_defaults(run);
	for (int i = 0; !error && i < options->detailed && i < 3; i++)
		error = add(run, details[i]);
	if (!error && options->group)
		group_all(&run->own_events);
	if (!error && options->for_each_cgroup)
		error = spread_over_cgroups(run);
	return error;
}
