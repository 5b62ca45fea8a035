/* Stacks as text, without doing the same work twice.
 *
 *	call chain    ffffffff82200809 ffffffff8158c221 | 7f48abe7d645 556025fa11f0
 *	segments      kernel: hash of its words        | user: hash of its words   → text of the whole segment
 *	places        (file, address in it), direct-mapped                         → symbol
 *	files         by number                                                    → " (path)"
 *
 * A chain is cut at its markers into segments of one address space. A segment that was seen before is one copy. A new one is put together
 *line by line: symbols by the address in the file, or else looked up; the file's name is ready made. All of a segment's places are asked
 *for before the first is read, so that the waits for memory overlap. Lines themselves aren't kept: most addresses of a fast recording come
 *once, and to compose a line costs less than to miss the cache for it. Texts of segments are kept within bounds (thrown away when full),
 *and only when they come a second time.
 *
 * Stacks that were unwound or come from branch records hardly ever come twice: their lines are put together without segments. --stop-bt
 *goes the straight way through stack_resolve(). */
#include "analysis/script_stacks.h"

#include "base/digits.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/maps_cache.h"

#include <stdlib.h>
#include <string.h>

enum {
	PLACE_SLOTS = 1 << 15,
	LOOKUPS = 32, /* addresses looked up at a time */
	SEGMENT_SLOTS = 1 << 13,
	TEXT_LIMIT = 1 << 20, /* bytes of segments' text */
	WIDE = 32,	      /* bytes copied at a time; behind all text that is copied so there is room for as much */
	NAME_LIMIT = 512,     /* longer names of symbols are unusual */
	USUAL_ROOM = NAME_LIMIT + WIDE + 64,
};

#define UNUSUAL UINT32_MAX

/* What a line tells of an address. */
struct place {
	uint64_t address; /* in the file */
	uint64_t offset;  /* from the symbol's start */
	const char *name; /* the symbol's */
	uint32_t file;	  /* its number + 1; 0 = empty */
	uint32_t length;  /* of the name; 0 = there is no symbol, UNUSUAL = composing it takes more care */
};

/* An address of a stack while its line is made. */
struct spot {
	uint64_t ip;
	const struct map *map; /* NULL = not mapped */
	struct place place;
};

/* A segment that came before. Its text is kept from the second time on; until then `length` is 0. */
struct segment {
	uint64_t hash;		 /* the half that its slot isn't chosen by */
	uint32_t offset, length; /* in segment_text */
};

struct piece {
	uint32_t offset, length;
};

struct script_stacks {
	struct maps_cache maps;
	struct place *places;	  /* direct-mapped */
	struct segment *segments; /* direct-mapped; their text is thrown away as a whole */
	struct strbuf segment_text;
	/* By dso->index + 1, 0 for no file: " (path)", made safe. */
	VEC(struct piece) files;
	struct strbuf file_text;
};

struct script_stacks *script_stacks_create(void)
{
	struct script_stacks *stacks = mem_zalloc(sizeof(*stacks));
	maps_cache_init(&stacks->maps);
	stacks->places = mem_zalloc_table(PLACE_SLOTS, sizeof(*stacks->places));
	stacks->segments = mem_zalloc_table(SEGMENT_SLOTS, sizeof(*stacks->segments));
	return stacks;
}

void script_stacks_destroy(struct script_stacks *stacks)
{
	if (!stacks)
		return;
	strbuf_deinit(&stacks->segment_text);
	strbuf_deinit(&stacks->file_text);
	vec_deinit(&stacks->files);
	maps_cache_deinit(&stacks->maps);
	free(stacks->places);
	free(stacks->segments);
	free(stacks);
}

/* A program's addresses are shown as those of its file, the kernel's as they are. */
static void add_frame(const struct script_text *text, const struct script_plan *plan, const struct frame *frame, struct strbuf *out)
{
	bool in_file = frame->map && !frame->map->dso->kernel;
	strbuf_add_char(out, '\t');
	strbuf_add_hex(out, in_file ? frame->dso_addr : frame->ip, 16);
	script_add_frame(text, plan, frame, out);
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
	const struct stack_options options = {.max_depth = text->options.max_stack, .inlines = text->options.inlines, .stitcher = text->options.stitcher};
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
	struct maps_state state;
	uint8_t mode;
};

static void space_init(struct space *space, const struct script_text *text, const struct script_sample *at, uint8_t mode)
{
	space->maps = at->thread ? machine_maps(text->machine, at->thread, mode) : NULL;
	space->state = maps_state_at(space->maps, at->model_time);
	space->mode = mode;
}

static struct place *place_slot(const struct script_stacks *stacks, uint32_t file, uint64_t address)
{
	return &stacks->places[hash_combine(address, file) & (PLACE_SLOTS - 1)];
}

/* The map of an address; its symbol's place is on its way into the cache then. */
static void begin_place(struct script_text *text, const struct space *space, uint64_t ip, struct spot *ret)
{
	const struct maps_piece *piece = maps_cache_find(&text->stacks->maps, &space->state, ip);
	ret->ip = ip;
	ret->map = piece->map;
	ret->place.address = ip + piece->offset;
	ret->place.file = piece->file;
	__builtin_prefetch(place_slot(text->stacks, piece->file, ret->place.address));
}

static void describe(struct place *place, const struct symbol *symbol)
{
	size_t length = symbol ? strlen(symbol->name) : 0;
	bool usual = !symbol || (length && length <= NAME_LIMIT && !symbol->inlined && text_is_safe(symbol->name, length));
	place->offset = symbol ? place->address - symbol->start : 0;
	place->name = symbol ? symbol->name : NULL;
	place->length = usual ? (uint32_t)length : UNUSUAL;
}

static void finish_place(struct script_text *text, const struct script_sample *at, const struct space *space, struct spot *spot)
{
	if (!spot->map) {
		struct frame frame;
		resolver_frame(text->resolver, space->maps, space->mode, spot->ip, at->model_time, &frame);
		spot->map = frame.map;
		spot->place.address = frame.dso_addr;
		describe(&spot->place, frame.symbol);
		return;
	}
	struct place *place = place_slot(text->stacks, spot->place.file, spot->place.address);
	if (place->file != spot->place.file || place->address != spot->place.address) {
		*place = spot->place;
		describe(place, resolver_symbol(text->resolver, spot->map->dso, place->address));
	}
	spot->place = *place;
	__builtin_prefetch(place->name);
}

/* Copies to `to` in large pieces, and up to a piece too far at both places. */
static char *put_wide(char *to, const char *from, size_t length)
{
	char *end = to + length;
	for (; to < end; to += WIDE, from += WIDE)
		memcpy(to, from, WIDE);
	return end;
}

static void add_wide(struct strbuf *out, const struct strbuf *text, size_t offset, size_t length)
{
	put_wide(strbuf_reserve(out, length + WIDE), text->data + offset, length);
	strbuf_advance(out, length);
}

/* The end of a line: the file in brackets. */
static struct piece file_piece(const struct script_text *text, const struct map *map)
{
	struct script_stacks *stacks = text->stacks;
	size_t index = map ? map->dso->index + 1 : 0;
	if (index < stacks->files.len && stacks->files.data[index].length)
		return stacks->files.data[index];
	while (stacks->files.len <= index)
		vec_push(&stacks->files, (struct piece){0});
	size_t offset = stacks->file_text.len;
	strbuf_add_str(&stacks->file_text, " (");
	script_add_dso(text, map, &stacks->file_text);
	strbuf_add_str(&stacks->file_text, ")");
	strbuf_reserve(&stacks->file_text, WIDE);
	return stacks->files.data[index] = (struct piece){(uint32_t)offset, (uint32_t)(stacks->file_text.len - offset)};
}

/* The usual look of a place, " name+0xoff (file)". `to` has room for USUAL_ROOM bytes and the file's. */
static char *put_usual_place(const struct script_text *text, const struct place *place, struct piece file, char *to)
{
	*to++ = ' ';
	if (place->length) {
		memcpy(to, place->name, place->length);
		to += place->length;
		memcpy(to, "+0x", 3);
		to = digits_put_hex(to + 3, place->offset, 0);
	} else {
		memcpy(to, "[unknown]", 9);
		to += 9;
	}
	return put_wide(to, text->stacks->file_text.data + file.offset, file.length);
}

static void add_usual_line(const struct script_text *text, const struct spot *spot, struct strbuf *out)
{
	struct piece file = file_piece(text, spot->map);
	char *start = strbuf_reserve(out, USUAL_ROOM + file.length), *to = start;
	bool in_file = spot->map && !spot->map->dso->kernel;
	*to++ = '\t';
	to = digits_put_hex(to, in_file ? spot->place.address : spot->ip, 16);
	to = put_usual_place(text, &spot->place, file, to);
	*to++ = '\n';
	strbuf_advance(out, (size_t)(to - start));
}

/* The fields that decide how a frame's line looks. */
static const uint64_t look_fields =
	SCRIPT_BIT(SCRIPT_SYM) | SCRIPT_BIT(SCRIPT_SYMOFF) | SCRIPT_BIT(SCRIPT_DSO) | SCRIPT_BIT(SCRIPT_DSOFF) | SCRIPT_BIT(SCRIPT_SRCLINE);
static const uint64_t usual_look = SCRIPT_BIT(SCRIPT_SYM) | SCRIPT_BIT(SCRIPT_SYMOFF) | SCRIPT_BIT(SCRIPT_DSO);

static bool looks_usual(const struct script_sample *at, const struct spot *spot)
{
	return (at->plan->fields & look_fields) == usual_look && spot->place.length != UNUSUAL;
}

static struct frame frame_of(struct script_text *text, const struct space *space, const struct spot *spot)
{
	return (struct frame){.ip = spot->ip,
			      .dso_addr = spot->place.address,
			      .map = spot->map,
			      .symbol = spot->map ? resolver_symbol(text->resolver, spot->map->dso, spot->place.address) : NULL,
			      .cpumode = space->mode};
}

static void add_line(struct script_text *text, const struct script_sample *at, const struct space *space, const struct spot *spot,
		     struct strbuf *out)
{
	if (looks_usual(at, spot)) {
		add_usual_line(text, spot, out);
	} else {
		struct frame frame = frame_of(text, space, spot);
		add_frame(text, at->plan, &frame, out);
	}
}

/* A line for each function that debug information says is at the address. */
static void add_expanded(struct script_text *text, const struct script_sample *at, const struct space *space, const struct spot *spot,
			 bool returns_here, struct strbuf *out)
{
	const struct code_function *functions;
	size_t count = 0;
	if (spot->map && resolver_has_functions(text->resolver, spot->map->dso)) {
		struct frame frame = frame_of(text, space, spot);
		frame.returns_here = returns_here;
		count = resolver_functions(text->resolver, &frame, &functions);
		for (size_t i = 0; i < count; i++) {
			frame.symbol = functions[i].symbol;
			frame.function = &functions[i];
			add_frame(text, at->plan, &frame, out);
		}
	}
	if (!count)
		add_line(text, at, space, spot, out);
}

static void add_lines(struct script_text *text, const struct script_sample *at, const struct space *space, const uint64_t *words,
		      size_t count, struct strbuf *out)
{
	struct spot spots[LOOKUPS];
	bool expand = text->options.inlines == STACK_INLINES_ALL && space->mode == CPUMODE_USER;
	for (size_t begin = 0; begin < count; begin += LOOKUPS) {
		size_t here = count - begin < LOOKUPS ? count - begin : LOOKUPS;
		for (size_t i = 0; i < here; i++)
			begin_place(text, space, words[begin + i], &spots[i]);
		for (size_t i = 0; i < here; i++)
			finish_place(text, at, space, &spots[i]);
		for (size_t i = 0; i < here; i++)
			if (expand)
				add_expanded(text, at, space, &spots[i], begin + i > 0, out);
			else
				add_line(text, at, space, &spots[i], out);
	}
}

/* How the frames of a run become lines. */
enum run_lines { RUN_PLAIN, RUN_EXPANDED, RUN_EXPANDED_RETURNS /* all addresses but the first are those behind calls */ };

/* Frames of one address space, all or none of them unwound. */
static void add_run(struct script_text *text, const struct script_sample *at, const struct frame *frames, size_t count,
		    enum run_lines lines, struct strbuf *out)
{
	struct spot spots[LOOKUPS];
	struct space space;
	space_init(&space, text, at, frames[0].cpumode);
	for (size_t begin = 0; begin < count; begin += LOOKUPS) {
		size_t here = count - begin < LOOKUPS ? count - begin : LOOKUPS;
		for (size_t i = 0; i < here; i++)
			begin_place(text, &space, frames[begin + i].ip, &spots[i]);
		for (size_t i = 0; i < here; i++)
			finish_place(text, at, &space, &spots[i]);
		for (size_t i = 0; i < here; i++)
			if (lines)
				add_expanded(text, at, &space, &spots[i], lines == RUN_EXPANDED_RETURNS && begin + i > 0, out);
			else
				add_line(text, at, &space, &spots[i], out);
	}
}

static void add_addresses(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	const struct stack_options options = {.max_depth = text->options.max_stack, .inlines = text->options.inlines, .stitcher = text->options.stitcher};
	struct stack *stack = &text->stack;
	stack_addresses(text->resolver, text->machine, at->thread, at->event, at->sample, at->model_time, &options, stack);
	const struct frame *frames = stack->frames.data;
	size_t count = stack->frames.len, unwound = stack->unwound ? stack->unwound - 1 : count;
	for (size_t begin = 0, end; begin < count; begin = end) {
		for (end = begin + 1; end < count && end != unwound && frames[end].cpumode == frames[begin].cpumode;)
			end++;
		bool expand = options.inlines && begin >= unwound;
		if (options.inlines == STACK_INLINES_ALL)
			expand |= frames[begin].cpumode == CPUMODE_USER;
		enum run_lines lines = !expand ? RUN_PLAIN : stack->calls ? RUN_EXPANDED : RUN_EXPANDED_RETURNS;
		add_run(text, at, frames + begin, end - begin, lines, out);
	}
}

static void keep_segment(struct script_stacks *stacks, struct segment *segment, const char *lines, size_t length)
{
	if (stacks->segment_text.len + length > TEXT_LIMIT) {
		strbuf_clear(&stacks->segment_text);
		memset(stacks->segments, 0, SEGMENT_SLOTS * sizeof(*stacks->segments));
		if (length > TEXT_LIMIT)
			return;
	}
	segment->offset = (uint32_t)stacks->segment_text.len;
	segment->length = (uint32_t)length;
	strbuf_add(&stacks->segment_text, lines, length);
	strbuf_reserve(&stacks->segment_text, WIDE);
}

static void add_segment(struct script_text *text, const struct script_sample *at, uint8_t mode, const uint64_t *words, size_t count,
			struct strbuf *out)
{
	struct script_stacks *stacks = text->stacks;
	struct space space;
	space_init(&space, text, at, mode);
	struct hash128 hash =
		hash_words(words, count, (space.state.epoch << 3 | mode) << 5 | (at->plan->fields & look_fields) >> SCRIPT_SYM);
	struct segment *segment = &stacks->segments[hash.lo & (SEGMENT_SLOTS - 1)];
	bool again = segment->hash == hash.hi;
	if (again && segment->length) {
		add_wide(out, &stacks->segment_text, segment->offset, segment->length);
		return;
	}
	size_t start = out->len;
	add_lines(text, at, &space, words, count, out);
	*segment = (struct segment){.hash = hash.hi};
	if (again)
		keep_segment(stacks, segment, out->data + start, out->len - start);
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

/* At most *left frames of it. False when it makes no sense. */
static bool add_words(struct script_text *text, const struct script_sample *at, const uint64_t *chain, size_t count, size_t *left,
		      struct strbuf *out)
{
	uint8_t mode = CPUMODE_USER;
	for (size_t i = 0; i < count && *left;) {
		if (chain[i] >= CALLCHAIN_CONTEXT_MAX) {
			mode = mode_of_marker(chain[i++]);
			if (mode == CPUMODE_UNKNOWN)
				return false;
			continue;
		}
		size_t end = i;
		while (end < count && *left && chain[end] < CALLCHAIN_CONTEXT_MAX) {
			end++;
			--*left;
		}
		add_segment(text, at, mode, chain + i, end - i, out);
		i = end;
	}
	return true;
}

static void add_chain(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	const struct sample *sample = at->sample;
	size_t left = text->options.max_stack, begin = out->len;
	if (!add_words(text, at, sample->chain, sample->chain_count, &left, out) ||
	    !add_words(text, at, sample->deferred, sample->deferred_count, &left, out))
		out->len = begin;
}

void script_stacks_add_ip(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	struct space space;
	struct spot spot;
	strbuf_add_hex(out, at->sample->ip, 16);
	if (!(at->plan->fields & look_fields))
		return;
	space_init(&space, text, at, at->sample->cpumode);
	begin_place(text, &space, at->sample->ip, &spot);
	finish_place(text, at, &space, &spot);
	if (!looks_usual(at, &spot)) {
		struct frame frame = frame_of(text, &space, &spot);
		script_add_frame(text, at->plan, &frame, out);
		return;
	}
	struct piece file = file_piece(text, spot.map);
	char *start = strbuf_reserve(out, USUAL_ROOM + file.length), *end = put_usual_place(text, &spot.place, file, start);
	strbuf_advance(out, (size_t)(end - start));
}

void script_stacks_add(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	if (text->options.stop_at)
		add_resolved(text, at, out);
	else if (at->plan->plain_chain)
		add_chain(text, at, out);
	else
		add_addresses(text, at, out);
}
