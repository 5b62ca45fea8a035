/* Of each process the writable mappings are kept, sorted: stacks are among them. Guard pages, or a neighbour that isn't writable, separate
 * the stacks of threads; where two mappings have become one, the end is further up than it need be, never too low. A mapping may have grown
 * or moved since, so what is known is looked at again after a while. */
#include "kernel/stack_tops.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/vec.h"
#include "kernel/proc.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AGAIN_NS = 1000000000, ELSEWHERE_NS = 10000000 };
enum { FIRST_STACK_GROWS = 64 << 20 }; /* bytes downwards, between two looks at it */

struct range {
	uint64_t begin, end;
};

struct process_stacks {
	VEC(struct range) ranges; /* ascending, as the kernel lists them */
	struct range first_stack;
	uint64_t entry;
	uint64_t read_at;
	bool known;
};

struct stack_tops {
	char *root;
	struct map64 index; /* of pids in `processes` */
	VEC(struct process_stacks) processes;
};

struct stack_tops *stack_tops_create(const char *root)
{
	struct stack_tops *tops = mem_zalloc(sizeof(*tops));

	tops->root = mem_strdup(root);
	return tops;
}

void stack_tops_destroy(struct stack_tops *tops)
{
	if (!tops)
		return;
	for (size_t i = 0; i < tops->processes.len; i++)
		vec_deinit(&tops->processes.data[i].ranges);
	vec_deinit(&tops->processes);
	map64_deinit(&tops->index);
	free(tops->root);
	free(tops);
}

/* proc(5): the 28th field, startstack; the second one, the name in parentheses, may hold anything. */
static uint64_t read_entry(const struct stack_tops *tops, pid_t pid)
{
	enum { FIELD = 28, AFTER_NAME = 3 };
	cleanup_free char *path = mem_printf("%s/proc/%d/stat", tops->root, pid);
	char line[1024];

	if (!proc_read_line(path, line, sizeof(line)))
		return 0;
	char *at = strrchr(line, ')');
	for (int field = AFTER_NAME; at && field <= FIELD; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

/* "7ffe1000-7ffe3000 rw-p …  [stack]" */
static void add_line(struct process_stacks *process, const char *line)
{
	unsigned long long begin, end;
	char permissions[5];
	const char *name = strrchr(line, ' ');

	if (sscanf(line, "%llx-%llx %4s", &begin, &end, permissions) != 3 || permissions[1] != 'w')
		return;
	vec_push(&process->ranges, (struct range){begin, end});
	if (name && !strcmp(name + 1, "[stack]"))
		process->first_stack = (struct range){begin, end};
}

/* Reads anew what is known of a process. */
static void look(struct stack_tops *tops, struct process_stacks *process, pid_t pid)
{
	cleanup_free char *path = mem_printf("%s/proc/%d/maps", tops->root, pid);
	struct strbuf text = {0};
	char *rest, *line;

	/* Of a process that has ended stays what was known: samples of it may still come. */
	if (proc_read_file(AT_FDCWD, path, &text) == 0 && text.len) {
		process->ranges.len = 0;
		process->first_stack = (struct range){0};
		for (rest = (char *)strbuf_str(&text); (line = strsep(&rest, "\n"));)
			add_line(process, line);
		process->entry = read_entry(tops, pid);
	}
	strbuf_deinit(&text);
}

/* The memory that an address lies in. The first stack grows downwards, so an address somewhat below it belongs to it, too. */
static const struct range *find_range(const struct process_stacks *process, uint64_t address)
{
	size_t first = partition_point(i, process->ranges.len, process->ranges.data[i].end <= address);
	const struct range *range = first < process->ranges.len ? &process->ranges.data[first] : NULL;
	if (range && range->begin > address && (range->begin != process->first_stack.begin || range->begin - address > FIRST_STACK_GROWS))
		return NULL;
	return range;
}

/* An entry for the process, made when it first comes by. Valid until the next one is made. */
static struct process_stacks *process_of(struct stack_tops *tops, pid_t pid)
{
	bool is_new;
	uint64_t *at = map64_insert(&tops->index, (uint32_t)pid, &is_new);

	if (is_new) {
		*at = tops->processes.len;
		vec_push(&tops->processes, (struct process_stacks){0});
	}
	return &tops->processes.data[*at];
}

struct stack_top stack_tops_find(struct stack_tops *tops, pid_t pid, uint64_t stack_pointer, uint64_t now_ns)
{
	struct process_stacks *process = process_of(tops, pid);
	const struct range *range = find_range(process, stack_pointer);

	if (!process->known || now_ns - process->read_at >= (range ? AGAIN_NS : ELSEWHERE_NS)) {
		look(tops, process, pid);
		process->known = true;
		process->read_at = now_ns;
		range = find_range(process, stack_pointer);
	}
	if (!range)
		return (struct stack_top){0};
	const struct range *first = &process->first_stack;
	bool is_first = first->end && range->begin == first->begin && process->entry >= stack_pointer && process->entry < first->end;
	return (struct stack_top){.end = range->end, .entry = is_first ? process->entry : 0};
}

void stack_tops_forget(struct stack_tops *tops, pid_t pid)
{
	struct process_stacks *process = process_of(tops, pid);

	process->known = false;
	process->ranges.len = 0;
}
