/* Copying events for each of several control groups. */
#include "event/cgroups.h"

#include "base/cleanup.h"
#include "kernel/cgroups.h"

#include <string.h>

static struct error *find_names(const char *text, struct cgroups_names *ret)
{
	cleanup_free char *copy = mem_strdup(text);
	char *rest = copy, *word;

	if (strpbrk(text, "{}[]()|*+?^$"))
		return cgroups_find(text, ret);
	while ((word = strsep(&rest, ",")))
		if (*word)
			vec_push(&ret->names, mem_strdup(word));
	return NULL;
}

/* Appends the first `count` events once more, which refer to each other as those do. */
static void copy_events(struct event_list *list, size_t count)
{
	size_t first = list->events.len;

	for (size_t i = 0; i < count; i++)
		event_list_add(list, "");
	for (size_t i = 0; i < count; i++) {
		const struct event *from = list->events.data[i];
		struct event *to = list->events.data[first + i];
		*to = *from;
		to->index = (unsigned int)(first + i);
		to->leader = (unsigned int)first + from->leader;
		to->part_of = from->part_of ? list->events.data[first + from->part_of->index] : NULL;
		memset(&to->ids, 0, sizeof(to->ids));
	}
}

struct error *event_for_each_cgroup(struct event_list *list, const char *text)
{
	struct cgroups_names names = {0};
	size_t count = list->events.len;
	struct error *error = find_names(text, &names);

	if (!error && !names.names.len)
		error = error_new_kind(ERROR_USAGE, "no control group matches '%s'", text);
	for (size_t i = 0; !error && i < count; i++)
		if (list->events.data[i]->cgroup)
			error = error_new_kind(ERROR_USAGE, "--for-each-cgroup cannot be used with -G");
	for (size_t i = 0; !error && i < names.names.len; i++) {
		if (i)
			copy_events(list, count);
		const char *name = arena_strdup(&list->arena, names.names.data[i]);
		for (size_t j = 0; j < count; j++)
			list->events.data[i * count + j]->cgroup = name;
	}
	cgroups_names_deinit(&names);
	return error;
}
