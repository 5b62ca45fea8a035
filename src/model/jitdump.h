/* A jitdump: what a run-time compiler writes of the code that it makes (jit-PID.dump): names, machine code and source lines, each with the
 * time from which on it is there.
 * Source of the format: tools/perf/Documentation/jitdump-specification.txt of the kernel. */
#pragma once

#include "base/cursor.h"
#include "base/error.h"
#include "base/files/mapping.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One piece of code. */
struct jitdump_code {
	uint64_t offset;  /* of its bytes in the file: by this it is looked up */
	uint64_t address; /* where it was in memory at first */
	uint64_t size;
	uint64_t index;	      /* the compiler's number */
	const char *name;     /* unsafe bytes still in it */
	uint64_t debug_info;  /* offset in the file of its record, 0 = none */
	uint64_t unwind_info; /* the same */
};

/* Code is there from now on: new, or moved. */
struct jitdump_event {
	uint64_t time; /* by the clock of the dump */
	uint32_t code; /* number in `codes` */
	uint64_t address;
};

/* Never changes once it is open. */
struct jitdump {
	struct mapping mapping; /* the whole file */
	char *path;
	uint16_t machine; /* EM_* */
	bool swap;
	bool cpu_clock;	    /* times are ticks of the processor, not CLOCK_MONOTONIC */
	bool shifted_lines; /* V8: the addresses of lines are 64 too large, the size of an ELF header */
	uint64_t time;	    /* when it was begun: by its header where that has the clock of the records, else the first record's */
	uint64_t end;	    /* where in the file the first record begins that isn't read */
	VEC(struct jitdump_code) codes;	  /* by offset */
	VEC(struct jitdump_event) events; /* in the order of the file */
};

/* Reads the records from offset `from` on (0 = all). What a program that still runs has written since is found by opening it once more,
 * from `end` on. */
struct error *jitdump_open(int fd, const char *path, uint64_t from, struct jitdump **ret);
void jitdump_close(struct jitdump *dump);
/* The code at an offset in the file, or NULL. */
const struct jitdump_code *jitdump_find(const struct jitdump *dump, uint64_t offset);
/* The source line of the instruction at `distance` from the beginning of the code; false when there is none. `ret_file` lives as long as
 * the dump. */
bool jitdump_line(const struct jitdump *dump, const struct jitdump_code *code, uint64_t distance, const char **ret_file,
		  uint32_t *ret_line);

/* All source lines of a piece of code, one after the other:
 *	jitdump_lines_begin(dump, code, &lines);
 *	while (jitdump_lines_next(&lines)) …
 */
struct jitdump_lines {
	uint64_t distance; /* from the beginning of the code: not checked against its size or the one before */
	uint32_t line;
	const char *file; /* NULL = unknown; lives as long as the dump */
	/* private */
	struct cursor at;
	uint64_t base, left;
};
void jitdump_lines_begin(const struct jitdump *dump, const struct jitdump_code *code, struct jitdump_lines *lines);
bool jitdump_lines_next(struct jitdump_lines *lines);

/* The call frame information of a piece of code, as the contents of ELF sections. */
struct jitdump_unwind {
	const uint8_t *eh_frame;
	size_t size, table_size; /* of .eh_frame, and of .eh_frame_hdr right behind it */
	uint64_t mapped_size;	 /* of both, how much is in memory behind the code; 0 = it isn't there */
	uint64_t address;	 /* what pointers in it count from, for code that begins at its offset in the file */
};
/* False when there is none. */
bool jitdump_unwind(const struct jitdump *dump, const struct jitdump_code *code, struct jitdump_unwind *ret);
