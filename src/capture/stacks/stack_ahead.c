/* Which files are going to be needed (stack_ahead.h): a list, the most important first, that is read until time is over. */
#include "capture/stacks/stack_ahead.h"

#include "base/clock.h"
#include "base/log.h"
#include "kernel/proc.h"
#include "symbol/elf/needed.h"

#include <stdlib.h>
#include <sys/mman.h>

/* CPU time, of several threads. Most commands need a thirtieth of this; those whose libraries are as large as a compiler's run long. */
enum { ENOUGH_NS = 300000000 };
/* Files of more bytes come behind the others. */
enum { LARGE = 16 << 20 };
/* Weights of a command's files; those of processes, added up, are less. */
#define OF_COMMAND_LARGE (UINT64_MAX - 1)
#define OF_COMMAND UINT64_MAX

struct weighed {
	struct dso *dso;
	uint64_t weight;
	size_t number; /* in the order in which it was found */
};

struct looking {
	const struct stack_walker *walker;
	struct machine *machine;
	struct map64 index; /* dso ──► place in the list */
	VEC(struct weighed) list;
	uint64_t weight; /* of the process that is looked at */
};

static void add(struct looking *looking, struct dso *dso, uint64_t weight)
{
	bool is_new;
	uint64_t *at = map64_insert(&looking->index, (uintptr_t)dso, &is_new);

	if (is_new) {
		*at = looking->list.len;
		vec_push(&looking->list, ((struct weighed){.dso = dso, .number = *at}));
	}
	uint64_t *sum = &looking->list.data[*at].weight;
	*sum = *sum + weight < *sum ? OF_COMMAND : *sum + weight;
}

/* maps_visit()'s. */
static bool add_map(const struct map *map, uint64_t start, uint64_t end, void *context)
{
	if (map->prot & PROT_EXEC && ((map->dso->kind == DSO_FILE && map->dso->inode) || map->dso->kind == DSO_VDSO))
		add(context, map->dso, ((struct looking *)context)->weight);
	return true;
}

static void add_processes(struct looking *looking, const struct stack_ahead_target *target)
{
	for (size_t i = 0; i < looking->machine->threads.len; i++) {
		const struct thread *thread = looking->machine->threads.data[i];
		if (thread->pid != thread->tid || thread->pid == target->command_pid)
			continue;
		looking->weight = 1 + proc_load((pid_t)thread->pid);
		maps_visit(thread_maps(thread), UINT64_MAX, add_map, looking);
	}
}

/* needed_visit()'s. The records of its process are going to name it so. */
static void add_needed(void *context, const char *path, const struct elf_file *elf)
{
	enum { MINOR_BITS = 20 };
	struct looking *looking = context;
	struct user_stacks_file file;

	if (!stack_walker_identify(looking->walker, elf->mapping.data, &file))
		return;
	char *name = realpath(path, NULL);
	const struct map_description map = {.name = name ? name : path,
					    .prot = PROT_EXEC,
					    .major = file.device >> MINOR_BITS,
					    .minor = file.device & ((1 << MINOR_BITS) - 1),
					    .inode = file.inode,
					    .inode_generation = file.generation};
	add(looking, machine_file(looking->machine, &map), elf->size > LARGE ? OF_COMMAND_LARGE : OF_COMMAND);
	free(name);
}

static int compare(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

void stack_ahead_read(struct stack_walker *walker, struct machine *machine, struct resolver *resolver,
		      const struct stack_ahead_target *target)
{
	struct looking looking = {.walker = walker, .machine = machine};
	VEC(struct dso *) dsos = {0};
	size_t wholly = 0;
	uint64_t begun = clock_now_ns(CLOCK_MONOTONIC), used = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);

	if (target->command)
		needed_visit(target->command, used + ENOUGH_NS, add_needed, &looking);
	if (target->others)
		add_processes(&looking, target);
	if (looking.list.len)
		qsort(looking.list.data, looking.list.len, sizeof(*looking.list.data), compare);
	for (size_t i = 0; i < looking.list.len; i++) {
		vec_push(&dsos, looking.list.data[i].dso);
		wholly += looking.list.data[i].weight >= OF_COMMAND_LARGE || !target->all;
	}
	const struct stack_walker_ahead ahead = {.dsos = dsos.data, .count = dsos.len, .wholly = wholly, .until_ns = used + ENOUGH_NS};
	size_t files = stack_walker_read_ahead(walker, resolver, &ahead);
	log_info("stacks: the unwind rules of %zu of %zu files were read before, in %.1f ms (%.1f ms of CPU time): %.1f MB", files,
		 dsos.len, (double)(clock_now_ns(CLOCK_MONOTONIC) - begun) / 1e6,
		 (double)(clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) - used) / 1e6, (double)stack_walker_memory(walker) / 1048576);
	vec_deinit(&dsos);
	vec_deinit(&looking.list);
	map64_deinit(&looking.index);
}
