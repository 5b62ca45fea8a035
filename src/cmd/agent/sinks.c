/* The sinks of the settings, each with its sender and a folder of its own in the spool. */
#include "cmd/agent/agent.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NS_PER_MS UINT64_C(1000000)

static struct error *open_sink(const struct agent_settings *settings, const struct agent_sink_settings *from, struct agent_sink *ret)
{
	cleanup_free char *folder = mem_printf("%s/%s", settings->spool, from->name);
	struct agent_sink sink = {.name = mem_strdup(from->name)};
	struct error *error = fleet_sink_open(&from->options, &sink.sink);
	const struct sender_options options = {.sink = sink.sink, .folder = folder, .limit = from->limit};
	if (!error)
		error = sender_open(&options, &sink.sender);
	if (error) {
		fleet_sink_close(sink.sink);
		free(sink.name);
		return error_wrap(error, "%s: sink '%s'", from->where, from->name);
	}
	*ret = sink;
	return NULL;
}

struct error *agent_sinks_open(const struct agent_settings *settings, agent_sinks *ret)
{
	struct error *error = NULL;
	if (settings->sinks.len && mkdir(settings->spool, 0700) && errno != EEXIST)
		return error_system(errno, "--spool %s", settings->spool);
	for (size_t i = 0; i < settings->sinks.len && !error; i++) {
		struct agent_sink sink;
		error = open_sink(settings, &settings->sinks.data[i], &sink);
		if (!error)
			vec_push(ret, sink);
	}
	if (error)
		agent_sinks_close(ret, 0);
	return error;
}

void agent_sinks_close(agent_sinks *sinks, unsigned int wait_ms)
{
	uint64_t until = clock_now_ns(CLOCK_MONOTONIC) + wait_ms * NS_PER_MS;
	for (size_t i = 0; i < sinks->len; i++) {
		uint64_t now = clock_now_ns(CLOCK_MONOTONIC);
		sender_close(sinks->data[i].sender, now < until ? (unsigned int)((until - now) / NS_PER_MS) : 0);
		fleet_sink_close(sinks->data[i].sink);
		free(sinks->data[i].name);
	}
	vec_deinit(sinks);
}
