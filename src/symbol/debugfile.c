/* Finding files with symbols: a list of places, tried in order. Each place makes a path from the recorded name and build-id. */
#include "symbol/debugfile.h"

#include "base/cleanup.h"
#include "base/files/process_file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "symbol/debug_server.h"
#include "symbol/elf/elf_symbols.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct search {
	const struct symbol_options *options;
	char *name; /* recorded path */
	struct buildid build_id;
	/* "/proc/PID/root" when the process lives in another mount namespace, where a guest's files are mounted, else "". */
	char root[PATH_MAX];
	bool foreign;	      /* a guest's file, which a file here is only with the same build-id */
	char *link;	      /* of .gnu_debuglink, or NULL */
	char *cache_dir;      /* or NULL */
	char *file_path;      /* of the file itself … */
	struct elf_file file; /* … that was opened for its link and build-id; all zero when it wasn't, or was handed on */
	struct symbol_files *result;
};

char *buildid_cache_dir(const struct symbol_options *options)
{
	const char *given = getenv("PERF_BUILDID_DIR");
	if (options->buildid_dir)
		return mem_strdup(options->buildid_dir);
	if (given && *given)
		return mem_strdup(given);
	return home_cache_directory(NULL);
}

char *buildid_cache_path(const char *cache_dir, const struct buildid *id, const char *file)
{
	char text[41];
	buildid_format(id, text);
	return mem_printf("%s/.build-id/%.2s/%s/%s", cache_dir, text, text + 2, file);
}

/* Older kernel tools made the entry a link to the file itself, without a directory. */
static char *old_cache_path(const char *cache_dir, const struct buildid *id)
{
	char *path = buildid_cache_path(cache_dir, id, "");
	path[strlen(path) - 1] = '\0';
	return path;
}

enum place {
	PLACE_LINK,	   /* .gnu_debuglink's name beside the file */
	PLACE_LINK_DEBUG,  /* and in .debug/ */
	PLACE_LINK_SYSTEM, /* and below /usr/lib/debug */
	PLACE_CACHE,	   /* build-id cache: the file */
	PLACE_CACHE_OLD,
	PLACE_CACHE_VDSO,
	PLACE_CACHE_DEBUG,     /* build-id cache: its debug file */
	PLACE_DEBUG_SUFFIX,    /* /usr/lib/debug/PATH.debug */
	PLACE_DEBUG_PATH,      /* /usr/lib/debug/PATH */
	PLACE_BUILD_ID,	       /* /usr/lib/debug/.build-id/xx/yyyy.debug */
	PLACE_FILE,	       /* itself */
	PLACE_LOCAL_DEBUG,     /* DIR/.debug/NAME */
	PLACE_MERGED_USR,      /* /usr/lib/debug/PATH without its /usr */
	PLACE_DEBUGINFOD,      /* what debuginfod clients fetched earlier */
	PLACE_DEBUGINFOD_FILE, /* the same: copies of files that aren't here */
	PLACES,
};

static char *debuginfod_path(const struct search *search, const char *kind)
{
	char text[41];
	buildid_format(&search->build_id, text);
	const char *cache = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	if (cache && *cache)
		return mem_printf("%s/%s/%s", cache, text, kind);
	if (xdg && *xdg)
		return mem_printf("%s/debuginfod_client/%s/%s", xdg, text, kind);
	return home ? mem_printf("%s/.cache/debuginfod_client/%s/%s", home, text, kind) : NULL;
}

/* Length of the directory part with its slash. */
static int directory_len(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? (int)(slash - path) + 1 : 0;
}

static char *place_by_build_id(const struct search *search, enum place place, const char *prefix)
{
	char text[41];
	if (!search->build_id.size)
		return NULL;
	if (place == PLACE_BUILD_ID) {
		buildid_format(&search->build_id, text);
		return mem_printf("%s/usr/lib/debug/.build-id/%.2s/%s.debug", prefix, text, text + 2);
	}
	if (place == PLACE_DEBUGINFOD || place == PLACE_DEBUGINFOD_FILE)
		return debuginfod_path(search, place == PLACE_DEBUGINFOD ? "debuginfo" : "executable");
	if (!search->cache_dir)
		return NULL;
	if (place == PLACE_CACHE_OLD)
		return old_cache_path(search->cache_dir, &search->build_id);
	return buildid_cache_path(search->cache_dir, &search->build_id,
				  place == PLACE_CACHE	      ? "elf"
				  : place == PLACE_CACHE_VDSO ? "vdso"
							      : "debug");
}

/* As the places are written. */
static char *named_path(const struct search *search, enum place place)
{
	cleanup_free char *prefix = mem_printf("%s%s", search->options->symfs ? search->options->symfs : "", search->root);
	const char *name = search->name, *link = search->link;
	int dir = directory_len(name);
	switch (place) {
	case PLACE_LINK:
		return link ? mem_printf("%s%.*s%s", prefix, dir, name, link) : NULL;
	case PLACE_LINK_DEBUG:
		return link ? mem_printf("%s%.*s.debug/%s", prefix, dir, name, link) : NULL;
	case PLACE_LINK_SYSTEM:
		return link ? mem_printf("%s/usr/lib/debug%.*s%s", prefix, dir, name, link) : NULL;
	case PLACE_DEBUG_SUFFIX:
		return mem_printf("%s/usr/lib/debug%s.debug", prefix, name);
	case PLACE_DEBUG_PATH:
		return mem_printf("%s/usr/lib/debug%s", prefix, name);
	case PLACE_FILE:
		return mem_printf("%s%s", prefix, name);
	case PLACE_LOCAL_DEBUG:
		return mem_printf("%s%.*s.debug/%s", prefix, dir, name, name + dir);
	case PLACE_MERGED_USR:
		return str_starts_with(name, "/usr/") ? mem_printf("%s/usr/lib/debug%s", prefix, name + 4) : NULL;
	default:
		return place_by_build_id(search, place, prefix);
	}
}

/* The path of a place, or NULL when it makes none. What is in another root is looked up as its processes see it. */
static char *place_path(const struct search *search, enum place place)
{
	char *path = named_path(search, place);
	if (!path || !*search->root || search->options->symfs || !str_starts_with(path, search->root))
		return path;
	char *resolved = process_root_path(search->root, path + strlen(search->root), NULL);
	free(path);
	return resolved;
}

/* Opens a candidate; false when it is not there or not the right one, which is noted. */
static bool open_candidate(struct search *search, const char *path, enum place place, struct elf_file *ret)
{
	struct stat status;
	if (stat(path, &status) || !S_ISREG(status.st_mode))
		return false;
	bool itself = place == PLACE_FILE;
	search->result->present |= itself;
	bool have_it = itself && search->file.data && !strcmp(path, search->file_path);
	struct error *error = have_it ? NULL : elf_open(path, ret);
	if (have_it) {
		*ret = search->file;
		search->file = (struct elf_file){0};
	} else if (error) {
		search->result->forbidden |= itself && (error_errno(error) == EACCES || error_errno(error) == EPERM);
		error_free(error);
		return false;
	}
	bool any_will_do = !search->build_id.size && (!search->foreign || *search->root);
	if (any_will_do || (search->build_id.size && buildid_equal(&search->build_id, &ret->build_id)))
		return true;
	search->result->wrong_build |= itself;
	elf_close(ret);
	return false;
}

/* `whole`: it is no debug file, and tells where the file's contents are in memory even without names of its own. */
static void take_candidate(struct symbol_files *result, struct elf_file *elf, const char *path, bool whole)
{
	bool dynsym = whole || elf_has_dynsym(elf);
	if (!result->symbols && elf_has_symtab(elf)) {
		result->with_symtab = *elf;
		result->symbols = &result->with_symtab;
		free(result->path);
		result->path = mem_strdup(path);
		if (dynsym && !result->runtime)
			result->runtime = result->symbols;
	} else if (!result->runtime && dynsym) {
		result->with_dynsym = *elf;
		result->runtime = &result->with_dynsym;
		if (!result->path)
			result->path = mem_strdup(path);
	} else {
		elf_close(elf);
	}
}

static void try_places(struct search *search)
{
	struct symbol_files *result = search->result;
	for (int place = 0; place < PLACES && !(result->symbols && result->runtime); place++) {
		cleanup_free char *path = place_path(search, (enum place)place);
		struct elf_file elf = {0};
		if (path && open_candidate(search, path, (enum place)place, &elf))
			take_candidate(result, &elf, path, place == PLACE_FILE || place == PLACE_DEBUGINFOD_FILE);
	}
}

/* Files only: the kernel's debug information is huge, and its names come from elsewhere. */
static bool may_be_fetched(const struct dso *dso)
{
	return dso->kind == DSO_FILE;
}

/* The path of what a server has, or NULL. */
static char *ask_server(const struct search *search, const struct dso *dso, enum debug_server_file kind)
{
	struct debug_server *server = search->options->debug_server;
	return server && search->build_id.size && may_be_fetched(dso) ? debug_server_fetch(server, kind, &search->build_id, dso->name)
								      : NULL;
}

static void try_server(struct search *search, const struct dso *dso, enum debug_server_file kind)
{
	cleanup_free char *path = ask_server(search, dso, kind);
	struct elf_file elf = {0};
	if (path && open_candidate(search, path, PLACE_DEBUGINFOD, &elf))
		take_candidate(search->result, &elf, path, kind == DEBUG_SERVER_EXECUTABLE);
}

/* Build-id and debug link of the file itself, as far as it is there and not known to be another one. */
static void look_at_file(struct search *search)
{
	struct stat status;
	search->file_path = place_path(search, PLACE_FILE);
	if (!search->file_path || stat(search->file_path, &status) || !S_ISREG(status.st_mode))
		return;
	if (search->foreign && !*search->root && !search->build_id.size)
		return;
	struct error *error = elf_open(search->file_path, &search->file);
	if (error) {
		error_free(error);
		return;
	}
	if (!search->build_id.size)
		search->build_id = search->file.build_id;
	const char *link = elf_debuglink(&search->file);
	if (link && !strchr(link, '/') && buildid_equal(&search->build_id, &search->file.build_id))
		search->link = mem_strdup(link);
}

/* What the kernel says of a process in a chroot begins outside of it: then the file isn't inside. */
static bool is_outside(const struct search *search)
{
	cleanup_free char *inside = place_path(search, PLACE_FILE);
	return (!inside || access(inside, F_OK) != 0) && access(search->name, F_OK) == 0;
}

/* "/usr/bin/x (deleted)": the file was replaced; a new one of the same name is only good with the same build-id. */
static char *plain_name(const struct dso *dso)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(dso->name);
	if (dso->build_id.size && str_ends_with(dso->name, deleted))
		len -= strlen(deleted);
	return mem_strndup(dso->name, len);
}

static void find_root(struct search *search, const struct dso *dso)
{
	const struct symbol_options *options = search->options;
	const char *proc = options->proc ? options->proc : "/proc";
	if (dso->guest_pid && options->guest_mount)
		snprintf(search->root, sizeof(search->root), "%s/%u", options->guest_mount, dso->guest_pid);
	else if (dso->guest_pid || !dso->pid || !options->same_machine || !process_root(proc, dso->pid, search->root) || is_outside(search))
		*search->root = '\0';
}

static void search_init(struct search *search, const struct symbol_options *options, const struct dso *dso, struct symbol_files *result)
{
	*search = (struct search){.options = options, .name = plain_name(dso), .build_id = dso->build_id, .result = result};
	search->cache_dir = buildid_cache_dir(options);
	search->foreign = dso->guest_pid;
	find_root(search, dso);
	look_at_file(search);
}

static void search_deinit(struct search *search)
{
	free(search->name);
	free(search->link);
	free(search->cache_dir);
	free(search->file_path);
	elf_close(&search->file);
}

/* A file that is in no folder. */
static bool try_given(const struct symbol_options *options, const struct dso *dso, struct symbol_files *result)
{
	struct elf_file elf = {0};
	size_t size;
	void *bytes = options->find_file && dso->build_id.size ? options->find_file(options->file_context, &dso->build_id, &size) : NULL;
	if (!bytes)
		return false;
	struct error *error = elf_open_memory(bytes, size, dso->name, &elf);
	if (!error)
		take_candidate(result, &elf, dso->name, true);
	error_free(error);
	return result->symbols;
}

void symbol_files_find(const struct symbol_options *options, const struct dso *dso, struct symbol_files *ret)
{
	struct search search;
	*ret = (struct symbol_files){0};
	if (try_given(options, dso, ret))
		return;
	search_init(&search, options, dso, ret);
	try_places(&search);
	if (search.root[0] && !ret->symbols) { /* debug files of the host serve containers too */
		search.root[0] = '\0';
		try_places(&search);
	}
	if (!ret->symbols)
		try_server(&search, dso, DEBUG_SERVER_DEBUGINFO);
	/* A debug file doesn't tell where the contents of the file were. */
	if (!ret->runtime && !ret->present)
		try_server(&search, dso, DEBUG_SERVER_EXECUTABLE);
	search_deinit(&search);
	if (!ret->symbols)
		ret->symbols = ret->runtime;
	if (!ret->runtime)
		ret->runtime = ret->symbols;
}

void symbol_files_fetch(const struct symbol_options *options, const struct dso *dso)
{
	struct symbol_files files;
	if (!options->debug_server || !may_be_fetched(dso))
		return;
	symbol_files_find(options, dso, &files);
	symbol_files_close(&files);
}

struct mapping *symbol_files_mapping(struct symbol_files *files)
{
	return files->symbols == &files->with_symtab ? &files->with_symtab.mapping : &files->with_dynsym.mapping;
}

void symbol_files_close(struct symbol_files *files)
{
	elf_close(&files->with_symtab);
	elf_close(&files->with_dynsym);
	free(files->path);
	*files = (struct symbol_files){0};
}

bool runtime_file_open(const struct symbol_options *options, const struct dso *dso, struct elf_file *ret)
{
	static const enum place places[] = {PLACE_FILE, PLACE_CACHE, PLACE_CACHE_OLD, PLACE_CACHE_VDSO, PLACE_DEBUGINFOD_FILE};
	struct symbol_files result = {0};
	struct search search;
	cleanup_free char *mapped = options->mapped_path ? options->mapped_path(dso) : NULL;
	search_init(&search, options, dso, &result);
	bool found = mapped && open_candidate(&search, mapped, PLACE_FILE, ret);
	for (int round = 0; round < 2 && !found; round++) {
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !found; i++) {
			cleanup_free char *path = place_path(&search, places[i]);
			found = path && open_candidate(&search, path, places[i], ret);
		}
		search.root[0] = '\0';
	}
	if (!found) {
		cleanup_free char *path = ask_server(&search, dso, DEBUG_SERVER_EXECUTABLE);
		found = path && open_candidate(&search, path, PLACE_DEBUGINFOD_FILE, ret);
	}
	search_deinit(&search);
	return found;
}
