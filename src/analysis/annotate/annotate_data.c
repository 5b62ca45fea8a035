/* Annotate: which member of which type an instruction accesses (symbol/data/data_access.h). */
#include "analysis/annotate/annotate_internal.h"

#include "symbol/data/data_access.h"

/* As the kernel's tool writes it: "struct item +0x8 (next)"; NULL where nothing is known. */
static const char *access_text(const struct data_access *access, struct arena *arena)
{
	struct strbuf text = {0};
	if (access->outcome != DATA_FOUND)
		return NULL;
	strbuf_printf(&text, "%s +%#x", access->type->name, access->offset);
	size_t before = text.len;
	strbuf_add_str(&text, " (");
	data_type_add_path(access->type, access->offset, &text);
	if (text.len == before + 2)
		text.len = before;
	else
		strbuf_add_char(&text, ')');
	const char *copy = arena_strndup(arena, strbuf_str(&text), text.len);
	strbuf_deinit(&text);
	return copy;
}

size_t annotate_add_data_types(const struct annotate *annotate, const struct annotate_function *function, struct annotation *annotation)
{
	struct data_accesses *accesses = data_accesses_create(annotate->private->resolver);
	size_t found = 0;
	annotation->data_types = arena_zalloc(&annotation->arena, (annotation->lines.len + 1) * sizeof(*annotation->data_types));
	for (size_t i = 0; i < annotation->lines.len; i++) {
		const struct annotation_line *line = &annotation->lines.data[i];
		if (line->kind != ANNOTATION_INSTRUCTION)
			continue;
		uint64_t address = function->symbol->start + (line->address - annotation->start);
		const struct data_access *access = data_accesses_at(accesses, function->dso, function->symbol, address);
		/* Of instructions that are executed together it is the first one's. */
		bool own = function->symbol->start + access->address == address;
		annotation->data_types[i] = own ? access_text(access, &annotation->arena) : NULL;
		found += annotation->data_types[i] != NULL;
	}
	data_accesses_destroy(accesses);
	return found;
}
