/* Reading of probe definitions. A definition is cut into words at spaces that aren't quoted; the first is the place, read from left to
 * right: event, name, and what follows the name, one separator at a time. Nothing here knows of files or kernels. */
#include "event/probe_spec.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "base/strbuf.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_LONGEST = 63 /* MAX_EVENT_NAME_LEN of the kernel, without its NUL */ };

void probe_spec_deinit(struct probe_spec *spec)
{
	for (size_t i = 0; i < spec->arguments.len; i++)
		vec_deinit(&spec->arguments.data[i].steps);
	vec_deinit(&spec->arguments);
	arena_deinit(&spec->arena);
	*spec = (struct probe_spec){0};
}

/* ---- names ---- */

bool probe_name_is_valid(const char *name)
{
	if (!*name || isdigit((unsigned char)*name) || strlen(name) > NAME_LONGEST)
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_')
			return false;
	return true;
}

/* Where the last part of a qualified name begins: after the last "::" that isn't within brackets. */
static const char *last_part(const char *name)
{
	const char *last = name;
	int depth = 0;

	for (const char *at = name; *at; at++) {
		depth += (*at == '<' || *at == '(') - (*at == '>' || *at == ')');
		if (depth <= 0 && at[0] == ':' && at[1] == ':')
			last = at + 2;
	}
	return *last ? last : name;
}

char *probe_name_of(const char *function)
{
	struct strbuf name = {0};
	const char *part = last_part(function);

	if (isdigit((unsigned char)*part))
		strbuf_add_char(&name, '_');
	for (const char *at = part; *at && name.len < NAME_LONGEST; at++) {
		bool fits = isalnum((unsigned char)*at) || *at == '_';
		if (!fits && at != part && (*at == '<' || *at == '('))
			break;
		strbuf_add_char(&name, fits ? *at : '_');
	}
	if (!name.len)
		strbuf_add_char(&name, '_');
	return strbuf_detach(&name);
}

bool probe_cast_is_known(const char *cast)
{
	static const char *const names[] = {"string", "ustring", "symbol", "symstr", "char", "%pd", "%pD"};
	static const char *const widths[] = {"8", "16", "32", "64"};
	unsigned int width, at, container;
	int end = 0;
	size_t len = strcspn(cast, "["); /* an array of the kernel: u8[4] */
	cleanup_free char *base = mem_strndup(cast, len);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(base, names[i]))
			return true;
	for (size_t i = 0; i < 4; i++)
		if (*base && strchr("usx", *base) && !strcmp(base + 1, widths[i]))
			return true;
	return sscanf(base, "b%u@%u/%u%n", &width, &at, &container, &end) == 3 && !base[end];
}

/* ---- patterns ---- */

bool probe_pattern_match(const char *pattern, const char *line, size_t size)
{
	struct strbuf want = {0}, have = {0};

	for (; *pattern; pattern++)
		if (!isspace((unsigned char)*pattern))
			strbuf_add_char(&want, *pattern);
	for (size_t i = 0; i < size; i++)
		if (!isspace((unsigned char)line[i]))
			strbuf_add_char(&have, line[i]);
	bool matches = want.len && str_glob_match(strbuf_str(&want), strbuf_str(&have));
	strbuf_deinit(&want);
	strbuf_deinit(&have);
	return matches;
}

/* ---- the place ---- */

/* A word in which each byte may be quoted: then it is part of a name, whatever it is. */
struct word {
	struct strbuf text, quoted; /* of the same length; quoted: 1 or 0 */
};

static void word_deinit(struct word *word)
{
	strbuf_deinit(&word->text);
	strbuf_deinit(&word->quoted);
}

static void word_add(struct word *word, char c, bool quoted)
{
	strbuf_add_char(&word->text, c);
	strbuf_add_char(&word->quoted, quoted ? 1 : 2);
}

static bool is_plain(const struct word *word, size_t i)
{
	return word->quoted.data[i] == 2;
}

/* Reads up to a space. In a pattern quotes are what they are. */
static const char *read_place(const char *at, struct word *word)
{
	char quote = 0;
	bool pattern = false;

	for (; *at && (quote || !isspace((unsigned char)*at)); at++) {
		if (*at == '\\' && at[1] && !pattern) {
			word_add(word, *++at, true);
		} else if (!pattern && (*at == quote || (!quote && (*at == '"' || *at == '\'')))) {
			quote = quote ? 0 : *at;
		} else {
			pattern = pattern || (!quote && *at == ';');
			word_add(word, *at, quote != 0);
		}
	}
	return at;
}

/* The first plain byte of `set` from `from` on, "::" apart; the length of the word when there is none. */
static size_t find_plain(const struct word *word, size_t from, const char *set)
{
	const char *text = strbuf_str(&word->text);
	size_t i = from, angle = 0;

	for (; i < word->text.len; i++) {
		if (text[i] == ':' && text[i + 1] == ':') {
			i++;
			continue;
		}
		angle += text[i] == '<' && is_plain(word, i);
		if (text[i] == '>' && angle)
			angle--;
		if (is_plain(word, i) && !angle && strchr(set, text[i]))
			break;
	}
	return i;
}

static const char *part_of(struct probe_spec *spec, const struct word *word, size_t from, size_t to)
{
	return arena_strndup(&spec->arena, strbuf_str(&word->text) + from, to - from);
}

static struct error *check_name(const char *kind, const char *name)
{
	if (probe_name_is_valid(name))
		return NULL;
	return error_new_kind(ERROR_USAGE,
			      "'%s' is not a valid name for %s: use letters, digits and _, not beginning with a digit, at "
			      "most %d characters",
			      name, kind, NAME_LONGEST);
}

/* [GROUP:]EVENT= in front. *at is moved behind it. */
static struct error *read_event(struct probe_spec *spec, const struct word *word, size_t *at)
{
	size_t equals = find_plain(word, 0, "=;");
	struct error *error;

	if (equals >= word->text.len || word->text.data[equals] != '=')
		return NULL;
	size_t colon = find_plain(word, 0, ":=");
	if (colon < equals) {
		spec->group = part_of(spec, word, 0, colon);
		if ((error = check_name("a group", spec->group)))
			return error;
	}
	size_t from = colon < equals ? colon + 1 : 0;
	*at = equals + 1;
	if (from == equals) /* "GROUP:=" leaves the event's name to us */
		return NULL;
	spec->event = part_of(spec, word, from, equals);
	return check_name("an event", spec->event);
}

/* What is wrong with an offset or a %return that runs into an argument, as in "f%return+0($retval)"; NULL where that is not the mistake. */
static struct error *joined_argument(char kind, const char *text)
{
	if (!strpbrk(text, "$(%"))
		return NULL;
	return error_new_kind(ERROR_USAGE, "'%c%s': a space is missing before the argument", kind, text);
}

static struct error *read_return(struct probe_spec *spec, const char *text)
{
	struct error *joined = str_starts_with(text, "return") ? joined_argument('%', text) : NULL;
	if (joined)
		return joined;
	if (strcmp(text, "return"))
		return error_new_kind(ERROR_USAGE, "'%%%s': only 'return' can follow the %%", text);
	spec->is_return = true;
	return NULL;
}

static struct error *read_offset(struct probe_spec *spec, const char *text)
{
	if (number_parse_u64(text, &spec->offset))
		return NULL;
	struct error *joined = joined_argument('+', text);
	return joined ? joined : error_new_kind(ERROR_USAGE, "invalid offset '%s': expected a number of bytes", text);
}

static struct error *read_rest(struct probe_spec *spec, const struct word *word, size_t at)
{
	while (at < word->text.len) {
		char kind = word->text.data[at++];
		size_t end = kind == ';' ? word->text.len : find_plain(word, at, ";:+@%");
		const char *text = part_of(spec, word, at, end);
		struct error *error = NULL;
		if (!*text)
			return error_new_kind(ERROR_USAGE, "nothing follows '%c'", kind);
		if (kind == '@')
			spec->file = text;
		else if (kind == ';')
			spec->pattern = text;
		else if (kind == ':' && !(spec->has_line = number_parse_u32(text, &spec->line)))
			error = error_new_kind(ERROR_USAGE, "invalid line number '%s'", text);
		else if (kind == '+')
			error = read_offset(spec, text);
		else if (kind == '%')
			error = read_return(spec, text);
		if (error)
			return error;
		at = end;
	}
	return NULL;
}

static struct error *check_place(const struct probe_spec *spec)
{
	if (spec->has_line + (spec->pattern != NULL) + (spec->offset && !spec->is_address) > 1)
		return error_new_kind(ERROR_USAGE, "an offset, a line and a pattern cannot be combined");
	if (spec->is_return && (spec->has_line || spec->pattern || (spec->offset && !spec->is_address)))
		return error_new_kind(ERROR_USAGE, "%%return cannot be combined with an offset, line or pattern");
	if (spec->is_return && !spec->function && !spec->is_address)
		return error_new_kind(ERROR_USAGE, "%%return requires a function name");
	return NULL;
}

/* [%]sdt_PROVIDER:NAME */
static bool read_static_tracepoint(struct probe_spec *spec, const struct word *word, size_t at)
{
	const char *text = strbuf_str(&word->text);
	bool percent = text[at] == '%' && is_plain(word, at);
	size_t from = at + percent, colon = find_plain(word, from, ":");

	if (colon >= word->text.len || (!percent && !str_starts_with(text + from, "sdt_")) || isdigit((unsigned char)text[colon + 1]))
		return false;
	from += str_starts_with(text + from, "sdt_") ? 4 : 0;
	spec->provider = part_of(spec, word, from, colon);
	spec->function = part_of(spec, word, colon + 1, word->text.len);
	return true;
}

static struct error *read_point(struct probe_spec *spec, const struct word *word, size_t at)
{
	const char *text = strbuf_str(&word->text);
	size_t end = find_plain(word, at, ";:+@%");

	if (read_static_tracepoint(spec, word, at))
		return NULL;
	if (end == at)
		return error_new_kind(ERROR_USAGE, "missing function or file name in '%s'", text);
	const char *name = part_of(spec, word, at, end);
	bool of_file = end < word->text.len && strchr(":;", text[end]) && strchr(name, '.');
	if (str_starts_with(name, "0x")) {
		if (!number_parse_u64(name, &spec->offset))
			return error_new_kind(ERROR_USAGE, "invalid address '%s'", name);
		spec->is_address = true;
	} else if (of_file) {
		spec->file = name;
	} else {
		spec->function = name;
	}
	struct error *error = read_rest(spec, word, end);
	return error ? error : check_place(spec);
}

/* ---- arguments ---- */

static bool starts_name(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static size_t name_length(const char *text)
{
	size_t len = 0;
	while (isalnum((unsigned char)text[len]) || text[len] == '_')
		len++;
	return len;
}

static struct error *read_index(const char **at, struct probe_argument *argument)
{
	size_t len = strcspn(*at + 1, "]");
	cleanup_free char *number = mem_strndup(*at + 1, len);
	struct probe_step step = {0};

	if ((*at)[1 + len] != ']' || !number_parse_s64(number, &step.index))
		return error_new_kind(ERROR_USAGE, "'%s': an index must be a number in brackets", *at);
	vec_push(&argument->steps, step);
	*at += len + 2;
	return NULL;
}

/* NAME { .MEMBER | ->MEMBER | [INDEX] } */
static struct error *read_variable(struct probe_spec *spec, const char *at, struct probe_argument *argument)
{
	const char *whole = at;
	struct error *error;
	size_t len = name_length(at);

	argument->kind = PROBE_ARGUMENT_VARIABLE;
	argument->value = arena_strndup(&spec->arena, at, len);
	for (at += len; *at;) {
		if (*at == '[') {
			if ((error = read_index(&at, argument)))
				return error;
			continue;
		}
		struct probe_step step = {.arrow = str_starts_with(at, "->")};
		if (!step.arrow && *at != '.')
			return error_new_kind(ERROR_USAGE, "'%s': expected .member, ->member or [index] at '%s'", whole, at);
		at += step.arrow ? 2 : 1;
		len = name_length(at);
		if (!len)
			return error_new_kind(ERROR_USAGE, "'%s': missing member name at the end or before '%s'", whole, at);
		step.member = arena_strndup(&spec->arena, at, len);
		vec_push(&argument->steps, step);
		at += len;
	}
	return NULL;
}

/* The colon in front of the type: the last that is in no quotes; NULL = none. */
static const char *find_cast(const char *text)
{
	const char *found = NULL;
	bool quoted = false;

	for (const char *at = text; *at; at++) {
		quoted ^= *at == '"';
		if (*at == ':' && !quoted)
			found = at;
	}
	return found;
}

static struct error *read_argument(struct probe_spec *spec, const char *word)
{
	struct probe_argument argument = {.text = word};
	size_t len = name_length(word);
	struct error *error = NULL;

	if (len && word[len] == '=') {
		argument.name = arena_strndup(&spec->arena, word, len);
		argument.text = word + len + 1;
		if ((error = check_name("an argument", argument.name)))
			return error;
	}
	const char *colon = find_cast(argument.text);
	argument.value = colon ? arena_strndup(&spec->arena, argument.text, (size_t)(colon - argument.text)) : argument.text;
	argument.cast = colon ? colon + 1 : NULL;
	if (argument.cast && !probe_cast_is_known(argument.cast))
		return error_new_kind(
			ERROR_USAGE,
			"'%s': unknown type '%s'; the types are u8 … u64, s8 … s64, x8 … x64, string, ustring, symbol, symstr, char "
			"and bWIDTH@BIT/SIZE",
			argument.text, argument.cast);
	if (!strcmp(argument.value, "$vars"))
		argument.kind = PROBE_ARGUMENT_VARS;
	else if (!strcmp(argument.value, "$params"))
		argument.kind = PROBE_ARGUMENT_PARAMS;
	else if (starts_name(*argument.value))
		error = read_variable(spec, argument.value, &argument);
	else if (*argument.value && strchr("%$@+-\\", *argument.value))
		argument.kind = PROBE_ARGUMENT_KERNEL;
	else
		error = error_new_kind(ERROR_USAGE,
				       "'%s' is neither a variable nor a register (%%di), memory (+8(%%sp), @symbol), $retval, "
				       "$stack, $comm or constant (\\1)",
				       word);
	if (error)
		vec_deinit(&argument.steps);
	else
		vec_push(&spec->arguments, argument);
	return error;
}

static struct error *check_arguments(const struct probe_spec *spec)
{
	for (size_t i = 0; i < spec->arguments.len; i++) {
		const struct probe_argument *argument = &spec->arguments.data[i];
		if (spec->is_return && argument->kind != PROBE_ARGUMENT_KERNEL)
			return error_new_kind(ERROR_USAGE,
					      "'%s': variables are not available when a function returns; use $retval, registers or memory",
					      argument->text);
		if (!spec->is_return && strstr(argument->value, "$retval"))
			return error_new_kind(ERROR_USAGE, "'%s' is available only with FUNCTION%%return", argument->text);
	}
	return NULL;
}

/* The end of a word; spaces in quotes belong to it. */
static const char *word_end(const char *at)
{
	bool quoted = false;

	for (; *at && (quoted || !isspace((unsigned char)*at)); at++)
		quoted ^= *at == '"';
	return at;
}

static const char *skip_spaces(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

static struct error *parse(const char *text, bool only_place, struct probe_spec *spec)
{
	struct word word = {0};
	size_t at = 0;
	const char *rest = skip_spaces(read_place(skip_spaces(text), &word));
	struct error *error = only_place ? NULL : read_event(spec, &word, &at);

	if (!error)
		error = read_point(spec, &word, at);
	word_deinit(&word);
	if (!error && only_place && *rest)
		return error_new_kind(ERROR_USAGE, "unexpected '%s': only a place can be given here", rest);
	while (!error && *rest) {
		const char *end = word_end(rest);
		error = read_argument(spec, arena_strndup(&spec->arena, rest, (size_t)(end - rest)));
		rest = skip_spaces(end);
	}
	return error ? error : check_arguments(spec);
}

static struct error *parse_whole(const char *text, bool only_place, struct probe_spec *ret)
{
	*ret = (struct probe_spec){0};
	struct error *error = parse(text, only_place, ret);
	if (error)
		probe_spec_deinit(ret);
	return error_wrap(error, "'%s'", text);
}

struct error *probe_spec_parse(const char *text, struct probe_spec *ret)
{
	return parse_whole(text, false, ret);
}

struct error *probe_spec_parse_place(const char *text, struct probe_spec *ret)
{
	return parse_whole(text, true, ret);
}

void probe_spec_add_place(struct strbuf *out, const struct probe_spec *spec)
{
	if (spec->provider) {
		strbuf_printf(out, "%%sdt_%s:%s", spec->provider, spec->function);
		return;
	}
	if (spec->is_address)
		strbuf_printf(out, "0x%llx", (unsigned long long)spec->offset);
	else
		strbuf_add_str(out, spec->function ? spec->function : spec->file);
	if (spec->function && spec->file)
		strbuf_printf(out, "@%s", spec->file);
	if (spec->has_line)
		strbuf_printf(out, ":%u", spec->line);
	if (spec->offset && !spec->is_address)
		strbuf_printf(out, "+%llu", (unsigned long long)spec->offset);
	if (spec->pattern)
		strbuf_printf(out, ";%s", spec->pattern);
	if (spec->is_return)
		strbuf_add_str(out, "%return");
}

/* ---- lines ---- */

static struct error *read_lines(const char *text, const char *range, struct probe_lines *lines)
{
	size_t len = strspn(range, "0123456789");
	cleanup_free char *first = mem_strndup(range, len);
	uint32_t number;

	lines->last = UINT32_MAX;
	if (!number_parse_u32(first, &lines->first))
		return error_new_kind(ERROR_USAGE, "'%s': expected a line number after the colon", text);
	if (!range[len])
		return NULL;
	if ((range[len] != '-' && range[len] != '+') || !number_parse_u32(range + len + 1, &number))
		return error_new_kind(ERROR_USAGE, "'%s': expected lines as FIRST-LAST or FIRST+COUNT", text);
	lines->last = range[len] == '-' ? number : number > UINT32_MAX - lines->first ? UINT32_MAX : lines->first + number - (number > 0);
	if (lines->last < lines->first)
		return error_new_kind(ERROR_USAGE, "'%s': the last line is before the first", text);
	return NULL;
}

/* The colon in front of the lines; the end when there is none. */
static size_t find_lines(const char *text)
{
	size_t i = 0;
	while (text[i] && (text[i] != ':' || text[i + 1] == ':'))
		i += text[i] == ':' ? 2 : 1;
	return i;
}

struct error *probe_lines_parse(const char *text, struct probe_lines *ret)
{
	*ret = (struct probe_lines){.last = UINT32_MAX};
	size_t colon = find_lines(text);
	char *name = arena_strndup(&ret->arena, text, colon), *at = strchr(name, '@');
	struct error *error = text[colon] ? read_lines(text, text + colon + 1, ret) : NULL;

	if (at) {
		*at = '\0';
		ret->function = name;
		ret->file = at + 1;
	} else if (strchr(name, '.') || strchr(name, '/')) {
		ret->file = name;
	} else {
		ret->function = name;
	}
	if (!error && (!*name || (at && !at[1])))
		error = error_new_kind(ERROR_USAGE, "'%s': missing function or file name", text);
	if (error)
		arena_deinit(&ret->arena);
	return error;
}
