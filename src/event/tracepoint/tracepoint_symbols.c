/* Names of values (tracepoint_symbols.h), found in the compiled print format. */
#include "event/tracepoint/tracepoint_symbols.h"

#include "base/formats/btf.h"
#include "base/text.h"
#include "event/tracepoint/tracepoint_internal.h"
#include "event/tracepoint/tracepoint_program.h"
#include "kernel/proc.h"

#include <fcntl.h>
#include <string.h>

/* A name for each value of one field, until visit returns false. */
typedef bool (*symbol_visitor)(void *context, const struct flag_name *name);

/* Is the expression nothing but the field, perhaps cast or masked? */
static bool is_field(const struct print_node *node, const struct tracepoint_field *field)
{
	while (node && (node->kind == NODE_MASK || (node->kind == NODE_BINARY && node->right && node->right->kind == NODE_VALUE)))
		node = node->left;
	return node && node->kind == NODE_FIELD && node->offset == field->offset;
}

static bool visit_source(const struct text_source *source, const struct tracepoint_field *field, symbol_visitor visit, void *context)
{
	if (!source)
		return true;
	if (source->kind == TEXT_CHOICE)
		return visit_source(source->first, field, visit, context) && visit_source(source->second, field, visit, context);
	if ((source->kind != TEXT_SYMBOL && source->kind != TEXT_FLAGS) || !is_field(source->value, field))
		return true;
	for (size_t i = 0; i < source->name_count; i++)
		if (source->names[i].value >= 0 && !visit(context, &source->names[i]))
			return false;
	return true;
}

static void visit_symbols(const struct tracepoint *tracepoint, const struct tracepoint_field *field, symbol_visitor visit, void *context)
{
	const struct tracepoint_program *program = tracepoint_program_of(tracepoint);

	for (size_t i = 0; i < program->count; i++)
		if (!visit_source(program->steps[i].source, field, visit, context))
			return;
}

struct search {
	const char *name;
	bool found;
	int64_t value;
};

static bool compare(void *context, const struct flag_name *name)
{
	struct search *search = context;

	search->found = !strcmp(name->text, search->name);
	search->value = name->value;
	return !search->found;
}

static bool find_enumerator(const struct tracepoint_field *field, const char *kernel_types, const char *name, int64_t *ret)
{
	struct strbuf bytes = {0};
	struct btf btf = {0};
	bool found = false;

	if (proc_read_file(AT_FDCWD, kernel_types, &bytes) == 0) {
		btf_init(&btf, bytes.data, bytes.len, false);
		uint32_t type = str_starts_with(field->type, "enum ") ? btf_find(&btf, BTF_ENUM, field->type + 5) : 0;
		found = (type && btf_enumerator(&btf, type, name, ret)) || btf_enumerator(&btf, 0, name, ret);
	}
	btf_deinit(&btf);
	strbuf_deinit(&bytes);
	return found;
}

bool tracepoint_symbol(const struct tracepoint *tracepoint, const struct tracepoint_field *field, const char *kernel_types,
		       const char *name, int64_t *ret)
{
	struct search search = {.name = name};

	visit_symbols(tracepoint, field, compare, &search);
	if (search.found)
		*ret = search.value;
	return search.found || (kernel_types && find_enumerator(field, kernel_types, name, ret));
}

static bool add_name(void *context, const struct flag_name *name)
{
	struct strbuf *out = context;

	if (out->len)
		strbuf_add_char(out, ' ');
	text_add_safe(out, name->text, strlen(name->text));
	return true;
}

void tracepoint_add_symbols(const struct tracepoint *tracepoint, const struct tracepoint_field *field, struct strbuf *out)
{
	visit_symbols(tracepoint, field, add_name, out);
}
