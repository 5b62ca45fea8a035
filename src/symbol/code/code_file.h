/* Machine code behind the addresses of a dso: the bytes, the addresses by which a person knows them, and names of the places that
 * instructions speak of.
 *
 * It comes from the file that was mapped, the vDSO, a vmlinux, a module's file or, while the recorded kernel runs, /proc/kcore. */
#pragma once

#include "base/error.h"
#include "symbol/resolve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct carried_code; /* symbol/carried/carried.h */
struct code_file;

/* An error says why there is no code and what to do. The resolver must outlive it. One thread at a time. */
struct error *code_file_open(struct resolver *resolver, struct dso *dso, struct code_file **ret);
void code_file_close(struct code_file *file);
/* The file that the code is read from, as recorded where it is the mapped one; "[kernel.kallsyms]" and the like for memory. */
const char *code_file_path(const struct code_file *file);
/* The processor that the code is for, as disasm_open() takes it; NULL is this machine's. */
const char *code_file_arch(const struct code_file *file);

/* The same of an ELF file's e_machine; "another processor" where nobody knows it. */
const char *code_arch_name(uint16_t machine, bool big_endian);

struct code_range {
	const uint8_t *bytes; /* valid until the next code_file_read() of the same file */
	size_t size;
	/* Of the first byte: the virtual address in the file; of a vmlinux the address it was linked for, of a module's file the one in its
	 * section; else where it was in memory. Disassembly and debug information speak of these. */
	uint64_t address;
	const char *section; /* ".text"; NULL where there are none */
	uint32_t section_index;
	const struct carried_code *carried; /* private */
};

/* The code of `size` bytes from a dso address on (map_to_dso()), or as much as the file has; false when there is none. */
bool code_file_read(struct code_file *file, uint64_t dso_addr, uint64_t size, struct code_range *ret);

/* What is at an address. */
struct code_name {
	const char *name; /* unsafe bytes still in it; lives as long as the code file and the resolver */
	uint64_t offset;  /* from where it begins */
	bool slot;	  /* `name` is what a slot of the global offset table points to */
};

/* The name for an address that an instruction of `range` goes to or speaks of; false when there is none. */
bool code_file_name(struct code_file *file, const struct code_range *range, uint64_t address, struct code_name *ret);
/* The address that the loader puts into a slot of the global offset table for something in the file itself; false when it is none. */
bool code_file_slot(struct code_file *file, uint64_t address, uint64_t *ret);
/* The name that the linker or loader will put into an instruction of a module, whose own bytes say nothing yet. */
bool code_file_relocation(struct code_file *file, const struct code_range *range, uint64_t address, unsigned int size,
			  struct code_name *ret);
