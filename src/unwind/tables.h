/* What the unwinder keeps for each file: its call frame information. */
#pragma once

#include "model/jitdump.h"
#include "symbol/debugfile.h"
#include "symbol/resolve.h"
#include "unwind/goroutines.h"
#include "unwind/packed.h"

/* In the order in which they are asked. */
enum unwind_section {
	UNWIND_EH_FRAME,
	UNWIND_UNMOVED, /* .bolt.org.eh_frame: in programs that BOLT has laid out anew, of functions that have stayed where they were */
	UNWIND_DEBUG_FRAME,
	UNWIND_SECTIONS,
};

struct unwind_tables {
	struct elf_file runtime;   /* the mapped file; of one that the recording carries, its sections alone */
	bool is_carried;	   /* … and its offsets lead nowhere */
	struct symbol_files files; /* its debug file, for .debug_frame */
	void *inflated;		   /* .debug_frame that isn't in a file as it is */
	struct goroutine_switch switches[GOROUTINE_SWITCHES];
	size_t switch_count;
	struct cfi_section sections[UNWIND_SECTIONS]; /* count 0 = none */
	const struct jitdump *dump;		      /* of generated code, or NULL */
	struct cfi_section *codes;		      /* for each piece of its code */
};

/* For resolver_attachment(). Never NULL: a file that is not there has empty tables. */
void *unwind_tables_make(const struct symbol_options *options, const struct dso *dso);
void unwind_tables_destroy(void *attachment);
const char *unwind_section_name(enum unwind_section section);

/* Whether a section's code is known by its form where it has no rules: linkage stubs, and what calls constructors. */
bool unwind_section_is_known(const struct elf_section *section);

/* The virtual address in the file of a dso address (file offset); false when no segment covers it. Of generated code the dso address
 * itself. */
bool unwind_tables_vaddr(const struct unwind_tables *tables, uint64_t dso_addr, uint64_t *ret);
/* The rules for a virtual address. */
bool unwind_tables_row(const struct unwind_tables *tables, uint64_t vaddr, struct cfi_row *ret);
struct packed_row unwind_tables_packed(const struct unwind_tables *tables, uint64_t vaddr);
/* Those of the whole function there; NULL = none. */
const struct packed_row *unwind_tables_function(const struct unwind_tables *tables, uint64_t vaddr, size_t *ret_count);
