/* A reducer with a number for each file: that is all there is to know. */
#include "analysis/hits.h"

#include "base/mem.h"

#include <stdlib.h>

struct context {
	struct session *session;
	enum machine_sides sides;
};

struct hits {
	uint64_t *by_dso; /* samples, of one worker */
};

static void hits_init(void *state, void *context)
{
	const struct session *session = ((const struct context *)context)->session;
	((struct hits *)state)->by_dso = mem_zalloc_array(session->machine->dsos.len + 1, sizeof(uint64_t));
}

static void hits_sample(void *state, void *context, const struct event *event, const struct sample *sample, uint64_t model_time)
{
	const struct context *in = context;
	struct machine *machine = in->session->machine;
	struct hits *hits = state;
	const struct thread *thread = session_sample_thread(machine, sample, model_time);
	if (!sides_have(in->sides, sample->cpumode, thread))
		return;
	const struct maps *maps = machine_maps(machine, thread, sample->cpumode);
	const struct map *map = maps ? maps_find(maps, sample->ip, model_time) : NULL;
	if (map && map->dso)
		hits->by_dso[map->dso->index]++;
}

static void hits_merge(void *into, void *from, void *context)
{
	const struct session *session = ((const struct context *)context)->session;
	const struct hits *a = into, *b = from;
	for (size_t i = 0; i < session->machine->dsos.len; i++)
		a->by_dso[i] += b->by_dso[i];
}

static void hits_deinit(void *state, void *context)
{
	free(((struct hits *)state)->by_dso);
}

struct error *hits_find(struct session *session, enum machine_sides sides, uint64_t **ret_by_dso)
{
	static const struct reducer reducer = {
		.state_size = sizeof(struct hits),
		.init = hits_init,
		.sample = hits_sample,
		.merge = hits_merge,
		.deinit = hits_deinit,
		.fixed_only = true,
	};
	struct context context = {session, sides};
	struct hits *hits;
	struct error *error = session_reduce(session, &reducer, &context, (void **)&hits);
	if (error)
		return error;
	*ret_by_dso = hits->by_dso;
	free(hits);
	return NULL;
}
