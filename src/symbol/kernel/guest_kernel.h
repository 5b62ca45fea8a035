/* The kernel of a guest, as its host sees it: the recording has addresses of its own, and nothing of what is there. Copies of the guest's
 * /proc/kallsyms and /proc/modules, or its vmlinux, tell: those of one guest, or of several with the same kernel at the same place; or, of
 * several, the file systems of each (guest_mount). */
#pragma once

#include "base/error.h"
#include "symbol/resolve.h"
#include "symbol/symtab.h"

/* Tells the machine where the guest's kernel and its modules are. `modules`: a copy of /proc/modules, or NULL. Does nothing where
 * `options` name neither symbols nor an image nor file systems of guests. */
struct error *guest_kernel_add(struct machine *machine, const struct symbol_options *options, const char *modules);
/* The table of the kernel or of a module. Never NULL. */
struct symtab *guest_kernel_load(const struct symbol_options *options, const struct dso *dso);
