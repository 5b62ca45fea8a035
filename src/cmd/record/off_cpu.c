/* --off-cpu: where threads sleep, besides where they run (capture/off_cpu_samples.h). */
#include "cmd/record/record.h"

#include "base/log.h"

#include <inttypes.h>
#include <time.h>

enum { DEFAULT_MS = 500 };

struct error *record_off_cpu_check(struct record_options *options)
{
	struct sampling *sampling = &options->sampling;
	if (!options->off_cpu && options->off_cpu_ms != RECORD_OFF_CPU_DEFAULT)
		return error_new_kind(ERROR_USAGE, "--off-cpu-thresh requires --off-cpu");
	if (!options->off_cpu)
		return NULL;
	if (options->off_cpu_ms == RECORD_OFF_CPU_DEFAULT)
		options->off_cpu_ms = DEFAULT_MS;
	if (options->off_cpu_ms > UINT64_MAX / 1000000)
		return error_new_kind(ERROR_USAGE, "--off-cpu-thresh %" PRIu64 ": that is too long", options->off_cpu_ms);
	if (options->recorder.places.len || sampling->overwrite || sampling->no_samples)
		return error_new_kind(ERROR_USAGE, "--off-cpu writes samples of its own: omit --threads, --overwrite and -n");
	if (sampling->clockid_given && sampling->clockid != CLOCK_MONOTONIC)
		return error_new_kind(ERROR_USAGE, "--off-cpu measures with the monotonic clock: use -k mono, or omit -k");
	sampling->clockid_given = true;
	sampling->clockid = CLOCK_MONOTONIC;
	sampling->identifier = true;
	return NULL;
}

static bool has_cgroups(const struct event_list *events)
{
	bool has = false;
	for (size_t i = 0; i < events->events.len; i++)
		has |= events->events.data[i]->cgroup != NULL;
	return has;
}

/* Why the stacks of waits can't be unwound; NULL: they can. Who asks for frame pointers gets them. */
static struct error *find_obstacle(const struct record_options *options, const struct targets_place *place)
{
	const struct sampling *sampling = &options->sampling;

	if (sampling->no_time || (sampling->per_thread && !sampling->time))
		return error_new("it isn't recorded when files were mapped (omit --no-timestamp, or add -T)");
	if (sampling->callgraph == CALLCHAIN_DWARF && sampling->stack_grows)
		return error_new("--call-graph dwarf,auto excludes it");
	if (place->target.cpus[0] < 0)
		return error_new("there are no buffers of CPUs (--per-thread)");
	return NULL;
}

void record_off_cpu_choose_way(const struct record_options *options, const struct targets_place *place, struct stack_walker **walker)
{
	const struct sampling *sampling = &options->sampling;
	bool wanted = !sampling->all_kernel && !sampling->kernel_callchains && sampling->callgraph != CALLCHAIN_FP;

	if (!options->off_cpu || !wanted || *walker)
		return;
	struct error *error = find_obstacle(options, place);
	if (!error)
		error = stack_walker_open_rows(sampling, walker);
	if (error)
		log_info("stacks of " OFF_CPU_EVENT " are followed by frame pointers: %s", error_message(error));
	error_free(error);
}

static bool walks(const struct record_options *options)
{
	return options->recorder.walker && options->sampling.callgraph != CALLCHAIN_FP && !options->sampling.kernel_callchains;
}

void record_off_cpu_configure(const struct record_options *options, struct event_list *events)
{
	if (options->off_cpu)
		off_cpu_samples_configure(events, walks(options));
}

struct error *record_off_cpu_open(struct record_options *options, const struct event_list *events, const struct targets_place *place,
				  struct off_cpu_samples **ret)
{
	const struct sampling *sampling = &options->sampling;
	const struct off_cpu_samples_options samples = {
		.events = events,
		.target = &place->target,
		.by_cpu = sampling->by_cpu,
		.cpus = options->targets.cpus ? place->measured : NULL,
		.cpu_count = place->measured_count,
		.inherit = !sampling->no_inherit,
		.inherit_late = !sampling->delayed,
		.kernel_stacks = !sampling->all_user && !sampling->user_callchains,
		.user_stacks = !sampling->all_kernel && !sampling->kernel_callchains,
		.threshold_ns = options->off_cpu_ms * 1000000,
		.walker = walks(options) ? options->recorder.walker : NULL,
		.depth = sampling->max_stack,
	};
	if (has_cgroups(events))
		return error_new_kind(ERROR_USAGE, "--off-cpu cannot be limited to a cgroup: omit -G");
	struct error *error = off_cpu_samples_open(&samples, ret);
	if (error)
		return error_wrap(error, "--off-cpu (without BPF: 'perf record -e sched:sched_switch --switch-events -g', which "
					 "'perf offcpu -i' and 'perf flamegraph --off-cpu' read)");
	options->recorder.source = off_cpu_samples_source(*ret);
	log_info("time off the CPU is measured by a BPF program; waits of at least %" PRIu64 " ms have a sample each", options->off_cpu_ms);
	return NULL;
}

void record_off_cpu_tell(const struct off_cpu_samples *samples)
{
	uint64_t missed = samples ? off_cpu_samples_missed(samples) : 0;
	if (missed)
		log_warning(
			"%" PRIu64
			" wait%s missing in %s: too many threads and stacks at once. A higher --off-cpu-thresh reports fewer waits individually.",
			missed, missed == 1 ? " is" : "s are", OFF_CPU_EVENT);
	uint64_t unseen = samples ? off_cpu_samples_unseen(samples) : 0;
	if (unseen)
		log_warning("%" PRIu64 " wait%s not counted in %s: the kernel did not report when %s ended.", unseen,
			    unseen == 1 ? " is" : "s are", OFF_CPU_EVENT, unseen == 1 ? "it" : "they");
}
