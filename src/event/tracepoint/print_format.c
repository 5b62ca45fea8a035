/* Expressions of print formats: C as the kernel's macros leave it, e.g.
 *
 *	REC->prev_state & 255 ? __print_flags(REC->prev_state & 255, "|", { 0x1, "S" }, { 0x2, "D" }) : "R"
 *
 * A recursive descent with the precedence of C. Values are 64-bit and unsigned throughout, and a cast only cuts bits off: the common
 * library computes so, and outputs shall be alike. Enumerators that the kernel left as names count as 0, as there. The helpers are in
 * print_helpers.c. */
#include "event/tracepoint/print_format.h"

#include "base/text.h"
#include "event/tracepoint/print_helpers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Nesting of expressions that is still parsed. */
enum { DEPTH_MAX = 500 };

/* Parts of expressions in one format that are still parsed: a long chain of operators is evaluated as deeply as it is long. */
enum { NODES_MAX = 10000 };

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The end of a literal in quotes that starts at `at`. */
static const char *quoted_end(const char *at)
{
	char quote = *at++;

	while (*at && *at != quote)
		at += at[0] == '\\' && at[1] ? 2 : 1;
	return *at ? at + 1 : at;
}

static void next_token(struct format_parser *parser)
{
	static const char *const pairs[] = {"->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
	const char *at = parser->at + strspn(parser->at, " \t\n");

	parser->token = at;
	parser->token_len = *at != '\0';
	if (is_word_char(*at)) {
		while (is_word_char(at[parser->token_len]))
			parser->token_len++;
	} else if (*at == '"' || *at == '\'') {
		parser->token_len = (size_t)(quoted_end(at) - at);
	} else {
		for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
			if (!strncmp(at, pairs[i], 2))
				parser->token_len = 2;
	}
	parser->at = at + parser->token_len;
}

void format_parser_init(struct format_parser *parser, struct arena *arena, const struct tracepoint *tracepoint, const char *text)
{
	*parser = (struct format_parser){.arena = arena, .formats = tracepoint->formats, .tracepoint = tracepoint, .at = text};
	next_token(parser);
}

static bool is_token(const struct format_parser *parser, const char *token)
{
	return strlen(token) == parser->token_len && !memcmp(parser->token, token, parser->token_len);
}

bool format_accept(struct format_parser *parser, const char *token)
{
	if (!is_token(parser, token))
		return false;
	next_token(parser);
	return true;
}

char *format_parse_string(struct format_parser *parser)
{
	struct strbuf text = {0};

	if (!parser->token_len || *parser->token != '"')
		return NULL;
	while (parser->token_len && *parser->token == '"') {
		bool closed = parser->token_len > 1 && parser->token[parser->token_len - 1] == '"';
		strbuf_add(&text, parser->token + 1, parser->token_len - 1 - closed);
		next_token(parser);
	}
	char *copy = arena_strndup(parser->arena, strbuf_str(&text), text.len);
	strbuf_deinit(&text);
	return copy;
}

/* A constant text, safe to print. */
char *format_parse_text(struct format_parser *parser)
{
	char *text = format_parse_string(parser);
	struct strbuf safe = {0};

	if (!text || text_is_safe(text, strlen(text)))
		return text;
	text_add_safe(&safe, text, strlen(text));
	text = arena_strndup(parser->arena, safe.data, safe.len);
	strbuf_deinit(&safe);
	return text;
}

char *format_parse_name(struct format_parser *parser)
{
	if (!parser->token_len || (!isalpha((unsigned char)*parser->token) && *parser->token != '_'))
		return NULL;
	char *name = arena_strndup(parser->arena, parser->token, parser->token_len);
	next_token(parser);
	return name;
}

struct print_node *format_node(struct format_parser *parser, enum node_kind kind)
{
	struct print_node *node = arena_zalloc(parser->arena, sizeof(*node));

	node->kind = kind;
	parser->nodes++;
	return node;
}

struct text_source *format_text(struct format_parser *parser, enum text_kind kind)
{
	struct text_source *source = arena_zalloc(parser->arena, sizeof(*source));

	source->kind = kind;
	return source;
}

const struct print_node *format_value(struct format_parser *parser, uint64_t value)
{
	struct print_node *node = format_node(parser, NODE_VALUE);

	node->value = value;
	return node;
}

static const struct print_node *binary(struct format_parser *parser, const char *operation, const struct print_node *left,
				       const struct print_node *right)
{
	if (!left || !right)
		return NULL;
	struct print_node *node = format_node(parser, NODE_BINARY);
	node->operation = NODE_OPERATION(operation[0], operation[1]);
	node->left = left;
	node->right = right;
	return left->kind == NODE_VALUE && right->kind == NODE_VALUE ? format_value(parser, tracepoint_constant(node)) : node;
}

/* A field of the record as number and as text: text where it is an array of characters, or a pointer to a string that the kernel's table
 * knows. */
static bool field_operand(struct format_parser *parser, const char *name, struct operand *ret)
{
	const struct tracepoint_field *field = tracepoint_field(parser->tracepoint, name);

	if (!field)
		return false;
	struct print_node *node = format_node(parser, NODE_FIELD);
	node->offset = field->offset;
	node->size = field->size;
	bool pointer = !(field->flags & TRACEPOINT_FIELD_ARRAY) && field->size == parser->formats->long_size;
	struct text_source *text = format_text(parser, pointer ? TEXT_POINTER : TEXT_FIELD);
	text->offset = field->offset;
	text->size = field->size;
	*ret = (struct operand){.number = node, .text = text, .field = field};
	return true;
}

/* The bits that a cast to `type`, a list of words, keeps; to what it points to when `pointed`. */
static uint64_t cast_mask(const char *type, bool pointed)
{
	static const struct {
		const char *name;
		uint64_t mask;
	} casts[] = {
		{"u8", 0xff},	   {"s8", 0xff},	{"char", 0xff},	     {"u16", 0xffff},	  {"s16", 0xffff},
		{"short", 0xffff}, {"u32", 0xffffffff}, {"s32", 0xffffffff}, {"int", 0xffffffff},
	};
	size_t len = strlen(type);

	if (len && type[len - 1] == '*') {
		if (!pointed)
			return UINT64_MAX;
		len--;
	} else if (pointed) {
		return UINT64_MAX;
	}
	if (!strncmp(type, "unsigned ", 9)) {
		type += 9;
		len -= 9;
	}
	for (size_t i = 0; i < sizeof(casts) / sizeof(casts[0]); i++)
		if (strlen(casts[i].name) == len && !memcmp(casts[i].name, type, len))
			return casts[i].mask;
	return UINT64_MAX;
}

static const struct print_node *masked(struct format_parser *parser, const struct print_node *of, uint64_t mask)
{
	if (!of || mask == UINT64_MAX)
		return of;
	struct print_node *node = format_node(parser, NODE_MASK);
	node->left = of;
	node->value = mask;
	return of->kind == NODE_VALUE ? format_value(parser, of->value & mask) : node;
}

static bool parse_unary(struct format_parser *parser, struct operand *ret);

/* Whether the parenthesis at the current token holds a type: words and stars only, and an operand follows. */
static bool is_cast(const struct format_parser *parser)
{
	static const char *const types[] = {"unsigned", "signed", "int",    "long", "short", "char",
					    "void",	"const",  "struct", "enum", "union", "bool"};
	struct format_parser ahead = *parser;
	bool known = false, words = false;

	next_token(&ahead);
	while (ahead.token_len && (isalpha((unsigned char)*ahead.token) || *ahead.token == '_' || is_token(&ahead, "*"))) {
		if (is_token(&ahead, "REC"))
			return false;
		words |= *ahead.token != '*';
		known |= *ahead.token == '*' && words;
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
			known |= is_token(&ahead, types[i]);
		next_token(&ahead);
	}
	if (!words || !is_token(&ahead, ")"))
		return false;
	next_token(&ahead);
	if (!ahead.token_len)
		return false;
	if (is_word_char(*ahead.token) || *ahead.token == '(' || *ahead.token == '"' || *ahead.token == '~' || is_token(&ahead, "!"))
		return true;
	return known && strchr("-+&*", *ahead.token);
}

/* The words of a type up to ')', one space between them, a '*' at the end for a pointer. */
static char *parse_type(struct format_parser *parser)
{
	struct strbuf type = {0};
	bool pointer = false;

	while (parser->token_len && !is_token(parser, ")")) {
		pointer |= is_token(parser, "*");
		if (!is_token(parser, "*") && !is_token(parser, "const")) {
			strbuf_add_str(&type, type.len ? " " : "");
			strbuf_add(&type, parser->token, parser->token_len);
		}
		next_token(parser);
	}
	if (pointer)
		strbuf_add_char(&type, '*');
	char *copy = arena_strndup(parser->arena, strbuf_str(&type), type.len);
	strbuf_deinit(&type);
	return copy;
}

static bool parse_cast(struct format_parser *parser, struct operand *ret)
{
	next_token(parser);
	char *type = parse_type(parser);
	struct operand of;

	if (!format_accept(parser, ")") || !parse_unary(parser, &of))
		return false;
	*ret = of;
	ret->text = format_text(parser, TEXT_NONE);
	ret->number = masked(parser, of.number, cast_mask(type, false));
	ret->cast_mask = cast_mask(type, true);
	return true;
}

/* sizeof of a type or of a field. */
static bool parse_sizeof(struct format_parser *parser, struct operand *ret)
{
	static const struct {
		const char *name;
		uint32_t size;
	} sizes[] = {
		{"u8", 1},  {"s8", 1},	{"char", 1}, {"u16", 2}, {"s16", 2}, {"short", 2},
		{"u32", 4}, {"s32", 4}, {"int", 4},  {"u64", 8}, {"s64", 8},
	};
	uint64_t size = parser->formats->long_size;

	if (!format_accept(parser, "("))
		return false;
	if (is_token(parser, "REC")) {
		if (!format_parse_operand(parser, ret) || !ret->field)
			return false;
		size = ret->field->size;
	} else {
		const char *type = parse_type(parser);
		type += strncmp(type, "unsigned ", 9) ? 0 : 9;
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			if (!strcmp(type, sizes[i].name))
				size = sizes[i].size;
		if (!strncmp(type, "long long", 9))
			size = 8;
	}
	*ret = (struct operand){.number = format_value(parser, size), .text = format_text(parser, TEXT_NONE)};
	return format_accept(parser, ")");
}

static bool parse_word(struct format_parser *parser, struct operand *ret)
{
	const char *begin = parser->token;
	char *name = arena_strndup(parser->arena, begin, parser->token_len);

	next_token(parser);
	if (!strcmp(name, "REC")) {
		char *field = format_accept(parser, "->") ? format_parse_name(parser) : NULL;
		return field && field_operand(parser, field, ret);
	}
	if (!strcmp(name, "sizeof"))
		return parse_sizeof(parser, ret);
	if (is_token(parser, "("))
		return format_parse_helper(parser, name, ret);
	/* An enumerator that nobody can resolve: the name as text, 0 as number. */
	struct text_source *text = format_text(parser, TEXT_CONSTANT);
	text->constant = name;
	*ret = (struct operand){.number = format_value(parser, 0), .text = text, .name = name};
	return true;
}

static bool parse_primary(struct format_parser *parser, struct operand *ret)
{
	struct text_source *text;

	if (!parser->token_len)
		return false;
	if (*parser->token == '"') {
		text = format_text(parser, TEXT_CONSTANT);
		text->constant = format_parse_text(parser);
		*ret = (struct operand){.number = format_value(parser, 0), .text = text};
		return true;
	}
	if (*parser->token == '\'' || isdigit((unsigned char)*parser->token)) {
		text = format_text(parser, TEXT_CONSTANT);
		text->constant = arena_strndup(parser->arena, parser->token, parser->token_len);
		bool character = *parser->token == '\'';
		*ret = (struct operand){
			.number = format_value(parser, character ? (uint8_t)parser->token[1] : strtoull(text->constant, NULL, 0)),
			.text = text};
		next_token(parser);
		return true;
	}
	if (format_accept(parser, "("))
		return format_parse_operand(parser, ret) && format_accept(parser, ")");
	return is_word_char(*parser->token) && parse_word(parser, ret);
}

/* array[index]: of a field, or of what a __data_loc points to; a cast in front says the elements' type. */
static bool parse_index(struct format_parser *parser, struct operand *operand)
{
	const struct tracepoint_field *field = operand->field;
	struct operand index;

	if (!field || !format_parse_operand(parser, &index) || !index.number || !format_accept(parser, "]"))
		return false;
	struct print_node *node = format_node(parser, operand->dynamic ? NODE_DYNAMIC_ELEMENT : NODE_ELEMENT);
	node->offset = field->offset;
	node->size = field->element_size;
	node->relative = field->flags & TRACEPOINT_FIELD_RELATIVE;
	node->left = index.number;
	if (!operand->dynamic && index.number->kind == NODE_VALUE) { /* an element that is always the same one is a field */
		node->kind = NODE_FIELD;
		node->offset += (uint32_t)(index.number->value * field->element_size);
	}
	uint64_t mask = operand->cast_mask ? operand->cast_mask : UINT64_MAX;
	*operand = (struct operand){.number = masked(parser, node, mask), .text = format_text(parser, TEXT_NONE)};
	return true;
}

static bool parse_postfix(struct format_parser *parser, struct operand *ret)
{
	if (!parse_primary(parser, ret))
		return false;
	while (format_accept(parser, "["))
		if (!parse_index(parser, ret))
			return false;
	return true;
}

static bool parse_operator(struct format_parser *parser, struct operand *ret)
{
	char operator= * parser->token;
	struct operand of;

	next_token(parser);
	if (!parse_unary(parser, &of))
		return false;
	if (operator== '&' && of.field) {
		*ret = of;
		return true;
	}
	if (!of.number || operator== '&')
		return false;
	*ret = (struct operand){.number = of.number, .text = format_text(parser, TEXT_NONE)};
	if (operator== '-') {
		ret->number = binary(parser, "-", format_value(parser, 0), of.number);
	} else if (operator!= '+') {
		struct print_node *node = format_node(parser, operator== '!' ? NODE_NOT : NODE_INVERT);
		node->left = of.number;
		ret->number = node;
	}
	return true;
}

static bool parse_unary(struct format_parser *parser, struct operand *ret)
{
	bool understood;

	if (!parser->token_len || parser->depth >= DEPTH_MAX || parser->nodes >= NODES_MAX)
		return false;
	parser->depth++;
	if (is_token(parser, "!") || is_token(parser, "~") || is_token(parser, "-") || is_token(parser, "+") || is_token(parser, "&"))
		understood = parse_operator(parser, ret);
	else if (is_token(parser, "(") && is_cast(parser))
		understood = parse_cast(parser, ret);
	else
		understood = parse_postfix(parser, ret);
	parser->depth--;
	return understood;
}

/* The precedence of the current token as an operator between two operands, 0 when it is none. */
static int precedence(const struct format_parser *parser)
{
	static const struct {
		const char *operator;
		int level;
	} levels[] = {
		{"||", 1}, {"&&", 2}, {"|", 3},	 {"^", 4},  {"&", 5}, {"==", 6}, {"!=", 6}, {"<", 7},  {">", 7},
		{"<=", 7}, {">=", 7}, {"<<", 8}, {">>", 8}, {"+", 9}, {"-", 9},	 {"*", 10}, {"/", 10}, {"%", 10},
	};

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (is_token(parser, levels[i].operator))
			return levels[i].level;
	return 0;
}

static bool parse_binary(struct format_parser *parser, int lowest, struct operand *ret)
{
	if (!parse_unary(parser, ret))
		return false;
	for (int level; (level = precedence(parser)) >= lowest && level;) {
		char operation[3] = {parser->token[0], parser->token_len > 1 ? parser->token[1] : '\0'};
		struct operand right;
		next_token(parser);
		if (!parse_binary(parser, level + 1, &right))
			return false;
		const struct print_node *number = binary(parser, operation, ret->number, right.number);
		*ret = (struct operand){.number = number, .text = format_text(parser, TEXT_NONE)};
		if (!number)
			return false;
	}
	return true;
}

static bool parse_choice(struct format_parser *parser, struct operand *ret)
{
	struct operand condition = *ret, first, second;

	if (!condition.number || !format_parse_operand(parser, &first) || !format_accept(parser, ":") ||
	    !format_parse_operand(parser, &second))
		return false;
	*ret = (struct operand){0};
	if (first.number && second.number) {
		struct print_node *node = format_node(parser, NODE_CHOICE);
		node->left = condition.number;
		node->right = first.number;
		node->third = second.number;
		ret->number = node;
	}
	if (first.text && second.text) {
		struct text_source *text = format_text(parser, TEXT_CHOICE);
		text->value = condition.number;
		text->first = first.text;
		text->second = second.text;
		ret->text = text;
	}
	return true;
}

bool format_parse_operand(struct format_parser *parser, struct operand *ret)
{
	*ret = (struct operand){0};
	if (parser->depth >= DEPTH_MAX)
		return false;
	parser->depth++;
	bool understood = parse_binary(parser, 1, ret);
	if (understood && format_accept(parser, "?"))
		understood = parse_choice(parser, ret);
	parser->depth--;
	return understood;
}
