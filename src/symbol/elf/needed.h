/* Which files a program is going to map before it begins to run: itself, its interpreter, the libraries that it needs and theirs, where the
 * dynamic linker is going to find them. What is only opened while it runs (dlopen()) nobody can foresee. */
#pragma once

#include "symbol/elf/elf.h"

/* Called once for each file; `elf` is valid until it returns. */
typedef void (*needed_visitor)(void *context, const char *path, const struct elf_file *elf);
/* `program` as execvp() takes it: a path, or a name to be looked for. Of a script its interpreter is the program. Only of 64-bit ones.
 * No further libraries are looked for when this process has used `until_ns` of CPU time: files may name as many as they like. */
void needed_visit(const char *program, uint64_t until_ns, needed_visitor visit, void *context);

/* The path of a library in the dynamic linker's cache (/etc/ld.so.cache, whose bytes these are): of those with the name number `index`,
 * counted from 0; NULL: there are no more. */
const char *needed_in_cache(const uint8_t *cache, size_t size, const char *name, unsigned int index);
