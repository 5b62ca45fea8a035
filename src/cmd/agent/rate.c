/* The rate of events that have one. The kernel takes another one while they count; samples of counters of the processor then say themselves
 * what they stand for. Those of the CPU's clock go on to say what their event was opened with (last_period, which
 * perf_swevent_init_hrtimer() alone sets), so that they are weighed here, by the rate at their time. */
#include "cmd/agent/agent.h"

#include "base/clock.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>

enum { SECOND_NS = 1000000000 };

static bool is_clock(const struct event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && (attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

static void remember(struct agent *agent, uint64_t since_ns)
{
	memmove(agent->rates + 1, agent->rates, (AGENT_RATES - 1) * sizeof(*agent->rates));
	agent->rates[0] = (struct agent_rate){since_ns, agent->cost.hz};
}

void agent_rate_init(struct agent *agent)
{
	remember(agent, 0);
}

/* The clock takes no rate but a period: it makes one of the rate that it is opened with. */
static void set(const struct counter *counter, uint64_t value)
{
	for (size_t slot = 0; slot < counter_slots(counter); slot++)
		if (counter->fds[slot] >= 0)
			ioctl(counter->fds[slot], PERF_EVENT_IOC_PERIOD, &value);
}

void agent_rate_set(struct agent *agent)
{
	const struct event_list *events = &agent->opening.session->reader->events;
	for (size_t i = 0; i < events->events.len && i < agent->counters->count; i++) {
		const struct event *event = events->events.data[i];
		if (event->attr.freq && !event_is_dummy(event))
			set(&agent->counters->each[i], is_clock(&event->attr) ? SECOND_NS / agent->cost.hz : agent->cost.hz);
	}
	remember(agent, clock_now_ns(CLOCK_MONOTONIC));
}

uint64_t agent_rate_time_ns(const struct agent *agent, const struct event *event, const struct sample *sample)
{
	const struct event_list *events = &agent->opening.session->reader->events;
	const struct event *first = events->events.len ? events->events.data[0] : event;
	if (event != first || !event->attr.freq)
		return 0;
	if (is_clock(&event->attr))
		return agent_rate_weight(agent, event, sample);
	return agent->cost.hz ? SECOND_NS / agent->cost.hz : 0;
}

uint64_t agent_rate_weight(const struct agent *agent, const struct event *event, const struct sample *sample)
{
	size_t at = 0;
	if (!event->attr.freq || !is_clock(&event->attr))
		return sample->period;
	while (at + 1 < AGENT_RATES && agent->rates[at].since_ns > sample->time)
		at++;
	return agent->rates[at].hz ? SECOND_NS / agent->rates[at].hz : sample->period;
}
