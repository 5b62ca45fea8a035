/* Processor architectures: all that perf knows of one stands in its row. A new one takes a file with its row beside x86.c, its name in
 * arch_table (arch.c) and, if perf is to run there, a block in own.h.
 *
 * Rows are constant and live as long as the program. */
#pragma once

#include "arch/syscalls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* SAMPLE: as perf_event_open() numbers registers; DWARF: as debug information does, those that unwinding looks at. */
enum { ARCH_SAMPLE_REGISTERS = 64, ARCH_DWARF_REGISTERS = 33, ARCH_NO_REGISTER = 0xff };

/* DWARF's numbers of the registers that stacks are made of. */
struct frame_registers {
	uint8_t sp, fp;
	uint8_t ip;    /* where rules have the return address: with `link` the register that calls leave it in */
	uint8_t third; /* a further one that frames may hang on, in code that saves all registers; ARCH_NO_REGISTER = none does */
};

/* How stacks are walked. */
struct arch_frames {
	struct frame_registers numbers;
	uint8_t word;	   /* bytes of an address; 0 = stacks of this architecture aren't unwound */
	bool link;	   /* calls leave the return address in a register, numbers.ip; else numbers.ip is the instruction pointer */
	uint8_t ip_sample; /* SAMPLE number of the instruction pointer */
	uint8_t sample[ARCH_DWARF_REGISTERS]; /* SAMPLE number of each DWARF register, ARCH_NO_REGISTER = none */
};

/* Its code, as ELF files have it. Source: the processors' psABI supplements. */
struct arch_code {
	int capstone, mode;		/* CS_ARCH_*, CS_MODE_* */
	uint8_t unit;			/* bytes that are passed over where there is no instruction; 0 = capstone can't disassemble it */
	bool has_att_syntax;		/* people read it as the GNU tools write it for x86 */
	uint8_t function_flags;		/* bits of a function's address that are no part of it (Thumb) */
	const char *markers;		/* $a, $d, …: the letters of symbols that tell code from data; NULL = no such symbols */
	uint16_t plt_header, plt_entry; /* bytes; 0, 0 = as the section's header says */
	uint32_t reloc_64, reloc_32[2]; /* relocations that write 8 and 4 bytes into debug information; 0 = none */
	/* Finds the slot that the linkage stub at `code`, whose address is given, jumps through. NULL = stubs are told by their order. */
	bool (*plt_slot)(const uint8_t *code, size_t size, uint64_t address, uint64_t *ret);
	/* Whether a linkage stub's first instruction is there: nothing has been pushed before it. NULL = can't be told. */
	bool (*begins_stub)(const uint8_t *code, size_t size);
	/* Bytes that are pushed at `at` in a section .init or .fini, above which the return address is; -1 = it isn't as the C library's
	 * crti.o and crtn.o make it. NULL = can't be told. */
	int (*init_pushed)(const uint8_t *code, size_t size, size_t at);
};

/* Registers as the kernel's probes name them ("%di", "%x0"). */
struct arch_probes {
	const char *const *dwarf, *const *parameters; /* by DWARF number; of functions whose parameters are whole numbers and pointers */
	uint8_t dwarf_count, parameter_count;
	const char *(*of_assembler)(const char *name);
};

struct arch {
	const char *name;	   /* as uname calls the machine */
	const char *also[4];	   /* patterns of its other names; ended by NULL where fewer */
	uint16_t elf_machine;	   /* EM_*; 0 = its files are another row's */
	bool big_endian, is_64bit; /* of its files and addresses */
	const struct arch *compat; /* whose code its 32-bit programs have; NULL = none, or unknown */
	enum syscall_abi syscalls;

	const char *const *sample_names; /* [ARCH_SAMPLE_REGISTERS], as the kernel's perf prints them ("AX", "sp"); NULL = unknown */
	uint64_t user_registers;	 /* bit set: SAMPLE number that may be asked for, and is for unwinding */
	struct arch_frames frames;
	uint8_t call_argument; /* SAMPLE number of the register that has a system call's first argument, and keeps it while the call lasts */
	struct arch_code code;
	struct arch_probes probes;

	bool has_code_below_kernel; /* in the upper half, but below the kernel's text: trampolines of page-table isolation */
	bool notes_dies;	    /* recordings have the dies in their header, as readers of other machines' files expect */
	bool tells_stages;	    /* samples tell of a pipeline's stages */

	/* Of the kernel that runs here. */
	uint32_t audit;		    /* AUDIT_ARCH_* of its own calls; 0 = calls aren't filtered */
	uint32_t foreign_calls;	    /* numbers from here on are those of another table (x32); 0 = none */
	uint8_t breakpoint_on_code; /* the length that the kernel wants for one; 0 = a long's */
};

/* Rows with files of their own. */
extern const struct arch arch_x86_64, arch_i386, arch_aarch64, arch_aarch64_be, arch_arm;

/* What perf is built for; NULL = an architecture without a row. */
const struct arch *arch_own(void);
/* By uname's name of a machine; NULL is arch_own(). NULL where it isn't known. */
const struct arch *arch_find(const char *machine);
/* By e_machine of an ELF file. NULL where it isn't known. */
const struct arch *arch_of_elf(uint16_t machine, bool big_endian);
/* How to walk the stack of a process by PERF_SAMPLE_REGS_ABI_* of its sample. NULL where that isn't known; `arch` may be NULL. */
const struct arch_frames *arch_frames_of(const struct arch *arch, uint64_t abi);

/* The name of a sample's register, or NULL. `machine` as for arch_find(). */
const char *arch_register_name(const char *machine, unsigned int number);
/* The sample's bit of the register that calls leave the return address in; 0 = they push it. `frames` may be NULL. */
uint64_t arch_link_bit(const struct arch_frames *frames);

/* Registers for the kernel's probes, NULL where it has none: by DWARF's number; by the assembler's name without its % ("rdi", "edi",
 * "x0", "w0"); of parameter `index`, from 0. `arch` may be NULL. */
const char *arch_probe_by_dwarf(const struct arch *arch, uint64_t number);
const char *arch_probe_by_assembler(const struct arch *arch, const char *name);
const char *arch_probe_of_parameter(const struct arch *arch, unsigned int index);
