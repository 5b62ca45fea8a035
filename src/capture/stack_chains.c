/* A sample can be unwound when everything is known that its process had mapped, and that may be told in the ring of another CPU. So rings
 * are read in two goes. The first one fixes which samples are taken. The second one looks only for side-band: whatever happened before one
 * of these samples was written before the first go ended, so the second one finds it.
 *
 *	ring of CPU 0   ──mmap────────────┊fork──────┊
 *	ring of CPU 1   ───────sample─────────┊──────────mmap┊
 *	                      first go ───┘      └─── second go: the fork is older than the latest sample, or waits
 *
 * The machine wants changes in the order of time: side-band that is newer than all of the first go waits for the next one. */
#include "capture/stack_chains.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "capture/mapped_files.h"
#include "capture/python/python_told.h"
#include "capture/ring_records.h"
#include "capture/sampling.h"
#include "capture/stacks/stack_ahead.h"
#include "capture/synth/synth.h"
#include "session/apply.h"
#include "session/order.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Frames in user space. Readers show 127 of a stack where they aren't told otherwise; the kernel's follow as many as there are. */
enum { DEPTH = 1024, DEPTH_MAX = 4096 };
/* Clocks of CPUs differ a little, and a record may have got its time before it was written. */
enum { KEPT_NS = 500000000 };

struct stack_chains {
	struct event_list *events;
	struct stack_sizes *sizes;
	struct stack_walker *walker;
	const struct ring_set *rings;
	struct event_attr *attrs;      /* by event: of what is in the rings */
	struct sample_layout *layouts; /* the same */
	const struct sample_layout *sideband;
	struct map64 ids;		       /* number of the event */
	uint64_t *seen;			       /* by ring: side-band before this position is known */
	struct order held;		       /* side-band, by its place in held_bytes, which is the order of arrival */
	struct strbuf held_bytes, later_bytes; /* their records; those that wait for the next time */
	uint64_t newest;		       /* time of the newest record that was looked at */
	uint64_t latest;		       /* the same after the first go: whatever is older is known after the second one */
	struct machine *machine;
	struct symbol_options symbols;
	struct resolver *resolver;
	struct unwind_cache *cache;
	struct stack_ends ends;
	uint64_t walked, copied, early; /* stacks; of the copied ones, those that came before the rules of a file */
	uint64_t ips[DEPTH_MAX];
	struct ring_records records;
	struct python_frames *python;	     /* or NULL */
	struct python_reader *python_reader; /* of stacks that are copied; or NULL */
	struct python_told told;
};

bool stack_chains_wanted(const struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++)
		if (events->events.data[i]->stack_unwound)
			return true;
	return false;
}

static struct error *check(const struct event *event)
{
	const struct event_attr *attr = &event->attr;

	if (!event->stack_unwound)
		return event->stack_grows
			       ? error_new_kind(ERROR_USAGE, "%s: --call-graph dwarf,auto cannot be combined with auto; give a size",
						event->name)
			       : NULL;
	if (!(attr->sample_type & PERF_SAMPLE_TIME))
		return error_new_kind(ERROR_USAGE,
				      "--call-graph auto needs to know when samples were taken: omit --no-timestamp, or add -T");
	return NULL;
}

/* The kernel was asked for no user part of chains, and that stays written: so readers know who made it (stack_is_unwound_chain()). */
static void describe_file(struct event_attr *attr)
{
	attr->sample_type &= ~(uint64_t)(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	attr->sample_regs_user = 0;
	attr->sample_stack_user = 0;
}

static void take_events(struct stack_chains *chains)
{
	for (size_t i = 0; i < chains->events->events.len; i++) {
		struct event *event = chains->events->events.data[i];
		chains->attrs[i] = event->attr;
		sample_layout_init(&chains->layouts[i], &event->attr);
		if (event->attr.mmap2)
			chains->sideband = &chains->layouts[i];
		for (size_t j = 0; j < event->ids.len; j++)
			*map64_insert(&chains->ids, event->ids.data[j], NULL) = i;
		if (event->stack_unwound)
			describe_file(&event->attr);
	}
}

struct error *stack_chains_open(struct event_list *events, struct stack_sizes *sizes, struct stack_walker *walker,
				struct python_frames *python, const struct ring_set *rings, struct stack_chains **ret)
{
	for (size_t i = 0; i < events->events.len; i++) {
		struct error *error = check(events->events.data[i]);
		if (error)
			return error;
	}
	struct stack_chains *chains = mem_zalloc(sizeof(*chains));
	chains->events = events;
	chains->sizes = sizes;
	chains->walker = walker;
	chains->rings = rings;
	chains->attrs = mem_zalloc_array(events->events.len, sizeof(*chains->attrs));
	chains->layouts = mem_zalloc_array(events->events.len, sizeof(*chains->layouts));
	chains->sideband = chains->layouts;
	chains->seen = mem_zalloc_array(rings->count, sizeof(*chains->seen));
	take_events(chains);
	chains->machine = machine_create();
	chains->symbols = (struct symbol_options){.same_machine = true, .mapped_path = mapped_files_path};
	chains->resolver = resolver_create(chains->machine, &chains->symbols);
	chains->python = python;
	if (python)
		chains->python_reader = python_reader_create(python, chains->resolver);
	*ret = chains;
	return NULL;
}

void stack_chains_drop_files(struct stack_chains *chains)
{
	chains->machine->drops_files = true;
	/* Rules that are read ahead are those of what is mapped. */
	chains->machine->maps_wait = !chains->walker || stack_walker_is_lazy(chains->walker);
}

void stack_chains_close(struct stack_chains *chains)
{
	if (!chains)
		return;
	order_deinit(&chains->held);
	strbuf_deinit(&chains->held_bytes);
	strbuf_deinit(&chains->later_bytes);
	stack_ends_deinit(&chains->ends);
	python_reader_destroy(chains->python_reader);
	unwind_cache_destroy(chains->cache);
	resolver_destroy(chains->resolver);
	machine_destroy(chains->machine);
	map64_deinit(&chains->ids);
	python_told_deinit(&chains->told);
	free(chains->attrs);
	free(chains->layouts);
	free(chains->seen);
	free(chains);
}

struct stack_chains_walks stack_chains_walks(const struct stack_chains *chains)
{
	struct stack_chains_walks walks = {.walked = chains->walked, .copied = chains->copied, .early = chains->early};

	if (chains->walker) {
		walks.unsent = stack_walker_unsent(chains->walker);
		walks.memory = stack_walker_memory(chains->walker);
	}
	return walks;
}

struct python_reader_counts stack_chains_python(const struct stack_chains *chains)
{
	return chains->python_reader ? python_reader_counts(chains->python_reader) : (struct python_reader_counts){0};
}

struct stack_ends *stack_chains_ends(struct stack_chains *chains)
{
	return &chains->ends;
}

struct resolver *stack_chains_resolver(struct stack_chains *chains)
{
	return chains->resolver;
}

/* ---- side-band ---- */

static bool concerns_maps(const struct record_header *header)
{
	switch (header->type) {
	case RECORD_MMAP:
	case RECORD_MMAP2:
		return (header->misc & RECORD_MISC_CPUMODE) == CPUMODE_USER;
	case RECORD_FORK:
	case RECORD_EXIT:
		return true;
	default:
		return false;
	}
}

void stack_chains_know(struct stack_chains *chains, const struct strbuf *records)
{
	for (size_t at = 0; at < records->len;) {
		const struct record_header *header = (const void *)(records->data + at);
		if (concerns_maps(header))
			apply_sideband(chains->machine, header, 0);
		at += header->size;
	}
}

static void keep(struct stack_chains *chains, const struct record_header *header, uint64_t time)
{
	order_push(&chains->held, time, chains->held_bytes.len);
	strbuf_add(&chains->held_bytes, header, header->size); /* sizes are multiples of 8 */
}

/* Which event a sample is of; NULL = not known. */
static const struct event *event_of(const struct stack_chains *chains, const struct record_header *header)
{
	struct event *const *events = chains->events->events.data;
	struct sample sample;

	if (chains->events->events.len == 1)
		return events[0];
	/* The id is at the same place for all events of a recording. */
	if (sample_decode_fixed(&chains->layouts[0], &chains->attrs[0], header, &sample))
		return NULL;
	const uint64_t *found = map64_find(&chains->ids, sample.id);
	return found ? events[*found] : NULL;
}

static void note_time(struct stack_chains *chains, uint64_t time)
{
	if (time > chains->newest)
		chains->newest = time;
}

/* A process that begins, or becomes another program. */
static void note_begin(struct stack_chains *chains, const struct record_header *header)
{
	const struct record_comm *comm = (const void *)header;
	const struct record_task *task = (const void *)header;
	bool is_exec = header->type == RECORD_COMM && header->misc & RECORD_MISC_COMM_EXEC;
	struct sample_id id;

	if (!chains->python || !(is_exec || (header->type == RECORD_FORK && task->pid == task->tid)))
		return;
	sample_id_decode(chains->sideband, header, &id);
	python_told_begin(&chains->told, is_exec ? comm->pid : task->pid, id.time);
}

/* What is new in a ring, up to a position. */
static void look_into(struct stack_chains *chains, size_t ring, uint64_t end)
{
	const struct record_header *header;
	struct iovec pieces[2];
	struct sample_id id;
	struct sample sample;

	int count = ring_pieces(&chains->rings->rings[ring], chains->seen[ring], end, pieces);
	chains->seen[ring] = end;
	ring_records_init(&chains->records, pieces, count);
	while ((header = ring_records_next(&chains->records))) {
		if (chains->walker)
			stack_walker_look(chains->walker, header);
		note_begin(chains, header);
		if (concerns_maps(header)) {
			sample_id_decode(chains->sideband, header, &id);
			keep(chains, header, id.time);
			note_time(chains, id.time);
		} else if (header->type == RECORD_SAMPLE) {
			const struct event *event = event_of(chains, header);
			if (event && !sample_decode_fixed(&chains->layouts[event->index], &chains->attrs[event->index], header, &sample))
				note_time(chains, sample.time);
		}
	}
}

/* What is mapped from now on is about to run. */
static void expect_code(struct stack_chains *chains, const struct record_header *header, uint64_t time)
{
	const struct record_mmap2 *record = (const void *)header;

	if (header->type != RECORD_MMAP2 || header->misc & RECORD_MISC_MMAP_DATA)
		return;
	const struct maps *maps = thread_maps(machine_thread_or_new(chains->machine, record->pid, record->tid, time));
	const struct map *map = maps_find(maps, record->start, time);
	if (map && map->prot & PROT_EXEC)
		stack_walker_expect(chains->walker, map->dso);
}

static void apply_one(struct stack_chains *chains, const struct record_header *header, uint64_t time)
{
	apply_sideband(chains->machine, header, time);
	if (chains->walker && !stack_walker_is_lazy(chains->walker))
		expect_code(chains, header, time);
}

static void apply_held(struct stack_chains *chains)
{
	size_t count;

	order_finish(&chains->held);
	const struct order_item *items = order_take_all(&chains->held, &count);
	strbuf_clear(&chains->later_bytes);
	for (size_t i = 0; i < count; i++) {
		const struct record_header *header = (const void *)(chains->held_bytes.data + items[i].offset);
		if (items[i].time <= chains->latest) {
			apply_one(chains, header, items[i].time);
			continue;
		}
		order_push(&chains->held, items[i].time, chains->later_bytes.len);
		strbuf_add(&chains->later_bytes, header, header->size);
	}
	const struct strbuf done = chains->held_bytes;
	chains->held_bytes = chains->later_bytes;
	chains->later_bytes = done;
}

/* Who has files beside the machine. */
static void carry(void *context, struct carrying *carrying)
{
	struct stack_chains *chains = context;
	if (!chains->machine->drops_files)
		return;
	if (chains->walker)
		stack_walker_carry(chains->walker, carrying);
	if (chains->python_reader)
		python_reader_carry(chains->python_reader, carrying);
}

/* What runs for days forgets who has ended, when everything that was looked at the last time has been taken: what comes now is newer. */
static void forget_what_ended(struct stack_chains *chains)
{
	for (size_t i = 0; i < chains->rings->count; i++)
		if (chains->rings->rings[i].position != chains->rings->rings[i].end)
			return;
	uint64_t since = chains->latest > KEPT_NS ? chains->latest - KEPT_NS : 0, drops = chains->machine->drops;
	python_told_forget(&chains->told, since);
	if (!machine_has_grown(chains->machine))
		return;
	machine_forget_but(chains->machine, since, NULL, NULL, &(const struct machine_holder){carry, chains});
	resolver_forget(chains->resolver);
	if (chains->machine->drops != drops)
		log_debug("stacks: files that nobody maps any more are forgotten");
}

void stack_chains_shed(struct stack_chains *chains)
{
	resolver_shed(chains->resolver, 0);
	unwind_cache_destroy(chains->cache);
	chains->cache = NULL;
}

void stack_chains_look(struct stack_chains *chains)
{
	struct iovec pieces[2];
	const struct ring_set *rings = chains->rings;

	forget_what_ended(chains);
	for (size_t i = 0; i < rings->count; i++)
		ring_read(&rings->rings[i], pieces);
	for (size_t i = 0; i < rings->count; i++)
		look_into(chains, i, rings->rings[i].end);
	chains->latest = chains->newest;
	for (size_t i = 0; i < rings->count; i++)
		look_into(chains, i, ring_head(&rings->rings[i]));
	apply_held(chains);
}

/* ---- samples ---- */

/* Whether there is a stack to be unwound. Threads of the kernel have none; nor has who is in the kernel and whose memory is gone, at its
 * end: chains by frame pointers have no user part there either. */
static bool has_stack(const struct sample *sample)
{
	if (sample->regs_user.abi == PERF_SAMPLE_REGS_ABI_NONE || !sample->regs_user.values || !sample->stack)
		return false;
	return sample->pid != UINT32_MAX && (sample->stack_valid || sample->cpumode == CPUMODE_USER);
}

/* How many frames are wanted at most. */
static size_t depth_of(const struct event *event)
{
	size_t depth = event->attr.sample_max_stack ? event->attr.sample_max_stack : DEPTH;

	return depth < DEPTH_MAX ? depth : DEPTH_MAX;
}

static const struct maps *maps_of(struct stack_chains *chains, const struct sample *sample)
{
	return thread_maps(machine_thread_or_new(chains->machine, sample->pid, sample->tid, sample->time));
}

/* Ends are kept for longer than files that go. */
static const struct dso *end_file(const struct stack_chains *chains, const struct dso *dso)
{
	return chains->machine->drops_files ? NULL : dso;
}

/* Returns how many addresses are in chains->ips. */
static size_t unwind(struct stack_chains *chains, const struct event *event, const struct sample *sample)
{
	struct unwind_input input = {
		.abi = sample->regs_user.abi,
		.mask = sample->regs_user.mask,
		.registers = sample->regs_user.values,
		.stack = sample->stack,
		.stack_size = sample->stack_valid < sample->stack_size ? sample->stack_valid : sample->stack_size,
		.maps = maps_of(chains, sample),
		.time = sample->time,
	};
	struct unwind_end end;
	size_t count = unwind_user(chains->resolver, &chains->cache, &input, chains->ips, depth_of(event), &end);
	if (chains->python_reader)
		count = python_reader_add(chains->python_reader, sample->pid, &input, &chains->cache, chains->ips, count, depth_of(event));
	unsigned int reason = end.reason;
	bool grows = event->stack_grows && chains->sizes;
	if (grows)
		stack_sizes_note(chains->sizes, sample, reason == UNWIND_SHORT, end.depth);
	if (grows && reason == UNWIND_SHORT && sample->stack_size < SAMPLING_STACK_MAX)
		reason = STACK_END_BEFORE_GROWTH;
	stack_ends_add(&chains->ends, reason, end_file(chains, end.dso), 1);
	return count;
}

/* -vv: rules that the program doesn't follow. */
static void debug_copy(const struct map *map, uint64_t address)
{
	struct strbuf file = {0};

	if (log_level() < LOG_DEBUG)
		return;
	if (map)
		text_add_safe(&file, map->dso->name, strlen(map->dso->name));
	log_debug("stacks: copied, since the rules at %s+0x%llx cannot be followed in the kernel", map ? strbuf_str(&file) : "?",
		  (unsigned long long)(map ? map_to_dso(map, address) : address));
	strbuf_deinit(&file);
}

/* What a copy leads through the program is going to meet again. */
static void note_code(struct stack_chains *chains, const struct unwind_input *input, size_t count)
{
	const struct map *map = NULL;

	for (size_t i = 0; i < count; i++) {
		if (!map || chains->ips[i] - map->start >= map->end - map->start)
			map = maps_find(input->maps, chains->ips[i], input->time);
		if (map)
			stack_walker_note_code(chains->walker, map->dso, map_to_dso(map, chains->ips[i]));
	}
}

/* What the program in the kernel could not walk. */
static size_t unwind_copy(struct stack_chains *chains, const struct sample *sample, const struct walked_stack *walked, size_t depth,
			  struct stack_end *ret_end)
{
	struct unwind_input input = {
		.abi = walked->copy->abi,
		.mask = USER_STACKS_REGISTER_MASK,
		.registers = walked->copy->registers,
		.stack = walked->stack,
		.stack_size = walked->count,
		.maps = maps_of(chains, sample),
		.time = sample->time,
	};
	struct unwind_end end;
	size_t count = unwind_user(chains->resolver, &chains->cache, &input, chains->ips, depth, &end);

	if (walked->copy->file.inode)
		note_code(chains, &input, count);
	if (chains->python_reader)
		count = python_reader_add(chains->python_reader, sample->pid, &input, &chains->cache, chains->ips, count, depth);
	*ret_end = (struct stack_end){.reason = end.reason, .dso = end_file(chains, end.dso), .count = 1};
	const struct map *map = maps_find(input.maps, walked->copy->address, sample->time);
	chains->early += walked->copy->file.inode != 0;
	if (walked->copy->file.inode && map)
		stack_walker_note(chains->walker, walked->copy, map->dso, map_to_dso(map, walked->copy->address));
	else if (!walked->copy->file.inode)
		debug_copy(map, walked->copy->address);
	return count;
}

/* How a chain of the program ends, at its last address. */
static struct stack_end end_of(struct stack_chains *chains, const struct sample *sample, enum user_stacks_kind kind, uint64_t address)
{
	const struct map *map = kind == USER_STACKS_CHAIN ? NULL : maps_find(maps_of(chains, sample), address, sample->time);

	return (struct stack_end){.reason = kind == USER_STACKS_CHAIN  ? UNWIND_COMPLETE
					    : kind == USER_STACKS_CUT  ? UNWIND_DEPTH
					    : kind == USER_STACKS_LEFT ? STACK_END_NOT_COPIED
								       : unwind_lack_of_rules(chains->resolver, map, address),
				  .dso = map ? end_file(chains, map->dso) : NULL,
				  .count = 1};
}

/* ---- frames of Python ---- */

static void tell_of_python(struct stack_chains *chains, const struct sample *whose, size_t file, struct strbuf *out)
{
	const struct map_description map = python_frames_map(chains->python, file, whose->pid);
	const struct event *teller = chains->events->events.data[chains->sideband - chains->layouts];
	struct sample_id id = {.pid = whose->pid, .tid = whose->tid, .time = whose->time};
	struct synth synth = {.out = out, .trailer = chains->sideband->trailer};
	size_t before = out->len;

	synth_map(&synth, &map, false);
	if (out->len == before)
		return;
	id.id = teller->ids.len ? teller->ids.data[0] : 0;
	sample_id_encode(chains->sideband, &id, out->data + out->len);
}

static bool has_python(const uint64_t *ips, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (user_stacks_is_python(ips[i]))
			return true;
	return false;
}

/* Frames of Python get places, in files that are mapped into the process from now on. `*ips`, `count` of them, become chains->ips then.
 * Returns how many there are. */
static size_t place_python(struct stack_chains *chains, const struct sample *whose, const uint64_t **ips, size_t count, struct strbuf *out)
{
	if (!has_python(*ips, count))
		return count;
	size_t placed = python_frames_place(chains->python, *ips, count, chains->ips), last = SIZE_MAX;
	*ips = chains->ips;
	for (size_t i = 0; i < placed; i++) {
		size_t file = python_frames_is_place(chains->ips[i]) ? python_frames_file_of(chains->python, chains->ips[i]) : last;
		if (file != last && !python_told_know(&chains->told, whose->pid, file, whose->time))
			tell_of_python(chains, whose, file, out);
		last = file;
	}
	return placed;
}

void stack_chains_add_python(struct stack_chains *chains, const struct user_stacks_python_code *code, size_t lines)
{
	if (chains->python)
		python_frames_add(chains->python, code, lines);
}

/* ---- stacks ---- */

size_t stack_chains_resolve(struct stack_chains *chains, const struct sample *whose, const struct walked_stack *walked, size_t depth,
			    const uint64_t **ret_ips, struct stack_end *ret_end, struct strbuf *out)
{
	size_t count = walked->count < depth ? walked->count : depth;

	*ret_ips = chains->ips;
	*ret_end = (struct stack_end){0};
	if (walked->kind == USER_STACKS_STACK) {
		/* In the kernel, and nothing of the stack is there: it has just been replaced by another program's (execve()). */
		if (!walked->count && whose->cpumode != CPUMODE_USER)
			return 0;
		chains->copied++;
		count = unwind_copy(chains, whose, walked, depth, ret_end);
		return place_python(chains, whose, ret_ips, count, out);
	}
	chains->walked++;
	*ret_ips = walked->ips;
	*ret_end = end_of(chains, whose, count < walked->count ? USER_STACKS_CUT : walked->kind, count ? walked->ips[count - 1] : 0);
	return place_python(chains, whose, ret_ips, count, out);
}

/* Finds the user part of a sample whose stack was walked. Returns how many addresses there are in *ret_ips. */
static size_t take_walked(struct stack_chains *chains, size_t ring, const struct event *event, const struct sample *sample,
			  const uint64_t **ret_ips, struct strbuf *out)
{
	struct walked_stack walked;
	struct stack_end end;

	*ret_ips = chains->ips;
	if (sample->pid == UINT32_MAX || !stack_walker_find(chains->walker, ring, sample, &walked))
		return 0;
	size_t count = stack_chains_resolve(chains, sample, &walked, depth_of(event), ret_ips, &end, out);
	if (end.count)
		stack_ends_add(&chains->ends, end.reason, end.dso, 1);
	return count;
}

static void take_sample(struct stack_chains *chains, size_t ring, const struct event *event, const struct record_header *header,
			struct strbuf *out)
{
	const struct sample_layout *layout = &chains->layouts[event->index];
	struct sample sample;
	struct sample_parts parts;

	/* What isn't a sample as its event has them is for readers to count. */
	if (sample_decode(layout, &chains->attrs[event->index], header, &sample) || sample_find_parts(layout, header, &parts)) {
		strbuf_add(out, header, header->size);
		return;
	}
	const uint64_t *ips = chains->ips;
	size_t count = 0;
	if (event->stack_walked)
		count = take_walked(chains, ring, event, &sample, &ips, out);
	else if (has_stack(&sample))
		count = place_python(chains, &sample, &ips, unwind(chains, event, &sample), out);
	if (!sample_put_user_chain(&sample, &parts, ips, count, out))
		sample_put_user_chain(&sample, &parts, NULL, 0, out);
}

/* What the kernel tells in the name of a counter that the recording doesn't know, it tells in the name of the first event's. */
static void take_loss(struct stack_chains *chains, const struct record_header *header, struct strbuf *out)
{
	const struct event *event = chains->events->events.data[0];
	struct sample_id id;

	strbuf_add(out, header, header->size);
	sample_id_decode(&chains->layouts[0], header, &id);
	if (!event->ids.len || !stack_walker_owns(chains->walker, id.id))
		return;
	char *record = out->data + out->len - header->size;
	id.id = event->ids.data[0];
	sample_id_encode(&chains->layouts[0], &id, record + header->size);
	memcpy(record + offsetof(struct record_lost, id), &id.id, sizeof(id.id));
}

void stack_chains_take(struct stack_chains *chains, size_t ring, const struct iovec *pieces, int count, struct strbuf *out)
{
	const struct record_header *header;

	ring_records_init(&chains->records, pieces, count);
	while ((header = ring_records_next(&chains->records))) {
		bool is_sample = header->type == RECORD_SAMPLE;
		if (is_sample && chains->walker && stack_walker_takes(chains->walker, ring, header))
			continue;
		const struct event *event = is_sample ? event_of(chains, header) : NULL;
		if (event && event->stack_unwound)
			take_sample(chains, ring, event, header, out);
		else if (header->type == RECORD_LOST && chains->walker)
			take_loss(chains, header, out);
		else
			strbuf_add(out, header, header->size);
	}
}

void stack_chains_read_ahead(struct stack_chains *chains, const struct stack_ahead_target *target)
{
	if (chains->walker && !stack_walker_is_lazy(chains->walker))
		stack_ahead_read(chains->walker, chains->machine, chains->resolver, target);
}

bool stack_chains_learn(struct stack_chains *chains)
{
	return chains->walker && stack_walker_learn(chains->walker, chains->resolver);
}
