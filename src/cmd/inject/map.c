/* Maps by build-id (-B, --mmap2-buildid-all): MMAP and MMAP2 records say which build of a file is mapped, and with -B only maps that
 * samples hit are left.
 *
 *	in    mmap libc ── mmap libz ── sample in libc ───────────── sample in libc
 *	out                             mmap libc BUILD-ID, sample ── sample
 *
 * What a sample hits is what is visible of a map at its time: that part is put in, so it hides nothing that came later. A process gets the
 * maps that it has inherited as its own. Stacks that are copies need all maps: they are unwound by whoever reads them. */
#include "cmd/inject/inject.h"

#include "capture/synth/synth.h"
#include "session/apply.h"

#include <linux/perf_event.h>
#include <string.h>

void inject_maps_init(struct inject *inject)
{
	const struct event_list *events = &inject->events;
	inject->drops_maps = inject->options->maps_hit;
	for (size_t i = 0; i < events->events.len; i++)
		if (events->events.data[i]->attr.sample_type & PERF_SAMPLE_STACK_USER)
			inject->drops_maps = false;
}

/* The record of a map, `id` for its trailer. */
static struct error *write_map(struct inject *inject, const struct map_description *map, bool kernel, const struct sample_layout *layout,
			       const struct sample_id *id)
{
	struct strbuf record = {0};
	struct synth synth = {.out = &record, .trailer = layout->trailer};
	synth_map(&synth, map, kernel);
	if (record.len)
		sample_id_encode(layout, id, record.data + record.len);
	struct error *error = record.len ? inject_write(inject, (const struct record_header *)record.data) : NULL;
	strbuf_deinit(&record);
	return error;
}

/* What a record has mapped just now; NULL for what isn't code. */
static const struct map *map_of(const struct inject *inject, const struct map_description *map, bool kernel, uint64_t time)
{
	const struct machine *machine = inject->session->machine;
	const struct thread *thread = kernel ? NULL : machine_thread(machine, map->pid, time);
	const struct maps *maps = kernel ? machine->kernel_maps : thread ? thread_maps(thread) : NULL;
	return maps ? maps_find(maps, map->start, time) : NULL;
}

static bool is_dropped(const struct inject *inject, const struct map *map, bool kernel)
{
	return inject->drops_maps && !kernel && map->dso->kind == DSO_FILE;
}

struct error *inject_map(struct inject *inject, const struct record *record, bool *ret_done)
{
	const struct sample_layout *layout = record->event ? &inject->session->reader->layouts[record->event->index] : NULL;
	struct map_description description;
	struct sample_id id;
	bool kernel;
	*ret_done = false;
	if ((!inject->options->maps_hit && !inject->options->maps_all) || !layout ||
	    !apply_describe_map(record->header, &description, &kernel))
		return NULL;
	const struct map *map = map_of(inject, &description, kernel, record->model_time);
	if (!map || description.build_id.size)
		return NULL;
	*ret_done = is_dropped(inject, map, kernel);
	if (*ret_done || !inject_find_build_id(inject, map->dso, &description.build_id))
		return NULL;
	*ret_done = true;
	sample_id_decode(layout, record->header, &id);
	return write_map(inject, &description, kernel, layout, &id);
}

/* Puts in what is visible of a map, if that wasn't yet. */
static struct error *put_hit_map(const struct inject_sample *sample, const struct maps *maps, uint64_t address)
{
	struct inject *inject = sample->inject;
	if (!maps || maps == inject->session->machine->kernel_maps)
		return NULL;
	const struct maps_state state = maps_state_at(maps, sample->record->model_time);
	const struct process *process = sample->thread->process;
	struct map_description description = {.pid = process->pid, .tid = process->pid};
	bool fresh;
	const struct map *map = maps_state_find(&state, address, &description.start, &description.end);
	if (!map || map->dso->kind != DSO_FILE)
		return NULL;
	if (description.start < map->start)
		description.start = map->start;
	if (description.end > map->end)
		description.end = map->end;
	map64_insert(&inject->written_maps, hash_combine(hash_combine((uintptr_t)map, (uintptr_t)process), description.start), &fresh);
	if (!fresh)
		return NULL;
	description.pgoff = map_to_dso(map, description.start);
	description.name = map->dso->name;
	description.prot = map->prot;
	description.flags = map->flags;
	description.major = map->major;
	description.minor = map->minor;
	description.inode = map->inode;
	description.inode_generation = map->inode_generation;
	inject_find_build_id(inject, map->dso, &description.build_id);
	const struct sample *s = &sample->sample;
	const struct sample_id id = {.pid = s->pid, .tid = s->tid, .time = s->time, .id = s->id, .stream_id = s->stream_id, .cpu = s->cpu};
	return write_map(inject, &description, false, &inject->session->reader->layouts[sample->record->event->index], &id);
}

struct error *inject_hit_maps(struct inject *inject, const struct record *record, const struct stack *stack)
{
	return inject->drops_maps && record->header->type == RECORD_SAMPLE ? inject_visit(inject, record, stack, put_hit_map) : NULL;
}

void inject_maps_deinit(struct inject *inject)
{
	map64_deinit(&inject->written_maps);
}
