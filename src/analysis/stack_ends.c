/* Why stacks end early. The unwinder tells it of each stack that it makes. Of chains that the kernel followed by frame pointers it is found
 * out afterwards, once for each distinct stack: whoever is outermost must be a function whose rules say that nobody calls it, or the C
 * library's start of a thread. */
#include "analysis/stack_ends.h"

#include "base/text.h"
#include "symbol/remedy.h"

#include <linux/perf_event.h>
#include <string.h>

enum { MOST_COPIED = 65528, USUAL_DEPTH = 127 };

void stack_ends_add_unwound(struct stack_ends *ends, const struct unwind_end *end, const struct event_attr *attr,
			    const struct sample *sample)
{
	/* A little less than asked for is what fits into a record. */
	bool small = sample->stack_size <= attr->sample_stack_user / 2;
	stack_ends_add(ends, end->reason == UNWIND_SHORT && small ? STACK_END_BEFORE_GROWTH : end->reason, end->dso, 1);
}

/* ---- stacks by frame pointers ---- */

/* Where programs and threads begin: whoever calls these is of no interest. */
static bool is_named_start(const struct fold_frame *frame)
{
	static const char *const starts[] = {"main",   "_start",  "_dl_start_user", "start_thread",   "clone",
					     "clone3", "__clone", "__clone3",	    "runtime.goexit", "runtime.mstart"};
	for (size_t i = 0; frame->symbol && i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strcmp(frame->symbol->name, starts[i]))
			return true;
	return frame->symbol && str_starts_with(frame->symbol->name, "__libc_start");
}

static bool is_start(struct resolver *resolver, const struct fold_frame *frame)
{
	if (is_named_start(frame))
		return true;
	return frame->map && unwind_is_outermost(resolver, frame->map->dso, map_to_dso(frame->map, frame->ip));
}

static unsigned int reason_of(struct resolver *resolver, const struct fold_frame *frame)
{
	if (is_start(resolver, frame))
		return UNWIND_COMPLETE;
	if (!frame->map)
		return UNWIND_BROKEN;
	return frame->map->dso->kind == DSO_ANON ? UNWIND_NO_JIT : STACK_END_FRAME_POINTER;
}

/* Why a stack that was unwound while it was recorded went no further, as far as the file still tells. */
static unsigned int reason_recorded(struct resolver *resolver, const struct fold_frame *frame)
{
	if (unwind_has_rules(resolver, frame->map->dso, map_to_dso(frame->map, frame->ip)))
		return STACK_END_RECORDED;
	return unwind_lack_of_rules(resolver, frame->map, frame->ip);
}

/* The outermost frame of an entry's stack, if that was recorded as a chain; else FOLD_NONE. */
static uint32_t outermost(const struct fold *fold, const struct fold_entry *entry)
{
	uint64_t type = fold->session->reader->events.events.data[entry->event]->attr.sample_type;
	if (entry->outer == FOLD_NONE || !(type & PERF_SAMPLE_CALLCHAIN) || (type & (PERF_SAMPLE_STACK_USER | PERF_SAMPLE_BRANCH_STACK)))
		return FOLD_NONE;
	const struct fold_piece *piece = &fold->pieces[entry->outer];
	return piece->frame_count ? *fold_piece_frame(fold, piece, piece->frame_count - 1) : FOLD_NONE;
}

enum { BEYOND_START = 8 };

/* Whether the program's or the thread's start is among the outermost frames: what is beyond it, the C library's or garbage, doesn't
 * matter. */
static bool reaches_start(const struct fold *fold, const struct fold_entry *entry, const bool *starts)
{
	const struct fold_piece *piece = &fold->pieces[entry->outer];
	for (uint32_t i = 0; i < piece->frame_count && i < BEYOND_START; i++)
		if (starts[*fold_piece_frame(fold, piece, piece->frame_count - 1 - i)])
			return true;
	return false;
}

static void prefetch_pieces(const struct fold *fold, size_t index)
{
	if (index >= fold->entry_count)
		return;
	const struct fold_entry *entry = &fold->entries[index];
	if (entry->outer != FOLD_NONE)
		__builtin_prefetch(&fold->pieces[entry->outer]);
	if (entry->inner != FOLD_NONE)
		__builtin_prefetch(&fold->pieces[entry->inner]);
}

void stack_ends_add_recorded(struct stack_ends *ends, const struct fold *fold, struct resolver *resolver, unsigned int max_stack)
{
	enum { AHEAD = 16 };
	/* By outermost frame: its stacks, those of them that reach the limit, and others that no frame pointers were followed for. */
	struct stacks {
		uint64_t all, deep, unwound;
	} *stacks = mem_zalloc_array(fold->frame_count + 1, sizeof(*stacks));
	bool *starts = mem_alloc_array(fold->frame_count + 1, sizeof(*starts));
	for (size_t i = 0; i < fold->frame_count; i++)
		starts[i] = is_named_start(&fold->frames[i]);
	for (size_t i = 0; i < fold->entry_count; i++) {
		const struct fold_entry *entry = &fold->entries[i];
		prefetch_pieces(fold, i + AHEAD);
		uint32_t frame = outermost(fold, entry);
		if (frame == FOLD_NONE)
			continue;
		if (reaches_start(fold, entry, starts)) {
			stack_ends_add(ends, UNWIND_COMPLETE, NULL, entry->count);
			continue;
		}
		stacks[frame].all += entry->count;
		if (fold_depth(fold, entry) >= (max_stack ? max_stack : USUAL_DEPTH))
			stacks[frame].deep += entry->count;
		else if (stack_is_unwound_chain(&fold->session->reader->events.events.data[entry->event]->attr))
			stacks[frame].unwound += entry->count;
	}
	for (uint32_t id = 0; id < fold->frame_count; id++) {
		const struct fold_frame *frame = &fold->frames[id];
		const struct dso *dso = frame->map ? frame->map->dso : NULL;
		if (!stacks[id].all)
			continue;
		unsigned int reason = reason_of(resolver, frame);
		uint64_t deep = reason == UNWIND_COMPLETE ? 0 : stacks[id].deep;
		if (deep)
			stack_ends_add(ends, UNWIND_DEPTH, dso, deep);
		uint64_t unwound = reason == STACK_END_FRAME_POINTER ? stacks[id].unwound : 0;
		if (unwound)
			stack_ends_add(ends, reason_recorded(resolver, frame), dso, unwound);
		if (stacks[id].all > deep + unwound)
			stack_ends_add(ends, reason, dso, stacks[id].all - deep - unwound);
	}
	free(starts);
	free(stacks);
}

/* ---- words ---- */

uint32_t stack_ends_copied(const struct session *session)
{
	uint32_t most = 0;
	for (size_t i = 0; i < session->reader->events.events.len; i++) {
		const struct event_attr *attr = &session->reader->events.events.data[i]->attr;
		if ((attr->sample_type & PERF_SAMPLE_STACK_USER) && attr->sample_stack_user > most)
			most = attr->sample_stack_user;
	}
	return most;
}

void stack_end_remedy(struct resolver *resolver, uint32_t size, const struct stack_end *end, struct strbuf *out)
{
	size_t before = out->len;
	switch (end->reason) {
	case UNWIND_SHORT:
		if (size >= MOST_COPIED)
			strbuf_add_str(out,
				       "the maximum size is copied already: build the program with -fno-omit-frame-pointer and record with "
				       "--call-graph fp");
		else
			strbuf_printf(out, "record with --call-graph dwarf,%u", size * 2 > MOST_COPIED ? (uint32_t)MOST_COPIED : size * 2);
		break;
	case UNWIND_NO_RULES:
		if (end->dso && end->dso->kind == DSO_VDSO)
			break;
		if (end->dso)
			resolver_remedy(resolver, end->dso, out);
		if (out->len == before)
			strbuf_add_str(out, "build it with -fasynchronous-unwind-tables");
		break;
	case UNWIND_NO_FILE:
		strbuf_add_str(out, "copy the file here and give its place with --symfs DIR");
		break;
	case UNWIND_NO_JIT:
		strbuf_add_str(out, "make the runtime write a jitdump or keep frame pointers");
		break;
	case UNWIND_DEPTH:
		strbuf_add_str(out, "show more with --max-stack N");
		break;
	case STACK_END_BEFORE_GROWTH:
		strbuf_printf(out, "record with --call-graph dwarf,%u", (unsigned int)MOST_COPIED);
		break;
	case STACK_END_FRAME_POINTER:
		strbuf_add_str(out, "record with --call-graph dwarf, or build it with -fno-omit-frame-pointer");
		break;
	default:
		break;
	}
}
