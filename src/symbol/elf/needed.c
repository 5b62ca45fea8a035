/* As ld.so(8) has it, breadth first: RPATH of the object (where it has no RUNPATH), LD_LIBRARY_PATH, RUNPATH, the cache, the usual folders.
 * An object that is for another machine than the program is passed over. What an object's users have in their RPATH is not looked at. */
#include "symbol/elf/needed.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files/mapping.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/vec.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 512, SCRIPTS_MAX = 4, TEXT_MAX = 4096 };

struct needing {
	needed_visitor visit;
	void *context;
	uint64_t until_ns;
	struct mapping cache;
	uint16_t machine;	 /* of the program; 0 = not known yet */
	struct intern texts;	 /* names of libraries, paths */
	VEC(const char *) seen;	 /* names, each once */
	VEC(const char *) paths; /* files to be opened */
};

/* What lies where in an object's dynamic section. */
struct dynamic {
	const char *strings;
	size_t size;
	const char *rpath, *runpath; /* or NULL */
	VEC(const char *) needed;
};

/* ---- the dynamic linker's cache ---- */

/* glibc's elf/cache.c writes: magic and version, count, length of strings, …; and from byte 48 on entries: flags, offsets of name and path
 * in the file, version, hardware. */
const char *needed_in_cache(const uint8_t *cache, size_t size, const char *name, unsigned int index)
{
	static const char magic[] = "glibc-ld.so.cache1.1";
	enum { COUNT = 20, HEAD = 48, ENTRY = 24, NAME = 4, PATH = 8 };

	if (size < HEAD || memcmp(cache, magic, COUNT) != 0)
		return NULL;
	size_t count = mapping_u32(cache + COUNT), length = strlen(name) + 1;
	if (count > (size - HEAD) / ENTRY)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const uint8_t *entry = cache + HEAD + i * ENTRY;
		uint32_t key = mapping_u32(entry + NAME), path = mapping_u32(entry + PATH);
		if (key < size && length <= size - key && !memcmp(cache + key, name, length) && path < size &&
		    memchr(cache + path, '\0', size - path) && !index--)
			return (const char *)cache + path;
	}
	return NULL;
}

/* ---- one object ---- */

static const char *string_at(const struct dynamic *dynamic, uint64_t offset)
{
	uint64_t left = offset < dynamic->size ? dynamic->size - offset : 0;
	bool ends = left && memchr(dynamic->strings + offset, '\0', left < TEXT_MAX ? left : TEXT_MAX);
	return ends ? dynamic->strings + offset : NULL;
}

static bool read_dynamic(const struct elf_file *elf, struct dynamic *ret)
{
	const struct elf_section *section = elf_section(elf, ".dynamic");
	const uint8_t *data = section ? elf_section_data(elf, section) : NULL;

	*ret = (struct dynamic){0};
	if (!data || elf->swap || section->link >= elf->section_count)
		return false;
	const struct elf_section *strings = &elf->sections[section->link];
	ret->strings = (const char *)elf_section_data(elf, strings);
	ret->size = ret->strings ? strings->size : 0;
	for (size_t at = 0; at + sizeof(Elf64_Dyn) <= section->size; at += sizeof(Elf64_Dyn)) {
		uint64_t tag = mapping_u64(data + at);
		const char *text = string_at(ret, mapping_u64(data + at + sizeof(tag)));
		if (tag == DT_NULL || ret->needed.len == FILES_MAX)
			break;
		if (tag == DT_NEEDED && text)
			vec_push(&ret->needed, text);
		else if (tag == DT_RPATH)
			ret->rpath = text;
		else if (tag == DT_RUNPATH)
			ret->runpath = text;
	}
	return true;
}

/* ---- where it is ---- */

/* The first bytes of a regular file: whatever else has such a name is neither waited for nor read. Returns how many, or -1. */
static ssize_t read_beginning(const char *path, void *ret, size_t size)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;

	return fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) ? read(fd, ret, size) : -1;
}

static bool suits(const struct needing *needing, const char *path)
{
	Elf64_Ehdr header;

	return read_beginning(path, &header, sizeof(header)) == (ssize_t)sizeof(header) && !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
	       header.e_ident[EI_CLASS] == ELFCLASS64 && (!needing->machine || header.e_machine == needing->machine);
}

/* Puts the folder of `object` in the place of $ORIGIN. Returns whether the result fits. */
static bool expand(const char *folder, size_t length, const char *object, const char *name, char ret[4096])
{
	static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};
	const char *slash = strrchr(object, '/');
	int origin = slash ? (int)(slash - object) : 0;

	for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
		size_t skip = strlen(origins[i]);
		if (length >= skip && !strncmp(folder, origins[i], skip))
			return snprintf(ret, 4096, "%.*s%.*s/%s", origin, object, (int)(length - skip), folder + skip, name) < 4096;
	}
	return length && snprintf(ret, 4096, "%.*s/%s", (int)length, folder, name) < 4096;
}

/* In folders that are separated by colons. */
static bool find_in(struct needing *needing, const char *folders, const char *object, const char *name, char ret[4096])
{
	for (const char *at = folders; at && *at;) {
		size_t length = strcspn(at, ":;");
		if (expand(at, length, object, name, ret) && suits(needing, ret))
			return true;
		at += length + (at[length] != '\0');
	}
	return false;
}

static bool find_by_cache(struct needing *needing, const char *name, char ret[4096])
{
	const char *path;

	for (unsigned int i = 0; needing->cache.data && (path = needed_in_cache(needing->cache.data, needing->cache.size, name, i)); i++)
		if (snprintf(ret, 4096, "%s", path) < 4096 && suits(needing, ret))
			return true;
	return false;
}

static bool find_library(struct needing *needing, const struct dynamic *dynamic, const char *object, const char *name, char ret[4096])
{
	if (strchr(name, '/'))
		return snprintf(ret, 4096, "%s", name) < 4096 && suits(needing, ret);
	return (!dynamic->runpath && find_in(needing, dynamic->rpath, object, name, ret)) ||
	       find_in(needing, getenv("LD_LIBRARY_PATH"), object, name, ret) || find_in(needing, dynamic->runpath, object, name, ret) ||
	       find_by_cache(needing, name, ret) || find_in(needing, "/lib64:/usr/lib64:/lib:/usr/lib", object, name, ret);
}

/* ---- all of them ---- */

static bool is_seen(struct needing *needing, const char *name)
{
	name = intern_string(&needing->texts, name);
	for (size_t i = 0; i < needing->seen.len; i++)
		if (needing->seen.data[i] == name)
			return true;
	vec_push(&needing->seen, name);
	return false;
}

static void add_path(struct needing *needing, const char *path)
{
	if (needing->paths.len < FILES_MAX)
		vec_push(&needing->paths, intern_string(&needing->texts, path));
}

static void add_interpreter(struct needing *needing, const struct elf_file *elf)
{
	for (uint32_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];
		const char *path = (const char *)elf->data + segment->offset;
		if (segment->type != PT_INTERP || segment->offset > elf->size || segment->filesz > elf->size - segment->offset ||
		    !memchr(path, '\0', segment->filesz))
			continue;
		const char *slash = strrchr(path, '/');
		if (suits(needing, path))
			add_path(needing, path);
		is_seen(needing, slash ? slash + 1 : path); /* libraries need it by its name */
		return;
	}
}

static void add_libraries(struct needing *needing, const struct elf_file *elf, const char *object)
{
	struct dynamic dynamic;
	char path[4096];

	if (!read_dynamic(elf, &dynamic))
		return;
	for (size_t i = 0; i < dynamic.needed.len && clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) < needing->until_ns; i++)
		if (!is_seen(needing, dynamic.needed.data[i]) && find_library(needing, &dynamic, object, dynamic.needed.data[i], path))
			add_path(needing, path);
	vec_deinit(&dynamic.needed);
}

static void add_preloaded(struct needing *needing, const char *object)
{
	const struct dynamic nothing = {0};
	char name[1024], path[4096];

	for (const char *at = getenv("LD_PRELOAD"); at && *at;) {
		size_t length = strcspn(at, " :");
		if (length && length < sizeof(name)) {
			snprintf(name, sizeof(name), "%.*s", (int)length, at);
			if (!is_seen(needing, name) && find_library(needing, &nothing, object, name, path))
				add_path(needing, path);
		}
		at += length + (at[length] != '\0');
	}
}

static void take(struct needing *needing, const char *path)
{
	struct elf_file elf;
	struct error *error = elf_open(path, &elf);

	if (error) {
		error_free(error);
		return;
	}
	if (elf.is_64bit) {
		needing->visit(needing->context, path, &elf);
		if (!needing->machine) {
			needing->machine = elf.machine;
			add_interpreter(needing, &elf);
			add_preloaded(needing, path);
		}
		add_libraries(needing, &elf, path);
	}
	elf_close(&elf);
}

/* ---- the program ---- */

static bool is_program(const char *path)
{
	struct stat status;
	return !access(path, X_OK) && !stat(path, &status) && S_ISREG(status.st_mode);
}

static bool find_program(const char *name, char ret[4096])
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(ret, 4096, "%s", name) < 4096 && is_program(ret);
	for (const char *at = path ? path : "/bin:/usr/bin";; at++) {
		size_t length = strcspn(at, ":");
		if (snprintf(ret, 4096, "%.*s/%s", length ? (int)length : 1, length ? at : ".", name) < 4096 && is_program(ret))
			return true;
		at += length;
		if (!*at)
			return false;
	}
}

/* Whose first line names a program: "#!/bin/sh", or env's way, "#!/usr/bin/env python3". */
static bool read_script(const char *path, char ret[4096])
{
	char line[256];
	const char *words[2] = {NULL};
	ssize_t got = read_beginning(path, line, sizeof(line) - 1);

	if (got < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[got] = '\0';
	line[strcspn(line, "\n")] = '\0';
	char *rest = line + 2;
	for (size_t i = 0; i < 2; i++)
		words[i] = strtok_r(NULL, " \t", &rest);
	const char *slash = words[0] ? strrchr(words[0], '/') : NULL;
	bool is_env = slash && !strcmp(slash + 1, "env") && words[1] && words[1][0] != '-' && !strchr(words[1], '=');
	return words[0] && find_program(is_env ? words[1] : words[0], ret);
}

void needed_visit(const char *program, uint64_t until_ns, needed_visitor visit, void *context)
{
	struct needing needing = {.visit = visit, .context = context, .until_ns = until_ns};
	char path[4096];
	int scripts = 0;

	if (!find_program(program, path))
		return;
	while (read_script(path, path))
		if (++scripts == SCRIPTS_MAX)
			return;
	cleanup_free char *real = realpath(path, NULL); /* $ORIGIN is where it lies, not where a link to it does */
	if (!real || !suits(&needing, real))
		return;
	error_free(mapping_open("/etc/ld.so.cache", &needing.cache));
	add_path(&needing, real);
	for (size_t i = 0; i < needing.paths.len; i++)
		take(&needing, needing.paths.data[i]);
	mapping_close(&needing.cache);
	vec_deinit(&needing.seen);
	vec_deinit(&needing.paths);
	intern_deinit(&needing.texts);
}
