/* DWARF expressions, as far as call frame information uses them: arithmetic over registers and memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct expression_context {
	const uint64_t *registers; /* by DWARF number */
	uint64_t known;		   /* bit set: the register has a value */
	size_t register_count;
	unsigned int word; /* bytes of an address */
	/* Reads one word of the process's memory; false when it isn't there. */
	bool (*read)(void *context, uint64_t address, unsigned int size, uint64_t *ret);
	void *context;
};

/* Runs it with `first` on the stack (if `has_first`); false when it is broken, needs what isn't known, or goes on too long. */
bool expression_evaluate(const struct expression_context *context, const uint8_t *code, size_t size, bool has_first, uint64_t first,
			 uint64_t *ret);
