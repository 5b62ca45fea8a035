/* Stacks as text, without doing the same work twice.
 *
 *	call chain    ffffffff82200809 ffffffff8158c221 | 7f48abe7d645 556025fa11f0
 *	segments      kernel: hash of its words        | user: hash of its words   → text of the whole segment
 *	places        (epoch, address), direct-mapped                              → text of one line
 *	lines         (file, address in the file)                                  → text of one line, shared by all processes
 *
 * A chain is cut at its markers into segments of one address space. A segment that was seen before is one copy. A new one is put together from lines: by the
 * epoch of the address space (which names all that is mapped where) and the address; or, when the process is new, by the file and the address in it, which
 * is what the line shows. Only a line that nobody had before looks for a symbol. Texts are kept in two buffers of bounded size that are thrown away
 * when full; a segment's text is kept only when it comes a second time, since most come once.
 *
 * Stacks that need unwinding or branch records, and --stop-bt, go the straight way through stack_resolve(). */
#include "analysis/script_stacks.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
	PLACE_SLOTS = 1 << 15,
	SEEN_SLOTS = 1 << 16,
	FIRST_SLOTS = 1 << 10,
	TEXT_LIMIT = 24 << 20, /* bytes of each text buffer */
};

/* A piece of a text buffer, found by two words; `length` 0 = empty slot. */
struct entry {
	uint64_t first, second;
	uint32_t offset, length;
};

/* Open addressing; grows until its text is full, then starts anew. */
struct text_table {
	struct entry *slots;
	size_t count, mask;
	struct strbuf text;
};

struct script_stacks {
	struct text_table lines, segments;
	struct entry *places;
	uint64_t *seen; /* hashes of segments that came once */
};

struct script_stacks *script_stacks_create(void)
{
	struct script_stacks *stacks = mem_zalloc(sizeof(*stacks));
	stacks->places = mem_zalloc_array(PLACE_SLOTS, sizeof(*stacks->places));
	stacks->seen = mem_zalloc_array(SEEN_SLOTS, sizeof(*stacks->seen));
	return stacks;
}

void script_stacks_destroy(struct script_stacks *stacks)
{
	if (!stacks)
		return;
	free(stacks->lines.slots);
	free(stacks->segments.slots);
	strbuf_deinit(&stacks->lines.text);
	strbuf_deinit(&stacks->segments.text);
	free(stacks->places);
	free(stacks->seen);
	free(stacks);
}

static struct entry *table_slot(const struct text_table *table, uint64_t first, uint64_t second)
{
	for (size_t i = hash_combine(first, second) & table->mask;; i = (i + 1) & table->mask) {
		struct entry *slot = &table->slots[i];
		if (!slot->length || (slot->first == first && slot->second == second))
			return slot;
	}
}

static void table_grow(struct text_table *table)
{
	struct text_table grown = *table;
	size_t slots = table->slots ? (table->mask + 1) * 2 : FIRST_SLOTS;
	grown.slots = mem_zalloc_array(slots, sizeof(*grown.slots));
	grown.mask = slots - 1;
	for (size_t i = 0; table->slots && i <= table->mask; i++)
		if (table->slots[i].length)
			*table_slot(&grown, table->slots[i].first, table->slots[i].second) = table->slots[i];
	free(table->slots);
	*table = grown;
}

/* NULL when it isn't there. */
static const struct entry *table_find(const struct text_table *table, uint64_t first, uint64_t second)
{
	if (!table->slots)
		return NULL;
	const struct entry *slot = table_slot(table, first, second);
	return slot->length ? slot : NULL;
}

static bool table_is_full(const struct text_table *table)
{
	return table->text.len > TEXT_LIMIT;
}

static void table_clear(struct text_table *table)
{
	memset(table->slots, 0, (table->mask + 1) * sizeof(*table->slots));
	table->count = 0;
	strbuf_clear(&table->text);
}

/* Files the last `length` bytes of the table's text. */
static struct entry table_add(struct text_table *table, uint64_t first, uint64_t second, size_t offset)
{
	if (!table->slots || (table->count + 1) * 4 > (table->mask + 1) * 3)
		table_grow(table);
	struct entry entry = {first, second, (uint32_t)offset, (uint32_t)(table->text.len - offset)};
	*table_slot(table, first, second) = entry;
	table->count++;
	return entry;
}

/* A program's addresses are shown as those of its file, the kernel's as they are. */
static void add_frame(const struct script_text *text, const struct script_plan *plan, const struct frame *frame, struct strbuf *out)
{
	bool in_file = frame->map && !frame->map->dso->kernel;
	strbuf_add_char(out, '\t');
	strbuf_add_hex(out, in_file ? frame->dso_addr : frame->ip, 16);
	script_add_place(text, plan, frame, out);
	strbuf_add_char(out, '\n');
}

static bool stops_at(const struct script_text *text, const struct frame *frame)
{
	if (!text->options.stop_at || !frame->symbol)
		return false;
	for (const char *const *name = text->options.stop_at; *name; name++)
		if (strcmp(*name, frame->symbol->name) == 0)
			return true;
	return false;
}

static void add_resolved(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	const struct stack_options options = {.max_depth = text->options.max_stack};
	text->stack.frames.len = 0;
	stack_resolve(text->resolver, text->machine, at->thread, at->event, at->sample, at->model_time, &options, &text->stack);
	for (size_t i = 0; i < text->stack.frames.len; i++) {
		const struct frame *frame = &text->stack.frames.data[i];
		add_frame(text, at->plan, frame, out);
		if (stops_at(text, frame))
			break;
	}
}

/* What a segment's lines depend on besides its addresses. */
struct space {
	const struct maps *maps;
	uint64_t epoch;
	uint64_t key; /* of epoch, mode and the fields shown */
	uint8_t mode;
};

static void space_init(struct space *space, const struct script_text *text, const struct script_sample *at, uint8_t mode)
{
	const uint64_t look_fields = SCRIPT_BIT(SCRIPT_SYM) | SCRIPT_BIT(SCRIPT_SYMOFF) | SCRIPT_BIT(SCRIPT_DSO) | SCRIPT_BIT(SCRIPT_DSOFF);
	space->maps = at->thread ? machine_maps(text->machine, at->thread, mode) : NULL;
	space->epoch = maps_epoch(space->maps, at->model_time);
	space->mode = mode;
	space->key = space->epoch << 8 | (at->plan->fields & look_fields) >> SCRIPT_SYM << 4 | mode;
}

/* The line of an address, from the files' lines or anew. */
static struct entry find_line(struct script_text *text, const struct script_sample *at, const struct space *space, uint64_t ip)
{
	struct text_table *lines = &text->stacks->lines;
	const struct map *map = space->maps ? maps_find(space->maps, ip, at->model_time) : NULL;
	uint64_t owner = 0, address = ip;
	if (map) {
		owner = map->dso->kernel ? (uint64_t)(uintptr_t)map : (uint64_t)(uintptr_t)map->dso;
		address = map->dso->kernel ? ip : map_to_dso(map, ip);
	}
	/* Unmapped addresses are of no file; their own epoch tells them apart. */
	owner = owner ? owner << 8 | (space->key & 0xff) : ~space->key;
	const struct entry *known = table_find(lines, owner, address);
	if (known)
		return *known;
	struct frame frame;
	resolver_frame(text->resolver, space->maps, space->mode, ip, at->model_time, &frame);
	size_t offset = lines->text.len;
	add_frame(text, at->plan, &frame, &lines->text);
	return table_add(lines, owner, address, offset);
}

static void add_line(struct script_text *text, const struct script_sample *at, const struct space *space, uint64_t ip, struct strbuf *out)
{
	struct script_stacks *stacks = text->stacks;
	struct entry *place = &stacks->places[hash_combine(space->key, ip) & (PLACE_SLOTS - 1)];
	if (!place->length || place->first != space->key || place->second != ip) {
		*place = find_line(text, at, space, ip);
		place->first = space->key;
		place->second = ip;
	}
	strbuf_add(out, stacks->lines.text.data + place->offset, place->length);
}

/* Throws the lines away when they are too many; nothing points into them then. */
static void bound_lines(struct script_stacks *stacks)
{
	if (!table_is_full(&stacks->lines))
		return;
	table_clear(&stacks->lines);
	memset(stacks->places, 0, PLACE_SLOTS * sizeof(*stacks->places));
}

static void add_segment(struct script_text *text, const struct script_sample *at, uint8_t mode, const uint64_t *words, size_t count, struct strbuf *out)
{
	struct script_stacks *stacks = text->stacks;
	struct space space;
	if (!count)
		return;
	space_init(&space, text, at, mode);
	struct hash128 hash = hash_words(words, count, space.key);
	const struct entry *known = table_find(&stacks->segments, hash.lo, hash.hi);
	if (known) {
		strbuf_add(out, stacks->segments.text.data + known->offset, known->length);
		return;
	}
	bound_lines(stacks);
	size_t start = out->len;
	for (size_t i = 0; i < count; i++)
		add_line(text, at, &space, words[i], out);
	uint64_t *seen = &stacks->seen[hash.lo & (SEEN_SLOTS - 1)];
	if (*seen != hash.hi) {
		*seen = hash.hi;
		return;
	}
	if (table_is_full(&stacks->segments))
		table_clear(&stacks->segments);
	size_t offset = stacks->segments.text.len;
	strbuf_add(&stacks->segments.text, out->data + start, out->len - start);
	table_add(&stacks->segments, hash.lo, hash.hi, offset);
}

/* The mode that a marker announces, 0 for markers that make no sense: the kernel's perf shows nothing of such a chain. */
static uint8_t mode_of_marker(uint64_t marker)
{
	switch (marker) {
	case CALLCHAIN_HYPERVISOR:
		return CPUMODE_HYPERVISOR;
	case CALLCHAIN_KERNEL:
		return CPUMODE_KERNEL;
	case CALLCHAIN_USER:
		return CPUMODE_USER;
	default:
		return CPUMODE_UNKNOWN;
	}
}

static void add_chain(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	const uint64_t *chain = at->sample->chain;
	size_t count = at->sample->chain_count, left = text->options.max_stack, begin = out->len;
	uint8_t mode = CPUMODE_USER;
	for (size_t i = 0; i < count && left;) {
		if (chain[i] >= CALLCHAIN_CONTEXT_MAX) {
			mode = mode_of_marker(chain[i++]);
			if (mode == CPUMODE_UNKNOWN) {
				out->len = begin;
				return;
			}
			continue;
		}
		size_t end = i;
		while (end < count && left && chain[end] < CALLCHAIN_CONTEXT_MAX) {
			end++;
			left--;
		}
		add_segment(text, at, mode, chain + i, end - i, out);
		i = end;
	}
}

void script_stacks_add(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	if (at->plan->plain_chain && !text->options.stop_at)
		add_chain(text, at, out);
	else
		add_resolved(text, at, out);
}
