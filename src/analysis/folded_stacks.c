/* Folded stacks, read into a tree of frames. */
#include "analysis/folded_stacks.h"

#include "base/vec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct folded_reader {
	struct folded_stacks *stacks;
	VEC(char *) frames; /* of the current line */
	bool reverse;
};

/* A number at the end of `line`, which is cut before it and its space. False, and nothing is cut, when there is none. */
static bool take_weight(char *line, uint64_t *ret)
{
	char *space = strrchr(line, ' '), *end;
	if (!space || space[1] < '0' || space[1] > '9')
		return false;
	double weight = strtod(space + 1, &end);
	if (*end || !(weight < 0x1p63))
		return false;
	while (space > line && space[-1] == ' ')
		space--;
	*space = '\0';
	*ret = (uint64_t)llround(weight);
	return true;
}

static uint8_t take_kind(char *frame)
{
	static const struct {
		char letter;
		uint8_t kind;
	} marks[] = {{'k', FRAME_KERNEL}, {'j', FRAME_JIT}, {'i', FRAME_INLINED}, {'w', FRAME_OTHER}};
	size_t len = strlen(frame);
	if (len > 4 && frame[len - 4] == '_' && frame[len - 3] == '[' && frame[len - 1] == ']')
		for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
			if (frame[len - 2] == marks[i].letter) {
				frame[len - 4] = '\0';
				return marks[i].kind;
			}
	return FRAME_USER;
}

static void add_weight(struct calltree_node *node, uint64_t after, uint64_t before)
{
	node->total += after;
	node->total_count += before;
}

static void add_stack(struct folded_reader *reader, char *line, uint64_t after, uint64_t before)
{
	struct folded_stacks *stacks = reader->stacks;
	char *frame;
	reader->frames.len = 0;
	while ((frame = strsep(&line, ";")))
		if (*frame)
			vec_push(&reader->frames, frame);
	struct calltree_node *node = &stacks->tree->root;
	add_weight(node, after, before);
	for (size_t i = 0; i < reader->frames.len; i++) {
		frame = reader->frames.data[reader->reverse ? reader->frames.len - 1 - i : i];
		uint8_t kind = take_kind(frame);
		node = calltree_child(stacks->tree, node, intern_string(&stacks->names, frame), kind);
		add_weight(node, after, before);
	}
	node->self += after;
	node->self_count += before;
}

static void add_line(struct folded_reader *reader, char *line)
{
	struct folded_stacks *stacks = reader->stacks;
	uint64_t after, before;
	line[strcspn(line, "\r\n")] = '\0';
	if (!*line || *line == '#')
		return;
	if (!take_weight(line, &after) || !*line) {
		stacks->other_lines++;
		return;
	}
	bool two = take_weight(line, &before);
	stacks->two_weights |= two;
	stacks->lines++;
	add_stack(reader, line, after, two ? before : after);
}

struct error *folded_stacks_read(FILE *in, const char *name, bool reverse, struct folded_stacks *ret)
{
	char *line = NULL;
	size_t size = 0;
	struct folded_reader reader = {.stacks = ret, .reverse = reverse};
	*ret = (struct folded_stacks){.tree = calltree_create()};
	errno = 0;
	while (getline(&line, &size, in) >= 0)
		add_line(&reader, line);
	free(line);
	vec_deinit(&reader.frames);
	if (ferror(in))
		return error_system(errno, "%s", name);
	if (!ret->lines)
		return error_new("%s is neither a recording nor folded stacks (lines of 'main;function;… WEIGHT')", name);
	calltree_sort(&ret->tree->root, calltree_by_label);
	return NULL;
}

void folded_stacks_deinit(struct folded_stacks *stacks)
{
	calltree_destroy(stacks->tree);
	intern_deinit(&stacks->names);
}
