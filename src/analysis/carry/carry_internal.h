/* What the files of this room share: first the addresses that samples hit, then what is known of each. */
#pragma once

#include "analysis/carry/carry.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/vec.h"
#include "symbol/carried/carried.h"
#include "symbol/code/code_file.h"
#include "symbol/code/disasm.h"

/* ---- carry_hits.c ---- */

enum carry_hit_kind {
	CARRY_NAME = 1,	   /* an address whose name is shown: data, what a tracepoint tells */
	CARRY_FRAME = 2,   /* of code: with functions and lines */
	CARRY_CALLER = 4,  /* … where a call returns to, which is asked for with the byte before it */
	CARRY_SAMPLED = 8, /* … whose instructions are shown */
};
enum { CARRY_KINDS = 15, CARRY_COUNT_SHIFT = 4 };

/* By the index of the dso: dso address → kinds, and in the bits above CARRY_COUNT_SHIFT how often it was sampled. */
struct carry_hits {
	struct map64 *by_dso;
	size_t count;
};

/* Freed by carry_hits_deinit(). */
struct error *carry_hits_find(struct session *session, struct resolver *resolver, struct carry_hits *ret);
void carry_hits_deinit(struct carry_hits *hits);

/* ---- carry.c, carry_places.c, carry_code.c ---- */

/* From a virtual address on; `weak`: only where nothing else is known, for the end of an address that stands alone. */
struct carry_point {
	uint64_t vaddr;
	uint32_t answer;
	bool weak;
};

/* A file while it is gathered. */
struct carry_file {
	struct dso *dso;
	const struct symtab *symtab;
	VEC(struct carry_point) points;
	VEC(struct carried_answer) answers;
	struct map64 answer_index;
	VEC(struct carried_code) codes;
	VEC(uint64_t) nameless; /* sampled addresses without a symbol */
	struct code_file *code; /* opened on first use */
	struct disasm *disasm;
	bool code_tried;
};

/* Lines of a source file that are wanted. */
struct carry_source {
	const char *path;
	struct map64 lines; /* their numbers */
};

/* A function that was sampled. */
struct carry_function {
	struct carry_file *file;
	const struct symbol *symbol;
	uint64_t samples;
};

struct carry {
	struct resolver *resolver;
	struct arena arena;
	struct intern texts;
	struct carry_file *files; /* by index of the dso; those without hits are empty */
	size_t file_count;
	VEC(struct carry_function) functions;
	struct map64 source_index; /* interned path → index + 1 */
	VEC(struct carry_source) sources;
	bool unwinds;	      /* samples have copies of stacks, or registers of leaf functions */
	size_t room;	      /* bytes left for code, lines and source text */
	uint64_t unwind_size; /* of all files' sections */
};

/* The functions at an address as an answer of the file, counted from 1; 0 = none. */
uint32_t carry_answer(struct carry *carry, struct carry_file *file, uint64_t dso_addr, const struct symbol *symbol);
/* Notes the functions at an address, which stands alone, and their source text. */
void carry_place(struct carry *carry, struct carry_file *file, uint64_t dso_addr, const struct symbol *symbol);
/* The file's places, sorted, without those that say what the one before says. */
void carry_places_settle(struct carry *carry, struct carry_file *file, struct carried_file *ret);
/* Notes the source text that is shown with a line. `path`: interned. */
void carry_source_note(struct carry *carry, const char *path, uint32_t line);
void carry_sources_settle(struct carry *carry, struct carried *ret);
/* The call frame information of the addresses, sorted, that unwinding has gone through; nothing where the file isn't here. */
void carry_unwind(struct carry *carry, const struct carry_file *file, const uint64_t *addresses, size_t count, struct carried_unwind *ret);
/* Code, lines and names of a function; false when there is no room. Without code in the file there is nothing to carry. */
bool carry_code(struct carry *carry, const struct carry_function *function);
/* The instructions at the file's nameless addresses. */
void carry_nameless_code(struct carry *carry, struct carry_file *file);
