/* A parser by recursive descent that writes SQL while it reads. Only names that it knows, keywords and escaped literals are written. */
#include "fleet/clickhouse/where.h"

#include "base/text.h"
#include "fleet/clickhouse/connection.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { DEPTH_MAX = 100 };

struct parsing {
	const char *text, *at;
	struct strbuf *sql;
	unsigned int depth;
	bool by_host;
};

static struct error *expected(const struct parsing *parsing, const char *what)
{
	struct strbuf rest = {0};
	size_t length = strlen(parsing->at);
	text_add_safe(&rest, parsing->at, length < 30 ? length : 30);
	struct error *error = error_new_kind(ERROR_USAGE, "--where: expected %s %s%s%s", what, *parsing->at ? "at '" : "at its end",
					     strbuf_str(&rest), *parsing->at ? "'" : "");
	strbuf_deinit(&rest);
	return error;
}

static void skip_spaces(struct parsing *parsing)
{
	while (isspace((unsigned char)*parsing->at))
		parsing->at++;
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' || c == '/';
}

/* The word, if it is the next one. */
static bool take_word(struct parsing *parsing, const char *word)
{
	size_t length = strlen(word);
	skip_spaces(parsing);
	if (strncasecmp(parsing->at, word, length) != 0 || is_name_char(parsing->at[length]))
		return false;
	parsing->at += length;
	return true;
}

static bool take_sign(struct parsing *parsing, const char *sign)
{
	skip_spaces(parsing);
	if (!str_starts_with(parsing->at, sign))
		return false;
	parsing->at += strlen(sign);
	return true;
}

/* ---- literals ---- */

static struct error *parse_literal(struct parsing *parsing, struct strbuf *ret)
{
	skip_spaces(parsing);
	const char quote = *parsing->at, *at = parsing->at + 1;
	if (quote != '"' && quote != '\'')
		return expected(parsing, "a text in quotes");
	struct strbuf text = {0};
	for (;; at++) {
		if (!*at) {
			strbuf_deinit(&text);
			return error_new_kind(ERROR_USAGE, "--where: a text has no closing %c", quote);
		}
		if (*at == quote && *++at != quote)
			break;
		strbuf_add_char(&text, *at);
	}
	parsing->at = at;
	clickhouse_add_literal(ret, strbuf_str(&text), text.len);
	strbuf_deinit(&text);
	return NULL;
}

/* ("a", "b") */
static struct error *parse_list(struct parsing *parsing, struct strbuf *ret)
{
	if (!take_sign(parsing, "("))
		return expected(parsing, "( behind in");
	strbuf_add_char(ret, '(');
	struct error *error = parse_literal(parsing, ret);
	while (!error && take_sign(parsing, ",")) {
		strbuf_add_str(ret, ", ");
		error = parse_literal(parsing, ret);
	}
	if (!error && !take_sign(parsing, ")"))
		error = expected(parsing, ", or )");
	strbuf_add_char(ret, ')');
	return error;
}

/* ---- comparisons ---- */

/* What stands behind a name, as SQL. */
static struct error *parse_comparison(struct parsing *parsing, struct strbuf *ret)
{
	static const char *const signs[] = {"==", "!=", "<>", "<=", ">=", "=", "<", ">"};
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (take_sign(parsing, signs[i])) {
			strbuf_printf(ret, " %s ", i ? signs[i] : "=");
			return parse_literal(parsing, ret);
		}
	strbuf_add_str(ret, take_word(parsing, "not") ? " NOT " : " ");
	if (take_word(parsing, "like")) {
		strbuf_add_str(ret, "LIKE ");
		return parse_literal(parsing, ret);
	}
	if (take_word(parsing, "in")) {
		strbuf_add_str(ret, "IN ");
		return parse_list(parsing, ret);
	}
	return expected(parsing, "one of = != < <= > >= like in");
}

/* Columns of samples are compared there; of what samples refer to, all that is alike is found first. True: it's about hosts or labels. */
static bool add_condition(struct strbuf *sql, const char *name, size_t length, const char *comparison)
{
	static const struct {
		const char *name, *before, *after;
		bool by_host;
	} known[] = {
		{"host", "host", "", .by_host = true},
		{"service", "service", ""},
		{"event", "event", ""},
		{"comm", "stack GLOBAL IN (SELECT id FROM stacks WHERE comm", ")"},
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strlen(known[i].name) == length && !memcmp(known[i].name, name, length)) {
			strbuf_printf(sql, "%s%s%s", known[i].before, comparison, known[i].after);
			return known[i].by_host;
		}
	static const char prefix[] = "label.";
	size_t skipped = str_starts_with(name, prefix) ? strlen(prefix) : 0;
	strbuf_add_str(sql, "labels GLOBAL IN (SELECT id FROM labels WHERE values[indexOf(names, ");
	clickhouse_add_literal(sql, name + skipped, length - skipped);
	strbuf_printf(sql, ")]%s)", comparison);
	return true;
}

static struct error *parse_term(struct parsing *parsing)
{
	struct strbuf comparison = {0};
	skip_spaces(parsing);
	const char *name = parsing->at;
	while (is_name_char(*parsing->at))
		parsing->at++;
	size_t length = (size_t)(parsing->at - name);
	if (!length)
		return expected(parsing, "a name such as service, host, event, comm or a label's");
	struct error *error = parse_comparison(parsing, &comparison);
	if (!error)
		parsing->by_host |= add_condition(parsing->sql, name, length, strbuf_str(&comparison));
	strbuf_deinit(&comparison);
	return error;
}

/* ---- conditions ---- */

static struct error *parse_or(struct parsing *parsing);

static struct error *parse_not(struct parsing *parsing)
{
	while (take_word(parsing, "not"))
		strbuf_add_str(parsing->sql, "NOT ");
	if (!take_sign(parsing, "("))
		return parse_term(parsing);
	if (++parsing->depth > DEPTH_MAX)
		return error_new_kind(ERROR_USAGE, "--where: more than %d brackets are nested", DEPTH_MAX);
	struct error *error = parse_or(parsing);
	if (!error && !take_sign(parsing, ")"))
		error = expected(parsing, "and, or, or )");
	parsing->depth--;
	return error;
}

static struct error *parse_and(struct parsing *parsing)
{
	struct error *error = parse_not(parsing);
	while (!error && take_word(parsing, "and")) {
		strbuf_add_str(parsing->sql, " AND ");
		error = parse_not(parsing);
	}
	return error;
}

static struct error *parse_or(struct parsing *parsing)
{
	strbuf_add_char(parsing->sql, '(');
	struct error *error = parse_and(parsing);
	while (!error && take_word(parsing, "or")) {
		strbuf_add_str(parsing->sql, " OR ");
		error = parse_and(parsing);
	}
	strbuf_add_char(parsing->sql, ')');
	return error;
}

struct error *fleet_where_add(const char *text, struct strbuf *sql, bool *ret_by_host)
{
	struct parsing parsing = {.text = text, .at = text, .sql = sql};
	struct error *error = parse_or(&parsing);
	*ret_by_host |= parsing.by_host;
	skip_spaces(&parsing);
	return error || !*parsing.at ? error : expected(&parsing, "and, or, or the end");
}

struct error *fleet_label_add(const char *label, struct strbuf *sql)
{
	const char *equals = strchr(label, '=');
	struct strbuf comparison = {0};
	if (!equals || equals == label)
		return error_new_kind(ERROR_USAGE, "--label: expected NAME=VALUE");
	strbuf_add_str(&comparison, " = ");
	clickhouse_add_literal(&comparison, equals + 1, strlen(equals + 1));
	add_condition(sql, label, (size_t)(equals - label), strbuf_str(&comparison));
	strbuf_deinit(&comparison);
	return NULL;
}
