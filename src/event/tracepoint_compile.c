/* From libtraceevent's tree of a print format to a program.
 *
 * The format is C source as the kernel shows it: "prev_comm=%s …", REC->prev_comm, … with helpers like __print_flags(). libtraceevent
 * parses it once; here its tree is turned into steps that need no look-ups of names, no printf and no allocation. For the little that isn't
 * known here (binary printk, addresses of dynamic arrays) libtraceevent prints. The output is meant to be the same, byte for byte; where
 * libtraceevent would read behind the record, nothing is read. */
#include "event/tracepoint_program.h"

#include "event/tracepoint_internal.h"

#include <ctype.h>
#include <event-parse.h>
#include <stdlib.h>
#include <string.h>

/* Nesting of expressions that is still compiled. */
enum { DEPTH_MAX = 64 };

struct compiler {
	struct arena *arena;
	struct tracepoint_formats *formats;
	struct tep_event *event;
	VEC(struct step) steps;
	unsigned int depth;
};

static struct node *new_node(struct compiler *compiler, enum node_kind kind)
{
	struct node *node = arena_zalloc(compiler->arena, sizeof(*node));

	node->kind = kind;
	return node;
}

static struct tep_format_field *find_field(struct compiler *compiler, struct tep_format_field *field, const char *name)
{
	if (!field && name)
		field = tep_find_any_field(compiler->event, name);
	return field && field->offset >= 0 && field->size >= 0 ? field : NULL;
}

static const struct node *compile_number(struct compiler *compiler, const struct tep_print_arg *arg);

/* The bits that a cast to `type` keeps; a pointer to a type when `pointed`. */
static uint64_t cast_mask(const char *type, bool pointed)
{
	size_t len = strlen(type);

	if (pointed)
		len = len > 1 && type[len - 1] == '*' ? len - 2 : 0;
	else if (len && type[len - 1] == '*')
		return UINT64_MAX;
	static const struct {
		const char *name;
		uint64_t mask;
	} casts[] = {
		{"u8", 0xff},	     {"s8", 0xff},	  {"char", 0xff},      {"unsigned char", 0xff},
		{"u16", 0xffff},     {"s16", 0xffff},	  {"short", 0xffff},   {"unsigned short", 0xffff},
		{"u32", 0xffffffff}, {"s32", 0xffffffff}, {"int", 0xffffffff}, {"unsigned int", 0xffffffff},
	};
	for (size_t i = 0; i < sizeof(casts) / sizeof(casts[0]); i++)
		if (strlen(casts[i].name) == len && !memcmp(casts[i].name, type, len))
			return casts[i].mask;
	return UINT64_MAX;
}

static const struct node *mask_node(struct compiler *compiler, const struct node *of, uint64_t mask)
{
	if (!of || mask == UINT64_MAX)
		return of;
	struct node *node = new_node(compiler, NODE_MASK);
	node->left = of;
	node->value = mask;
	return node;
}

/* array[index], with casts around the array. */
static const struct node *compile_element(struct compiler *compiler, const struct tep_print_arg *arg)
{
	const struct tep_print_arg *array = arg->op.left, *cast = NULL;
	struct node *node;

	while (array->type == TEP_PRINT_TYPE) {
		cast = cast ? cast : array;
		array = array->typecast.item;
	}
	if (array->type == TEP_PRINT_DYNAMIC_ARRAY && array->dynarray.field) {
		struct tep_format_field *field = array->dynarray.field;
		node = new_node(compiler, NODE_DYNAMIC_ELEMENT);
		node->offset = (uint32_t)field->offset;
		node->size = field->elementsize ? field->elementsize : compiler->formats->long_size;
		node->relative = field->flags & TEP_FIELD_IS_RELATIVE;
	} else if (array->type == TEP_PRINT_FIELD) {
		struct tep_format_field *field = find_field(compiler, array->field.field, array->field.name);
		if (!field)
			return NULL;
		node = new_node(compiler, NODE_ELEMENT);
		node->offset = (uint32_t)field->offset;
		node->size = field->elementsize;
	} else {
		return NULL;
	}
	node->left = compile_number(compiler, arg->op.right);
	if (!node->left)
		return NULL;
	return cast ? mask_node(compiler, node, cast_mask(cast->typecast.type, true)) : node;
}

static const struct node *compile_binary(struct compiler *compiler, const struct tep_print_arg *arg)
{
	static const char *const known[] = {"!=", "|",	"||", "&", "&&", "<", "<<", "<=", ">",
					    ">>", ">=", "==", "-", "+",	 "/", "%",  "*",  "^"};
	const char *op = arg->op.op;
	bool is_known = false;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		is_known |= !strcmp(known[i], op);
	if (!is_known || !strcmp(op, "^"))
		return NULL;
	struct node *node = new_node(compiler, NODE_BINARY);
	node->operation = NODE_OPERATION(op[0], op[1]);
	/* A sign has nothing on its left: 0 - x. */
	node->left = arg->op.left ? compile_number(compiler, arg->op.left) : NULL;
	node->right = arg->op.right ? compile_number(compiler, arg->op.right) : NULL;
	return node->left && node->right ? node : NULL;
}

static const struct node *compile_operation(struct compiler *compiler, const struct tep_print_arg *arg)
{
	const char *op = arg->op.op;
	struct node *node;

	if (!op || !arg->op.right)
		return NULL;
	if (!strcmp(op, "[") && arg->op.left)
		return compile_element(compiler, arg);
	if (!strcmp(op, "!") || !strcmp(op, "~")) {
		node = new_node(compiler, op[0] == '!' ? NODE_NOT : NODE_INVERT);
		node->left = compile_number(compiler, arg->op.right);
		return node->left ? node : NULL;
	}
	if (strcmp(op, "?"))
		return compile_binary(compiler, arg);
	if (!arg->op.left || arg->op.right->type != TEP_PRINT_OP)
		return NULL;
	node = new_node(compiler, NODE_CHOICE);
	node->left = compile_number(compiler, arg->op.left);
	node->right = compile_number(compiler, arg->op.right->op.left);
	node->third = compile_number(compiler, arg->op.right->op.right);
	return node->left && node->right && node->third ? node : NULL;
}

static const struct node *compile_leaf(struct compiler *compiler, const struct tep_print_arg *arg)
{
	struct tep_format_field *field;
	struct node *node;

	switch (arg->type) {
	case TEP_PRINT_ATOM:
		/* The name of a kernel symbol would be looked up in a table that only old recordings have. */
		if (!isdigit((unsigned char)arg->atom.atom[0]) && strtoull(arg->atom.atom, NULL, 0) == 0 && compiler->formats->kallsyms)
			return NULL;
		node = new_node(compiler, NODE_VALUE);
		node->value = strtoull(arg->atom.atom, NULL, 0);
		return node;
	case TEP_PRINT_FIELD:
		field = find_field(compiler, arg->field.field, arg->field.name);
		if (!field)
			return NULL;
		node = new_node(compiler, NODE_FIELD);
		node->offset = (uint32_t)field->offset;
		node->size = (uint32_t)field->size;
		return node;
	case TEP_PRINT_DYNAMIC_ARRAY_LEN:
		if (!arg->dynarray.field)
			return NULL;
		node = new_node(compiler, NODE_DYNAMIC_LENGTH);
		node->offset = (uint32_t)arg->dynarray.field->offset;
		node->relative = arg->dynarray.field->flags & TEP_FIELD_IS_RELATIVE;
		return node;
	case TEP_PRINT_NULL:
	case TEP_PRINT_FLAGS:
	case TEP_PRINT_SYMBOL:
	case TEP_PRINT_INT_ARRAY:
	case TEP_PRINT_HEX:
	case TEP_PRINT_HEX_STR:
	case TEP_PRINT_STRING:
		return new_node(compiler, NODE_VALUE); /* texts count as 0 */
	default:
		return NULL;
	}
}

/* NULL when the expression isn't one that can be compiled. */
static const struct node *compile_number(struct compiler *compiler, const struct tep_print_arg *arg)
{
	const struct node *node;

	if (!arg || compiler->depth > DEPTH_MAX)
		return NULL;
	compiler->depth++;
	if (arg->type == TEP_PRINT_TYPE)
		node = mask_node(compiler, compile_number(compiler, arg->typecast.item), cast_mask(arg->typecast.type, false));
	else if (arg->type == TEP_PRINT_OP)
		node = compile_operation(compiler, arg);
	else
		node = compile_leaf(compiler, arg);
	compiler->depth--;
	return node;
}

/* Values of flags that formats name without the number. */
static int64_t flag_value(const char *text)
{
	static const char *const softirqs[] = {"HI_SOFTIRQ",	   "TIMER_SOFTIRQ",   "NET_TX_SOFTIRQ", "NET_RX_SOFTIRQ",  "BLOCK_SOFTIRQ",
					       "IRQ_POLL_SOFTIRQ", "TASKLET_SOFTIRQ", "SCHED_SOFTIRQ",	"HRTIMER_SOFTIRQ", "RCU_SOFTIRQ"};

	if (isdigit((unsigned char)text[0]))
		return (int64_t)strtoull(text, NULL, 0);
	for (size_t i = 0; i < sizeof(softirqs) / sizeof(softirqs[0]); i++)
		if (!strcmp(softirqs[i], text))
			return (int64_t)i;
	return !strcmp(text, "HRTIMER_NORESTART") ? 0 : !strcmp(text, "HRTIMER_RESTART") ? 1 : -1;
}

static bool compile_names(struct compiler *compiler, struct text_source *source, const struct tep_print_flag_sym *names)
{
	VEC(struct flag_name) list = {0};

	for (; names; names = names->next) {
		struct flag_name name = {.value = flag_value(names->value), .text = arena_strdup(compiler->arena, names->str)};
		vec_push(&list, name);
	}
	source->names = arena_copy(compiler->arena, list.data, list.len * sizeof(*list.data));
	source->name_count = list.len;
	vec_deinit(&list);
	return source->value;
}

/* Where __print_hex() and __print_array() take their bytes from. */
static bool compile_bytes(struct compiler *compiler, struct text_source *source, const struct tep_print_arg *array)
{
	struct tep_format_field *field;

	if (array->type == TEP_PRINT_DYNAMIC_ARRAY)
		field = find_field(compiler, array->dynarray.field, NULL);
	else if (array->type == TEP_PRINT_FIELD)
		field = find_field(compiler, array->field.field, array->field.name);
	else
		return false;
	if (!field)
		return false;
	source->dynamic = array->type == TEP_PRINT_DYNAMIC_ARRAY;
	source->relative = field->flags & TEP_FIELD_IS_RELATIVE;
	source->offset = (uint32_t)field->offset;
	source->size = (uint32_t)field->size;
	return source->value;
}

static bool compile_located(struct compiler *compiler, struct text_source *source, enum text_kind kind, struct tep_format_field *field,
			    const char *name)
{
	field = find_field(compiler, field, name);
	if (!field)
		return false;
	source->kind = kind;
	source->offset = (uint32_t)field->offset;
	source->size = (uint32_t)field->size;
	source->relative = field->flags & TEP_FIELD_IS_RELATIVE;
	return true;
}

static bool compile_text_field(struct compiler *compiler, struct text_source *source, const struct tep_print_arg *arg)
{
	struct tep_format_field *field = find_field(compiler, arg->field.field, arg->field.name);

	if (!field)
		return false;
	bool pointer = !(field->flags & TEP_FIELD_IS_ARRAY) && (uint32_t)field->size == compiler->formats->long_size;
	return compile_located(compiler, source, pointer ? TEXT_POINTER : TEXT_FIELD, field, NULL);
}

static const struct text_source *compile_text(struct compiler *compiler, const struct tep_print_arg *arg);

static bool compile_text_choice(struct compiler *compiler, struct text_source *source, const struct tep_print_arg *arg)
{
	if (!arg->op.op || arg->op.op[0] != '?' || !arg->op.left || !arg->op.right || arg->op.right->type != TEP_PRINT_OP)
		return false;
	source->kind = TEXT_CHOICE;
	source->value = compile_number(compiler, arg->op.left);
	source->first = compile_text(compiler, arg->op.right->op.left);
	source->second = compile_text(compiler, arg->op.right->op.right);
	return source->value && source->first && source->second;
}

static bool compile_source(struct compiler *compiler, struct text_source *source, const struct tep_print_arg *arg)
{
	switch (arg->type) {
	case TEP_PRINT_NULL:
	case TEP_PRINT_TYPE:
		return true;
	case TEP_PRINT_ATOM:
		source->kind = TEXT_CONSTANT;
		source->constant = arena_strdup(compiler->arena, arg->atom.atom);
		return true;
	case TEP_PRINT_FIELD:
		return compile_text_field(compiler, source, arg);
	case TEP_PRINT_STRING:
		return compile_located(compiler, source, TEXT_DYNAMIC, arg->string.field, arg->string.string);
	case TEP_PRINT_BITMASK:
	case TEP_PRINT_CPUMASK:
		return compile_located(compiler, source, arg->type == TEP_PRINT_BITMASK ? TEXT_BITMASK : TEXT_CPUMASK, arg->bitmask.field,
				       arg->bitmask.bitmask);
	case TEP_PRINT_FLAGS:
		source->kind = TEXT_FLAGS;
		source->value = compile_number(compiler, arg->flags.field);
		source->constant = arg->flags.delim ? arena_strdup(compiler->arena, arg->flags.delim) : "";
		return compile_names(compiler, source, arg->flags.flags);
	case TEP_PRINT_SYMBOL:
		source->kind = TEXT_SYMBOL;
		source->value = compile_number(compiler, arg->symbol.field);
		return compile_names(compiler, source, arg->symbol.symbols);
	case TEP_PRINT_HEX:
	case TEP_PRINT_HEX_STR:
		source->kind = TEXT_HEX;
		source->constant = arg->type == TEP_PRINT_HEX ? " " : "";
		source->value = compile_number(compiler, arg->hex.size);
		return compile_bytes(compiler, source, arg->hex.field);
	case TEP_PRINT_INT_ARRAY:
		source->kind = TEXT_NUMBERS;
		source->value = compile_number(compiler, arg->int_array.count);
		source->element = compile_number(compiler, arg->int_array.el_size);
		return compile_bytes(compiler, source, arg->int_array.field) && source->element;
	case TEP_PRINT_OP:
		return compile_text_choice(compiler, source, arg);
	default:
		return false;
	}
}

/* NULL when the text isn't one that can be compiled. */
static const struct text_source *compile_text(struct compiler *compiler, const struct tep_print_arg *arg)
{
	if (!arg || compiler->depth > DEPTH_MAX)
		return NULL;
	compiler->depth++;
	struct text_source *source = arena_zalloc(compiler->arena, sizeof(*source));
	bool compiled = compile_source(compiler, source, arg);
	compiler->depth--;
	return compiled ? source : NULL;
}

/* Text of the format up to the next conversion: escapes resolved, %% made one. Returns where it ends. */
static const char *compile_literal(struct compiler *compiler, const char *format)
{
	char *text = arena_zalloc(compiler->arena, strlen(format) + 1 + STEP_TEXT_PADDING);
	uint32_t len = 0;

	for (; *format && !(*format == '%' && format[1] != '%'); format++) {
		char c = *format;
		if (c == '\\' && format[1]) {
			c = *++format;
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
		} else if (c == '%') {
			format++;
		}
		text[len++] = c;
	}
	vec_push(&compiler->steps, (struct step){.kind = STEP_TEXT, .text = text, .len = len});
	return format;
}

/* How many letters behind %p belong to it. */
static size_t special_letters(const char *at)
{
	size_t len = 1;

	switch (at[0]) {
	case 'M':
	case 'm':
		return len + (at[1] == 'R' || at[1] == 'F');
	case 'U':
		return len + (at[1] && strchr("LlBb", at[1]));
	case 'h':
		return len + (at[1] && strchr("CDN", at[1]));
	case 'I':
	case 'i':
		if (!at[1] || !strchr("46S", at[1]))
			return len;
		len++;
		if (at[1] == 'S')
			len += strspn(at + len, "pfs");
		if (at[1] != '6' && at[len] && strchr("hnlb", at[len]))
			len++;
		return len + (at[1] != '4' && at[len] == 'c');
	}
	return 0;
}

/* %pM, %pI4, %pU, %ph and their like: the bytes of a field, or of a dynamic array for %pIS and %ph. */
static bool compile_special(struct compiler *compiler, struct step *step, const char **at, const struct tep_print_arg *arg)
{
	size_t len = special_letters(*at);
	struct text_source *source = arena_zalloc(compiler->arena, sizeof(*source));
	const char *letters = arena_strndup(compiler->arena, *at, len);
	bool field = letters[0] != 'h', dynamic = letters[0] == 'h' || letters[1] == 'S';
	static const struct node zero;

	while (arg->type == TEP_PRINT_TYPE && letters[0] != 'h')
		arg = arg->typecast.item;
	if (arg->type == TEP_PRINT_FUNC)
		return false;
	*at += len;
	step->kind = STEP_SPECIAL;
	step->text = letters;
	step->source = source;
	source->value = &zero;
	if ((arg->type == TEP_PRINT_FIELD && field) || (arg->type == TEP_PRINT_DYNAMIC_ARRAY && dynamic)) {
		bool compiled = compile_bytes(compiler, source, arg);
		vec_push(&compiler->steps, *step);
		return compiled;
	}
	step->kind = STEP_TEXT;
	step->text = arena_printf(compiler->arena, "ARG TYPE NOT FIELD BUT %d%*s", (int)arg->type, STEP_TEXT_PADDING, "");
	step->len = (uint32_t)strlen(step->text) - STEP_TEXT_PADDING;
	vec_push(&compiler->steps, *step);
	return true;
}

static bool compile_pointer(struct compiler *compiler, struct step *step, const char **at, const struct tep_print_arg *arg)
{
	char kind = **at;

	if (kind && strchr("MmIiUh", kind))
		return compile_special(compiler, step, at, arg);
	step->kind = STEP_POINTER;
	if (kind && strchr("FfSs", kind)) {
		if (!compiler->formats->resolver && compiler->formats->kallsyms)
			return false;
		step->kind = kind == 'F' || kind == 'S' ? STEP_FUNCTION_OFFSET : STEP_FUNCTION;
		(*at)++;
	}
	step->value = compile_number(compiler, arg);
	vec_push(&compiler->steps, *step);
	return step->value;
}

/* Conversions without any ornament have shorter ways. */
static enum step_kind number_kind(const struct conversion *conversion)
{
	if (conversion->width || conversion->precision >= 0 || conversion->plus || conversion->alternate || conversion->star_width)
		return STEP_NUMBER;
	if (conversion->letter == 'd' || conversion->letter == 'u')
		return STEP_DECIMAL;
	return conversion->letter == 'x' ? STEP_HEX : STEP_NUMBER;
}

static bool compile_value(struct compiler *compiler, struct step *step, char letter, int longs, const struct tep_print_arg *arg)
{
	if (longs < -2 || longs > 2)
		return false;
	step->conversion.letter = letter == 'i' ? 'd' : letter;
	step->conversion.bits = longs == -2 ? 8 : longs == -1 ? 16 : longs == 0 ? 32 : 64;
	if (longs == 1 && compiler->formats->long_size == 4)
		step->conversion.bits = sizeof(long) * 8;
	step->kind = letter == 's' ? STEP_STRING : number_kind(&step->conversion);
	if (letter == 's')
		step->source = compile_text(compiler, arg);
	else
		step->value = compile_number(compiler, arg);
	vec_push(&compiler->steps, *step);
	return letter == 's' ? step->source != NULL : step->value != NULL;
}

/* Flags, width and precision of a conversion; `arg` moves over what '*' takes. False for what isn't known. */
static bool compile_modifiers(struct compiler *compiler, struct step *step, const char **at, int *ret_longs,
			      const struct tep_print_arg **arg)
{
	struct conversion *conversion = &step->conversion;
	int *number = &conversion->width;

	conversion->precision = -1;
	*ret_longs = 0;
	for (;; (*at)++) {
		char c = **at;
		if (c == '0' && number == &conversion->width && !conversion->width)
			conversion->zero = true;
		else if (c >= '0' && c <= '9')
			*number = *number > 9999 ? 9999 : (*number < 0 ? 0 : *number) * 10 + (c - '0');
		else if (c == '#')
			conversion->alternate = true;
		else if (c == '-')
			conversion->minus = true;
		else if (c == '+')
			conversion->plus = true;
		else if (c == '.')
			*(number = &conversion->precision) = 0;
		else if (c == 'l' || c == 'h')
			*ret_longs += c == 'l' ? 1 : -1;
		else if (c == 'L' || c == 'z' || c == 'Z')
			*ret_longs = c == 'L' ? 2 : 1;
		else if (c != '*')
			return true;
		if (c != '*')
			continue;
		if (!*arg || step->star || !(step->star = compile_number(compiler, *arg)))
			return false;
		*(number == &conversion->width ? &conversion->star_width : &conversion->star_precision) = true;
		*arg = (*arg)->next;
	}
}

/* One conversion, `*at` behind its '%'. */
static bool compile_conversion(struct compiler *compiler, const char **at, const struct tep_print_arg **arg)
{
	struct step step = {0};
	int longs;

	if (!compile_modifiers(compiler, &step, at, &longs, arg) || !*arg || !**at)
		return false;
	const struct tep_print_arg *value = *arg;
	char letter = *(*at)++;
	*arg = value->next;
	if (letter == 'p')
		return compile_pointer(compiler, &step, at, value);
	return strchr("cduixXos", letter) && compile_value(compiler, &step, letter, letter == 's' ? 0 : longs, value);
}

static bool compile_format(struct compiler *compiler)
{
	const char *at = compiler->event->print_fmt.format;
	const struct tep_print_arg *arg = compiler->event->print_fmt.args;

	if (!at)
		return false;
	while (*at) {
		if (*at == '%' && at[1] != '%') {
			at++;
			if (!compile_conversion(compiler, &at, &arg))
				return false;
		} else {
			at = compile_literal(compiler, at);
		}
	}
	return true;
}

struct tracepoint_program *tracepoint_compile(struct tracepoint_formats *formats, const struct tracepoint *tracepoint,
					      struct tep_event *event)
{
	struct tracepoint_program *program = arena_zalloc(&formats->arena, sizeof(*program));
	struct compiler compiler = {.arena = &formats->arena, .formats = formats, .event = event};

	if (!event || (event->flags & (int)TEP_EVENT_FL_FAILED))
		program->kind = PROGRAM_FIELDS;
	else if (event->handler || (event->flags & (TEP_EVENT_FL_ISBPRINT | TEP_EVENT_FL_PRINTRAW)) || !compile_format(&compiler))
		program->kind = PROGRAM_LIBRARY;
	program->steps = arena_copy(&formats->arena, compiler.steps.data, compiler.steps.len * sizeof(*compiler.steps.data));
	program->count = compiler.steps.len;
	vec_deinit(&compiler.steps);
	return program;
}
