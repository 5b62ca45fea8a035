/* Parsing by recursive descent into a tree, which is evaluated as often as there are numbers. */
#include "analysis/counting/metric_expression.h"

#include "base/mem.h"
#include "base/strbuf.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum operation {
	OPERATION_NUMBER,
	OPERATION_NAME,
	OPERATION_NEGATE,
	OPERATION_OR,
	OPERATION_XOR,
	OPERATION_AND,
	OPERATION_LESS,
	OPERATION_MORE,
	OPERATION_ADD,
	OPERATION_SUBTRACT,
	OPERATION_MULTIPLY,
	OPERATION_DIVIDE,
	OPERATION_REMAINDER,
	OPERATION_CHOICE, /* left if condition else right */
	OPERATION_MIN,
	OPERATION_MAX,
	OPERATION_RATIO,
	OPERATION_HAS_EVENT,
	OPERATION_SOURCE_COUNT,
};

struct metric_node {
	enum operation operation;
	double number;
	const char *text; /* of a name … */
	size_t name;	  /* … and its index among all */
	struct metric_node *left, *right, *condition;
};

/* Nested deeper than any real one. */
enum { MOST_DEPTH = 100 };

struct expression_parser {
	struct arena *arena;
	const char *text, *at;
	const struct metric_names *names;
	unsigned int depth;
	struct error *error;
};

static struct metric_node *parse_choice(struct expression_parser *parser);

static struct metric_node *fail(struct expression_parser *parser, const char *at, const char *what)
{
	if (!parser->error)
		parser->error = error_new("%s\n  %s\n  %*s^", what, parser->text, (int)(at - parser->text), "");
	return NULL;
}

static struct metric_node *make(struct expression_parser *parser, struct metric_node node)
{
	return arena_copy(parser->arena, &node, sizeof(node));
}

static struct metric_node *make_number(struct expression_parser *parser, double number)
{
	return make(parser, (struct metric_node){.operation = OPERATION_NUMBER, .number = number});
}

static void skip_blanks(struct expression_parser *parser)
{
	while (isspace((unsigned char)*parser->at))
		parser->at++;
}

static bool accept(struct expression_parser *parser, char c)
{
	skip_blanks(parser);
	if (*parser->at != c)
		return false;
	parser->at++;
	return true;
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_.:@?", c));
}

static bool accept_word(struct expression_parser *parser, const char *word)
{
	size_t length = strlen(word);

	skip_blanks(parser);
	if (strncmp(parser->at, word, length) || is_name_char(parser->at[length]) || parser->at[length] == '\\')
		return false;
	parser->at += length;
	return true;
}

/* The tree has a value already. */
static bool is_constant(const struct metric_node *node)
{
	return !node || node->operation == OPERATION_NUMBER ||
	       (node->operation != OPERATION_NAME && node->operation != OPERATION_HAS_EVENT && node->operation != OPERATION_SOURCE_COUNT &&
		is_constant(node->left) && is_constant(node->right) && is_constant(node->condition));
}

static double evaluate(const struct metric_node *node, const double *values)
{
	if (node->operation == OPERATION_NUMBER)
		return node->number;
	if (node->operation == OPERATION_NAME)
		return values[node->name];
	if (node->operation == OPERATION_HAS_EVENT)
		return !isnan(values[node->left->name]);
	if (node->operation == OPERATION_SOURCE_COUNT)
		return 1;
	if (node->operation == OPERATION_CHOICE)
		return evaluate(evaluate(node->condition, values) != 0 ? node->left : node->right, values);
	double left = evaluate(node->left, values), right = node->right ? evaluate(node->right, values) : 0;
	if (isnan(left) || isnan(right))
		return NAN;
	switch (node->operation) {
	case OPERATION_NEGATE:
		return -left;
	case OPERATION_OR:
		return (double)((int64_t)left | (int64_t)right);
	case OPERATION_XOR:
		return (double)((int64_t)left ^ (int64_t)right);
	case OPERATION_AND:
		return (double)((int64_t)left & (int64_t)right);
	case OPERATION_LESS:
		return left < right;
	case OPERATION_MORE:
		return left > right;
	case OPERATION_ADD:
		return left + right;
	case OPERATION_SUBTRACT:
		return left - right;
	case OPERATION_MULTIPLY:
		return left * right;
	case OPERATION_DIVIDE:
		return right != 0 ? left / right : NAN;
	case OPERATION_REMAINDER:
		return right != 0 ? fmod(left, right) : NAN;
	case OPERATION_MIN:
		return fmin(left, right);
	case OPERATION_MAX:
		return fmax(left, right);
	default:
		return right != 0 ? left / right : 0;
	}
}

static struct metric_node *make_name(struct expression_parser *parser, const char *name)
{
	return make(parser, (struct metric_node){.operation = OPERATION_NAME, .text = arena_strdup(parser->arena, name)});
}

/* Another metric's formula in place of its name. */
static struct metric_node *parse_other(struct expression_parser *parser, const char *text)
{
	struct expression_parser inner = *parser;

	inner.text = inner.at = text;
	inner.depth++;
	struct metric_node *node =
		inner.depth > MOST_DEPTH ? fail(&inner, text, "metrics refer to each other in a cycle") : parse_choice(&inner);
	parser->error = inner.error;
	return node;
}

static struct metric_node *parse_name(struct expression_parser *parser, bool as_event)
{
	struct strbuf name = {0};
	struct metric_node *node;

	for (; is_name_char(*parser->at) || (*parser->at == '\\' && parser->at[1]); parser->at++) {
		if (*parser->at == '\\')
			strbuf_add_char(&name, *++parser->at);
		else
			strbuf_add_char(&name, *parser->at == '@' ? '/' : *parser->at);
	}
	const char *other = !as_event && parser->names->lookup ? parser->names->lookup(strbuf_str(&name)) : NULL;
	node = other ? parse_other(parser, other) : make_name(parser, strbuf_str(&name));
	strbuf_deinit(&name);
	return node;
}

static struct metric_node *parse_literal(struct expression_parser *parser)
{
	const char *start = ++parser->at;
	char name[64];
	double value;
	size_t length = 0;

	while (isalnum((unsigned char)*parser->at) || *parser->at == '_')
		parser->at++;
	length = (size_t)(parser->at - start);
	if (length < sizeof(name)) {
		memcpy(name, start, length);
		name[length] = '\0';
		if (parser->names->literal && parser->names->literal(parser->names->context, name, &value))
			return make_number(parser, value);
	}
	return fail(parser, start - 1, "unknown literal");
}

static const struct {
	const char *name;
	enum operation operation;
	unsigned int arguments;
} functions[] = {
	{"min", OPERATION_MIN, 2},
	{"max", OPERATION_MAX, 2},
	{"d_ratio", OPERATION_RATIO, 2},
	{"has_event", OPERATION_HAS_EVENT, 1},
	{"source_count", OPERATION_SOURCE_COUNT, 1},
};

static struct metric_node *parse_call(struct expression_parser *parser, size_t index)
{
	struct metric_node node = {.operation = functions[index].operation};

	if (functions[index].arguments == 1) {
		skip_blanks(parser);
		node.left = parse_name(parser, true);
	} else {
		node.left = parse_choice(parser);
		if (node.left && !accept(parser, ','))
			return fail(parser, parser->at, "',' expected");
		node.right = node.left ? parse_choice(parser) : NULL;
		if (!node.right)
			return NULL;
	}
	if (!accept(parser, ')'))
		return fail(parser, parser->at, "')' expected");
	return make(parser, node);
}

static struct metric_node *parse_operand(struct expression_parser *parser)
{
	skip_blanks(parser);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		const char *start = parser->at;
		if (accept_word(parser, functions[i].name) && accept(parser, '('))
			return parse_call(parser, i);
		parser->at = start;
	}
	if (accept(parser, '(')) {
		struct metric_node *node = parse_choice(parser);
		return !node || accept(parser, ')') ? node : fail(parser, parser->at, "')' expected");
	}
	if (accept(parser, '-')) {
		struct metric_node *node = parse_operand(parser);
		return node ? make(parser, (struct metric_node){.operation = OPERATION_NEGATE, .left = node}) : NULL;
	}
	if (*parser->at == '#')
		return parse_literal(parser);
	if (isdigit((unsigned char)*parser->at) || *parser->at == '.') {
		char *end;
		double number = strtod(parser->at, &end);
		if (end > parser->at && !is_name_char(*end)) {
			parser->at = end;
			return make_number(parser, number);
		}
	}
	if (is_name_char(*parser->at) || (*parser->at == '\\' && parser->at[1]))
		return parse_name(parser, false);
	return fail(parser, parser->at, "expected an event, a number or '('");
}

/* Operators that bind alike, from the weakest on. */
static const struct level {
	const char *signs;
	enum operation operations[3];
} levels[] = {
	{"|^&", {OPERATION_OR, OPERATION_XOR, OPERATION_AND}},
	{"<>", {OPERATION_LESS, OPERATION_MORE}},
	{"+-", {OPERATION_ADD, OPERATION_SUBTRACT}},
	{"*/%", {OPERATION_MULTIPLY, OPERATION_DIVIDE, OPERATION_REMAINDER}},
};
enum { LEVELS = sizeof(levels) / sizeof(levels[0]) };

static struct metric_node *parse_level(struct expression_parser *parser, size_t level)
{
	if (level == LEVELS)
		return parse_operand(parser);
	struct metric_node *node = parse_level(parser, level + 1);
	while (node) {
		skip_blanks(parser);
		const char *sign = *parser->at ? strchr(levels[level].signs, *parser->at) : NULL;
		if (!sign)
			break;
		parser->at++;
		struct metric_node *right = parse_level(parser, level + 1);
		if (!right)
			return NULL;
		node = make(parser, (struct metric_node){.operation = levels[level].operations[sign - levels[level].signs],
							 .left = node,
							 .right = right});
	}
	return node;
}

static struct metric_node *parse_choice(struct expression_parser *parser)
{
	struct metric_node node = {.operation = OPERATION_CHOICE};

	if (++parser->depth > MOST_DEPTH)
		return fail(parser, parser->at, "nested too deeply");
	node.left = parse_level(parser, 0);
	if (node.left && accept_word(parser, "if")) {
		node.condition = parse_choice(parser);
		if (node.condition && !accept_word(parser, "else"))
			return fail(parser, parser->at, "'else' expected");
		node.right = node.condition ? parse_choice(parser) : NULL;
		if (!node.right)
			return NULL;
		/* The other branch is forgotten, and with it the need to count its events. */
		if (is_constant(node.condition))
			node.left = evaluate(node.condition, NULL) != 0 ? node.left : node.right;
		else
			node.left = make(parser, node);
	}
	parser->depth--;
	return node.left;
}

/* Gives the names of the finished tree their indexes. */
static void number_names(struct metric_expression *expression, struct metric_node *node)
{
	if (!node)
		return;
	number_names(expression, node->left);
	number_names(expression, node->right);
	number_names(expression, node->condition);
	if (node->operation != OPERATION_NAME)
		return;
	for (node->name = 0; node->name < expression->names.len; node->name++)
		if (!strcmp(expression->names.data[node->name], node->text))
			return;
	vec_push(&expression->names, node->text);
}

struct error *metric_parse(struct arena *arena, const char *text, const struct metric_names *names, struct metric_expression *ret)
{
	static const struct metric_names none = {0};
	struct expression_parser parser = {.arena = arena, .text = text, .at = text, .names = names ? names : &none};
	struct metric_node *root = parse_choice(&parser);

	skip_blanks(&parser);
	if (!parser.error && *parser.at)
		fail(&parser, parser.at, "expected an operator");
	if (parser.error)
		return parser.error;
	*ret = (struct metric_expression){.root = root};
	number_names(ret, root);
	return NULL;
}

void metric_expression_deinit(struct metric_expression *expression)
{
	vec_deinit(&expression->names);
}

double metric_evaluate(const struct metric_expression *expression, const double *values)
{
	double value = evaluate(expression->root, values);

	return isfinite(value) ? value : NAN;
}
