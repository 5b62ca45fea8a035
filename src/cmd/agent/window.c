/* Windows: what was sampled since the last one goes to the sinks. Its times are those of the machine's clock when it began, and how long it
 * lasted by the monotonic clock: a clock that is set makes no window longer or shorter, and a machine that sleeps ends one. */
#include "cmd/agent/agent.h"

#include "analysis/samples.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/off_cpu_samples.h"
#include "perfdata/records.h"

#include <inttypes.h>
#include <string.h>

enum { DETAIL = SAMPLES_STACKS | SAMPLES_ADDRESSES | SAMPLES_NO_LINES | SAMPLES_BUILD_IDS };
static const uint64_t second_ns = 1000000000;

/* Samples that the kernel had to drop: what counters say, or before Linux 6.0 what is missing in rings. */
static uint64_t count_lost(const struct agent *agent)
{
	const struct session *session = agent->opening.session;
	const struct event_list *events = &session->reader->events;
	uint64_t lost = 0;
	for (size_t i = 0; i < events->events.len; i++)
		if (!event_is_dummy(events->events.data[i]))
			lost += agent->lost_told ? session->event_counts[i].lost_samples : session->event_counts[i].lost;
	return lost;
}

void agent_window_begin(struct agent *agent)
{
	agent->wall_ns = clock_now_ns(CLOCK_REALTIME);
	agent->mono_ns = clock_now_ns(CLOCK_MONOTONIC);
	agent->boot_ns = clock_now_ns(CLOCK_BOOTTIME);
	agent->count = agent->dropped = 0;
	agent->full = agent->shed = false;
	agent->lost_before = count_lost(agent);
	agent_cost_begin(&agent->cost, agent->written);
}

/* How far one clock went further than another one since the window began. */
static int64_t went_further(uint64_t now, uint64_t then, uint64_t other_now, uint64_t other_then)
{
	return (int64_t)(now - then) - (int64_t)(other_now - other_then);
}

bool agent_window_is_over(struct agent *agent)
{
	uint64_t mono = clock_now_ns(CLOCK_MONOTONIC), boot = clock_now_ns(CLOCK_BOOTTIME), wall = clock_now_ns(CLOCK_REALTIME);
	int64_t slept = went_further(boot, agent->boot_ns, mono, agent->mono_ns);
	int64_t jumped = went_further(wall, agent->wall_ns, boot, agent->boot_ns);
	struct agent_numbers *numbers = &agent->status.numbers;
	bool suspended = slept > (int64_t)second_ns, set = jumped > (int64_t)second_ns || jumped < -(int64_t)second_ns;
	if (suspended)
		log_info("the machine slept for %" PRId64 " s", slept / (int64_t)second_ns);
	if (set)
		log_info("the machine's clock was set by %+" PRId64 " s", jumped / (int64_t)second_ns);
	pthread_mutex_lock(&agent->status.lock);
	numbers->suspensions += suspended;
	numbers->clock_jumps += set;
	pthread_mutex_unlock(&agent->status.lock);
	return suspended || set || mono - agent->mono_ns >= agent->settings->window_ns;
}

/* Samples off the CPU are made by us, of sums. */
void agent_window_count(struct agent *agent, const struct record *record)
{
	if (record->is_sample && !strcmp(record->event->name, OFF_CPU_EVENT))
		return;
	agent->written.all++;
	agent->written.samples += record->is_sample;
}

void agent_window_add(struct agent *agent, const struct record *record)
{
	struct sample sample;
	if (!agent->begun || !session_decode(agent->opening.session, record, &sample))
		return;
	agent_recorder_add(agent, record, &sample);
	agent->count++;
	agent->dropped += agent->full;
	if (agent->full)
		return;
	sample.period = agent_rate_weight(agent, record->event, &sample);
	const struct fold_sample taken = {.event = record->event, .sample = &sample, .model_time = record->model_time};
	agent_labelling_note(&agent->labelling, agent->settings, &sample);
	fold_add(agent->feed, &taken, 1);
}

static struct window *make(struct agent *agent)
{
	struct window *window = window_create();
	struct fold *fold = fold_swap(agent->fold);
	fold_finish(fold);
	samples_destroy(window->samples);
	window->samples = samples_of_fold(fold, agent->opening.resolver, DETAIL, STACK_INLINES_NONE);
	fold_destroy(fold);
	window->host = agent->identity.host;
	window->host_id = agent->identity.id;
	window->begin_ns = agent->wall_ns;
	window->end_ns = agent->wall_ns + clock_now_ns(CLOCK_MONOTONIC) - agent->mono_ns;
	window->lost = count_lost(agent) - agent->lost_before;
	window->dropped = agent->dropped;
	window->taken = agent->count + window->lost;
	window->hz = (uint32_t)agent->cost.hz;
	window->wanted_hz = (uint32_t)agent->cost.wanted_hz;
	agent_labelling_apply(&agent->labelling, agent->settings, agent->opening.session->machine, window);
	return window;
}

struct flight_waits agent_missing_waits(const struct agent *agent)
{
	return (struct flight_waits){live_off_cpu_missed(agent->live), live_off_cpu_unseen(agent->live)};
}

static void count(struct agent *agent, const struct window *window)
{
	struct agent_numbers *numbers = &agent->status.numbers;
	pthread_mutex_lock(&agent->status.lock);
	numbers->windows++;
	numbers->taken += window->taken;
	numbers->lost += window->lost;
	numbers->dropped += window->dropped;
	numbers->stored += window->taken - window->lost - window->dropped;
	numbers->records_lost = agent->opening.session->lost;
	numbers->waits = agent_missing_waits(agent);
	pthread_mutex_unlock(&agent->status.lock);
}

void agent_window_end(struct agent *agent)
{
	struct window *window = make(agent);
	for (size_t i = 0; i < agent->sinks.len; i++) {
		struct error *error = outbox_put(agent->outbox, agent->sinks.data[i].sender, window);
		if (error)
			log_warning("%s: the window is dropped: %s", agent->sinks.data[i].name, error_message(error));
		error_free(error);
	}
	count(agent, window);
	window_destroy(window);
}
