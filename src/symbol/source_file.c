/* Source files: mapped, with an index of where their lines begin. Names come from files that may be hostile: only regular files of
 * a bounded size are opened. */
#include "symbol/source_file.h"

#include "base/cleanup.h"
#include "base/files/mapping.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "symbol/carried/carried.h"

#include <string.h>

enum { SOURCE_SIZE_MAX = 1 << 28 };

struct source_file {
	struct source_file *next; /* of the same hash */
	char *path;
	struct mapping mapping; /* empty when there is no such file */
	VEC(uint32_t) lines;	/* offsets of their beginnings */
};

struct source_files {
	struct source_options options;
	struct map64 files;
};

struct source_files *source_files_create(const struct source_options *options)
{
	struct source_files *files = mem_zalloc(sizeof(*files));
	files->options = *options;
	return files;
}

void source_files_destroy(struct source_files *files)
{
	if (!files)
		return;
	map64_each (slot, &files->files) {
		struct source_file *next;
		for (struct source_file *file = map64_pointer(slot); file; file = next) {
			next = file->next;
			mapping_close(&file->mapping);
			vec_deinit(&file->lines);
			free(file->path);
			free(file);
		}
	}
	map64_deinit(&files->files);
	free(files);
}

static bool open_source(const char *path, struct mapping *ret)
{
	struct error *error = mapping_open(path, ret);
	if (error)
		error_free(error);
	else if (ret->size > SOURCE_SIZE_MAX)
		mapping_close(ret);
	return ret->data;
}

/* The name without its first directories: "/a/b/c.c" without one is "/b/c.c". */
static const char *stripped(const char *path, unsigned int directories)
{
	for (; directories; directories--) {
		const char *slash = strchr(path + 1, '/');
		if (!slash)
			break;
		path = slash;
	}
	return path;
}

static void find_source(const struct source_options *options, const char *path, struct mapping *ret)
{
	bool absolute = path[0] == '/';
	if (options->prefix && absolute) {
		cleanup_free char *moved = mem_printf("%s%s", options->prefix, stripped(path, options->prefix_strip));
		if (open_source(moved, ret))
			return;
	}
	if (options->symfs && absolute) {
		cleanup_free char *below = mem_printf("%s%s", options->symfs, path);
		if (open_source(below, ret))
			return;
	}
	open_source(path, ret);
}

static void index_lines(struct source_file *file)
{
	const uint8_t *data = file->mapping.data, *end = data ? data + file->mapping.size : NULL;
	for (const uint8_t *at = data; at && at < end;) {
		vec_push(&file->lines, (uint32_t)(at - data));
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
}

static struct source_file *get_file(struct source_files *files, const char *path)
{
	uint64_t *slot = map64_insert(&files->files, hash_bytes(path, strlen(path)), NULL);
	struct source_file *first = (struct source_file *)(uintptr_t)*slot;
	for (struct source_file *file = first; file; file = file->next)
		if (!strcmp(file->path, path))
			return file;
	struct source_file *file = mem_zalloc(sizeof(*file));
	file->path = mem_strdup(path);
	file->next = first;
	find_source(&files->options, path, &file->mapping);
	index_lines(file);
	*slot = (uintptr_t)file;
	return file;
}

bool source_line(struct source_files *files, const char *path, uint32_t number, const char **ret_text, size_t *ret_size)
{
	const char *carried = carried_source_line(files->options.carried, path, number);
	if (carried) {
		*ret_text = carried;
		*ret_size = strlen(carried);
		return true;
	}
	const struct source_file *file = get_file(files, path);
	if (!number || number > file->lines.len)
		return false;
	uint32_t begin = file->lines.data[number - 1];
	uint32_t end = number < file->lines.len ? file->lines.data[number] : (uint32_t)file->mapping.size;
	const char *text = (const char *)file->mapping.data + begin;
	while (end > begin && (text[end - begin - 1] == '\n' || text[end - begin - 1] == '\r'))
		end--;
	*ret_text = text;
	*ret_size = end - begin;
	return true;
}
