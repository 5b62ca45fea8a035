#include "capture/stack_way.h"

#include "base/log.h"

#include <linux/perf_event.h>
#include <string.h>

/* Whether stacks are to be unwound while they are recorded: by sampling, or an event's own call-graph=auto. */
static bool is_wanted(const struct event_list *events, const struct sampling *sampling)
{
	bool wanted = sampling->callgraph == CALLCHAIN_AUTO;

	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		wanted |= event->callgraph_given && !strcmp(event->callgraph, "auto");
	}
	return wanted && !sampling->kernel_callchains;
}

static bool overwrites(const struct event_list *events, const struct sampling *sampling)
{
	for (size_t i = 0; i < events->events.len; i++)
		if (events->events.data[i]->overwrite == EVENT_YES)
			return true;
	return sampling->overwrite;
}

/* The option with which nothing can be unwound while it is recorded; NULL: there is none. */
static const char *find_obstacle(const struct event_list *events, const struct sampling *sampling)
{
	if (sampling->user_regs)
		return "--user-regs";
	if (overwrites(events, sampling))
		return "--overwrite";
	if (sampling->no_time)
		return "--no-timestamp";
	if (sampling->per_thread && !sampling->time)
		return "--per-thread without -T";
	return NULL;
}

/* Whether its stacks are to be unwound: those of events with another call-graph= are as they say. */
static bool is_meant(const struct event *event)
{
	return !event->callgraph_given || !strcmp(event->callgraph, "auto");
}

/* Before rates are settled: -F and -c count for tracepoints, too. */
static bool is_suited(const struct event *event, const struct sampling *sampling)
{
	bool rated = !event->period_given && (sampling->period > 1 || sampling->freq_given);

	return stack_walker_suits(event) && !(event->attr.type == PERF_TYPE_TRACEPOINT && rated);
}

/* Then a program would run once, and there would be two samples. */
static bool is_same_place_again(const struct event_list *events, size_t index)
{
	const struct event_attr *attr = &events->events.data[index]->attr;

	for (size_t i = 0; i < index && attr->type == PERF_TYPE_TRACEPOINT; i++)
		if (events->events.data[i]->attr.type == attr->type && events->events.data[i]->attr.config == attr->config)
			return true;
	return false;
}

/* What stands against a BPF program that walks stacks; NULL: nothing does, and it is loaded. */
static struct error *open_walker(const struct event_list *events, struct sampling *sampling, const struct counter_target *target,
				 struct stack_walker **ret)
{
	const struct event *unsuited = NULL, *twice = NULL;
	size_t suited = 0;

	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		if (is_suited(event, sampling))
			suited++;
		else if (is_meant(event) || !unsuited)
			unsuited = event;
		if (is_same_place_again(events, i))
			twice = event;
	}
	if (!suited || (unsuited && is_meant(unsuited) && sampling->callgraph_way == CALLCHAIN_BY_BPF))
		return error_new_kind(ERROR_UNSUPPORTED,
				      "%s: BPF programs cannot unwind the stacks of tracepoints and probes with -F or -c, and of other "
				      "events with --filter or stack-size=",
				      unsuited->name);
	if (twice)
		return error_new_kind(ERROR_UNSUPPORTED, "%s: BPF programs cannot unwind the stacks of a tracepoint that is recorded twice",
				      twice->name);
	if (target->cpus[0] < 0)
		return error_new_kind(ERROR_UNSUPPORTED, "BPF programs cannot unwind the stacks of --per-thread recordings");
	return stack_walker_open(events, sampling, target->threads[0] >= 0, ret);
}

struct error *stack_way_choose(const struct event_list *events, struct sampling *sampling, const struct counter_target *target,
			       const char *obstacle, struct stack_walker **ret, struct error **ret_why)
{
	*ret = NULL;
	*ret_why = NULL;
	if (!is_wanted(events, sampling))
		return NULL;
	if (!obstacle)
		obstacle = find_obstacle(events, sampling);
	if (sampling->callgraph_implied && obstacle) {
		*ret_why = error_new("stacks are followed by frame pointers, which many programs lack: %s excludes unwinding them while "
				     "recording",
				     obstacle);
		sampling->callgraph = CALLCHAIN_FP;
		sampling->callgraph_implied = sampling->stack_grows = false;
		return NULL;
	}
	if (sampling->callgraph_way == CALLCHAIN_BY_COPIES)
		return NULL;
	struct error *error = open_walker(events, sampling, target, ret);
	if (error && sampling->callgraph_way == CALLCHAIN_BY_BPF)
		return error_wrap(error, "--call-graph auto,bpf");
	if (error)
		log_info("stacks are copied, and unwound by the recorder: %s", error_message(error));
	else
		log_info("stacks are unwound in the kernel, by a BPF program");
	error_free(error);
	sampling->walks_stacks = *ret != NULL;
	return NULL;
}
