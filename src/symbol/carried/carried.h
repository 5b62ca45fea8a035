/* What a recording carries of the files that its samples hit, so that it can be read where these files aren't: names, inlined functions and
 * source lines of the addresses that were hit, the machine code of sampled functions, and the lines of source text around it.
 *
 *	carried_decode(bytes) ──► struct carried ──► resolver (symbol_options.carried), source files (source_options.carried)
 *	struct carried ──► carried_encode() ──► bytes
 *
 * Who makes one fills the arrays; what is read has been checked, so that every count and number in it can be trusted, but not the order of
 * entries. Strings have unsafe bytes still in them. */
#pragma once

#include "base/arena.h"
#include "base/buildid.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "model/machine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct carried_symbol {
	uint64_t start, size; /* dso addresses */
	const char *name;     /* as it is in the file */
	uint8_t binding, type;
	bool mangled, ifunc_alias;
};

/* A function at an address; `name` is NULL for the symbol's own, else it was inlined. */
struct carried_function {
	const char *name, *file;
	uint32_t line;
};

/* Those of one address, innermost first: at least one, at most CARRIED_FUNCTIONS_MAX. */
enum { CARRIED_FUNCTIONS_MAX = 256 };
struct carried_answer {
	struct carried_function *functions;
	size_t count;
};

/* From `vaddr`, a virtual address of the file, up to the next place: which answer, counted from 1; 0 = nothing is known. */
struct carried_place {
	uint64_t vaddr;
	uint32_t answer;
};

/* Segments and sections of a file are gone through one by one: there are at most CARRIED_PARTS_MAX of each, as ELF has it. */
enum { CARRIED_PARTS_MAX = UINT16_MAX };
struct carried_segment {
	uint64_t dso_addr, size, vaddr;
};

/* What an instruction at `address` speaks of, where `relocation`; else what is at `address`. */
struct carried_name {
	uint64_t address;
	bool relocation, slot;
	uint64_t offset;
	const char *name;
};

/* Machine code, with what struct code_range tells of it. */
struct carried_code {
	uint64_t dso_addr, address;
	const uint8_t *bytes;
	size_t size;
	const char *section; /* or NULL */
	uint32_t section_index;
	struct carried_name *names;
	size_t name_count;
};

/* Bytes of a section of the file; what lies between pieces is zero. */
struct carried_piece {
	uint64_t offset;
	const uint8_t *bytes;
	size_t size;
};

/* A section that unwinding looks at. */
struct carried_section {
	const char *name;
	uint64_t vaddr, size;
	struct carried_piece *pieces; /* within it */
	size_t piece_count;
};

/* Where a loadable segment was. */
struct carried_load {
	uint64_t offset, vaddr, size;
	uint32_t flags; /* PF_* */
};

/* What unwinding through the file needs, as of struct elf_file; without sections there is nothing. The sections of a file together have at
 * most CARRIED_UNWIND_MAX bytes, those of all files CARRIED_UNWIND_ALL. */
enum { CARRIED_UNWIND_MAX = 64 << 20, CARRIED_UNWIND_ALL = 256 << 20 };
struct carried_unwind {
	bool is_64bit, big_endian;
	uint16_t machine;
	uint64_t entry;
	struct carried_load *loads;
	struct carried_section *sections;
	size_t load_count, section_count;
};

struct carried_file {
	/* Which one of the recording's. */
	const char *name;
	uint8_t kind; /* enum dso_kind */
	uint32_t major, minor;
	uint64_t inode, inode_generation;
	struct buildid build_id;

	uint8_t source;	   /* enum symbol_source: what names the recorder had */
	const char *path;  /* where it had them from, or NULL */
	uint64_t of_count; /* so many symbols the file had */
	bool has_functions;
	const char *code_path, *code_arch; /* of the code, or NULL */
	struct carried_symbol *symbols;	   /* sorted by start */
	struct carried_segment *segments;
	struct carried_unwind unwind;
	struct carried_answer *answers;
	struct carried_place *places; /* sorted */
	struct carried_code *codes;   /* sorted by dso_addr */
	size_t symbol_count, segment_count, answer_count, place_count, code_count;
};

struct carried_line {
	uint32_t number;
	const char *text;
};

/* Lines of a source file, sorted. */
struct carried_source {
	const char *path;
	struct carried_line *lines;
	size_t line_count;
};

struct carried {
	struct carried_file *files;
	struct carried_source *sources;
	size_t file_count, source_count;
	struct arena arena;		       /* private: of what was read */
	struct map64 file_index, source_index; /* private */
};

/* The bytes must outlive it. NULL when they are no such table, or a damaged one. */
struct carried *carried_decode(const void *data, size_t size);
void carried_destroy(struct carried *carried);
/* Adds the bytes. */
void carried_encode(struct carried *carried, struct strbuf *out);

/* All of these take NULL for a recording that carries nothing. */

/* What there is of a dso, or NULL. */
const struct carried_file *carried_find(const struct carried *carried, const struct dso *dso);
/* The functions at a virtual address; NULL when nothing is known. */
const struct carried_answer *carried_functions(const struct carried_file *file, uint64_t vaddr);
/* The code that has a dso address, or NULL. */
const struct carried_code *carried_code_at(const struct carried_file *file, uint64_t dso_addr);
/* The name for an address that its instructions speak of, or that the linker puts into those in [address, address + size); or NULL. */
const struct carried_name *carried_code_name(const struct carried_code *code, uint64_t address);
const struct carried_name *carried_code_relocation(const struct carried_code *code, uint64_t address, unsigned int size);
/* A line of source, or NULL. */
const char *carried_source_line(const struct carried *carried, const char *path, uint32_t number);
