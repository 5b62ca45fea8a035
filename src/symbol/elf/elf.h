/* An ELF file, opened for reading: sections, segments, notes. Any class and byte order; every offset is checked against the file's size, so
 * that a hostile file can at worst look empty. What it hands out points into the file's bytes and lives until elf_close(). */
#pragma once

#include "arch/arch.h"
#include "base/buildid.h"
#include "base/error.h"
#include "base/files/mapping.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_section {
	const char *name; /* never NULL */
	uint32_t type;	  /* SHT_* */
	uint32_t link, info;
	uint64_t flags; /* SHF_* */
	uint64_t addr, offset, size, align, entsize;
};

struct elf_segment {
	uint32_t type, flags; /* PT_*, PF_* */
	uint64_t offset, vaddr, filesz, memsz;
};

struct elf_file {
	const uint8_t *data;
	size_t size;
	bool is_64bit;
	bool swap;	  /* other byte order than ours */
	uint16_t type;	  /* ET_* */
	uint16_t machine; /* EM_* */
	uint64_t entry;	  /* virtual address of the first instruction; 0 = none */
	struct elf_section *sections;
	uint32_t section_count;
	struct elf_segment *segments;
	uint32_t segment_count;
	struct buildid build_id; /* of the first GNU build-id note; size 0 = none */
	struct mapping mapping;	 /* of a file */
	void *owned;		 /* or of inflated bytes */
};

struct elf_symbol {
	uint64_t value, size;
	const char *name; /* never NULL */
	uint16_t section; /* SHN_* */
	uint8_t info, other;
};

struct elf_relocation {
	uint64_t offset; /* of what is relocated: an address, in relocatable files (ET_REL) within the section */
	uint64_t symbol; /* in the table that the section is linked to; 0 = none */
	uint64_t addend; /* SHT_RELA; else 0 */
};

/* Opens a regular file. Compressed ones (gzip, xz, zstd, by content) are inflated: kernel modules come that way. */
struct error *elf_open(const char *path, struct elf_file *ret);
/* Takes over `bytes`, which malloc() made, also when it fails. */
struct error *elf_open_memory(void *bytes, size_t size, const char *name, struct elf_file *ret);
/* Does nothing to an all-zero one. */
void elf_close(struct elf_file *elf);

/* The processor that the file is for; NULL where it isn't known. */
const struct arch *elf_arch(const struct elf_file *elf);
/* NULL when there is none. */
const struct elf_section *elf_section(const struct elf_file *elf, const char *name);
/* The bytes of a section, NULL for SHT_NOBITS or when it is not wholly within the file. */
const uint8_t *elf_section_data(const struct elf_file *elf, const struct elf_section *section);
/* The same, inflated if the section is compressed (SHF_COMPRESSED, .zdebug_*); NULL too when all compressed sections of the file together
 * would take more than inflate_limit() allows. free() *ret_owned afterwards, it may be NULL. */
const uint8_t *elf_section_inflate(const struct elf_file *elf, const struct elf_section *section, size_t *ret_size, void **ret_owned);
/* What all compressed sections say they take when they are inflated, in bytes. */
uint64_t elf_inflated_size(const struct elf_file *elf);
/* Whether the file's compressed sections may be inflated; with its path, a warning says why not. */
bool elf_may_inflate(const struct elf_file *elf, const char *path);
/* The PT_LOAD segment that covers a virtual address, or NULL. */
const struct elf_segment *elf_segment_of(const struct elf_file *elf, uint64_t vaddr);
/* The name in .gnu_debuglink, or NULL. */
const char *elf_debuglink(const struct elf_file *elf);

/* Symbols of a SHT_SYMTAB or SHT_DYNSYM section: how many, and one of them. False when `index` is out of range. */
uint64_t elf_symbol_count(const struct elf_file *elf, const struct elf_section *table);
bool elf_symbol_at(const struct elf_file *elf, const struct elf_section *table, uint64_t index, struct elf_symbol *ret);
/* A symbol that others may use, by name: through the hash table of the dynamic linker where there is one (.gnu.hash), else it looks at all
 * of .dynsym; at all of .symtab where the file isn't linked dynamically. */
bool elf_symbol_find(const struct elf_file *elf, const char *name, struct elf_symbol *ret);

/* Entry `index` of a SHT_REL or SHT_RELA section. False when it is out of range. */
bool elf_relocation_at(const struct elf_file *elf, const struct elf_section *section, uint64_t index, struct elf_relocation *ret);

/* Only the build-id of the file at `path`; false when there is none or no such file. */
bool elf_read_build_id(const char *path, struct buildid *ret);
/* The build-id in the contents of a notes section, as in /sys/kernel/notes. Native byte order. */
bool elf_notes_build_id(const void *notes, size_t size, bool swap, struct buildid *ret);
