/* The kernel's list of symbols, read while something else is done: the kernel takes a tenth of a second to write it, on one processor, and
 * all threads that fold samples would wait for that at the first sample in the kernel. */
#include "symbol/kernel/kallsyms_ahead.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct kallsyms_ahead {
	pthread_t thread;
	char *path;
	struct kallsyms found;
	struct error *error;
	bool running, taken;
};

static void *read_list(void *context)
{
	struct kallsyms_ahead *ahead = context;
	ahead->error = kallsyms_open(ahead->path, &ahead->found);
	return NULL;
}

static void await(struct kallsyms_ahead *ahead)
{
	if (ahead->running)
		pthread_join(ahead->thread, NULL);
	ahead->running = false;
}

struct kallsyms_ahead *kallsyms_ahead_start(const char *path)
{
	struct kallsyms_ahead *ahead = mem_zalloc(sizeof(*ahead));
	ahead->path = mem_strdup(path);
	if (pthread_create(&ahead->thread, NULL, read_list, ahead)) {
		free(ahead->path);
		free(ahead);
		return NULL;
	}
	ahead->running = true;
	return ahead;
}

struct error *kallsyms_ahead_take(struct kallsyms_ahead *ahead, const char *path, struct kallsyms *ret)
{
	if (!ahead || ahead->taken || strcmp(ahead->path, path) != 0)
		return kallsyms_open(path, ret);
	await(ahead);
	ahead->taken = true;
	struct error *error = ahead->error;
	ahead->error = NULL;
	if (!error)
		*ret = ahead->found;
	ahead->found = (struct kallsyms){0};
	return error;
}

void kallsyms_ahead_destroy(struct kallsyms_ahead *ahead)
{
	if (!ahead)
		return;
	await(ahead);
	kallsyms_close(&ahead->found);
	if (ahead->error)
		error_free(ahead->error);
	free(ahead->path);
	free(ahead);
}
