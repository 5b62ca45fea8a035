/* Print formats compiled to short programs. */
#include "event/tracepoint_internal.h"

struct tracepoint_program {
	bool slow; /* libtraceevent prints */
};

struct tracepoint_program *tracepoint_compile(struct tracepoint_formats *formats, const struct tracepoint *tracepoint, struct tep_event *event)
{
	struct tracepoint_program *program = arena_zalloc(&formats->arena, sizeof(*program));

	program->slow = true;
	return program;
}

bool tracepoint_run(const struct tracepoint_program *program, const struct tracepoint_formats *formats, const void *raw, size_t size, struct strbuf *out)
{
	return !program->slow;
}
