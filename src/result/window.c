/* A window of what a machine did (window.h). */
#include "result/window.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct window *window_create(void)
{
	struct window *window = mem_zalloc(sizeof(*window));
	window->samples = samples_create();
	if (getrandom(window->id, sizeof(window->id), 0) != sizeof(window->id))
		abort(); /* never, of so few bytes */
	vec_push(&window->sets, (struct window_labels){0});
	return window;
}

void window_destroy(struct window *window)
{
	if (!window)
		return;
	for (size_t i = 0; i < window->sets.len; i++)
		vec_deinit(&window->sets.data[i].list);
	vec_deinit(&window->sets);
	vec_deinit(&window->labels.list);
	vec_deinit(&window->thread_sets);
	samples_destroy(window->samples);
	free(window);
}

const char *window_labels_find(const struct window_labels *labels, const char *name)
{
	for (size_t i = 0; i < labels->list.len; i++)
		if (!strcmp(labels->list.data[i].name, name))
			return labels->list.data[i].value;
	return NULL;
}

const char *window_label(const struct window *window, uint32_t set, const char *name)
{
	const char *own = window_labels_find(&window->sets.data[set], name);
	return own ? own : window_labels_find(&window->labels, name);
}

void window_labels_of_set(const struct window *window, uint32_t set, struct window_labels *ret)
{
	const struct window_labels *own = &window->sets.data[set], *all = &window->labels;
	size_t i = 0, j = 0;
	ret->list.len = 0;
	while (i < own->list.len || j < all->list.len) {
		int order = i == own->list.len ? 1 : j == all->list.len ? -1 : strcmp(own->list.data[i].name, all->list.data[j].name);
		vec_push(&ret->list, order <= 0 ? own->list.data[i] : all->list.data[j]);
		i += order <= 0;
		j += order >= 0;
	}
}

bool window_has_rows(const struct window *window, uint32_t set, uint32_t event)
{
	const struct samples *samples = window->samples;
	for (size_t i = 0; i < samples->rows.len; i++)
		if (samples->rows.data[i].event == event && window_row_set(window, &samples->rows.data[i]) == set)
			return true;
	return false;
}

const char *window_event_type(const struct samples_event *event)
{
	if (event->nanoseconds && (str_starts_with(event->name, "cpu-clock") || str_starts_with(event->name, "task-clock")))
		return "cpu";
	return str_starts_with(event->name, "offcpu-time") ? "off_cpu" : event->name;
}

void window_part_id(const struct window *window, uint32_t set, uint32_t event, uint8_t ret[16])
{
	uint8_t text[sizeof(window->id) + sizeof(set) + sizeof(event)];
	memcpy(text, window->id, sizeof(window->id));
	memcpy(text + sizeof(window->id), &set, sizeof(set));
	memcpy(text + sizeof(window->id) + sizeof(set), &event, sizeof(event));
	for (uint64_t half = 0; half < 2; half++) {
		uint64_t word = hash_id(text, sizeof(text), half);
		memcpy(ret + half * sizeof(word), &word, sizeof(word));
	}
}
