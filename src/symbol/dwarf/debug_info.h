/* Debug information of one file (DWARF 2 to 5): source lines, and which functions were inlined at an address. Thread-safe. Strings live as
 * long as the debug information. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debug_info;

/* Opens a file with debug information (the debug file of a stripped one); NULL when it has none. */
struct debug_info *debug_info_open(const char *path);
void debug_info_close(struct debug_info *info);

/* A function at an address: the one whose code it is, or one whose call was replaced by its code. */
struct debug_frame {
	const char *name; /* readable, as for symbols */
	const char *file; /* where execution is in this function: for all but the innermost, the call; NULL = unknown */
	unsigned int line;
	bool inlined; /* its call was replaced by its code */
};

enum { DEBUG_FRAMES_MAX = 256 };

/* In relocatable files (kernel modules) each section begins at 0: there the number of the section is part of a virtual address. */
static inline uint64_t debug_info_section_address(uint32_t section, uint64_t offset)
{
	return (uint64_t)section << 40 | offset;
}

/* The functions at a virtual address of the file, innermost first, the last one usually not inlined. Writes at most DEBUG_FRAMES_MAX and
 * returns how many; 0 when nothing is known. */
size_t debug_info_frames(struct debug_info *info, uint64_t vaddr, struct debug_frame *ret);
