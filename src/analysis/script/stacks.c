/* Stacks as text, without doing the same work twice.
 *
 *	call chain    ffffffff82200809 ffffffff8158c221 | 7f48abe7d645 556025fa11f0
 *	segments      kernel: hash of its words        | user: hash of its words   → text of the whole segment
 *	recents       outer frames of the address space's last stack               → text of their lines
 *	places        (file, address in it), two for each hash                     → symbol
 *	lines         the same, where composing them takes more work               → text of the line
 *	files         by number                                                    → " (path)" and the line's end
 *
 * A chain is cut at its markers into segments of one address space. A segment that was seen before is one copy; the outer frames that a
 * program's segment shares with the one before it are one, too. The rest is put together line by line: symbols by the address in the file,
 * or else looked up; the file's name is ready made. All of a segment's places are asked for before the first is read, so that the waits for
 * memory overlap. The text of usual lines isn't kept: many addresses come a few times only, and to compose a line costs less than to miss
 * the processor's cache for it. Texts of segments are kept within bounds (thrown away when full), and only when they come a second time.
 *
 * Stacks that were unwound or come from branch records hardly ever come twice: their lines are put together without segments. --stop-bt
 * goes the straight way through stack_resolve(). */
#include "analysis/script/stacks.h"

#include "analysis/script/lines.h"
#include "analysis/script/places.h"
#include "analysis/script/recent.h"
#include "analysis/stack.h"
#include "base/digits.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/maps_cache.h"

#include <stdlib.h>
#include <string.h>

enum {
	LOOKUPS = SYMTAB_MANY, /* addresses looked up at a time */
	SEGMENT_SLOTS = 1 << 13,
	TEXT_LIMIT = 1 << 20, /* bytes of segments' text */
	DEEP = 8,	      /* frames from which on the last stack's lines are worth remembering */
	USUAL_ROOM = SCRIPT_NAME_LIMIT + 2 * SCRIPT_WIDE + 64,
};

/* An address of a stack while its line is made. */
struct spot {
	uint64_t ip;
	const struct map *map; /* NULL = not mapped */
	struct script_place place;
};

/* A segment that came before. Its text is kept from the second time on; until then `length` is 0. */
struct segment {
	uint64_t hash;		 /* the half that its slot isn't chosen by */
	uint32_t offset, length; /* in segment_text */
};

/* What lines say of a file: " (path)" and the end of the line, in file_text. */
struct file_look {
	uint32_t offset, length; /* 0: not made yet */
	bool is_user;		 /* its addresses are shown as those of the file */
	bool has_functions;	 /* debug information may tell of several at one address */
};

struct script_stacks {
	struct maps_cache maps;
	struct script_places places;
	struct script_lines *lines;
	struct script_recents *recents;
	struct segment *segments; /* direct-mapped; their text is thrown away as a whole */
	struct strbuf segment_text;
	VEC(struct file_look) files; /* by their number + 1, 0 for none */
	struct strbuf file_text;
};

/* Not before it is needed: tracepoints have no stacks, usually. */
static struct script_stacks *stacks_create(void)
{
	struct script_stacks *stacks = mem_zalloc(sizeof(*stacks));
	maps_cache_init(&stacks->maps);
	script_places_init(&stacks->places);
	stacks->lines = script_lines_create();
	stacks->recents = script_recents_create();
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
	script_places_deinit(&stacks->places);
	script_lines_destroy(stacks->lines);
	script_recents_destroy(stacks->recents);
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
	const struct stack_options options = {
		.max_depth = text->options.max_stack, .inlines = text->options.inlines, .stitcher = text->options.stitcher};
	text->stack.frames.len = 0;
	stack_resolve(text->resolver, text->machine, at->thread, at->event, at->sample, at->model_time, &options, &text->stack);
	for (size_t i = 0; i < text->stack.frames.len; i++) {
		const struct frame *frame = &text->stack.frames.data[i];
		add_frame(text, at->plan, frame, out);
		if (stops_at(text, frame))
			break;
	}
}

/* The fields that decide how a frame's line looks. */
static const uint64_t look_fields =
	SCRIPT_BIT(SCRIPT_SYM) | SCRIPT_BIT(SCRIPT_SYMOFF) | SCRIPT_BIT(SCRIPT_DSO) | SCRIPT_BIT(SCRIPT_DSOFF) | SCRIPT_BIT(SCRIPT_SRCLINE);
static const uint64_t usual_look = SCRIPT_BIT(SCRIPT_SYM) | SCRIPT_BIT(SCRIPT_SYMOFF) | SCRIPT_BIT(SCRIPT_DSO);

/* Whether an address has a line for each function that debug information says is there. */
enum expansion { EXPANSION_NONE, EXPANSION_HERE, EXPANSION_RETURNS /* it is one behind a call */ };

enum { EXPANSION_BITS = 2 };

enum { MODE_BITS = 3, LOOK_BITS = 5, SPACE_LOOK_BITS = LOOK_BITS + 1 + MODE_BITS };

/* What lines depend on besides their addresses. */
struct space {
	const struct maps *maps;
	struct maps_state state;
	uint8_t mode;
	uint32_t look;			 /* SPACE_LOOK_BITS */
	const struct maps_piece *latest; /* of the cache; or NULL */
};

static void space_init(struct space *space, const struct script_text *text, const struct script_sample *at, uint8_t mode)
{
	space->maps = at->thread ? machine_maps(text->machine, at->thread, mode) : NULL;
	space->state = maps_state_at(space->maps, at->model_time);
	space->mode = mode;
	space->look = ((uint32_t)((at->plan->fields & look_fields) >> SCRIPT_SYM) << 1 | at->plan->own_lines) << MODE_BITS | mode;
	space->latest = NULL;
}

/* The part of the address space around an address. What the cache has in the place of the latest one is always of this state, as is all
 * that it was asked for since. */
static const struct maps_piece *piece_at(struct script_text *text, struct space *space, uint64_t ip)
{
	if (!space->latest || ip < space->latest->start || ip >= space->latest->end)
		space->latest = maps_cache_find(&text->stacks->maps, &space->state, ip);
	return space->latest;
}

/* The map of an address; its symbol's place is on its way into the cache then. */
static void begin_place(struct script_text *text, struct space *space, uint64_t ip, struct spot *ret)
{
	const struct maps_piece *piece = piece_at(text, space, ip);
	ret->ip = ip;
	ret->map = piece->map;
	ret->place.address = ip + piece->offset;
	ret->place.file = piece->file;
	script_places_prefetch(&text->stacks->places, ret->place.address, piece->file);
}

static void describe(struct script_places *places, struct script_place *place, const struct symbol *symbol)
{
	size_t length = symbol ? strlen(symbol->name) : 0;
	uint64_t offset = symbol ? place->address - symbol->start : 0;
	place->offset = (uint32_t)offset;
	if (!symbol)
		place->name = SCRIPT_NAME_NONE;
	else if (length && length <= SCRIPT_NAME_LIMIT && offset <= UINT32_MAX && !symbol->inlined && text_is_safe(symbol->name, length))
		place->name = script_places_name(places, symbol, length);
	else
		place->name = SCRIPT_NAME_UNUSUAL;
}

/* Stacks that were followed by frame pointers where code has none are full of such addresses. Only the kernel knows more than its maps. */
static void describe_unmapped(struct script_text *text, const struct script_sample *at, const struct space *space, struct spot *spot)
{
	if (space->maps != text->machine->kernel_maps) {
		describe(&text->stacks->places, &spot->place, NULL);
		return;
	}
	struct frame frame;
	resolver_frame(text->resolver, space->maps, space->mode, spot->ip, at->model_time, &frame);
	spot->map = frame.map;
	spot->place.address = frame.dso_addr;
	spot->place.file = frame.map ? frame.map->dso->index + 1 : 0;
	describe(&text->stacks->places, &spot->place, frame.symbol);
}

/* Looks up the symbols of new places in one file, and keeps them. */
static void describe_new(struct script_text *text, struct spot *const *spots, size_t count)
{
	uint64_t addresses[LOOKUPS] = {0};
	const struct symbol *symbols[LOOKUPS];
	for (size_t i = 0; i < count; i++)
		addresses[i] = spots[i]->place.address;
	resolver_symbols(text->resolver, spots[0]->map->dso, addresses, count, symbols);
	for (size_t i = 0; i < count; i++) {
		struct script_place *place = &spots[i]->place;
		describe(&text->stacks->places, place, symbols[i]);
		script_places_keep(&text->stacks->places, place);
	}
}

static void finish_places(struct script_text *text, const struct script_sample *at, const struct space *space, struct spot *spots,
			  size_t count)
{
	struct spot *fresh[LOOKUPS];
	size_t fresh_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct spot *spot = &spots[i];
		if (!spot->map)
			describe_unmapped(text, at, space, spot);
		else if (script_places_find(&text->stacks->places, &spot->place))
			__builtin_prefetch(text->stacks->places.text.data + spot->place.name);
		else
			fresh[fresh_count++] = spot;
	}
	for (size_t begin = 0, end; begin < fresh_count; begin = end) {
		for (end = begin + 1; end < fresh_count && fresh[end]->place.file == fresh[begin]->place.file;)
			end++;
		describe_new(text, fresh + begin, end - begin);
	}
}

static void make_file_look(const struct script_text *text, const struct spot *spot)
{
	struct script_stacks *stacks = text->stacks;
	while (stacks->files.len <= spot->place.file)
		vec_push(&stacks->files, (struct file_look){0});
	size_t offset = stacks->file_text.len;
	strbuf_add_str(&stacks->file_text, " (");
	script_add_dso(text, spot->map, &stacks->file_text);
	strbuf_add_str(&stacks->file_text, ")\n");
	strbuf_reserve(&stacks->file_text, SCRIPT_WIDE);
	stacks->files.data[spot->place.file] =
		(struct file_look){.offset = (uint32_t)offset,
				   .length = (uint32_t)(stacks->file_text.len - offset),
				   .is_user = spot->map && !spot->map->dso->kernel,
				   .has_functions = spot->map && resolver_has_functions(text->resolver, spot->map->dso)};
}

/* Neither the map nor the file is looked at for it: they are far away. Valid until the next call. */
static const struct file_look *file_look_of(const struct script_text *text, const struct spot *spot)
{
	const struct script_stacks *stacks = text->stacks;
	if (spot->place.file >= stacks->files.len || !stacks->files.data[spot->place.file].length)
		make_file_look(text, spot);
	return &stacks->files.data[spot->place.file];
}

/* The usual look of a place, " name+0xoff (file)\n". `to` has room for USUAL_ROOM bytes and the file's. */
static char *put_usual_place(const struct script_text *text, const struct script_place *place, const struct file_look *file, char *to)
{
	size_t length;
	const char *name = script_places_text(&text->stacks->places, place->name, &length);
	to = script_put_wide(to, name, length);
	if (place->name != SCRIPT_NAME_NONE)
		to = digits_put_short_hex(to, place->offset);
	return script_put_wide(to, text->stacks->file_text.data + file->offset, file->length);
}

static void add_usual_line(const struct script_text *text, const struct spot *spot, struct strbuf *out)
{
	const struct file_look *file = file_look_of(text, spot);
	char *start = strbuf_reserve(out, USUAL_ROOM + file->length), *to = start;
	*to++ = '\t';
	to = digits_put_address(to, file->is_user ? spot->place.address : spot->ip);
	to = put_usual_place(text, &spot->place, file, to);
	strbuf_advance(out, (size_t)(to - start));
}

static bool looks_usual(const struct script_sample *at, const struct spot *spot)
{
	return (at->plan->fields & look_fields) == usual_look && spot->place.name != SCRIPT_NAME_UNUSUAL;
}

static struct frame frame_of(struct script_text *text, const struct space *space, const struct spot *spot)
{
	return (struct frame){.ip = spot->ip,
			      .dso_addr = spot->place.address,
			      .map = spot->map,
			      .symbol = spot->map ? resolver_symbol(text->resolver, spot->map->dso, spot->place.address) : NULL,
			      .cpumode = space->mode};
}

/* A line for each function that debug information says is at the address; false when it tells of none. */
static bool add_functions(struct script_text *text, const struct script_sample *at, const struct frame *where, enum expansion expansion,
			  struct strbuf *out)
{
	const struct code_function *functions;
	if (!where->map || !resolver_has_functions(text->resolver, where->map->dso))
		return false;
	struct frame frame = *where;
	frame.returns_here = expansion == EXPANSION_RETURNS;
	size_t count = resolver_functions(text->resolver, &frame, &functions);
	for (size_t i = 0; i < count; i++) {
		frame.symbol = functions[i].symbol;
		frame.function = &functions[i];
		add_frame(text, at->plan, &frame, out);
	}
	return count;
}

/* Lines that take more work are remembered as they are. */
static void add_careful_line(struct script_text *text, const struct script_sample *at, const struct space *space, const struct spot *spot,
			     enum expansion expansion, struct strbuf *out)
{
	struct script_lines *lines = text->stacks->lines;
	struct script_line_key key = {.address = spot->place.address,
				      .shown = spot->ip,
				      .file = spot->map ? spot->map->dso->index + 1 : 0,
				      .look = space->look << EXPANSION_BITS | expansion};
	if (spot->map && !spot->map->dso->kernel)
		key.shown = key.address;
	if (script_lines_add(lines, &key, out))
		return;
	size_t start = out->len;
	struct frame frame = frame_of(text, space, spot);
	if (!expansion || !add_functions(text, at, &frame, expansion, out))
		add_frame(text, at->plan, &frame, out);
	script_lines_keep(lines, &key, out->data + start, out->len - start);
}

static void add_spot(struct script_text *text, const struct script_sample *at, const struct space *space, const struct spot *spot,
		     enum expansion expansion, struct strbuf *out)
{
	bool expand = expansion && spot->map && file_look_of(text, spot)->has_functions;
	if (!expand && looks_usual(at, spot))
		add_usual_line(text, spot, out);
	else
		add_careful_line(text, at, space, spot, expansion, out);
}

/* Lines of addresses in one address space, of which all but the first may be expanded otherwise. `ends`, when not NULL, gets where each
 * one's end. */
struct run {
	const uint64_t *words;
	size_t count;
	enum expansion first, others;
	size_t *ends;
};

static void add_run(struct script_text *text, const struct script_sample *at, struct space *space, const struct run *run,
		    struct strbuf *out)
{
	struct spot spots[LOOKUPS];
	script_places_bound(&text->stacks->places);
	for (size_t begin = 0; begin < run->count; begin += LOOKUPS) {
		size_t here = run->count - begin < LOOKUPS ? run->count - begin : LOOKUPS;
		for (size_t i = 0; i < here; i++)
			begin_place(text, space, run->words[begin + i], &spots[i]);
		finish_places(text, at, space, spots, here);
		for (size_t i = 0; i < here; i++) {
			add_spot(text, at, space, &spots[i], begin + i ? run->others : run->first, out);
			if (run->ends)
				run->ends[begin + i] = out->len;
		}
	}
}

/* Frames of one address space, all or none of them unwound. */
static void add_frames(struct script_text *text, const struct script_sample *at, const struct frame *frames, size_t count,
		       enum expansion first, enum expansion others, struct strbuf *out)
{
	uint64_t words[LOOKUPS];
	struct space space;
	space_init(&space, text, at, frames[0].cpumode);
	for (size_t begin = 0; begin < count; begin += LOOKUPS) {
		struct run run = {.words = words,
				  .count = count - begin < LOOKUPS ? count - begin : LOOKUPS,
				  .first = begin ? others : first,
				  .others = others};
		for (size_t i = 0; i < run.count; i++)
			words[i] = frames[begin + i].ip;
		add_run(text, at, &space, &run, out);
	}
}

static void add_addresses(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	const struct stack_options options = {
		.max_depth = text->options.max_stack, .inlines = text->options.inlines, .stitcher = text->options.stitcher};
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
		enum expansion first = expand ? EXPANSION_HERE : EXPANSION_NONE,
			       others = expand && !stack->calls ? EXPANSION_RETURNS : first;
		add_frames(text, at, frames + begin, end - begin, first, others, out);
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
	strbuf_reserve(&stacks->segment_text, SCRIPT_WIDE);
}

/* The lines of a program's addresses, some of which may be the last stack's. */
static void add_user_lines(struct script_text *text, const struct script_sample *at, struct space *space, struct run *run,
			   struct strbuf *out)
{
	size_t ends[SCRIPT_RECENT_FRAMES], start = out->len, count;
	uint64_t id = space->state.epoch << SPACE_LOOK_BITS | space->look;
	struct script_recent *recent = run->count >= DEEP && run->count <= SCRIPT_RECENT_FRAMES
					       ? script_recents_take(text->stacks->recents, id, run->words, run->count, &count)
					       : NULL;
	if (recent) {
		run->count = count;
		run->ends = ends;
	}
	add_run(text, at, space, run, out);
	if (recent)
		script_recent_finish(recent, start, ends, count, out);
}

static void add_segment(struct script_text *text, const struct script_sample *at, uint8_t mode, const uint64_t *words, size_t count,
			struct strbuf *out)
{
	struct script_stacks *stacks = text->stacks;
	struct space space;
	space_init(&space, text, at, mode);
	struct hash128 hash = hash_words(words, count, space.state.epoch << SPACE_LOOK_BITS | space.look);
	struct segment *segment = &stacks->segments[hash.lo & (SEGMENT_SLOTS - 1)];
	bool again = segment->hash == hash.hi;
	if (again && segment->length) {
		script_add_wide(out, stacks->segment_text.data + segment->offset, segment->length);
		return;
	}
	size_t start = out->len;
	struct run run = {.words = words, .count = count};
	if (mode == CPUMODE_USER) {
		bool expand = text->options.inlines == STACK_INLINES_ALL;
		run.first = expand ? EXPANSION_HERE : EXPANSION_NONE;
		run.others = expand ? EXPANSION_RETURNS : EXPANSION_NONE;
		add_user_lines(text, at, &space, &run, out);
	} else {
		add_run(text, at, &space, &run, out);
	}
	*segment = (struct segment){.hash = hash.hi};
	if (again)
		keep_segment(stacks, segment, out->data + start, out->len - start);
}

/* At most *left frames of it. False when it makes no sense, or is of a guest: the kernel's perf shows nothing of such a chain. */
static bool add_words(struct script_text *text, const struct script_sample *at, const uint64_t *chain, size_t count, size_t *left,
		      struct strbuf *out)
{
	uint8_t mode = CPUMODE_USER;
	for (size_t i = 0; i < count && *left;) {
		if (chain[i] >= CALLCHAIN_CONTEXT_MAX) {
			if (!stack_marker_mode(chain[i++], &mode) || mode > CPUMODE_HYPERVISOR)
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
	if (!text->stacks)
		text->stacks = stacks_create();
	space_init(&space, text, at, at->sample->cpumode);
	begin_place(text, &space, at->sample->ip, &spot);
	finish_places(text, at, &space, &spot, 1);
	if (!looks_usual(at, &spot)) {
		struct frame frame = frame_of(text, &space, &spot);
		script_add_frame(text, at->plan, &frame, out);
		return;
	}
	const struct file_look *file = file_look_of(text, &spot);
	char *start = strbuf_reserve(out, USUAL_ROOM + file->length), *end = put_usual_place(text, &spot.place, file, start);
	strbuf_advance(out, (size_t)(end - start - 1));
}

void script_stacks_add(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	if (!text->stacks)
		text->stacks = stacks_create();
	if (text->options.stop_at)
		add_resolved(text, at, out);
	else if (at->plan->plain_chain)
		add_chain(text, at, out);
	else
		add_addresses(text, at, out);
}
