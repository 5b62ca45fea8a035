#include "capture/stacks/process_maps.h"

#include "perfdata/records.h"
#include "session/apply.h"

/* Bytes that wait: below ROOM nobody is looked for who has gone; USUAL is what a small program maps, with its libraries; MOST is what one
 * process has waiting: who goes on mapping has more of a past than a model has to know. */
enum { ROOM = 1 << 18, USUAL = 1000, MOST = 1 << 16 };

void process_maps_init(struct process_maps *maps)
{
	*maps = (struct process_maps){.machine = machine_create()};
}

void process_maps_deinit(struct process_maps *maps)
{
	for (size_t i = 0; i < maps->waiting.len; i++)
		strbuf_deinit(&maps->waiting.data[i].records);
	vec_deinit(&maps->waiting);
	map64_deinit(&maps->places);
	mapped_files_deinit(&maps->files);
	machine_destroy(maps->machine);
}

/* ---- waiting ---- */

/* The last one of the list takes its place. */
static void drop(struct process_maps *maps, size_t place)
{
	struct process_waiting *gone = &maps->waiting.data[place];

	maps->bytes -= gone->records.len;
	map64_remove(&maps->places, gone->pid);
	strbuf_deinit(&gone->records);
	*gone = maps->waiting.data[--maps->waiting.len];
	if (place < maps->waiting.len)
		*map64_insert(&maps->places, gone->pid, NULL) = place;
}

static void settle(struct process_maps *maps, uint32_t pid)
{
	const uint64_t *place = map64_find(&maps->places, pid);

	if (!place)
		return;
	const struct strbuf *records = &maps->waiting.data[*place].records;
	for (size_t at = 0; at < records->len;) {
		const uint64_t *time = (const void *)(records->data + at);
		const struct record_header *header = (const void *)(time + 1);
		mapped_files_note(&maps->files, header);
		apply_late_map(maps->machine, header, *time);
		at += sizeof(*time) + header->size;
	}
	drop(maps, *place);
}

static void wait_with(struct process_maps *maps, uint32_t pid, const struct record_header *header, uint64_t time)
{
	bool is_new;
	uint64_t *place = map64_insert(&maps->places, pid, &is_new);

	if (is_new) {
		*place = maps->waiting.len;
		vec_push(&maps->waiting, ((struct process_waiting){.pid = pid}));
	}
	struct strbuf *records = &maps->waiting.data[*place].records;
	if (is_new)
		strbuf_reserve(records, USUAL);
	strbuf_add(records, &time, sizeof(time));
	strbuf_add(records, header, header->size); /* sizes are multiples of 8 */
	maps->bytes += sizeof(time) + header->size;
	if (records->len > MOST)
		settle(maps, pid);
}

/* ---- */

void process_maps_apply(struct process_maps *maps, const struct record_header *header, uint64_t time)
{
	const struct record_task *task = (const void *)header;
	const struct record_mmap *map = (const void *)header; /* MMAP2 begins like it */
	bool is_map = header->type == RECORD_MMAP || header->type == RECORD_MMAP2;

	/* Of a process that nobody told of, nobody will tell that it has gone. */
	if (is_map && maps->waits && machine_thread(maps->machine, map->pid, UINT64_MAX)) {
		wait_with(maps, map->pid, header, time);
		return;
	}
	if (header->type == RECORD_FORK && task->pid != task->ppid) {
		settle(maps, task->ppid);
		settle(maps, task->pid); /* of who had the number before */
	}
	mapped_files_note(&maps->files, header);
	apply_sideband(maps->machine, header, time);
}

const struct maps *process_maps_of(struct process_maps *maps, uint32_t pid, uint32_t tid, uint64_t time)
{
	settle(maps, pid);
	return thread_maps(machine_thread_or_new(maps->machine, pid, tid, time));
}

bool process_maps_have_grown(const struct process_maps *maps)
{
	return machine_has_grown(maps->machine) || (maps->bytes > ROOM && maps->bytes > 2 * maps->kept);
}

void process_maps_forget(struct process_maps *maps, uint64_t since, const struct machine_holder *holder)
{
	machine_forget_but(maps->machine, since, NULL, NULL, holder);
	for (size_t place = maps->waiting.len; place-- > 0;)
		if (!machine_thread(maps->machine, maps->waiting.data[place].pid, UINT64_MAX))
			drop(maps, place);
	maps->kept = maps->bytes;
}
