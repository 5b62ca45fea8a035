/* Tables in which each entry is once. */
#include "analysis/import/imported.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* More than any tool has. */
enum { EVENTS_MAX = 1024 };

void imported_deinit(struct imported *imported)
{
	intern_deinit(&imported->texts);
	vec_deinit(&imported->events);
	vec_deinit(&imported->frames);
	vec_deinit(&imported->stacks);
	vec_deinit(&imported->threads);
	vec_deinit(&imported->samples);
	map64_deinit(&imported->frame_index);
	map64_deinit(&imported->stack_index);
	map64_deinit(&imported->thread_index);
}

uint32_t imported_event(struct imported *imported, const char *name, bool nanoseconds)
{
	name = intern_string(&imported->texts, *name ? name : "samples");
	for (uint32_t i = 0; i < imported->events.len; i++)
		if (imported->events.data[i].name == name)
			return i;
	if (imported->events.len == EVENTS_MAX) {
		imported->left_out++;
		return 0;
	}
	vec_push(&imported->events, (struct imported_event){name, nanoseconds});
	return (uint32_t)imported->events.len - 1;
}

static bool same_frame(const struct imported_frame *a, const struct imported_frame *b)
{
	return a->function == b->function && a->file == b->file && a->mapping == b->mapping && a->line == b->line &&
	       a->kernel == b->kernel && a->inlined == b->inlined;
}

uint32_t imported_frame(struct imported *imported, const struct imported_frame *frame)
{
	const uint64_t words[] = {(uintptr_t)frame->function, (uintptr_t)frame->file, (uintptr_t)frame->mapping,
				  (uint64_t)frame->line << 2 | (frame->kernel ? 2u : 0u) | (frame->inlined ? 1u : 0u)};
	for (uint64_t key = hash_words(words, 4, 0).lo;; key++) {
		uint64_t *number = map64_insert(&imported->frame_index, key, NULL);
		if (!*number) {
			vec_push(&imported->frames, *frame);
			*number = imported->frames.len;
		}
		if (same_frame(&imported->frames.data[*number - 1], frame))
			return (uint32_t)*number - 1;
	}
}

uint32_t imported_stack(struct imported *imported, uint32_t parent, uint32_t frame)
{
	const uint64_t key = (uint64_t)parent << 32 | frame, *number = map64_find(&imported->stack_index, key);
	if (number)
		return (uint32_t)*number - 1;
	if (imported->stacks.len == IMPORTED_STACKS_MAX) {
		imported->left_out++;
		return parent;
	}
	vec_push(&imported->stacks, (struct imported_stack){frame, parent});
	*map64_insert(&imported->stack_index, key, NULL) = imported->stacks.len;
	return (uint32_t)imported->stacks.len - 1;
}

uint32_t imported_thread(struct imported *imported, uint32_t pid, uint32_t tid, const char *comm)
{
	comm = intern_string(&imported->texts, comm);
	uint64_t *number = map64_insert(&imported->thread_index, hash_combine((uint64_t)pid << 32 | tid, (uintptr_t)comm), NULL);
	if (!*number) {
		vec_push(&imported->threads, (struct imported_thread){pid, tid, comm});
		*number = imported->threads.len;
	}
	return (uint32_t)*number - 1;
}
