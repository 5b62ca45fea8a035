/* __print_flags(), __get_str() and the other helpers, as include/trace/stages/stage3_trace_output.h of the kernel defines them. */
#include "event/tracepoint/print_helpers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Enumerators that formats name without their number. */
static int64_t enumerator_value(const char *name)
{
	static const char *const softirqs[] = {"HI_SOFTIRQ",	   "TIMER_SOFTIRQ",   "NET_TX_SOFTIRQ", "NET_RX_SOFTIRQ",  "BLOCK_SOFTIRQ",
					       "IRQ_POLL_SOFTIRQ", "TASKLET_SOFTIRQ", "SCHED_SOFTIRQ",	"HRTIMER_SOFTIRQ", "RCU_SOFTIRQ"};

	for (size_t i = 0; i < sizeof(softirqs) / sizeof(softirqs[0]); i++)
		if (!strcmp(softirqs[i], name))
			return (int64_t)i;
	return !strcmp(name, "HRTIMER_NORESTART") ? 0 : !strcmp(name, "HRTIMER_RESTART") ? 1 : -1;
}

/* VALUE, "TEXT" } behind a '{'; the last one of a list may have 0 instead of a text. */
static bool parse_flag_name(struct format_parser *parser, struct flag_name *ret)
{
	struct operand value, text;

	if (!format_parse_operand(parser, &value) || !value.number || !format_accept(parser, ",") || !format_parse_operand(parser, &text) ||
	    !text.text)
		return false;
	ret->value = value.name ? enumerator_value(value.name) : (int64_t)tracepoint_constant(value.number);
	if (ret->value < 0)
		ret->value = -1;
	ret->text = text.text->kind == TEXT_CONSTANT ? text.text->constant : "0";
	return format_accept(parser, "}");
}

/* …, { VALUE, "TEXT" }, { }, … up to ')' */
static bool parse_flag_names(struct format_parser *parser, struct text_source *source)
{
	VEC(struct flag_name) names = {0};
	bool understood = true;

	while (understood && format_accept(parser, ",")) {
		struct flag_name name;
		if (!format_accept(parser, "{"))
			understood = false;
		else if (!format_accept(parser, "}") && (understood = parse_flag_name(parser, &name)))
			vec_push(&names, name);
	}
	source->names = arena_copy(parser->arena, names.data, names.len * sizeof(*names.data));
	source->name_count = names.len;
	vec_deinit(&names);
	return understood;
}

static bool parse_flags(struct format_parser *parser, enum text_kind kind, struct operand *ret)
{
	struct text_source *source = format_text(parser, kind);
	struct operand value;

	if (!format_parse_operand(parser, &value) || !value.number)
		return false;
	source->value = value.number;
	source->constant = "";
	if (kind == TEXT_FLAGS && (!format_accept(parser, ",") || !(source->constant = format_parse_text(parser))))
		return false;
	ret->text = source;
	ret->number = format_value(parser, 0);
	return parse_flag_names(parser, source);
}

/* The bytes that __print_hex() and __print_array() print. */
static bool set_bytes(struct text_source *source, const struct operand *array)
{
	if (!array->field)
		return false;
	source->dynamic = array->dynamic;
	source->relative = array->field->flags & TRACEPOINT_FIELD_RELATIVE;
	source->offset = array->field->offset;
	source->size = array->field->size;
	return true;
}

static bool parse_bytes(struct format_parser *parser, enum text_kind kind, const char *separator, struct operand *ret)
{
	struct text_source *source = format_text(parser, kind);
	struct operand array, count, element = {0};

	if (!format_parse_operand(parser, &array) || !set_bytes(source, &array) || !format_accept(parser, ",") ||
	    !format_parse_operand(parser, &count) || !count.number)
		return false;
	if (kind == TEXT_NUMBERS && (!format_accept(parser, ",") || !format_parse_operand(parser, &element) || !element.number))
		return false;
	source->constant = separator;
	source->value = count.number;
	source->element = element.number;
	ret->text = source;
	ret->number = format_value(parser, 0);
	return true;
}

static const struct tracepoint_field *parse_field_name(struct format_parser *parser)
{
	char *name = format_parse_name(parser);

	return name ? tracepoint_field(parser->tracepoint, name) : NULL;
}

/* __get_str(FIELD) and its like. */
static bool parse_located(struct format_parser *parser, enum text_kind kind, struct operand *ret)
{
	const struct tracepoint_field *field = parse_field_name(parser);
	struct text_source *source = format_text(parser, kind);

	if (!field)
		return false;
	source->offset = field->offset;
	source->size = field->size;
	source->relative = field->flags & TRACEPOINT_FIELD_RELATIVE;
	*ret = (struct operand){.number = format_value(parser, 0), .text = source};
	return true;
}

static bool parse_dynamic(struct format_parser *parser, struct operand *ret)
{
	const struct tracepoint_field *field = parse_field_name(parser);

	*ret = (struct operand){.field = field, .dynamic = true, .text = format_text(parser, TEXT_NONE)};
	return field;
}

static bool parse_dynamic_length(struct format_parser *parser, struct operand *ret)
{
	const struct tracepoint_field *field = parse_field_name(parser);

	if (!field)
		return false;
	struct print_node *node = format_node(parser, NODE_DYNAMIC_LENGTH);
	node->offset = field->offset;
	node->relative = field->flags & TRACEPOINT_FIELD_RELATIVE;
	*ret = (struct operand){.number = node, .text = format_text(parser, TEXT_NONE)};
	return true;
}

/* __print_dynamic_array(FIELD, SIZE): all numbers of a dynamic array. */
static bool parse_dynamic_numbers(struct format_parser *parser, struct operand *ret)
{
	struct text_source *source = format_text(parser, TEXT_NUMBERS);
	const struct tracepoint_field *field = parse_field_name(parser);
	struct operand element;

	if (!field || !format_accept(parser, ",") || !format_parse_operand(parser, &element) || !element.number)
		return false;
	struct print_node *length = format_node(parser, NODE_DYNAMIC_LENGTH), *count = format_node(parser, NODE_BINARY);
	length->offset = field->offset;
	length->relative = field->flags & TRACEPOINT_FIELD_RELATIVE;
	count->operation = NODE_OPERATION('/', 0);
	count->left = length;
	count->right = element.number;
	source->value = count;
	source->element = element.number;
	ret->text = source;
	ret->number = format_value(parser, 0);
	return set_bytes(source, &(struct operand){.field = field, .dynamic = true});
}

/* __print_ns_to_secs() and __print_ns_without_secs(). */
static bool parse_seconds(struct format_parser *parser, char operation, struct operand *ret)
{
	struct operand value;

	if (!format_parse_operand(parser, &value) || !value.number)
		return false;
	struct print_node *node = format_node(parser, NODE_BINARY);
	node->operation = NODE_OPERATION(operation, 0);
	node->left = value.number;
	node->right = format_value(parser, 1000000000);
	*ret = (struct operand){.number = node, .text = format_text(parser, TEXT_NONE)};
	return true;
}

/* __builtin_expect(VALUE, LIKELY) */
static bool parse_expectation(struct format_parser *parser, struct operand *ret)
{
	struct operand likely;

	return format_parse_operand(parser, ret) && format_accept(parser, ",") && format_parse_operand(parser, &likely);
}

enum helper {
	HELPER_FLAGS,
	HELPER_SYMBOLIC,
	HELPER_HEX,
	HELPER_HEX_STRING,
	HELPER_ARRAY,
	HELPER_DYNAMIC_NUMBERS,
	HELPER_STRING,
	HELPER_BITMASK,
	HELPER_CPUMASK,
	HELPER_DYNAMIC,
	HELPER_DYNAMIC_LENGTH,
	HELPER_SECONDS,
	HELPER_NANOSECONDS,
	HELPER_EXPECTATION,
};

static const struct {
	const char *name;
	enum helper helper;
} helpers[] = {
	{"__print_flags", HELPER_FLAGS},
	{"__print_flags_u64", HELPER_FLAGS},
	{"__print_symbolic", HELPER_SYMBOLIC},
	{"__print_symbolic_u64", HELPER_SYMBOLIC},
	{"__print_hex", HELPER_HEX},
	{"__print_hex_str", HELPER_HEX_STRING},
	{"__print_array", HELPER_ARRAY},
	{"__print_dynamic_array", HELPER_DYNAMIC_NUMBERS},
	{"__get_str", HELPER_STRING},
	{"__get_rel_str", HELPER_STRING},
	{"__get_bitmask", HELPER_BITMASK},
	{"__get_rel_bitmask", HELPER_BITMASK},
	{"__get_cpumask", HELPER_CPUMASK},
	{"__get_rel_cpumask", HELPER_CPUMASK},
	{"__get_dynamic_array", HELPER_DYNAMIC},
	{"__get_rel_dynamic_array", HELPER_DYNAMIC},
	{"__get_sockaddr", HELPER_DYNAMIC},
	{"__get_sockaddr_rel", HELPER_DYNAMIC},
	{"__get_rel_sockaddr", HELPER_DYNAMIC},
	{"__get_dynamic_array_len", HELPER_DYNAMIC_LENGTH},
	{"__get_rel_dynamic_array_len", HELPER_DYNAMIC_LENGTH},
	{"__print_ns_to_secs", HELPER_SECONDS},
	{"__print_ns_without_secs", HELPER_NANOSECONDS},
	{"__builtin_expect", HELPER_EXPECTATION},
};

static bool parse_arguments(struct format_parser *parser, enum helper helper, struct operand *ret)
{
	switch (helper) {
	case HELPER_FLAGS:
		return parse_flags(parser, TEXT_FLAGS, ret);
	case HELPER_SYMBOLIC:
		return parse_flags(parser, TEXT_SYMBOL, ret);
	case HELPER_HEX:
		return parse_bytes(parser, TEXT_HEX, " ", ret);
	case HELPER_HEX_STRING:
		return parse_bytes(parser, TEXT_HEX, "", ret);
	case HELPER_ARRAY:
		return parse_bytes(parser, TEXT_NUMBERS, "", ret);
	case HELPER_DYNAMIC_NUMBERS:
		return parse_dynamic_numbers(parser, ret);
	case HELPER_STRING:
		return parse_located(parser, TEXT_DYNAMIC, ret);
	case HELPER_BITMASK:
		return parse_located(parser, TEXT_BITMASK, ret);
	case HELPER_CPUMASK:
		return parse_located(parser, TEXT_CPUMASK, ret);
	case HELPER_DYNAMIC:
		return parse_dynamic(parser, ret);
	case HELPER_DYNAMIC_LENGTH:
		return parse_dynamic_length(parser, ret);
	case HELPER_SECONDS:
		return parse_seconds(parser, '/', ret);
	case HELPER_NANOSECONDS:
		return parse_seconds(parser, '%', ret);
	case HELPER_EXPECTATION:
		return parse_expectation(parser, ret);
	}
	return false;
}

bool format_parse_helper(struct format_parser *parser, const char *name, struct operand *ret)
{
	*ret = (struct operand){0};
	for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++)
		if (!strcmp(helpers[i].name, name))
			return format_accept(parser, "(") && parse_arguments(parser, helpers[i].helper, ret) && format_accept(parser, ")");
	return false;
}
