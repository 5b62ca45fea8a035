/* Static tracepoints of programs (SDT): places that a program names by macros of <sys/sdt.h>, written down in notes of its ELF file. */
#pragma once

#include "symbol/elf/elf.h"

struct sdt_probe {
	const char *provider;  /* "libc" */
	const char *name;      /* "setjmp" */
	const char *arguments; /* "8@%rdi -4@%esi": size@operand each, in the assembler's words; "" = none */
	uint64_t address;      /* virtual, in the file */
	uint64_t semaphore;    /* virtual address of the counter of who listens; 0 = none */
};

/* Calls visit for each; strings point into the file. */
void sdt_visit(const struct elf_file *elf, void (*visit)(void *context, const struct sdt_probe *probe), void *context);
