/* Printing records. A tracepoint's program is compiled when its first record is printed, under a lock; running it needs none. */
#include "event/tracepoint/tracepoint_internal.h"

#include <stdatomic.h>

static struct tracepoint_program *prepare(const struct tracepoint *tracepoint)
{
	struct tracepoint_formats *formats = tracepoint->formats;
	struct tracepoint_private *private = tracepoint->private;

	pthread_mutex_lock(&formats->lock);
	struct tracepoint_program *program = atomic_load_explicit(&private->program, memory_order_acquire);
	if (!program) { /* else another thread just made it */
		program = tracepoint_compile(formats, tracepoint);
		atomic_store_explicit(&private->program, program, memory_order_release);
	}
	pthread_mutex_unlock(&formats->lock);
	return program;
}

struct tracepoint_program *tracepoint_program_of(const struct tracepoint *tracepoint)
{
	struct tracepoint_program *program = atomic_load_explicit(&tracepoint->private->program, memory_order_acquire);
	return program ? program : prepare(tracepoint);
}

void tracepoint_print(const struct tracepoint *tracepoint, const void *raw, size_t size, struct strbuf *out)
{
	if (!tracepoint_run(tracepoint_program_of(tracepoint), tracepoint->formats, raw, size, out)) {
		strbuf_add_str(out, "[FAILED TO PARSE]");
		tracepoint_print_fields(tracepoint, raw, size, out);
	}
}
