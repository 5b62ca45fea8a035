/* Stacks as text. */
#include "analysis/script_stacks.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct script_stacks {
	int unused;
};

struct script_stacks *script_stacks_create(void)
{
	return mem_zalloc(sizeof(struct script_stacks));
}

void script_stacks_destroy(struct script_stacks *stacks)
{
	free(stacks);
}

/* A program's addresses are shown as those of its file, the kernel's as they are. */
static void add_frame(const struct script_text *text, const struct script_plan *plan, const struct frame *frame, struct strbuf *out)
{
	bool in_file = frame->map && !frame->map->dso->kernel;
	strbuf_add_char(out, '\t');
	strbuf_add_hex(out, in_file ? frame->dso_addr : frame->ip, 16);
	script_add_place(text, plan, frame, out);
	strbuf_add_char(out, '\n');
}

static bool stops_at(const struct script_text *text, const struct frame *frame)
{
	if (!text->options.stop_at || !frame->symbol)
		return false;
	for (const char *const *name = text->options.stop_at; *name; name++)
		if (strcmp(*name, frame->symbol->name) == 0)
			return true;
	return false;
}

void script_stacks_add(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	const struct stack_options options = {.max_depth = text->options.max_stack};
	text->stack.frames.len = 0;
	stack_resolve(text->resolver, text->machine, at->thread, at->event, at->sample, at->model_time, &options, &text->stack);
	for (size_t i = 0; i < text->stack.frames.len; i++) {
		const struct frame *frame = &text->stack.frames.data[i];
		add_frame(text, at->plan, frame, out);
		if (stops_at(text, frame))
			break;
	}
}
