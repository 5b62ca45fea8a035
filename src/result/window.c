/* A window of what a machine did (window.h). */
#include "result/window.h"

#include "base/mem.h"

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
