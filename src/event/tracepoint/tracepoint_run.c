/* Running a print format's program over a record: one step after the other puts its text. */
#include "event/tracepoint/run_put.h"
#include "event/tracepoint/tracepoint_internal.h"

#include <string.h>

/* No text is padded further. */
enum { STAR_MAX = 65536 };

/* Room that is always there for small pieces. */
enum { RESERVE = 256 };

void run_open(struct print_run *run, size_t need)
{
	run->at = strbuf_reserve(run->out, need + RESERVE);
	run->end = run->at + need + RESERVE;
}

void run_close(struct print_run *run)
{
	strbuf_advance(run->out, (size_t)(run->at - run->out->data) - run->out->len);
}

void run_grow(struct print_run *run, size_t need)
{
	run_close(run);
	run_open(run, need);
}

/* The value as a conversion of that many bits sees it. */
static inline uint64_t cut(const struct conversion *conversion, uint64_t value)
{
	unsigned int shift = 64 - (unsigned int)conversion->bits;

	return conversion->letter == 'd' ? (uint64_t)((int64_t)(value << shift) >> shift) : value << shift >> shift;
}

static void put_number(struct print_run *run, const struct conversion *conversion, uint64_t value, int width, int precision)
{
	char buffer[32], prefix[3] = "", *end = buffer + sizeof(buffer);
	unsigned int prefixes = 0;
	bool negative;

	value = cut(conversion, value);
	negative = conversion->letter == 'd' && (int64_t)value < 0;
	if (negative)
		value = 0 - value;
	char *start = precision == 0 && value == 0 ? end : digits_of(end, value, conversion->letter);
	if (negative || (conversion->plus && conversion->letter == 'd'))
		prefix[prefixes++] = negative ? '-' : '+';
	if (conversion->alternate && value && (conversion->letter == 'x' || conversion->letter == 'X')) {
		prefix[prefixes++] = '0';
		prefix[prefixes++] = conversion->letter;
	}
	int len = (int)(end - start), zeros = precision > len ? precision - len : 0;
	if (conversion->alternate && conversion->letter == 'o' && !zeros && (len == 0 || *start != '0'))
		zeros = 1;
	if (conversion->zero && !conversion->minus && precision < 0 && width > len + zeros + (int)prefixes)
		zeros = width - len - (int)prefixes;
	int pad = width - len - zeros - (int)prefixes;
	if (pad > 0 && !conversion->minus)
		run_put_chars(run, ' ', (size_t)pad);
	run_put_bytes_raw(run, prefix, prefixes);
	run_put_chars(run, '0', (size_t)zeros);
	run_put_bytes_raw(run, start, (size_t)len);
	if (pad > 0 && conversion->minus)
		run_put_chars(run, ' ', (size_t)pad);
}

/* Width and precision, with what '*' stands for in this record. */
static void resolve(const struct print_run *run, const struct step *step, int *ret_width, int *ret_precision)
{
	int star = step->star ? (int)run_evaluate(run, step->star) : -1;

	if (star > STAR_MAX)
		star = STAR_MAX;
	*ret_width = step->conversion.star_width ? star : step->conversion.width;
	*ret_precision = step->conversion.star_precision ? star : step->conversion.precision;
}

static void run_number(struct print_run *run, const struct step *step)
{
	const struct conversion *conversion = &step->conversion;
	uint64_t value = run_evaluate(run, step->value);
	int width, precision;

	resolve(run, step, &width, &precision);
	if (conversion->letter == 'c') {
		char c = (char)value;
		run_put_padded(run, &c, c != 0, width, conversion->minus);
	} else {
		put_number(run, conversion, value, width, precision);
	}
}

static void run_function(struct print_run *run, const struct step *step)
{
	uint64_t address = run_evaluate(run, step->value), start = address;
	const char *module = NULL;
	const char *name = run->formats->resolver ? run->formats->resolver(run->formats->resolver_context, address, &start, &module) : NULL;

	if (!name) {
		run_put_address(run, address);
		return;
	}
	run_put_safe(run, name, strlen(name));
	if (step->kind == STEP_FUNCTION_OFFSET) {
		run_put_bytes_raw(run, "+", 1);
		run_put_address(run, address - start);
	}
}

static void run_string(struct print_run *run, const struct step *step)
{
	struct text_style style = {.minus = step->conversion.minus};

	resolve(run, step, &style.width, &style.precision);
	run_put_text(run, step->source, &style);
}

static void run_pointer(struct print_run *run, const struct step *step)
{
	uint64_t value = run_evaluate(run, step->value);

	if (value)
		run_put_address(run, value);
	else
		run_put_string(run, "(nil)");
}

static void run_text(struct print_run *run, const struct step *step)
{
	run_need_room(run, step->len + STEP_TEXT_PADDING);
	for (uint32_t i = 0; i < step->len; i += STEP_TEXT_PADDING)
		memcpy(run->at + i, step->text + i, STEP_TEXT_PADDING);
	run->at += step->len;
}

/* The step's value; the common ones, whole fields in our byte order, without a call. */
static inline uint64_t value_of(const struct print_run *run, const struct step *step)
{
	const struct print_node *node = step->value;
	uint64_t wide;
	uint32_t narrow;

	if (node->kind == NODE_FIELD && !run->formats->swap && node->offset + 8ull <= run->size) {
		if (node->size == 8) {
			memcpy(&wide, run->raw + node->offset, sizeof(wide));
			return wide;
		}
		if (node->size == 4) {
			memcpy(&narrow, run->raw + node->offset, sizeof(narrow));
			return narrow;
		}
	}
	return run_evaluate(run, node);
}

static void run_step(struct print_run *run, const struct step *step)
{
	uint64_t value;

	switch (step->kind) {
	case STEP_TEXT:
		run_text(run, step);
		break;
	case STEP_NUMBER:
		run_number(run, step);
		break;
	case STEP_DECIMAL:
		value = cut(&step->conversion, value_of(run, step));
		run_put_decimal(run, value, step->conversion.letter == 'd' && (int64_t)value < 0);
		break;
	case STEP_HEX:
		run_put_hex_number(run, cut(&step->conversion, value_of(run, step)));
		break;
	case STEP_POINTER:
		run_pointer(run, step);
		break;
	case STEP_FUNCTION:
	case STEP_FUNCTION_OFFSET:
		run_function(run, step);
		break;
	case STEP_STRING:
		run_string(run, step);
		break;
	case STEP_SPECIAL:
		run_close(run);
		run_special(run, step, step->star ? (int)run_evaluate(run, step->star) : 1);
		run_open(run, 0);
		break;
	}
}

bool tracepoint_run(const struct tracepoint_program *program, const struct tracepoint_formats *formats, const void *raw, size_t size,
		    struct strbuf *out)
{
	struct print_run run = {.formats = formats, .raw = raw, .size = size, .out = out};

	if (!program->understood)
		return false;
	run_open(&run, 0);
	for (size_t i = 0; i < program->count; i++)
		run_step(&run, &program->steps[i]);
	run_close(&run);
	return true;
}
