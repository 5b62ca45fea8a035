/* From a tracepoint's print format to a program.
 *
 * The format is C source as the kernel shows it: "prev_comm=%s …", REC->prev_comm, … Here its printf string becomes steps, one for each
 * piece of text and each conversion, which need no look-ups of names, no printf and no allocation; print_format.c parses the arguments. A
 * format that isn't understood (some hold statements of C, or call functions of the kernel) makes a program that lists all fields. The
 * output is meant to be that of libtraceevent, which the kernel's perf uses, byte for byte. */
#include "event/tracepoint/tracepoint_program.h"

#include "base/text.h"
#include "event/tracepoint/print_format.h"
#include "event/tracepoint/tracepoint_internal.h"

#include <string.h>

struct compiler {
	struct arena *arena;
	struct format_parser parser; /* at the arguments */
	VEC(struct step) steps;
};

/* Text of the format up to the next conversion: escapes resolved, %% made one, controls but tab and newline shown. Returns where it ends.
 */
static const char *compile_literal(struct compiler *compiler, const char *format)
{
	static const char padding[STEP_TEXT_PADDING];
	struct strbuf text = {0};

	for (; *format && !(*format == '%' && format[1] != '%'); format++) {
		size_t plain = strcspn(format, "\\%\t\n");
		char c = *format;
		if (plain) {
			text_add_safe(&text, format, plain);
			format += plain - 1;
			continue;
		}
		if (c == '\\' && format[1]) {
			c = *++format;
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
		} else if (c == '%') {
			format++;
		}
		if (c == '\n' || c == '\t')
			strbuf_add_char(&text, c);
		else
			text_add_safe(&text, &c, 1);
	}
	struct step step = {.kind = STEP_TEXT, .len = (uint32_t)text.len};
	strbuf_add(&text, padding, sizeof(padding));
	step.text = arena_copy(compiler->arena, text.data, text.len);
	strbuf_deinit(&text);
	vec_push(&compiler->steps, step);
	return format;
}

/* The next argument. */
static bool next_operand(struct compiler *compiler, struct operand *ret)
{
	return format_accept(&compiler->parser, ",") && format_parse_operand(&compiler->parser, ret);
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

/* %pM, %pI4, %pU, %ph and their like: the bytes of a field; of a dynamic array for %ph, of either for %pIS. */
static bool compile_special(struct compiler *compiler, struct step *step, const char **at, const struct operand *operand)
{
	size_t len = special_letters(*at);
	struct text_source *source = arena_zalloc(compiler->arena, sizeof(*source));
	const char *letters = arena_strndup(compiler->arena, *at, len);

	if (!operand->field || (operand->dynamic ? letters[0] != 'h' && letters[1] != 'S' : letters[0] == 'h'))
		return false;
	*at += len;
	source->dynamic = operand->dynamic;
	source->relative = operand->field->flags & TRACEPOINT_FIELD_RELATIVE;
	source->offset = operand->field->offset;
	source->size = operand->field->size;
	step->kind = STEP_SPECIAL;
	step->text = letters;
	step->source = source;
	return true;
}

static bool compile_pointer(struct compiler *compiler, struct step *step, const char **at, const struct operand *operand)
{
	char kind = **at;

	if (kind && strchr("MmIiUh", kind))
		return compile_special(compiler, step, at, operand);
	step->kind = STEP_POINTER;
	if (kind && strchr("FfSs", kind)) {
		step->kind = kind == 'F' || kind == 'S' ? STEP_FUNCTION_OFFSET : STEP_FUNCTION;
		(*at)++;
	}
	step->value = operand->number;
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

static bool compile_number(struct step *step, char letter, int longs, uint32_t long_size, const struct operand *operand)
{
	if (longs < -2 || longs > 2)
		return false;
	step->conversion.letter = letter == 'i' ? 'd' : letter;
	step->conversion.bits = longs == -2 ? 8 : longs == -1 ? 16 : longs == 0 || (longs == 1 && long_size == 4) ? 32 : 64;
	step->kind = number_kind(&step->conversion);
	step->value = operand->number;
	return step->value;
}

/* Flags, width and precision of a conversion; takes the argument of a '*'. False for what isn't known. */
static bool compile_modifiers(struct compiler *compiler, struct step *step, const char **at, int *ret_longs)
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
		struct operand star;
		if (step->star || !next_operand(compiler, &star) || !star.number)
			return false;
		step->star = star.number;
		*(number == &conversion->width ? &conversion->star_width : &conversion->star_precision) = true;
	}
}

/* One conversion, `*at` behind its '%'. */
static bool compile_conversion(struct compiler *compiler, const char **at)
{
	struct step step = {0};
	struct operand operand;
	bool understood;
	int longs;

	if (!compile_modifiers(compiler, &step, at, &longs) || !**at || !next_operand(compiler, &operand))
		return false;
	char letter = *(*at)++;
	if (letter == 'p') {
		understood = compile_pointer(compiler, &step, at, &operand);
	} else if (letter == 's') {
		step.kind = STEP_STRING;
		step.source = operand.text;
		understood = step.source;
	} else {
		understood =
			strchr("cduixXo", letter) && compile_number(&step, letter, longs, compiler->parser.formats->long_size, &operand);
	}
	vec_push(&compiler->steps, step);
	return understood;
}

static bool compile_format(struct compiler *compiler)
{
	const char *at = format_parse_string(&compiler->parser);

	if (!at)
		return false;
	while (*at) {
		if (*at == '%' && at[1] != '%') {
			at++;
			if (!compile_conversion(compiler, &at))
				return false;
		} else {
			at = compile_literal(compiler, at);
		}
	}
	return true;
}

struct tracepoint_program *tracepoint_compile(struct tracepoint_formats *formats, const struct tracepoint *tracepoint)
{
	struct tracepoint_program *program = arena_zalloc(&formats->arena, sizeof(*program));
	struct compiler compiler = {.arena = &formats->arena};

	format_parser_init(&compiler.parser, &formats->arena, tracepoint, tracepoint->print_format);
	program->understood = compile_format(&compiler);
	program->steps = arena_copy(&formats->arena, compiler.steps.data, compiler.steps.len * sizeof(*compiler.steps.data));
	program->count = compiler.steps.len;
	vec_deinit(&compiler.steps);
	return program;
}
