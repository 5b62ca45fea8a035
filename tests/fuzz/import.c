/* Profiles of other tools: the first byte says of which format the others are. Whatever they say, stacks, frames and threads are there. */
#include "analysis/import/imported.h"
#include "base/error.h"

#include <stdlib.h>

static void check(const struct imported *imported)
{
	for (size_t i = 0; i < imported->stacks.len; i++) {
		const struct imported_stack *stack = &imported->stacks.data[i];
		if (stack->frame >= imported->frames.len || (stack->parent != IMPORTED_NO_STACK && stack->parent >= i))
			abort();
	}
	for (size_t i = 0; i < imported->samples.len; i++) {
		const struct imported_sample *sample = &imported->samples.data[i];
		if (sample->event >= imported->events.len || sample->thread >= imported->threads.len || !sample->count ||
		    (sample->stack != IMPORTED_NO_STACK && sample->stack >= imported->stacks.len))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static import_fn *const readers[] = {import_folded, import_pprof, import_speedscope};
	struct imported imported = {0};
	if (!size)
		return 0;
	const struct import_options options = {.name = "fuzz", .comm = data[0] & 4};
	struct error *error = readers[(data[0] & 3) % 3]((const char *)data + 1, size - 1, &options, &imported);
	if (!error)
		check(&imported);
	error_free(error);
	imported_deinit(&imported);
	return 0;
}
