/* perf-PID.map files. Where lines overlap, a sweep over the addresses cuts the older ones, with the lines that are open at each address in
 * a heap, the newest on top:
 *
 *	1st line  |------------ a ------------|
 *	2nd line        |--- b ---|                        a b a c
 *	3rd line                          |---- c ----|
 */
#include "symbol/perf_map.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct map_line {
	uint64_t start, end;
	const char *name;
	size_t number;
};

struct map_lines {
	VEC(struct map_line) lines;
};

static void read_lines(char *text, size_t size, struct map_lines *list)
{
	for (char *line = text, *next; line < text + size; line = next) {
		char *newline = memchr(line, '\n', (size_t)(text + size - line)), *end;
		next = newline ? newline + 1 : text + size;
		if (newline)
			*newline = '\0';
		uint64_t start = strtoull(line, &end, 16);
		if (end == line || *end != ' ' ||
		    start == UINT64_MAX) /* the last address, or a number too large for one: no code begins there */
			continue;
		uint64_t length = strtoull(end, &end, 16);
		while (*end == ' ')
			end++;
		if (!*end)
			continue;
		uint64_t last = length > UINT64_MAX - start ? UINT64_MAX : start + length;
		vec_push(&list->lines, (struct map_line){start, last, end, list->lines.len});
	}
}

static int by_start(const void *a, const void *b)
{
	const struct map_line *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static bool any_overlap(const struct map_lines *list)
{
	uint64_t end = 0;
	for (size_t i = 0; i < list->lines.len; i++) {
		const struct map_line *line = &list->lines.data[i];
		if (line->start < end && line->end > line->start)
			return true;
		end = line->end > end ? line->end : end;
	}
	return false;
}

static void add(struct symbol_builder *builder, uint64_t start, uint64_t end, const char *name)
{
	symbol_builder_add(builder, start, end - start, STB_GLOBAL, STT_FUNC, name);
}

/* ---- the sweep ---- */

struct sweep {
	struct symbol_builder *builder;
	VEC(const struct map_line *) heap; /* the newest line on top */
	uint64_t at;			   /* up to here it is done */
};

static void heap_push(struct sweep *sweep, const struct map_line *line)
{
	vec_push(&sweep->heap, line);
	const struct map_line **heap = sweep->heap.data;
	for (size_t i = sweep->heap.len - 1; i && heap[(i - 1) / 2]->number < heap[i]->number; i = (i - 1) / 2) {
		const struct map_line *above = heap[(i - 1) / 2];
		heap[(i - 1) / 2] = heap[i];
		heap[i] = above;
	}
}

static void heap_pop(struct sweep *sweep)
{
	const struct map_line **heap = sweep->heap.data;
	size_t count = --sweep->heap.len;
	heap[0] = heap[count];
	for (size_t i = 0, child; (child = 2 * i + 1) < count; i = child) {
		if (child + 1 < count && heap[child + 1]->number > heap[child]->number)
			child++;
		if (heap[child]->number < heap[i]->number)
			break;
		const struct map_line *below = heap[child];
		heap[child] = heap[i];
		heap[i] = below;
	}
}

/* Gives what lies before `until` to the lines that are open. */
static void sweep_until(struct sweep *sweep, uint64_t until)
{
	while (sweep->at < until) {
		while (sweep->heap.len && sweep->heap.data[0]->end <= sweep->at)
			heap_pop(sweep);
		if (!sweep->heap.len)
			break;
		const struct map_line *top = sweep->heap.data[0];
		uint64_t end = top->end < until ? top->end : until;
		add(sweep->builder, sweep->at, end, top->name);
		sweep->at = end;
	}
	sweep->at = until;
}

static void add_newest(const struct map_lines *list, struct symbol_builder *builder)
{
	struct sweep sweep = {.builder = builder};
	for (size_t i = 0; i < list->lines.len; i++) {
		const struct map_line *line = &list->lines.data[i];
		if (line->end == line->start)
			continue;
		sweep_until(&sweep, line->start);
		heap_push(&sweep, line);
	}
	sweep_until(&sweep, UINT64_MAX);
	vec_deinit(&sweep.heap);
}

void perf_map_parse(char *text, size_t size, struct symbol_builder *builder)
{
	struct map_lines list = {0};
	read_lines(text, size, &list);
	if (list.lines.len)
		qsort(list.lines.data, list.lines.len, sizeof(*list.lines.data), by_start);
	if (any_overlap(&list))
		add_newest(&list, builder);
	else
		for (size_t i = 0; i < list.lines.len; i++)
			add(builder, list.lines.data[i].start, list.lines.data[i].end, list.lines.data[i].name);
	vec_deinit(&list.lines);
	symbol_builder_settle(builder, false);
}
