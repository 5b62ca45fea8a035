/* Checking a filter: a recursive descent over the kernel's grammar (kernel/trace/trace_events_filter.c). Nothing is evaluated here; names
 * of numbers are replaced by them. */
#include "event/filter.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "event/tracepoint/tracepoint_symbols.h"

#include <ctype.h>
#include <string.h>

/* Parentheses and '!' nest no deeper. */
enum { DEPTH_MAX = 256 };

struct checker {
	const struct tracepoint *tracepoint;
	const char *text;
	const char *at;
	const char *copied; /* what is in front of it is in `ret` */
	struct strbuf *ret;
	const char *kernel_types;
	unsigned int depth;
	const struct tracepoint_field *field; /* the one just read; NULL = CPU, COMM */
	bool function;			      /* … is compared with a function of the kernel */
};

static struct error *fail(const struct checker *checker, const char *at, const char *hint, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static struct error *fail(const struct checker *checker, const char *at, const char *hint, const char *format, ...)
{
	struct strbuf message = {0}, before = {0};
	va_list args;

	strbuf_printf(&message, "filter of %s:%s: ", checker->tracepoint->system, checker->tracepoint->name);
	va_start(args, format);
	strbuf_vprintf(&message, format, args);
	va_end(args);
	text_add_safe(&before, checker->text, (size_t)(at - checker->text));
	strbuf_printf(&message, "\n  %s", strbuf_str(&before));
	text_add_safe(&message, at, strlen(at));
	strbuf_add_str(&message, "\n  ");
	strbuf_add_chars(&message, ' ', text_width(strbuf_str(&before), before.len));
	strbuf_printf(&message, "^ %s", hint);
	struct error *error = error_new_kind(ERROR_USAGE, "%s", strbuf_str(&message));
	strbuf_deinit(&message);
	strbuf_deinit(&before);
	return error;
}

static void skip_space(struct checker *checker)
{
	checker->at += strspn(checker->at, " \t\n");
}

static struct error *unknown_field(const struct checker *checker, const char *at, const char *name, size_t len)
{
	struct strbuf hint = {0};

	const char *between = "its fields are: ";
	for (size_t i = 0; i < checker->tracepoint->field_count; i++) {
		const struct tracepoint_field *field = &checker->tracepoint->fields[i];
		if (field->flags & TRACEPOINT_FIELD_COMMON)
			continue;
		strbuf_printf(&hint, "%s%s (%s)", between, field->name, field->type);
		between = ", ";
	}
	strbuf_add_str(&hint, "; all tracepoints have: common_pid (int), CPU (int), COMM (string)");
	struct error *error = fail(checker, at, strbuf_str(&hint), "unknown field '%.*s'", (int)len, name);
	strbuf_deinit(&hint);
	return error;
}

/* What a name in a filter stands for: `ret_text` says whether it is compared as text. */
static struct error *check_field(struct checker *checker, bool *ret_text)
{
	static const char *const numbers[] = {"CPU", "cpu"}, *const texts[] = {"COMM", "comm"};
	const char *begin = checker->at;
	size_t len = 0;

	while (isalnum((unsigned char)begin[len]) || begin[len] == '_')
		len++;
	if (!len)
		return fail(checker, begin, "a condition, such as: prev_pid == 42 && prev_comm ~ \"ssh*\"",
			    *begin ? "expected a field instead of '%c'" : "missing condition", *begin);
	char *name = mem_strndup(begin, len);
	const struct tracepoint_field *field = tracepoint_field(checker->tracepoint, name);
	bool is_number = field != NULL;
	checker->field = field;
	*ret_text = field && (field->flags & TRACEPOINT_FIELD_STRING);
	for (size_t i = 0; !field && i < 2; i++) {
		is_number |= !strcmp(name, numbers[i]);
		*ret_text |= !strcmp(name, texts[i]);
	}
	free(name);
	checker->at += len;
	if (str_starts_with(checker->at, ".ustring")) {
		*ret_text = true;
		checker->at += 8;
	}
	checker->function = str_starts_with(checker->at, ".function");
	checker->at += checker->function ? 9 : 0;
	return is_number || *ret_text ? NULL : unknown_field(checker, begin, begin, len);
}

static struct error *check_operator(struct checker *checker, bool text)
{
	static const char *const operators[] = {"==", "!=", "<=", ">=", "<", ">", "&", "~"};
	const char *begin = checker->at;

	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		if (!str_starts_with(begin, operators[i]) || str_starts_with(begin, "&&"))
			continue;
		checker->at += strlen(operators[i]);
		if (text && i >= 2 && i != 7)
			return fail(checker, begin, "== or != for equality, ~ for a pattern", "strings cannot be compared with '%s'",
				    operators[i]);
		if (!text && i == 7)
			return fail(checker, begin, "== != < <= > >= or &", "numbers cannot be compared with a pattern");
		return NULL;
	}
	return fail(checker, begin, text ? "==, != or ~" : "== != < <= > >= or &",
		    *begin == '=' ? "'=' is not a comparison" : "missing comparison");
}

static struct error *check_quoted(struct checker *checker)
{
	const char *begin = checker->at, *end = strchr(begin + 1, *begin);

	if (!end)
		return fail(checker, begin, "a second quote", "unterminated quoted string");
	checker->at = end + 1;
	return NULL;
}

static struct error *no_number(const struct checker *checker, const char *at)
{
	struct strbuf names = {0}, hint = {0};

	if (checker->field)
		tracepoint_add_symbols(checker->tracepoint, checker->field, &names);
	strbuf_printf(&hint, checker->field ? "a number: the field is of type %s" : "a number", checker->field ? checker->field->type : "");
	if (names.len)
		strbuf_printf(&hint, "; or one of: %s", strbuf_str(&names));
	struct error *error = fail(checker, at, strbuf_str(&hint), "invalid number");
	strbuf_deinit(&names);
	strbuf_deinit(&hint);
	return error;
}

/* The number that the next `length` bytes name goes to the kernel; `quotes` of them are around the name. */
static struct error *check_name(struct checker *checker, size_t length, size_t quotes)
{
	const char *begin = checker->at;
	cleanup_free char *name = mem_strndup(begin + quotes, length - 2 * quotes);
	int64_t value;

	if (!checker->field || !tracepoint_symbol(checker->tracepoint, checker->field, checker->kernel_types, name, &value))
		return no_number(checker, begin);
	strbuf_add(checker->ret, checker->copied, (size_t)(begin - checker->copied));
	strbuf_printf(checker->ret, "%lld", (long long)value);
	checker->copied = checker->at = begin + length;
	return NULL;
}

static struct error *check_value(struct checker *checker, bool text)
{
	const char *begin = checker->at;

	if (*begin == '"' || *begin == '\'') {
		struct error *error = check_quoted(checker);
		size_t length = (size_t)(checker->at - begin);
		if (error || text)
			return error;
		checker->at = begin;
		return check_name(checker, length, 1);
	}
	if (str_starts_with(begin, "CPUS{")) {
		const char *end = strchr(begin, '}');
		checker->at = end ? end + 1 : begin;
		return end ? NULL : fail(checker, begin, "CPUS{0-3,7}", "unterminated list of CPUs");
	}
	if (text)
		return fail(checker, begin, "quotes, as in \"name\"",
			    *begin ? "a string must be quoted" : "missing string to compare with");
	if (checker->function && (isalpha((unsigned char)*begin) || *begin == '_')) {
		while (isalnum((unsigned char)*checker->at) || *checker->at == '_' || *checker->at == '.')
			checker->at++;
		return NULL;
	}
	size_t word = 0;
	while (isalnum((unsigned char)begin[word]) || begin[word] == '_')
		word++;
	if (word && !isdigit((unsigned char)*begin))
		return check_name(checker, word, 0);
	const char *digits = begin + (*begin == '-');
	size_t len = strspn(digits, "0123456789abcdefxABCDEFX");
	if (!isdigit((unsigned char)*digits) || isalnum((unsigned char)digits[len]) || digits[len] == '_')
		return *begin ? no_number(checker, begin) : fail(checker, begin, "a number", "missing number to compare with");
	checker->at = digits + len;
	return NULL;
}

static struct error *check_condition(struct checker *checker);

static struct error *check_term(struct checker *checker)
{
	bool text = false;

	skip_space(checker);
	if (++checker->depth > DEPTH_MAX)
		return fail(checker, checker->at, "fewer parentheses", "the condition is nested too deeply");
	struct error *error;
	if (*checker->at == '!') {
		checker->at++;
		error = check_term(checker);
	} else if (*checker->at == '(') {
		const char *open = checker->at++;
		error = check_condition(checker);
		if (!error && *checker->at != ')')
			error = fail(checker, open, "this one", "missing closing parenthesis");
		checker->at += !error;
	} else {
		error = check_field(checker, &text);
		skip_space(checker);
		if (!error)
			error = check_operator(checker, text);
		skip_space(checker);
		if (!error)
			error = check_value(checker, text);
	}
	checker->depth--;
	skip_space(checker);
	return error;
}

static struct error *check_condition(struct checker *checker)
{
	for (;;) {
		struct error *error = check_term(checker);
		if (error)
			return error;
		if (!str_starts_with(checker->at, "&&") && !str_starts_with(checker->at, "||"))
			return NULL;
		checker->at += 2;
	}
}

struct error *filter_check(const struct tracepoint *tracepoint, const char *kernel_types, const char *filter, struct strbuf *ret)
{
	struct checker checker = {
		.tracepoint = tracepoint, .text = filter, .at = filter, .copied = filter, .ret = ret, .kernel_types = kernel_types};
	struct error *error = NULL;

	skip_space(&checker);
	if (strcmp(checker.at, "0")) /* that clears a filter */
		error = check_condition(&checker);
	else
		checker.at++;
	if (!error && *checker.at)
		error = fail(&checker, checker.at, "&& or || and another condition, or the end", "unexpected '%c'", *checker.at);
	if (!error)
		strbuf_add_str(ret, checker.copied);
	return error;
}

struct error *filter_check_event(struct event_catalog *catalog, const struct event *event, const char *filter, struct strbuf *ret)
{
	struct tracepoint_formats *formats = tracepoint_formats_create();
	struct error *error = event_catalog_add_format(catalog, event->tp_system, event->tp_name, formats);

	if (error) {
		error_free(error);
		error = NULL;
		strbuf_add_str(ret, filter);
	} else {
		error = filter_check(tracepoint_by_index(formats, 0), "/sys/kernel/btf/vmlinux", filter, ret);
	}
	tracepoint_formats_destroy(formats);
	return error;
}
