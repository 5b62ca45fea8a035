/* Machine code at an address, for scripts and filters. */
#pragma once

#include "symbol/resolve.h"

enum { SAMPLED_INSTRUCTION_MAX = 16 };

/* Copies up to `size` bytes of code from the frame's address on to `ret`; how many, 0 = there is none. */
size_t sampled_code_read(struct resolver *resolver, const struct frame *frame, size_t size, uint8_t *ret);
/* The same of the one instruction there; `ret` has room for SAMPLED_INSTRUCTION_MAX. */
size_t sampled_code_instruction(struct resolver *resolver, const struct frame *frame, uint8_t *ret);
