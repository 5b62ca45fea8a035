/* Stacks for Python: a list of {'ip', 'sym': {'start', 'end', 'binding', 'name'}, 'sym_off', 'dso'}. The dictionary of a place is made once
 * and copied for each sample, since a script may change what it gets. */
#include "language/python_internal.h"

#include <linux/perf_event.h>

/* How many places are remembered: then all are forgotten. */
enum { MOST_FRAMES = 1 << 17 };

/* The part of a frame's dictionary that is about its function. */
static python_object *make_symbol(struct python *python, const struct symbol *symbol)
{
	python_object *dict = python->api.PyDict_New();
	python_set(python, dict, KEY_start, python_u64(python, symbol->start));
	python_set(python, dict, KEY_end, python_u64(python, symbol->end));
	python_set(python, dict, KEY_binding, python_u64(python, symbol->binding));
	python_put(python, dict, KEY_name, python_lasting_text(python, symbol->name));
	return dict;
}

/* Without what isn't known: no 'sym' or 'dso' where there is none. */
static python_object *make_frame(struct python *python, const struct frame *frame)
{
	python_object *dict = python->api.PyDict_New();
	python_set(python, dict, KEY_ip, python_u64(python, frame->ip));
	if (frame->symbol) {
		python_set(python, dict, KEY_sym, make_symbol(python, frame->symbol));
		if (frame->map)
			python_set(python, dict, KEY_sym_off, python_u64(python, frame->dso_addr - frame->symbol->start));
	}
	if (frame->map)
		python_put(python, dict, KEY_dso, python_lasting_text(python, frame->map->dso->script_name));
	return dict;
}

void python_frames_deinit(struct python *python)
{
	map64_each (slot, &python->frames)
		python->api.Py_DecRef(map64_pointer(slot));
	map64_deinit(&python->frames);
}

/* Borrowed, and valid until the next call. Keys are hashes: equal ones are taken for the same place. */
static python_object *remembered_frame(struct python *python, const struct frame *frame)
{
	uint64_t hash = hash_combine(hash_combine(frame->ip, (uintptr_t)frame->map), (uintptr_t)frame->symbol);
	bool is_new;
	if (python->frames.count >= MOST_FRAMES)
		python_frames_deinit(python);
	uint64_t *slot = map64_insert(&python->frames, hash, &is_new);
	if (is_new)
		*slot = (uintptr_t)make_frame(python, frame);
	return (python_object *)(uintptr_t)*slot;
}

/* What the script gets: the dictionary and the one in it are its own. */
static python_object *copy_frame(struct python *python, const struct frame *frame)
{
	python_object *remembered = remembered_frame(python, frame), *dict = python->api.PyDict_Copy(remembered);
	python_object *symbol = frame->symbol ? python->api.PyDict_GetItem(remembered, python->keys[KEY_sym]) : NULL;
	if (dict && symbol)
		python_set(python, dict, KEY_sym, python->api.PyDict_Copy(symbol));
	return dict;
}

python_object *python_callchain(struct python *python, const struct language_sample *at)
{
	struct stack *stack = &python->stack;
	stack->frames.len = 0;
	if (at->record->event->attr.sample_type & PERF_SAMPLE_CALLCHAIN)
		stack_resolve(python->resolver, python->machine, at->thread, at->record->event, at->sample, at->record->model_time,
			      &python->stack_options, stack);
	python_object *list = python->api.PyList_New((python_size)stack->frames.len);
	for (size_t i = 0; list && i < stack->frames.len; i++)
		python->api.PyList_SetItem(list, (python_size)i, copy_frame(python, &stack->frames.data[i]));
	return list;
}
