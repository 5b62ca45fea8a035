/* The file "probes": reading, changing, writing. */
#include "symbol/probe_cache.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Bytes and entries of a hostile file. */
enum { MOST_ENTRIES = 100000, LONGEST_LINE = 65536 };

static void entry_deinit(struct probe_cache_entry *entry)
{
	free(entry->spec);
	free(entry->definitions);
}

void probe_cache_deinit(struct probe_cache *cache)
{
	for (size_t i = 0; i < cache->entries.len; i++)
		entry_deinit(&cache->entries.data[i]);
	vec_deinit(&cache->entries);
	free(cache->path);
	*cache = (struct probe_cache){0};
}

static void add_line(struct probe_cache *cache, const char *line)
{
	struct probe_cache_entry *last = cache->entries.len ? vec_last(&cache->entries) : NULL;
	if (*line == '%' || *line == '#') {
		if (cache->entries.len < MOST_ENTRIES)
			vec_push(&cache->entries, ((struct probe_cache_entry){*line == '%', mem_strdup(line + 1), mem_strdup("")}));
	} else if (last && *line) {
		char *longer = mem_printf("%s%s\n", last->definitions, line);
		free(last->definitions);
		last->definitions = longer;
	}
}

void probe_cache_read(const char *dir, const char *name, const char *id, struct probe_cache *ret)
{
	*ret = (struct probe_cache){.path = mem_printf("%s%s%s/%s/probes", dir, *name == '/' ? "" : "/", name, id)};
	cleanup_fclose FILE *file = fopen(ret->path, "re");
	cleanup_free char *line = NULL;
	size_t room = 0;
	ssize_t length;
	while (file && (length = getline(&line, &room, file)) > 0 && length < LONGEST_LINE) {
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		add_line(ret, line);
	}
}

static bool write_text(const char *path, const struct strbuf *text)
{
	FILE *file = fopen(path, "we");
	bool written = file && fwrite(text->data, 1, text->len, file) == text->len;
	return file && fclose(file) == 0 && written;
}

struct error *probe_cache_write(const struct probe_cache *cache)
{
	struct strbuf text = {0};
	cleanup_free char *partial = mem_printf("%s.%d", cache->path, getpid());
	if (!cache->entries.len)
		return unlink(cache->path) == 0 || errno == ENOENT ? NULL : error_system(errno, "%s", cache->path);
	for (size_t i = 0; i < cache->entries.len; i++) {
		const struct probe_cache_entry *entry = &cache->entries.data[i];
		strbuf_printf(&text, "%c%s\n%s", entry->is_static ? '%' : '#', entry->spec, entry->definitions);
	}
	struct error *error =
		write_text(partial, &text) && rename(partial, cache->path) == 0 ? NULL : error_system(errno, "%s", cache->path);
	if (error)
		unlink(partial);
	strbuf_deinit(&text);
	return error;
}

void probe_cache_put(struct probe_cache *cache, bool is_static, const char *spec, const char *definitions)
{
	struct probe_cache_entry added = {is_static, mem_strdup(spec), mem_strdup(definitions)};
	for (size_t i = 0; i < cache->entries.len; i++) {
		struct probe_cache_entry *entry = &cache->entries.data[i];
		if (entry->is_static != is_static || strcmp(entry->spec, spec) != 0)
			continue;
		entry_deinit(entry);
		*entry = added;
		return;
	}
	vec_push(&cache->entries, added);
}

void probe_cache_remove(struct probe_cache *cache, size_t index)
{
	struct probe_cache_entry *entries = cache->entries.data;
	entry_deinit(&entries[index]);
	memmove(entries + index, entries + index + 1, (cache->entries.len - index - 1) * sizeof(*entries));
	cache->entries.len--;
}

bool probe_cache_matches(const struct probe_cache_entry *entry, const char *pattern)
{
	char kind, group[65], event[65];
	if (str_glob_match(pattern, entry->spec))
		return true;
	if (sscanf(entry->definitions, "%c:%64[^/ ]/%64[^ ]", &kind, group, event) != 3)
		return false;
	cleanup_free char *name = mem_printf("%s:%s", group, event);
	return str_glob_match(pattern, strchr(pattern, ':') ? name : event);
}
