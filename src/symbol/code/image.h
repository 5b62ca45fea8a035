/* Writing small ELF files that say what code is called and where it comes from: always the 64-bit form, in either byte order.
 *
 *	image_begin(&image, out, swap);
 *	image_begin_section(&image, ".text", …); … image_end_section(&image); …		// the code first
 *	image_end(&image, machine, end);
 *
 * An offset in the file is the virtual address, too. Lines are DWARF 4: one unit. Sources of the format: the System V ABI (gABI chapters 4
 * and 5), the DWARF 4 standard, sections 6.2 and 7.5. */
#pragma once

#include "base/buildid.h"
#include "base/strbuf.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

enum { IMAGE_SECTIONS_MAX = 11, IMAGE_TEXT_SECTION = 1, IMAGE_TEXT = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + 8 };
_Static_assert(IMAGE_TEXT == 0x80, "code is aligned");

struct image {
	struct strbuf *out;
	size_t begin; /* of the file in `out` */
	bool swap;
	Elf64_Shdr sections[IMAGE_SECTIONS_MAX];
	unsigned int count;
	struct strbuf names; /* of sections */
};

void image_begin(struct image *image, struct strbuf *out, bool swap);
/* The name table of sections, their headers, and the file's: one segment from IMAGE_TEXT to `end`. */
void image_end(struct image *image, uint16_t machine, uint64_t end);

void image_put(struct strbuf *out, uint64_t value, unsigned int size, bool swap);
/* In the file. */
uint64_t image_position(const struct image *image);
/* A section that begins here; its size is known at the next call of image_end_section(). */
Elf64_Shdr *image_begin_section(struct image *image, const char *name, uint32_t type, uint64_t flags, unsigned int alignment);
void image_end_section(struct image *image);
/* Returns where the id's bytes are in `out`. */
size_t image_add_note(struct image *image, const struct buildid *id);

/* Functions, their names behind each other in `strings`, which begins with a byte of 0 that is nobody's. */
struct image_symbol {
	uint64_t address, size;
	size_t name; /* offset in `strings` */
};
void image_add_symbols(struct image *image, const struct image_symbol *symbols, size_t count, const struct strbuf *strings);

/* Lines of one stretch of code that begins at IMAGE_TEXT. All zero before image_lines_begin(). */
struct image_lines {
	struct strbuf files; /* entries of the table */
	struct strbuf body;
	uint64_t last_file, last_line, last_distance;
	const char *file_name;
	uint64_t count;
};
void image_lines_begin(struct image_lines *lines, bool swap);
/* From `distance` on, which never goes down. Entries come sorted by file in long stretches: a file that comes again gets another entry in
 * the table. */
void image_lines_add(struct image_lines *lines, const char *file, uint32_t line, uint64_t distance);
/* The code has `size` bytes. Adds the sections, if there is a line, and frees `lines`. */
void image_add_lines(struct image *image, struct image_lines *lines, uint64_t size);
