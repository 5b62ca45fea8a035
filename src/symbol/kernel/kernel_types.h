/* Parameters of the kernel's functions and their types, as the running kernel itself tells them (BTF, /sys/kernel/btf/vmlinux): no debug
 * files are needed. Values are known where a function begins: parameters are in registers then. */
#pragma once

#include "symbol/dwarf/debug_program.h"

struct kernel_types;

/* NULL when the kernel doesn't tell them. */
struct kernel_types *kernel_types_open(const char *path);
void kernel_types_close(struct kernel_types *types);

/* As debug_program_fetch(), for the beginning of a function. */
struct error *kernel_types_fetch(struct kernel_types *types, const char *function, const struct debug_fetch_query *query,
				 struct strbuf *out);
/* Its parameters; none when it isn't known. */
void kernel_types_parameters(struct kernel_types *types, const char *function, struct debug_variables *ret);
