/* Stacks of a trace (stack.h). */
#include "cmd/trace/stack.h"

#include "base/cleanup.h"
#include "base/intern.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/drawing.h"
#include "view/view.h"

#include <linux/perf_event.h>
#include <string.h>

enum { INDENT = 39 }; /* as the kernel's tool */

struct trace_stacks {
	struct session *session;
	struct resolver *resolver;
	struct trace_stack_options options;
	struct stack stack;
	struct calltree *tree; /* weights are nanoseconds; NULL = nothing was weighed */
	struct intern labels;
};

struct trace_stacks *trace_stacks_create(struct session *session, struct resolver *resolver, const struct trace_stack_options *options)
{
	struct trace_stacks *stacks = mem_zalloc(sizeof(*stacks));

	stacks->session = session;
	stacks->resolver = resolver;
	stacks->options = *options;
	return stacks;
}

void trace_stacks_destroy(struct trace_stacks *stacks)
{
	if (!stacks)
		return;
	stack_deinit(&stacks->stack);
	calltree_destroy(stacks->tree);
	intern_deinit(&stacks->labels);
	free(stacks);
}

static bool is_kernel(const struct frame *frame)
{
	return frame->cpumode == CPUMODE_KERNEL;
}

size_t trace_stacks_take(struct trace_stacks *stacks, const struct record *record, const struct sample *sample, struct thread *thread,
			 bool is_call)
{
	/* Frames that aren't shown don't count. */
	bool user_only = is_call && !stacks->options.kernel_of_calls;
	const struct stack_options options = {.max_depth = user_only ? 0 : stacks->options.max_depth, .inlines = STACK_INLINES_ALL};
	size_t most = stacks->options.max_depth ? stacks->options.max_depth : SIZE_MAX, kept = 0;

	stacks->stack.frames.len = 0;
	if (!(record->event->attr.sample_type & PERF_SAMPLE_CALLCHAIN))
		return 0;
	stack_resolve(stacks->resolver, stacks->session->machine, thread, record->event, sample, record->model_time, &options,
		      &stacks->stack);
	for (size_t i = 0; i < stacks->stack.frames.len && kept < most; i++)
		if (!user_only || !is_kernel(&stacks->stack.frames.data[i]))
			stacks->stack.frames.data[kept++] = stacks->stack.frames.data[i];
	return stacks->stack.frames.len = kept;
}

static void add_frame(const struct frame *frame, struct strbuf *out)
{
	if (frame->symbol)
		text_add_safe(out, frame->symbol->name, strlen(frame->symbol->name));
	else
		strbuf_printf(out, "[%#llx]", (unsigned long long)(frame->map ? frame->dso_addr : frame->ip));
	if (frame->symbol && frame->symbol->inlined) {
		strbuf_add_str(out, " (inlined)");
		return;
	}
	strbuf_add_str(out, " (");
	const char *file = frame->map ? frame->map->dso->script_name : "[unknown]";
	text_add_safe(out, file, strlen(file));
	strbuf_add_char(out, ')');
}

void trace_stacks_add_lines(const struct trace_stacks *stacks, struct strbuf *out)
{
	for (size_t i = 0; i < stacks->stack.frames.len; i++) {
		strbuf_add_chars(out, ' ', INDENT);
		add_frame(&stacks->stack.frames.data[i], out);
		strbuf_add_char(out, '\n');
	}
}

void trace_stacks_add_json(const struct trace_stacks *stacks, struct strbuf *out)
{
	struct strbuf text = {0};
	struct json json = {.out = out};

	json_begin_array(&json);
	for (size_t i = 0; i < stacks->stack.frames.len; i++) {
		strbuf_clear(&text);
		add_frame(&stacks->stack.frames.data[i], &text);
		json_text(&json, strbuf_str(&text), text.len);
	}
	json_end_array(&json);
	strbuf_deinit(&text);
}

void trace_add_place(const struct frame *frame, struct strbuf *out)
{
	if (frame->symbol) {
		text_add_safe(out, frame->symbol->name, strlen(frame->symbol->name));
		strbuf_printf(out, "+0x%llx", (unsigned long long)(frame->dso_addr - frame->symbol->start));
	} else {
		strbuf_printf(out, "0x%llx", (unsigned long long)(frame->map ? frame->dso_addr : frame->ip));
	}
}

/* ---- flame graph ---- */

static const char *label_of(struct trace_stacks *stacks, const struct frame *frame)
{
	if (frame->symbol)
		return intern_string(&stacks->labels, frame->symbol->name);
	cleanup_free char *unknown = mem_printf("[%s]", frame->map ? frame->map->dso->short_name : "unknown");
	return intern_string(&stacks->labels, unknown);
}

static uint8_t kind_of(const struct frame *frame)
{
	if (is_kernel(frame))
		return FRAME_KERNEL;
	return frame->symbol && frame->symbol->inlined ? FRAME_INLINED : FRAME_USER;
}

void trace_stacks_weigh(struct trace_stacks *stacks, const struct untrusted *comm, const char *call, uint64_t duration)
{
	if (!stacks->tree)
		stacks->tree = calltree_create();
	struct calltree_node *node =
		calltree_child(stacks->tree, &stacks->tree->root, intern_string(&stacks->labels, untrusted_raw(comm)), FRAME_OTHER);
	for (size_t i = stacks->stack.frames.len; i--;) {
		const struct frame *frame = &stacks->stack.frames.data[i];
		if (!is_kernel(frame)) /* the call's name says it all */
			node = calltree_child(stacks->tree, node, label_of(stacks, frame), kind_of(frame));
	}
	node = calltree_child(stacks->tree, node, intern_string(&stacks->labels, call), FRAME_KERNEL);
	calltree_weigh(node, duration);
}

struct error *trace_stacks_draw(struct trace_stacks *stacks, const char *path)
{
	const struct view_options options = {.title = "Time in system calls", .unit = "ns"};

	if (!stacks->tree)
		return error_new("%s: no system call ended: nothing to draw", path);
	calltree_sort(&stacks->tree->root, calltree_by_label);
	return drawing_write(stacks->tree, drawing_view(path), &options, path);
}
