/* The flight recorder in the agent: what it is given, and who may ask for a recording. */
#include "cmd/agent/agent.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "capture/off_cpu_samples.h"
#include "perfdata/records.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { MEMORY_PART = 8 }; /* of --memory */

struct error *agent_recorder_open(struct agent *agent)
{
	struct flight_settings *from = &agent->settings->flight;
	if (!from->folder)
		return NULL;
	agent->flight_settings = *from;
	agent->flight_settings.folder = mem_strdup(from->folder);
	from->triggers = (flight_trigger_list){0}; /* a reload takes the settings away */
	if (mkdir(from->folder, 0700) && errno != EEXIST)
		return error_system(errno, "--flight %s", from->folder);
	if (!agent->settings->off_cpu)
		log_warning("the flight recorder sees no waits without --off-cpu");
	return flight_watch_open(&agent->flight_settings.triggers, &agent->watch);
}

void agent_recorder_start(struct agent *agent)
{
	if (!agent->watch)
		return;
	const struct flight_options options = {
		.settings = &agent->flight_settings,
		.watch = agent->watch,
		.session = agent->opening.session,
		.resolver = agent->opening.resolver,
		.catalog = agent->catalog,
		.memory = agent->settings->memory / MEMORY_PART,
	};
	agent->flight = flight_open(&options);
	agent->status.has_flight = true;
}

void agent_recorder_close(struct agent *agent)
{
	flight_close(agent->flight);
	flight_watch_close(agent->watch);
	flight_triggers_deinit(&agent->flight_settings.triggers);
	free((char *)agent->flight_settings.folder);
}

void agent_recorder_add(struct agent *agent, const struct record *record, const struct sample *sample)
{
	if (!agent->flight)
		return;
	bool waits = sample && !strcmp(record->event->name, OFF_CPU_EVENT);
	uint64_t value = waits ? sample->period : sample ? agent_rate_time_ns(agent, record->event, sample) : 0;
	flight_add(agent->flight, record, sample, value, waits);
}

void agent_recorder_want(struct agent *agent, const struct flight_cause *cause)
{
	if (agent->flight)
		flight_want(agent->flight, cause);
	else
		log_info("%s: there is no flight recorder (--flight FOLDER)", cause->what);
}

void agent_recorder_take_round(struct agent *agent, const struct record *round)
{
	const struct record_timed_round *timed = (const void *)round->header;
	struct agent_status *status = &agent->status;
	if (!agent->flight)
		return;
	pthread_mutex_lock(&status->lock);
	struct flight_cause wishes[AGENT_WISHES];
	size_t count = status->wish_count;
	memcpy(wishes, status->wishes, count * sizeof(*wishes));
	status->wish_count = 0;
	pthread_mutex_unlock(&status->lock);
	for (size_t i = 0; i < count; i++)
		flight_want(agent->flight, &wishes[i]);
	flight_take_round(agent->flight, round->header->size >= sizeof(*timed) ? timed->ended_ns : clock_now_ns(CLOCK_MONOTONIC),
			  agent_missing_waits(agent));
	pthread_mutex_lock(&status->lock);
	status->numbers.flight = flight_counts(agent->flight);
	pthread_mutex_unlock(&status->lock);
}

void agent_recorder_end(struct agent *agent)
{
	if (agent->flight)
		flight_end(agent->flight);
}
