/* Symbols of the kernel and its modules: vmlinux, .ko files, kallsyms, in the build-id cache or of the running kernel. */
#pragma once

#include "symbol/kernel/kallsyms.h"
#include "symbol/resolve.h"
#include "symbol/symtab.h"

#include <pthread.h>

/* One list of symbols, read once. */
struct kernel_list {
	bool tried;
	struct kallsyms kallsyms; /* text NULL: none was found */
	enum symbol_source why_not;
	char *path;
	uint64_t moved; /* recorded minus listed address of the kernel's text (another boot, KASLR) */
};

/* The kernel's own symbols are the same in each boot, so they can come from a copy that was kept, which is read much faster than the kernel
 * writes /proc/kallsyms; modules' addresses are not. */
struct kernel_symbols {
	pthread_mutex_t lock;
	struct kernel_list kernel, modules;
};

void kernel_symbols_init(struct kernel_symbols *kernel);
void kernel_symbols_deinit(struct kernel_symbols *kernel);

/* The kernel's table. Never NULL. */
struct symtab *kernel_image_load(struct kernel_symbols *kernel, const struct symbol_options *options, const struct machine *machine,
				 const struct dso *dso);
/* A module's table. Never NULL. */
struct symtab *kernel_module_load(struct kernel_symbols *kernel, const struct symbol_options *options, const struct machine *machine,
				  const struct dso *dso);
/* A module's name as the kernel lists it, which has "_" for "-": "nf_nat" of "/lib/modules/…/nf-nat.ko.xz", "[nf_nat]" or itself. Freed
 * by the caller. */
char *kernel_module_name(const char *name);
/* The path of a file with the symbols of the kernel that runs now, known by its build-id; with `debug` of one that is installed and
 * has debug information. Freed by the caller; NULL when there is none. */
char *kernel_image_running(const struct symbol_options *options, bool debug);
/* The address that a symbol of the kernel's image was linked to ("_text"): other places in the image count from there. */
bool kernel_linked_address(const struct elf_file *elf, const char *name, uint64_t *ret);
/* BPF programs and other code that the kernel told of by KSYMBOL records: one symbol each. Never NULL. */
struct symtab *kernel_ksymbol_load(const struct machine *machine, const struct dso *dso);

/* The list that will probably be asked for the symbols of a kernel with that build-id (size 0 = unknown): the copy that was kept, else the
 * running kernel's. Freed by the caller; NULL when the options name other places. */
char *kernel_list_path(const struct symbol_options *options, const struct buildid *id);

/* The folder with the kernel's code as it was when it was recorded (kcore_copy.h): the recording's own or of the same boot in the build-id
 * cache. Freed by the caller; NULL = there is none. */
char *kernel_code_copy(const struct symbol_options *options, const struct machine *machine);

/* Where a module's addresses begin: dso addresses minus this count from its first byte. */
uint64_t kernel_module_base(const struct machine *machine, const struct dso *dso);
/* Is the kernel that runs now the recorded one? *ret_moved is what to add to recorded addresses of its own code for those of now: it
 * differs from 0 after another boot. Modules have other addresses then. */
bool kernel_is_running(const struct symbol_options *options, const struct machine *machine, uint64_t *ret_moved);
