/* Address → frame: map, file, symbol. Symbol tables load on first use, once, in parallel by dso; afterwards they are immutable. */
#pragma once

#include "base/error.h"
#include "model/machine.h"
#include "symbol/dwarf/functions.h"
#include "symbol/symtab.h"

#include <stdbool.h>
#include <stdint.h>

struct carried;	       /* symbol/carried/carried.h */
struct debug_server;   /* symbol/debug_server.h */
struct kallsyms_ahead; /* symbol/kernel/kallsyms_ahead.h */

struct symbol_options {
	const char *symfs;	       /* prefix of every file looked at, or NULL */
	const char *vmlinux;	       /* or NULL */
	const char *kallsyms;	       /* file to use instead of /proc/kallsyms, or NULL */
	const char *guest_kallsyms;    /* of a guest (kernel/guest_kernel.h), or NULL */
	const char *guest_vmlinux;     /* or NULL */
	const char *guest_mount;       /* … of several, in folders by the numbers of their processes; or NULL */
	const char *proc;	       /* "/proc", for tests another tree */
	const char *kcore_dir;	       /* the kernel's code as the recording brought it (kernel/kcore_copy.h), or NULL */
	const char *buildid_dir;       /* build-id cache, default ~/.debug */
	const struct carried *carried; /* what the recording brought itself, or NULL. Must outlive the resolver */
	bool ignore_vmlinux;
	bool load_modules; /* from files, without kallsyms */
	bool force;	   /* use perf-PID.map files that belong to other users */
	bool demangle;
	bool demangle_kernel;
	bool sparing;			   /* for what runs for days: files that were looked at leave our memory */
	struct debug_server *debug_server; /* asked for debug files that aren't here; NULL = nobody is. Must outlive the resolver */
	struct kallsyms_ahead *ahead;	   /* kernel_list_path()'s list, being read; or NULL. Must outlive the resolver */
	bool same_machine; /* the recording was made by the kernel that runs now (release and build-id agree): /proc/kallsyms may be used */
	/* While it is recorded: a path to what is mapped, whatever is there by its name now; NULL = none is known. To be freed. */
	char *(*mapped_path)(const struct dso *dso);
	/* Files that there are nowhere else, by their build-id: the bytes, to be freed; or NULL. Thread-safe; may be NULL. */
	void *(*find_file)(void *context, const struct buildid *id, size_t *ret_size);
	void *file_context;
};

struct resolver;
/* The strings of `options` must outlive it. It owns the symbol tables that it hangs into the machine's dsos: destroy it before the machine.
 */
struct resolver *resolver_create(struct machine *machine, const struct symbol_options *options);
void resolver_destroy(struct resolver *resolver);

/* After the machine has forgotten (machine_forget()): lets go of the symbols and whatever else is kept for files that nothing has had a map
 * of for a whole epoch (for four where maps wait until somebody asks), neither a process nor a holder: programs that are started again and
 * again, as by a build, are read once. They are read again when they are asked for. Not while other threads resolve. */
void resolver_forget(struct resolver *resolver);
/* The same of all files but the kernel's, which are asked for all the time: where memory is short. About `keep` bytes of symbols stay:
 * first of files that were asked for since the last time, and of these the small ones. Nobody may have kept a symbol. */
void resolver_shed(struct resolver *resolver, size_t keep);

struct frame {
	uint64_t ip;
	uint64_t dso_addr;	     /* map_to_dso(): what symbols and lines are looked up with; = ip without a map */
	const struct map *map;	     /* NULL = not mapped */
	const struct symbol *symbol; /* NULL = no symbol */
	uint8_t cpumode;
	const struct code_function *function; /* which of those at the address, by resolver_functions(); NULL = not looked for */
	bool returns_here; /* `ip` is where a call will return to: what is asked of debug information is the call, a byte before it */
};

/* Resolves one address. Thread-safe. `maps` NULL: nothing is known of it. */
void resolver_frame(struct resolver *resolver, const struct maps *maps, uint8_t cpumode, uint64_t ip, uint64_t time, struct frame *ret);
/* The symbol of a dso address, NULL when there is none. Thread-safe. */
const struct symbol *resolver_symbol(struct resolver *resolver, struct dso *dso, uint64_t dso_addr);
/* The same, and around which addresses that is the answer: symtab_find_around(). */
const struct symbol *resolver_symbol_around(struct resolver *resolver, struct dso *dso, uint64_t dso_addr, uint64_t *ret_start,
					    uint64_t *ret_end);
/* The same for up to SYMTAB_MANY addresses, in less time. Thread-safe. */
void resolver_symbols(struct resolver *resolver, struct dso *dso, const uint64_t *dso_addrs, size_t count, const struct symbol **ret);
/* The same of an absolute address in the kernel or what it has loaded, as they were at the end of the recording. *ret_start: where in the
 * kernel's memory the symbol begins. */
const struct symbol *resolver_kernel_symbol(struct resolver *resolver, uint64_t address, uint64_t *ret_start);
/* All symbols of a dso. Never NULL. Thread-safe. */
const struct symtab *resolver_symtab(struct resolver *resolver, struct dso *dso);
/* The functions at a resolved frame's address by debug information, innermost first: inlined ones, then the one around them. Returns how
 * many, 0 without debug information; without a symbol only the line is told; they live as long as the resolver. Thread-safe. */
size_t resolver_functions(struct resolver *resolver, const struct frame *frame, const struct code_function **ret);
/* Whether that can find something in a dso. Thread-safe. */
bool resolver_has_functions(struct resolver *resolver, struct dso *dso);

const struct symbol_options *resolver_options(const struct resolver *resolver);
const struct machine *resolver_machine(const struct resolver *resolver);
/* What a higher layer keeps for a dso (unwind tables): made by `make` on first use, once; destroyed by `destroy` with the resolver. May be
 * NULL only if `make` returns NULL, which is asked again then. All callers of one resolver must pass the same functions. Thread-safe. */
void *resolver_attachment(struct resolver *resolver, struct dso *dso,
			  void *(*make)(const struct symbol_options *options, const struct dso *dso), void (*destroy)(void *attachment));
/* How many of these were destroyed so far, by resolver_forget() and resolver_shed(): who keeps what points into one looks whether it may
 * still be there. */
uint64_t resolver_let_go(const struct resolver *resolver);

/* Why a file has no (good) symbols, for the hint under a table. */
enum symbol_source {
	SYMBOLS_NOT_LOADED,
	SYMBOLS_FULL,	      /* .symtab, debug file, kallsyms, … */
	SYMBOLS_DYNAMIC_ONLY, /* stripped: only exported names */
	SYMBOLS_NO_FILE,      /* the file is not there */
	SYMBOLS_WRONG_FILE,   /* its build-id differs from the recorded one */
	SYMBOLS_NONE,	      /* the file has none */
	SYMBOLS_FORBIDDEN,    /* kptr_restrict, permission */
	SYMBOLS_NO_JIT_MAP,   /* anonymous memory without perf-PID.map */
};
enum symbol_source resolver_source(struct resolver *resolver, const struct dso *dso);
/* The same in words, for a person: "stripped: only exported names". */
const char *symbol_source_text(enum symbol_source source);
/* The file that the names are from; NULL = none. *ret_carried: the recording brought them, its recorder had them from there. */
const char *resolver_origin(struct resolver *resolver, const struct dso *dso, bool *ret_carried);
