/* Any bytes as a recording: opened, walked in order as a stream, reduced on two threads, every sample asked of the model. Nothing may
 * crash, hang or grow beyond a multiple of the input. */
#include "session/session.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t keep; /* what is read isn't optimised away */

static void ask_model(struct machine *machine, const struct sample *sample, uint64_t time)
{
	const struct thread *thread = machine_thread_or_new(machine, sample->pid, sample->tid, time);
	const struct maps *maps = machine_maps(machine, thread, sample->cpumode);
	size_t used = strlen(untrusted_raw(thread_comm(thread, time))) + strlen(untrusted_raw(thread_comm_settled(thread, time)));
	const struct map *map = maps_find(maps, sample->ip, time);
	used += map ? strlen(map->dso->script_name) + maps_epoch(maps, time) : 0;
	for (uint64_t i = 0; i < sample->chain_count; i++)
		used += maps_find(thread_maps(thread), sample->chain[i], time) != NULL;
	keep = used;
}

static void init(void *state, void *context)
{
}

static void add_sample(void *state, void *context, const struct event *event, const struct sample *sample, uint64_t model_time)
{
	ask_model(context, sample, model_time);
}

static void merge(void *into, void *from, void *context)
{
}

static void walk(const char *path)
{
	struct session_options options = {.input = {.path = path, .force = true}, .streaming = true};
	struct session *session;
	struct record record;
	struct sample sample;
	struct error *error = session_open(&options, &session);
	if (error)
		return error_free(error);
	while (session_next(session, &record, &error) > 0)
		if (record.header->type == RECORD_SAMPLE && session_decode(session, &record, &sample))
			ask_model(session->machine, &sample, record.model_time);
	error_free(error);
	session_close(session);
}

static void reduce(const char *path)
{
	static const struct reducer reducer = {.state_size = 8, .init = init, .sample = add_sample, .merge = merge};
	struct session_options options = {.input = {.path = path, .force = true}, .jobs = 2, .filter.time_text = "0%-90%"};
	struct session *session;
	struct strbuf text = {0};
	void *state = NULL;
	struct error *error = session_open(&options, &session);
	if (error)
		return error_free(error);
	error_free(session_reduce(session, &reducer, session->machine, &state));
	session_loss_text(session, &text);
	session_diagnostics_text(session, &text);
	strbuf_deinit(&text);
	free(state);
	session_close(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	walk(path);
	reduce(path);
	close(fd);
	return 0;
}
