/* Source lines of addresses. Looking one up takes the lock of its file's debug information, so that the texts are kept, by file, address
 * and function. */
#include "analysis/source_lines.h"

#include "base/hash.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/strbuf.h"

#include <stdlib.h>
#include <string.h>

struct source_lines {
	struct resolver *resolver;
	struct intern texts;
	struct map64 lines, files; /* by place: the text */
	bool full_path, own;
};

const struct code_function *source_find(struct resolver *resolver, const struct frame *frame, bool own)
{
	if (frame->function)
		return frame->function;
	const struct code_function *functions;
	size_t count = resolver_functions(resolver, frame, &functions);
	for (size_t i = 0; i < count && own; i++)
		if (functions[i].symbol == frame->symbol)
			return &functions[i];
	return count ? functions : NULL;
}

const char *source_file(const char *path, bool full_path)
{
	const char *slash = full_path ? NULL : strrchr(path, '/');
	return slash ? slash + 1 : path;
}

struct source_lines *source_lines_create(struct resolver *resolver, bool full_path, bool own)
{
	struct source_lines *lines = mem_zalloc(sizeof(*lines));
	lines->resolver = resolver;
	lines->full_path = full_path;
	lines->own = own;
	return lines;
}

void source_lines_destroy(struct source_lines *lines)
{
	if (!lines)
		return;
	intern_deinit(&lines->texts);
	map64_deinit(&lines->lines);
	map64_deinit(&lines->files);
	free(lines);
}

static uint64_t place_address(const struct fold_frame *place)
{
	return place->map ? map_to_dso(place->map, place->ip) : place->ip;
}

/* The kept text's slot: collisions of 64 bits are left to chance. */
static uint64_t *slot_of(struct map64 *texts, const struct fold_frame *place, bool own)
{
	uint64_t where = hash_combine(place->map ? (uintptr_t)place->map->dso : 1, place_address(place));
	uint64_t key = hash_combine(where, (uintptr_t)place->symbol + own), *known = map64_find(texts, key);
	return known ? known : map64_insert(texts, key, NULL);
}

static const struct code_function *find(const struct source_lines *lines, const struct fold_frame *place, bool own)
{
	const struct frame frame = {
		.ip = place->ip, .dso_addr = place_address(place), .map = place->map, .symbol = place->symbol, .cpumode = place->cpumode};
	const struct code_function *function = place->map ? source_find(lines->resolver, &frame, own) : NULL;
	return function && function->file ? function : NULL;
}

static const char *keep(struct source_lines *lines, uint64_t *slot, struct strbuf *text)
{
	const char *kept = intern_bytes(&lines->texts, strbuf_str(text), text->len);
	*slot = (uintptr_t)kept;
	strbuf_deinit(text);
	return kept;
}

/* Inlined functions have lines of their own; so have, in unwound stacks, the callers around them. */
static bool is_own(const struct source_lines *lines, const struct fold_frame *place, bool caller)
{
	return (place->symbol && place->symbol->inlined) || (lines->own && caller);
}

const char *source_lines_line(struct source_lines *lines, const struct fold_frame *place, bool caller)
{
	bool own = is_own(lines, place, caller);
	uint64_t *slot = slot_of(&lines->lines, place, own);
	if (*slot)
		return (const char *)(uintptr_t)*slot;
	const struct code_function *function = find(lines, place, own);
	struct strbuf text = {0};
	if (function) {
		strbuf_printf(&text, "%s:%u", source_file(function->file, lines->full_path), function->line);
	} else if (!place->map) {
		strbuf_add_str(&text, "??:0");
	} else if (place->symbol) {
		strbuf_printf(&text, "%s+%lu", place->symbol->name, place_address(place) - place->symbol->start);
	} else {
		strbuf_printf(&text, "%s[%lx]", source_file(place->map->dso->short_name, false), place_address(place));
	}
	return keep(lines, slot, &text);
}

const char *source_lines_file(struct source_lines *lines, const struct fold_frame *place, bool caller)
{
	bool own = is_own(lines, place, caller);
	uint64_t *slot = slot_of(&lines->files, place, own);
	if (*slot)
		return (const char *)(uintptr_t)*slot;
	const struct code_function *function = find(lines, place, own);
	struct strbuf text = {0};
	if (function)
		strbuf_add_str(&text, source_file(function->file, lines->full_path));
	return keep(lines, slot, &text);
}
