/* Symbol table of one dso: sorted by start, immutable once published. It is kept small, with some 16 bytes and the name of each symbol, of
 * large files without the names, which stay in the file: a struct symbol is made when a lookup first returns it.
 *
 * Symbols may overlap in a file (labels inside assembler functions); which of them covers an address is decided when the table is built, so
 * that a lookup is one binary search. */
#pragma once

#include "base/arena.h"
#include "base/files/mapping.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol {
	uint64_t start, end;  /* dso addresses as map_to_dso() gives them, end exclusive */
	const char *name;     /* demangled in symbols of a table, as in the file while one is put together. Views make it safe to print */
	uint8_t binding;      /* STB_LOCAL, STB_GLOBAL, STB_WEAK */
	uint8_t type;	      /* STT_FUNC, STT_OBJECT, … */
	bool mangled : 1;     /* while a table is put together: whether the name may have to be made readable */
	bool inlined : 1;     /* made for a function that debug information says was inlined here; in no table */
	bool ifunc_alias : 1; /* another name of this address is an indirect function */
	uint32_t index;	      /* in its table */
};

struct symtab {
	size_t count;	    /* of symbols */
	struct dso *dso;    /* NULL until published */
	int source;	    /* enum symbol_source, symbol/resolve.h */
	const char *path;   /* file it was read from, or NULL */
	bool has_functions; /* symtab_functions() may find something: there is debug information */
	bool is_carried;    /* the recording brought it; `path` is where its recorder had it from */
	/* How dso addresses become virtual addresses of the file, where the two differ. */
	struct symtab_segment {
		uint64_t dso_addr, size, vaddr;
	} * segments;
	size_t segment_count;
	struct symtab_private *private;
	_Atomic bool used; /* since it was last asked whether it was: resolver_shed() */
	unsigned int idle; /* how often it was not */
};

struct elf_file;
/* Notes the loadable segments of the file that was mapped, and whether the file with the symbols has debug information. */
void symtab_set_segments(struct symtab *symtab, const struct elf_file *runtime, const struct elf_file *symbols);
/* Notes that the file's addresses are moved by `relocation` (kernel). */
void symtab_set_relocation(struct symtab *symtab, uint64_t relocation);
/* Notes where the loader has put a module's sections: each its distance from `base`, by elf_module_layout(). */
void symtab_set_layout(struct symtab *symtab, const struct elf_file *module, const uint64_t *layout, uint64_t base);
/* Notes the jitdump that the symbols are from: its addresses are offsets in it. */
struct jitdump;
void symtab_set_jitdump(struct symtab *symtab, const struct jitdump *dump);
/* Notes what the recording carries of the file that the symbols are from. */
struct carried_file;
void symtab_set_carried(struct symtab *symtab, const struct carried_file *file, bool demangle);
/* The name of symbol `index` as it is in the file, freed by the caller. Thread-safe. */
char *symtab_raw_name(const struct symtab *symtab, size_t index);
/* The virtual address in the file, which its debug information and disassembly speak of; `dso_addr` itself where nothing else is known. */
uint64_t symtab_vaddr(const struct symtab *symtab, uint64_t dso_addr);
struct code_function;
/* The functions at an address that `symbol` covers, innermost first, by debug information of the file the symbols are from; 0 = none.
 * symbol/dwarf/functions.h. Thread-safe. */
size_t symtab_functions(const struct symtab *symtab, uint64_t dso_addr, const struct symbol *symbol, const struct code_function **ret);

/* The symbol that covers `addr`, or NULL. Thread-safe. */
const struct symbol *symtab_find(const struct symtab *symtab, uint64_t addr);
/* The same, and the addresses around it for which that is the answer, too: from *ret_start up to, but not including, *ret_end. */
const struct symbol *symtab_find_around(const struct symtab *symtab, uint64_t addr, uint64_t *ret_start, uint64_t *ret_end);
enum { SYMTAB_MANY = 32 };
/* The same for up to SYMTAB_MANY addresses, whose waits for memory overlap. Thread-safe. */
void symtab_find_many(const struct symtab *symtab, const uint64_t *addrs, size_t count, const struct symbol **ret);
/* Symbol `index`, NULL where there are no more. Thread-safe. */
const struct symbol *symtab_at(const struct symtab *symtab, size_t index);
/* Where the first symbol begins and the last one ends; false without symbols. */
bool symtab_bounds(const struct symtab *symtab, uint64_t *ret_start, uint64_t *ret_end);
/* By name, demangled; NULL when there is none. Thread-safe; builds nothing, walks the table. */
const struct symbol *symtab_by_name(const struct symtab *symtab, const char *name);
/* About how many bytes it takes. */
size_t symtab_bytes(const struct symtab *symtab);
void symtab_destroy(struct symtab *symtab);

/* Putting one together. Names may point anywhere: symtab_build() copies those that stay, but for names in `file`. */
struct symbol_builder {
	VEC(struct symbol) symbols;
	struct arena names;   /* of names that are in no file */
	char *text;	      /* allocated, of names as well */
	struct mapping *file; /* the caller's, or NULL; the table takes it, and leaves an empty one, if that has many names */
	bool sparing;	      /* what was read of the file leaves our memory again */
	bool demangle;
};

static inline void symbol_builder_add(struct symbol_builder *builder, uint64_t start, uint64_t size, uint8_t binding, uint8_t type,
				      const char *name)
{
	uint64_t end = size > UINT64_MAX - start ? UINT64_MAX : start + size;
	vec_push(&builder->symbols, (struct symbol){.start = start, .end = end, .name = name, .binding = binding, .type = type});
}

void symbol_builder_deinit(struct symbol_builder *builder);
/* Sorts by address (stable), gives symbols without a size the space up to the next one, and leaves one symbol for each address. Call it
 * after each table of names that was added: the kernel's perf does so, and sizes depend on it. `kallsyms`: `index` says which module a
 * symbol is of, and the last symbol of each ends with its page, not with the next one's start. */
void symbol_builder_settle(struct symbol_builder *builder, bool kallsyms);
/* Where a symbol without a size ends that is the last one: with the page behind the one that `address` is in, or begins. */
uint64_t symbol_stretched_end(uint64_t address);
/* The finished table; the builder is empty afterwards. */
struct symtab *symtab_build(struct symbol_builder *builder, int source, const char *path);

/* Putting one together of symbols that come in the order of their addresses: it takes no more memory than the table, with packed names. */
struct symtab_writer;
struct symtab_writer *symtab_writer_create(void);
/* Copies the name. False: it isn't behind the one before, or too far from the first. */
bool symtab_writer_add(struct symtab_writer *writer, const struct symbol *symbol);
/* The finished table, each symbol moved by `delta`. The writer is gone. */
struct symtab *symtab_writer_finish(struct symtab_writer *writer, uint64_t delta, int source, const char *path);
void symtab_writer_destroy(struct symtab_writer *writer);

/* Which of two symbols of the same address is the one to show: true for `a`. What counts, in this order: has a size, has a type, not weak,
 * global, fewer leading underscores, longer name. */
bool symbol_preferred(const struct symbol *a, const struct symbol *b);
