/* Parsing of command lines by option tables (options.h): a single walk over the words. Every word is looked up in the table, groups are
 * walked as part of it with their offset added, so no flattened copy is made. Help texts and completion read the same tables in
 * options_help.c. */
#include "app/options.h"

#include "app/command.h"
#include "app/config.h"
#include "base/number.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/vec.h"

#include <limits.h>
#include <string.h>

struct options_parser {
	const struct option *options;
	char *values;
	int argc;
	char **argv;
	int next; /* the word that is read next */
};

/* A row that was found, with the offset of the group it stands in. */
struct match {
	const struct option *option;
	size_t offset;
	bool negated;
	bool exact;
	bool ambiguous;
	const struct option *other; /* the second candidate of an ambiguous abbreviation */
};

static bool takes_argument(const struct option *option)
{
	switch (option->kind) {
	case OPTION_KIND_STRING:
	case OPTION_KIND_U64:
	case OPTION_KIND_INT:
		return true;
	case OPTION_KIND_CUSTOM:
		return !(option->flags & OPTION_NO_ARGUMENT);
	default:
		return false;
	}
}

static const struct option *find_short(const struct option *options, char name, size_t offset, size_t *ret_offset)
{
	for (const struct option *option = options; option->kind != OPTION_KIND_END; option++) {
		if (option->kind == OPTION_KIND_GROUP) {
			const struct option *found = find_short(option->group, name, offset + option->offset, ret_offset);
			if (found)
				return found;
		} else if (option->short_name == name && name) {
			*ret_offset = offset + option->offset;
			return option;
		}
	}
	return NULL;
}

/* Two rows mean the same when they fill the same field in the same way: spellings of one option do not make an abbreviation ambiguous. */
static bool is_same_option(const struct match *match, const struct option *option, size_t offset, bool negated)
{
	return match->offset == offset && match->option->kind == option->kind && match->option->parse == option->parse &&
	       match->negated == negated;
}

static void consider(struct match *match, const struct option *option, size_t offset, bool negated, bool exact)
{
	if (match->exact || (negated && option->flags & OPTION_NO_NEGATION))
		return;
	if (exact) {
		*match = (struct match){.option = option, .offset = offset, .negated = negated, .exact = true};
	} else if (!match->option) {
		*match = (struct match){.option = option, .offset = offset, .negated = negated};
	} else if (!is_same_option(match, option, offset, negated)) {
		/* A hidden spelling never makes a listed one ambiguous. */
		if (option->flags & OPTION_HIDDEN)
			return;
		if (match->option->flags & OPTION_HIDDEN) {
			*match = (struct match){.option = option, .offset = offset, .negated = negated};
			return;
		}
		match->ambiguous = true;
		match->other = option;
	}
}

/* `word` is the name without dashes and "=value": matched with rows as it is, and without or with "no-" as the negation. */
static void find_long(const struct option *options, const char *word, size_t len, size_t offset, struct match *match)
{
	for (const struct option *option = options; option->kind != OPTION_KIND_END; option++) {
		if (option->kind == OPTION_KIND_GROUP)
			find_long(option->group, word, len, offset + option->offset, match);
		const char *name = option->long_name;
		if (!name)
			continue;
		size_t at = offset + option->offset;
		if (!strncmp(name, word, len))
			consider(match, option, at, false, !name[len]);
		if (len > 3 && !strncmp(word, "no-", 3) && !strncmp(name, word + 3, len - 3))
			consider(match, option, at, true, !name[len - 3]);
		if (str_starts_with(name, "no-") && !strncmp(name + 3, word, len))
			consider(match, option, at, true, !name[3 + len]);
	}
}

static void collect_names(const struct option *options, struct strbuf *names, size_t *count)
{
	for (const struct option *option = options; option->kind != OPTION_KIND_END; option++) {
		if (option->kind == OPTION_KIND_GROUP)
			collect_names(option->group, names, count);
		else if (option->long_name && !(option->flags & OPTION_HIDDEN)) {
			strbuf_add(names, option->long_name, strlen(option->long_name) + 1);
			++*count;
		}
	}
}

static bool has_long(const struct option *options, const char *name)
{
	struct match match = {0};
	find_long(options, name, strlen(name), 0, &match);
	return match.exact && match.option->parse != option_refuse;
}

/* "report, script and trace" if it is theirs. */
static size_t add_commands_with(const char *name, struct strbuf *out)
{
	VEC(const char *) found = {0};
	for (const struct command *const *command = command_list; *command; command++)
		if ((*command)->options && has_long((*command)->options, name))
			vec_push(&found, (*command)->name);
	for (size_t i = 0; i < found.len; i++)
		strbuf_printf(out, "%sperf %s", !i ? "" : i + 1 < found.len ? ", " : " and ", found.data[i]);
	size_t count = found.len;
	vec_deinit(&found);
	return count;
}

static struct error *unknown_option(const struct options_parser *parser, const char *word, size_t len)
{
	struct strbuf names = {0};
	VEC(const char *) list = {0};
	size_t count = 0;
	collect_names(parser->options, &names, &count);
	const char *name = names.data;
	for (size_t i = 0; i < count; i++, name += strlen(name) + 1)
		vec_push(&list, name);
	char *wanted = mem_strndup(word, len);
	const char *nearest = str_nearest(wanted, list.data, list.len);
	struct strbuf safe = {0}, others = {0};
	text_add_safe(&safe, wanted, len);
	size_t holders = add_commands_with(wanted, &others);
	struct error *error;
	if (holders)
		error = error_new_kind(ERROR_USAGE, "unknown option --%s; %s %s it", strbuf_str(&safe), strbuf_str(&others),
				       holders > 1 ? "have" : "has");
	else if (nearest)
		error = error_new_kind(ERROR_USAGE, "unknown option --%s; did you mean --%s?", strbuf_str(&safe), nearest);
	else
		error = error_new_kind(ERROR_USAGE, "unknown option --%s", strbuf_str(&safe));
	strbuf_deinit(&safe);
	strbuf_deinit(&others);
	free(wanted);
	vec_deinit(&list);
	strbuf_deinit(&names);
	return error;
}

static struct error *apply_int(const struct option *option, const char *argument, bool negated, void *field)
{
	int64_t value = 0;
	if (!negated && (!number_parse_s64(argument, &value) || value < INT_MIN || value > INT_MAX))
		return error_new_kind(ERROR_USAGE, "invalid number '%s'", argument);
	*(int *)field = (int)value;
	return NULL;
}

struct error *option_refuse(const struct option *option, const char *argument, bool negated, void *field)
{
	return error_new_kind(ERROR_UNSUPPORTED, "%s", option->help);
}

static struct error *apply(const struct match *match, const char *argument, void *field)
{
	const struct option *option = match->option;
	bool negated = match->negated;
	switch (option->kind) {
	case OPTION_KIND_FLAG:
		*(bool *)field = negated == !!(option->flags & OPTION_INVERTED);
		return NULL;
	case OPTION_KIND_COUNT:
		*(int *)field = negated ? 0 : *(int *)field + 1;
		return NULL;
	case OPTION_KIND_STRING:
		*(const char **)field = negated ? NULL : argument;
		return NULL;
	case OPTION_KIND_U64:
		if (negated)
			*(uint64_t *)field = 0;
		else if (!number_parse_u64(argument, field))
			return error_new_kind(ERROR_USAGE, "invalid number '%s'", argument);
		return NULL;
	case OPTION_KIND_INT:
		return apply_int(option, argument, negated, field);
	case OPTION_KIND_CUSTOM:
		return option->parse(option, argument, negated, field);
	default:
		return NULL;
	}
}

/* Finds the argument of an option: `attached` (behind "=" or the letter), else the next word where that is allowed. */
static struct error *fetch_argument(struct options_parser *parser, const struct match *match, const char *attached, const char **ret)
{
	const struct option *option = match->option;
	const char *next = parser->next < parser->argc ? parser->argv[parser->next] : NULL;
	*ret = NULL;
	if (match->negated || !takes_argument(option)) {
		if (attached)
			return error_new_kind(ERROR_USAGE, "does not take a value");
		return NULL;
	}
	if (attached) {
		*ret = attached;
		return NULL;
	}
	if (option->flags & OPTION_LAST_ARGUMENT) {
		if (next && next[0] != '-') {
			*ret = next;
			parser->next++;
		}
		return NULL;
	}
	if (option->flags & OPTION_OPTIONAL_ARGUMENT)
		return NULL;
	if (!next)
		return error_new_kind(ERROR_USAGE, "needs a value (%s)", option->argument ? option->argument : "VALUE");
	*ret = next;
	parser->next++;
	return NULL;
}

static struct error *use(struct options_parser *parser, const struct match *match, const char *attached)
{
	const char *argument;
	struct error *error = fetch_argument(parser, match, attached, &argument);
	return error ? error : apply(match, argument, parser->values + match->offset);
}

static struct error *parse_long(struct options_parser *parser, const char *word)
{
	size_t len = strcspn(word, "=");
	struct match match = {0};
	find_long(parser->options, word, len, 0, &match);
	if (!match.exact && len == 4 && !strncmp(word, "help", 4))
		return error_new_kind(ERROR_USAGE, "%s", "");
	if (!match.option || !len)
		return unknown_option(parser, word, len);
	if (match.ambiguous)
		return error_new_kind(ERROR_USAGE, "option --%.*s is ambiguous: --%s%s or --%s", (int)len, word, match.negated ? "no-" : "",
				      match.option->long_name, match.other->long_name);
	struct error *error = use(parser, &match, word[len] ? word + len + 1 : NULL);
	return error ? error_wrap(error, "option --%.*s", (int)len, word) : NULL;
}

/* A bundle of letters without its dash; the first that takes an argument takes the rest of the word. */
static struct error *parse_short(struct options_parser *parser, const char *letters)
{
	for (const char *letter = letters; *letter; letter++) {
		struct match match = {0};
		match.option = find_short(parser->options, *letter, 0, &match.offset);
		if (!match.option && *letter == 'h')
			return error_new_kind(ERROR_USAGE, "%s", "");
		if (!match.option)
			return error_new_kind(ERROR_USAGE, "unknown option -%c", *letter > ' ' && *letter < 127 ? *letter : '?');
		bool rest = takes_argument(match.option) && letter[1];
		struct error *error = use(parser, &match, rest ? letter + 1 : NULL);
		if (error)
			return error_wrap(error, "option -%c", *letter);
		if (rest)
			break;
	}
	return NULL;
}

struct error *options_parse(const struct option *options, enum options_mode mode, int argc, char **argv, void *values, int *ret_words)
{
	struct options_parser parser = {.options = options, .values = values, .argc = argc, .argv = argv, .next = 1};
	int words = 0;
	while (parser.next < argc) {
		char *word = argv[parser.next];
		struct error *error = NULL;
		if (word[0] != '-' || !word[1]) {
			if (mode == OPTIONS_STOP_AT_FIRST_WORD)
				break;
			argv[words++] = word;
			parser.next++;
			continue;
		}
		parser.next++;
		if (!strcmp(word, "--"))
			break;
		error = word[1] == '-' ? parse_long(&parser, word + 2) : parse_short(&parser, word + 1);
		if (error)
			return error;
	}
	while (parser.next < argc)
		argv[words++] = argv[parser.next++];
	argv[words] = NULL;
	*ret_words = words;
	return NULL;
}

struct error *options_parse_alone(const struct option *options, int argc, char **argv, void *values, const char *instead)
{
	int words;
	struct error *error = options_parse(options, OPTIONS_PERMUTE, argc, argv, values, &words);
	if (!error && words)
		error = error_new_kind(ERROR_USAGE, "unexpected argument '%s'%s", argv[0], instead);
	return error;
}

int options_span(const struct option *options, char *const *argv)
{
	const char *word = argv[0];
	if (!word || word[0] != '-' || !word[1] || !strcmp(word, "--"))
		return 0;
	struct match match = {0};
	bool attached = false;
	if (word[1] == '-') {
		size_t len = strcspn(word + 2, "=");
		find_long(options, word + 2, len, 0, &match);
		if (match.ambiguous)
			return 0;
		attached = word[2 + len];
	} else {
		for (const char *letter = word + 1; *letter && !attached; letter++) {
			match.option = find_short(options, *letter, 0, &match.offset);
			if (!match.option)
				return 0;
			attached = takes_argument(match.option) && letter[1];
		}
	}
	if (!match.option)
		return 0;
	bool next_word = takes_argument(match.option) && !match.negated && !attached && argv[1] &&
			 !(match.option->flags & (OPTION_OPTIONAL_ARGUMENT | OPTION_LAST_ARGUMENT));
	return next_word ? 2 : 1;
}

struct error *options_set(const struct option *options, const char *long_name, const char *argument, void *values)
{
	struct match match = {0};
	find_long(options, long_name, strlen(long_name), 0, &match);
	if (!match.exact)
		return error_new("unknown option --%s", long_name);
	if (!takes_argument(match.option)) {
		bool truth;
		if (!config_parse_bool(argument, &truth))
			return error_new_kind(ERROR_USAGE, "invalid value '%s': expected true or false", argument);
		match.negated ^= !truth;
		argument = NULL;
	}
	return apply(&match, argument, (char *)values + match.offset);
}

struct error *option_percent(const struct option *option, const char *argument, bool negated, void *field)
{
	double percent;
	if (!number_parse_double(argument, &percent) || percent < 0 || percent > 100)
		return error_new_kind(ERROR_USAGE, "invalid percentage '%s': expected 0 to 100", argument);
	*(double *)field = percent;
	return NULL;
}
