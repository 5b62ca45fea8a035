/* Functions of Go's runtime that change to the thread's own stack, to call something there: above them goes on the stack of the goroutine,
 * which no call frame information leads to (bpf/user_goroutines.bpf.h). And the one that a thread begins with. */
#pragma once

#include "symbol/elf/elf.h"
#include "unwind/walk_row.h"

struct goroutine_switch {
	uint64_t start; /* virtual address */
	uint8_t kind;	/* enum walk_switch */
};
enum { GOROUTINE_SWITCHES = 8 };

/* Returns how many there are in the program: 0 if it isn't Go's. */
size_t goroutine_switches(const struct elf_file *elf, struct goroutine_switch ret[GOROUTINE_SWITCHES]);
