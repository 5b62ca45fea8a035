/* What probes are made in: a program or library by its path or its name, or the kernel or one of its modules. */
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "probe/kernel.h"
#include "probe/probe.h"
#include "symbol/elf/elf_symbols.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the path of a program ---- */

static char *in_directory(const char *directory, size_t len, const char *name)
{
	char *path = mem_printf("%.*s/%s", (int)len, directory, name);

	if (len && access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* In a list of directories, separated by one of the characters. */
static char *in_list(const char *list, const char *separators, const char *name)
{
	char *found = NULL;

	while (list && *list && !found) {
		size_t len = strcspn(list, separators);
		found = *list == '/' ? in_directory(list, len, name) : NULL;
		list += len + (list[len] != '\0');
	}
	return found;
}

/* Where the loader looks for libraries. */
static char *find_library(const char *name)
{
	glob_t files;
	char *found = NULL;

	if (glob("/etc/ld.so.conf.d/*.conf", 0, NULL, &files) == 0) {
		for (size_t i = 0; i < files.gl_pathc && !found; i++) {
			cleanup_fclose FILE *file = fopen(files.gl_pathv[i], "re");
			char text[4096];
			size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
			text[len] = '\0';
			found = in_list(text, " \t\n", name);
		}
		globfree(&files);
	}
	return found ? found : in_list("/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib", ":", name);
}

static struct error *find_program(const struct probe_target_options *options, char **ret)
{
	const char *name = options->exec;
	cleanup_free char *found = NULL;
	char path[PATH_MAX];

	if (options->namespace_pid && *name == '/')
		found = mem_printf("/proc/%llu/root%s", (unsigned long long)options->namespace_pid, name);
	else if (options->symfs && *name == '/')
		found = mem_printf("%s%s", options->symfs, name);
	else if (!strchr(name, '/') && access(name, R_OK) != 0 && !(found = in_list(getenv("PATH"), ":", name)))
		found = find_library(name);
	if (access(found ? found : name, R_OK) != 0)
		return error_system(errno, "-x %s", name);
	/* A link of /proc must stay one: its target is in another mount. */
	if (options->namespace_pid)
		*ret = take_pointer(found);
	else if (str_starts_with(name, "/proc/") && strstr(name, "/root/"))
		*ret = mem_strdup(name);
	else if (realpath(found ? found : name, path))
		*ret = mem_strdup(path);
	else
		return error_system(errno, "-x %s", name);
	return *ret ? NULL : error_new_kind(ERROR_USAGE, "--target-ns requires the full path of the program, such as -x /usr/bin/bash");
}

/* ---- opening ---- */

static struct error *open_program(const struct probe_target_options *options, struct probe_target *target)
{
	struct error *error = find_program(options, &target->path);
	struct dso dso = {.kind = DSO_FILE, .name = target->path, .short_name = target->path};
	struct elf_file elf;

	if (error || (error = elf_open(target->path, &elf)))
		return error;
	dso.build_id = elf.build_id;
	elf_close(&elf);
	struct symbol_options plain = target->symbol_options;
	plain.symfs = NULL; /* it is in the path already */
	symbol_files_find(&plain, &dso, &target->files);
	if (!target->files.symbols)
		return error_new("%s has no symbol table, so no names; only 0xADDRESS can be used", target->path);
	target->shown = target->path;
	if (options->symfs && str_starts_with(target->path, options->symfs))
		target->shown += strlen(options->symfs);
	target->debug_path = mem_strdup(target->files.path ? target->files.path : target->path);
	function_names_of_program(&target->files, options->demangle, &target->names);
	target->debug = debug_program_open(target->debug_path, target->path, false);
	return NULL;
}

static bool is_program(const struct probe_target_options *options)
{
	return options->exec != NULL;
}

struct error *probe_target_open(const struct probe_target_options *options, struct probe_target *ret)
{
	*ret = (struct probe_target){.kernel = !is_program(options)};
	ret->source_options = (struct source_options){.symfs = options->symfs, .prefix = options->source};
	ret->symbol_options = (struct symbol_options){
		.symfs = options->symfs, .proc = "/proc", .vmlinux = options->vmlinux, .demangle = options->demangle, .same_machine = true};
	ret->sources = source_files_create(&ret->source_options);
	struct error *error = ret->kernel ? probe_kernel_open(options, ret) : open_program(options, ret);
	if (error)
		probe_target_close(ret);
	return error;
}

void probe_target_close(struct probe_target *target)
{
	probe_kernel_close(target);
	debug_program_close(target->debug);
	function_names_deinit(&target->names);
	symbol_files_close(&target->files);
	source_files_destroy(target->sources);
	free(target->debug_path);
	free(target->path);
	*target = (struct probe_target){0};
}

bool probe_target_offset(const struct probe_target *target, uint64_t address, uint64_t *ret)
{
	const struct elf_segment *segment = target->files.runtime ? elf_segment_of(target->files.runtime, address) : NULL;

	if (!segment)
		return false;
	*ret = address - segment->vaddr + segment->offset;
	return true;
}

/* The name of the file as far as it consists of letters, digits and _. */
char *probe_target_group(const struct probe_target *target)
{
	if (target->kernel)
		return mem_strdup("probe");
	const char *slash = strrchr(target->path, '/'), *name = slash ? slash + 1 : target->path;
	int len = 0;
	while (len < 48 && (isalnum((unsigned char)name[len]) || name[len] == '_'))
		len++;
	return mem_printf("probe_%.*s", len, name);
}
