/* Functions and lines at addresses. Places are points on the line of a file's virtual addresses: what is known from there on.
 *
 *	sampled function   ├── instruction ── instruction ─┤        each begins a point, and the end of the last one
 *	address alone          ├┤                                   a point, and a weak one behind it, which any other replaces */
#include "analysis/carry/carry_internal.h"

#include "base/mem.h"
#include "base/search.h"
#include "symbol/source_file.h"

#include <stdlib.h>

/* An answer is known by its functions' interned names and files. */
static uint32_t answer_of(struct carry *carry, struct carry_file *file, const struct code_function *functions, size_t count)
{
	struct carried_function *list = arena_zalloc(&carry->arena, count * sizeof(*list));
	uint64_t key = count;
	for (size_t i = 0; i < count; i++) {
		const struct symbol *symbol = functions[i].symbol;
		list[i].name = symbol && symbol->inlined ? intern_string(&carry->texts, symbol->name) : NULL;
		list[i].file = functions[i].file ? intern_string(&carry->texts, functions[i].file) : NULL;
		list[i].line = functions[i].line;
		key = hash_combine(hash_combine(hash_combine(key, (uintptr_t)list[i].name), (uintptr_t)list[i].file), list[i].line);
	}
	uint64_t *number = map64_insert(&file->answer_index, key, NULL);
	if (!*number) {
		vec_push(&file->answers, (struct carried_answer){list, count});
		*number = file->answers.len;
	}
	return (uint32_t)*number;
}

uint32_t carry_answer(struct carry *carry, struct carry_file *file, uint64_t dso_addr, const struct symbol *symbol)
{
	const struct code_function *functions;
	size_t count = symtab_functions(file->symtab, dso_addr, symbol, &functions);
	return count ? answer_of(carry, file, functions, count) : 0;
}

void carry_place(struct carry *carry, struct carry_file *file, uint64_t dso_addr, const struct symbol *symbol)
{
	uint32_t answer = carry_answer(carry, file, dso_addr, symbol);
	uint64_t vaddr = symtab_vaddr(file->symtab, dso_addr);
	if (!answer)
		return;
	vec_push(&file->points, (struct carry_point){vaddr, answer, false});
	vec_push(&file->points, (struct carry_point){vaddr + 1, 0, true});
	for (size_t i = 0; i < file->answers.data[answer - 1].count; i++) {
		const struct carried_function *function = &file->answers.data[answer - 1].functions[i];
		if (function->file)
			carry_source_note(carry, function->file, function->line);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct carry_point *x = a, *y = b;
	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return x->weak - y->weak;
}

/* Inside of code all is known. */
static bool is_in_code(const struct carry_file *file, uint64_t vaddr)
{
	size_t behind = partition_point(i, file->codes.len, symtab_vaddr(file->symtab, file->codes.data[i].dso_addr) <= vaddr);
	if (!behind)
		return false;
	const struct carried_code *code = &file->codes.data[behind - 1];
	return vaddr - symtab_vaddr(file->symtab, code->dso_addr) < code->size;
}

void carry_places_settle(struct carry *carry, struct carry_file *file, struct carried_file *ret)
{
	uint64_t last = 0;
	uint32_t answer = 0;
	if (file->points.len)
		qsort(file->points.data, file->points.len, sizeof(*file->points.data), by_address);
	ret->places = arena_alloc(&carry->arena, file->points.len * sizeof(*ret->places));
	for (size_t i = 0; i < file->points.len; i++) {
		const struct carry_point *point = &file->points.data[i];
		if ((i && point->vaddr == last) || (point->weak && is_in_code(file, point->vaddr)))
			continue;
		last = point->vaddr;
		if (point->answer == answer)
			continue;
		answer = point->answer;
		ret->places[ret->place_count++] = (struct carried_place){point->vaddr, answer};
	}
	ret->answers = file->answers.data;
	ret->answer_count = file->answers.len;
}

/* ---- source text ---- */

/* So many lines above a line are shown with it, or looked at to see where a function begins. */
enum { CONTEXT_LINES = 5 };

/* About what a line takes. */
enum { LINE_BYTES = 32 };

void carry_source_note(struct carry *carry, const char *path, uint32_t line)
{
	uint64_t *number = map64_insert(&carry->source_index, (uintptr_t)path, NULL);
	if (!*number) {
		vec_push(&carry->sources, (struct carry_source){.path = path});
		*number = carry->sources.len;
	}
	struct carry_source *source = &carry->sources.data[*number - 1];
	for (uint32_t i = line > CONTEXT_LINES ? line - CONTEXT_LINES : 1; i <= line && carry->room >= LINE_BYTES; i++) {
		bool fresh;
		map64_insert(&source->lines, i, &fresh);
		carry->room -= fresh ? LINE_BYTES : 0;
	}
}

static int by_number(const void *a, const void *b)
{
	const struct carried_line *x = a, *y = b;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void settle_source(struct carry *carry, struct source_files *files, const struct carry_source *source, struct carried_source *ret)
{
	*ret = (struct carried_source){.path = source->path};
	ret->lines = arena_alloc(&carry->arena, source->lines.count * sizeof(*ret->lines));
	map64_each (slot, &source->lines) {
		const char *text;
		size_t size;
		if (!source_line(files, source->path, (uint32_t)slot->key, &text, &size))
			continue;
		const char *copy = arena_strndup(&carry->arena, text, size);
		ret->lines[ret->line_count++] = (struct carried_line){(uint32_t)slot->key, copy};
	}
	if (ret->line_count)
		qsort(ret->lines, ret->line_count, sizeof(*ret->lines), by_number);
}

void carry_sources_settle(struct carry *carry, struct carried *ret)
{
	const struct symbol_options *symbols = resolver_options(carry->resolver);
	const struct source_options options = {.symfs = symbols->symfs, .carried = symbols->carried};
	struct source_files *files = source_files_create(&options);
	ret->sources = arena_alloc(&carry->arena, carry->sources.len * sizeof(*ret->sources));
	for (size_t i = 0; i < carry->sources.len; i++) {
		settle_source(carry, files, &carry->sources.data[i], &ret->sources[ret->source_count]);
		ret->source_count += ret->sources[ret->source_count].line_count != 0;
	}
	source_files_destroy(files);
}
