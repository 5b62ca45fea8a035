/* Names of values, from the compiled print format: its steps are searched for sources that turn a number into names. */
#include "event/tracepoint/print_values.h"

#include "base/vec.h"
#include "event/tracepoint/tracepoint_internal.h"
#include "event/tracepoint/tracepoint_program.h"

struct visitor {
	const struct tracepoint *tracepoint;
	void (*visit)(void *context, const struct print_values *values);
	void *context;
};

/* The first field in an expression, NULL = none. */
static const struct tracepoint_field *field_of(const struct tracepoint *tracepoint, const struct print_node *node)
{
	if (!node)
		return NULL;
	if (node->kind == NODE_FIELD) {
		for (size_t i = 0; i < tracepoint->field_count; i++)
			if (tracepoint->fields[i].offset == node->offset)
				return &tracepoint->fields[i];
		return NULL;
	}
	const struct tracepoint_field *field = field_of(tracepoint, node->left);
	if (!field)
		field = field_of(tracepoint, node->right);
	return field ? field : field_of(tracepoint, node->third);
}

static void visit_names(const struct visitor *visitor, const struct text_source *source)
{
	const struct tracepoint_field *field = field_of(visitor->tracepoint, source->value);
	VEC(struct print_value) values = {0};
	if (!field)
		return;
	for (size_t i = 0; i < source->name_count; i++)
		if (source->names[i].value != -1)
			vec_push(&values, (struct print_value){(uint64_t)source->names[i].value, source->names[i].text});
	const char *delimiter = source->kind == TEXT_SYMBOL ? NULL : source->constant ? source->constant : "";
	const struct print_values found = {field->name, delimiter, values.data, values.len};
	visitor->visit(visitor->context, &found);
	vec_deinit(&values);
}

static void visit_source(const struct visitor *visitor, const struct text_source *source)
{
	if (!source)
		return;
	if (source->kind == TEXT_FLAGS || source->kind == TEXT_SYMBOL)
		visit_names(visitor, source);
	if (source->kind == TEXT_CHOICE) {
		visit_source(visitor, source->first);
		visit_source(visitor, source->second);
	}
}

void print_values_visit(const struct tracepoint *tracepoint, void (*visit)(void *context, const struct print_values *values), void *context)
{
	const struct visitor visitor = {tracepoint, visit, context};
	const struct tracepoint_program *program = tracepoint_program_of(tracepoint);
	for (size_t i = 0; i < program->count; i++)
		visit_source(&visitor, program->steps[i].source);
}
