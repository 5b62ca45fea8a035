/* Where the symbols of a file are: in itself, in a separate debug file, in a cache. */
#pragma once

#include "symbol/elf/elf.h"
#include "symbol/resolve.h"

#include <stdbool.h>

/* What was found. All zero is nothing. */
struct symbol_files {
	const struct elf_file *symbols;		  /* has .symtab, or at least .dynsym; NULL: none was found */
	const struct elf_file *runtime;		  /* the file as it was mapped (has .dynsym), else the same as symbols */
	struct elf_file with_symtab, with_dynsym; /* storage of the two; may be one and the same file */
	bool present;				  /* a file of that name was there, right or wrong */
	bool wrong_build;			  /* and its build-id was another */
	bool forbidden;				  /* and we may not read it */
	char *path;				  /* where the symbols come from */
};

/* Looks in the order of the kernel's perf: debug link, build-id cache, /usr/lib/debug by path and by build-id, the file itself, further
 * places, a server of debug files. A file with another build-id than the recorded one is never taken. Recorded names of processes in
 * containers are looked up below /proc/PID/root while the process lives. */
void symbol_files_find(const struct symbol_options *options, const struct dso *dso, struct symbol_files *ret);
/* Asks options->debug_server for the debug file if there is none here. */
void symbol_files_fetch(const struct symbol_options *options, const struct dso *dso);
/* Of ret->symbols: an empty one where its bytes are in no file. */
struct mapping *symbol_files_mapping(struct symbol_files *files);
void symbol_files_close(struct symbol_files *files);

/* The file to read code or unwind tables from (not a debug file): the mapped file itself or its copy in a cache. */
bool runtime_file_open(const struct symbol_options *options, const struct dso *dso, struct elf_file *ret);

/* An entry of the build-id cache: DIR/.build-id/xx/yyyy/FILE. FILE is "elf", "debug", "kallsyms", "vdso", "probes". Freed by the caller. */
char *buildid_cache_path(const char *cache_dir, const struct buildid *id, const char *file);
/* The cache's directory: of the options, else $PERF_BUILDID_DIR, else ~/.debug. Freed by the caller; NULL without a home directory. */
char *buildid_cache_dir(const struct symbol_options *options);
