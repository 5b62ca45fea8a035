/* Symbols of generated code: perf-PID.map files, found by pid, and jitdumps. */
#include "symbol/jit.h"

#include "base/cleanup.h"
#include "base/files/process_file.h"
#include "base/text.h"
#include "model/jitdump.h"
#include "symbol/perf_map.h"

#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MAP_SIZE_LIMIT = 1 << 30 };

/* The pid in "/tmp/perf-PID.map", or 0. */
static uint32_t pid_in_name(const char *name)
{
	unsigned int pid;
	int end = 0;
	if (sscanf(name, "/tmp/perf-%u.map%n", &pid, &end) != 1 || !end || name[end])
		return 0;
	return pid;
}

bool jit_dso(const struct dso *dso)
{
	return dso->kind == DSO_ANON || pid_in_name(dso->name);
}

/* Its number in the innermost pid namespace: the run-time compiler names the file by that. */
static uint32_t inner_pid(const char *proc, uint32_t pid)
{
	char path[64], line[256];
	snprintf(path, sizeof(path), "%s/%u/status", proc, pid);
	cleanup_fclose FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (!str_starts_with(line, "NStgid:"))
			continue;
		char *last = line + strlen(line);
		while (last > line && isspace((unsigned char)last[-1]))
			*--last = '\0';
		while (last > line && isdigit((unsigned char)last[-1]))
			last--;
		return (uint32_t)strtoul(last, NULL, 10);
	}
	return pid;
}

/* Reads a trusted file; NULL when there is none. */
static char *read_map(const char *root, const char *name, const struct symbol_options *options, size_t *ret_size, bool *ret_forbidden)
{
	struct stat status;
	cleanup_close int fd = process_file_open(root, name, options->force, ret_forbidden);
	if (fd < 0 || fstat(fd, &status) || status.st_size > MAP_SIZE_LIMIT)
		return NULL;
	size_t size = 0;
	char *text = mem_alloc((size_t)status.st_size + 1);
	for (ssize_t n; size < (size_t)status.st_size && (n = read(fd, text + size, (size_t)status.st_size - size)) > 0;)
		size += (size_t)n;
	text[size] = '\0';
	*ret_size = size;
	return text;
}

struct symtab *jit_load(const struct symbol_options *options, const struct dso *dso)
{
	const char *proc = options->proc ? options->proc : "/proc";
	const char *symfs = options->symfs ? options->symfs : "";
	uint32_t pid = pid_in_name(dso->name);
	struct symbol_builder builder = {0};
	bool forbidden = false;
	size_t size = 0;
	char root[PROCESS_ROOT_SIZE] = "";
	cleanup_free char *text = NULL, *name = NULL;
	if (!pid)
		pid = dso->pid;
	if (dso->guest_pid) {
		cleanup_free char *guest = mem_printf("%s/%u", options->guest_mount ? options->guest_mount : "", dso->guest_pid);
		name = mem_printf("/tmp/perf-%u.map", pid);
		text = pid && options->guest_mount ? read_map(guest, name, options, &size, &forbidden) : NULL;
		pid = 0;
	} else if (pid && options->same_machine && !options->symfs) {
		process_any_root(proc, pid, root);
		name = mem_printf("/tmp/perf-%u.map", inner_pid(proc, pid));
		text = read_map(root, name, options, &size, &forbidden);
	}
	if (pid && !text && !forbidden) {
		*root = '\0';
		free(name);
		name = mem_printf("%s/tmp/perf-%u.map", symfs, pid);
		text = read_map("", name, options, &size, &forbidden);
	}
	cleanup_free char *path = mem_printf("%s%s", root, name ? name : "");
	if (text)
		perf_map_parse(text, size, &builder);
	enum symbol_source source = text ? SYMBOLS_FULL : forbidden ? SYMBOLS_FORBIDDEN : SYMBOLS_NO_JIT_MAP;
	return symtab_build(&builder, source, text ? path : NULL);
}

struct symtab *jit_load_dump(const struct dso *dso)
{
	const struct jitdump *dump = dso->jitdump;
	struct symbol_builder builder = {0};
	for (size_t i = 0; i < dump->codes.len; i++) {
		const struct jitdump_code *code = &dump->codes.data[i];
		symbol_builder_add(&builder, code->offset, code->size, STB_GLOBAL, STT_FUNC, code->name);
	}
	symbol_builder_settle(&builder, false);
	struct symtab *symtab = symtab_build(&builder, SYMBOLS_FULL, dump->path);
	symtab_set_jitdump(symtab, dump);
	return symtab;
}
