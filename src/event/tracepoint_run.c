/* Running a print format's program over a record. Every access is checked against the record's end: a field that isn't inside reads as 0 or
 * nothing. */
#include "event/tracepoint_program.h"

#include "base/text.h"
#include "event/print_format.h"
#include "event/tracepoint_internal.h"

#include <ctype.h>
#include <string.h>

/* No text is padded further. */
enum { STAR_MAX = 65536 };

/* Room that is always there for small pieces. */
enum { RESERVE = 256 };

static uint64_t read_number(const struct run *run, uint64_t offset, uint32_t size)
{
	bool swap = run->formats->swap;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	if (offset > run->size || size > run->size - offset)
		return 0;
	const uint8_t *at = run->raw + offset;
	switch (size) {
	case 1:
		return *at;
	case 2:
		memcpy(&u16, at, 2);
		return swap ? __builtin_bswap16(u16) : u16;
	case 4:
		memcpy(&u32, at, 4);
		return swap ? __builtin_bswap32(u32) : u32;
	case 8:
		memcpy(&u64, at, 8);
		return swap ? __builtin_bswap64(u64) : u64;
	default:
		return 0;
	}
}

/* Where the __data_loc at `field` points to; length 0 when that isn't inside the record. */
static uint64_t locate(const struct run *run, uint32_t field, bool relative, uint64_t *ret_len)
{
	uint64_t location = read_number(run, field, 4), offset = location & 0xffff, len = location >> 16;

	if (relative)
		offset += field + 4;
	*ret_len = offset > run->size || len > run->size - offset ? 0 : len;
	return offset > run->size ? 0 : offset;
}

static uint64_t calculate(uint16_t operation, uint64_t left, uint64_t right)
{
	switch (operation) {
	case NODE_OPERATION('!', '='):
		return left != right;
	case NODE_OPERATION('=', '='):
		return left == right;
	case NODE_OPERATION('|', 0):
		return left | right;
	case NODE_OPERATION('|', '|'):
		return left || right;
	case NODE_OPERATION('&', 0):
		return left & right;
	case NODE_OPERATION('&', '&'):
		return left && right;
	case NODE_OPERATION('<', 0):
		return left < right;
	case NODE_OPERATION('<', '='):
		return left <= right;
	case NODE_OPERATION('<', '<'):
		return left << (right & 63);
	case NODE_OPERATION('>', 0):
		return left > right;
	case NODE_OPERATION('>', '='):
		return left >= right;
	case NODE_OPERATION('>', '>'):
		return left >> (right & 63);
	case NODE_OPERATION('-', 0):
		return left - right;
	case NODE_OPERATION('+', 0):
		return left + right;
	case NODE_OPERATION('*', 0):
		return left * right;
	case NODE_OPERATION('/', 0):
		return right ? left / right : 0;
	case NODE_OPERATION('%', 0):
		return right ? left % right : 0;
	}
	return 0;
}

static uint64_t evaluate(const struct run *run, const struct node *node)
{
	uint64_t len;

	switch (node->kind) {
	case NODE_VALUE:
		return node->value;
	case NODE_FIELD:
		return read_number(run, node->offset, node->size);
	case NODE_ELEMENT:
		return read_number(run, node->offset + (uint32_t)(evaluate(run, node->left) * node->size), node->size);
	case NODE_DYNAMIC_ELEMENT:
		return read_number(run, locate(run, node->offset, node->relative, &len) + (uint32_t)evaluate(run, node->left), node->size);
	case NODE_DYNAMIC_LENGTH:
		locate(run, node->offset, node->relative, &len);
		return len;
	case NODE_MASK:
		return evaluate(run, node->left) & node->value;
	case NODE_NOT:
		return !evaluate(run, node->left);
	case NODE_INVERT:
		return ~evaluate(run, node->left);
	case NODE_BINARY:
		return calculate(node->operation, evaluate(run, node->left), evaluate(run, node->right));
	case NODE_CHOICE:
		return evaluate(run, evaluate(run, node->left) ? node->right : node->third);
	}
	return 0;
}

void run_open(struct run *run, size_t need)
{
	run->at = strbuf_reserve(run->out, need + RESERVE);
	run->end = run->at + need + RESERVE;
}

void run_close(struct run *run)
{
	strbuf_advance(run->out, (size_t)(run->at - run->out->data) - run->out->len);
}

static void grow(struct run *run, size_t need)
{
	run_close(run);
	run_open(run, need);
}

static inline void need_room(struct run *run, size_t need)
{
	if (__builtin_expect((size_t)(run->end - run->at) < need, 0))
		grow(run, need);
}

static void put_bytes_raw(struct run *run, const void *text, size_t len)
{
	need_room(run, len);
	memcpy(run->at, text, len);
	run->at += len;
}

static void put_chars(struct run *run, char c, size_t count)
{
	need_room(run, count);
	memset(run->at, c, count);
	run->at += count;
}

static void put_string(struct run *run, const char *text)
{
	put_bytes_raw(run, text, strlen(text));
}

/* Bytes of the record or a name from elsewhere: what could control a terminal is escaped. */
static void put_safe(struct run *run, const char *text, size_t len)
{
	if (__builtin_expect(text_is_safe(text, len), 1)) {
		put_bytes_raw(run, text, len);
		return;
	}
	run_close(run);
	text_add_safe(run->out, text, len);
	run_open(run, 0);
}

/* Pads `len` bytes to the width. */
static void put_padded(struct run *run, const char *text, size_t len, int width, bool minus)
{
	size_t pad = width > 0 && (size_t)width > len ? (size_t)width - len : 0;

	if (pad && !minus)
		put_chars(run, ' ', pad);
	put_safe(run, text, len);
	if (pad && minus)
		put_chars(run, ' ', pad);
}

static const char digit_pairs[] = "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
				  "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

static char *decimal_digits(char *end, uint64_t value)
{
	while (value >= 100) {
		end -= 2;
		memcpy(end, digit_pairs + value % 100 * 2, 2);
		value /= 100;
	}
	if (value >= 10) {
		end -= 2;
		memcpy(end, digit_pairs + value * 2, 2);
		return end;
	}
	*--end = (char)('0' + value);
	return end;
}

/* Digits of `value`, written backwards from `end`; returns their start. */
static char *digits_of(char *end, uint64_t value, char letter)
{
	const char *digits = letter == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
	unsigned int shift = letter == 'o' ? 3 : 4;

	if (letter == 'd' || letter == 'u')
		return decimal_digits(end, value);
	do
		*--end = digits[value & ((1u << shift) - 1)];
	while (value >>= shift);
	return end;
}

static void put_hex_number(struct run *run, uint64_t value)
{
	unsigned int digits = value ? (67 - (unsigned int)__builtin_clzll(value)) / 4 : 1;

	need_room(run, 16);
	for (unsigned int i = digits; i-- > 0; value >>= 4)
		run->at[i] = "0123456789abcdef"[value & 15];
	run->at += digits;
}

static void put_address(struct run *run, uint64_t value)
{
	put_bytes_raw(run, "0x", 2);
	put_hex_number(run, value);
}

static void put_decimal(struct run *run, uint64_t value, bool negative)
{
	char buffer[24], *end = buffer + sizeof(buffer), *start = decimal_digits(end, negative ? 0 - value : value);

	if (negative)
		*--start = '-';
	need_room(run, sizeof(buffer));
	size_t len = (size_t)(end - start);
	memcpy(run->at, start, len);
	run->at += len;
}

/* The value as a conversion of that many bits sees it. */
static inline uint64_t cut(const struct conversion *conversion, uint64_t value)
{
	unsigned int shift = 64 - (unsigned int)conversion->bits;

	return conversion->letter == 'd' ? (uint64_t)((int64_t)(value << shift) >> shift) : value << shift >> shift;
}

static void put_number(struct run *run, const struct conversion *conversion, uint64_t value, int width, int precision)
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
		put_chars(run, ' ', (size_t)pad);
	put_bytes_raw(run, prefix, prefixes);
	put_chars(run, '0', (size_t)zeros);
	put_bytes_raw(run, start, (size_t)len);
	if (pad > 0 && conversion->minus)
		put_chars(run, ' ', (size_t)pad);
}

/* Width and precision, with what '*' stands for in this record. */
static void resolve(const struct run *run, const struct step *step, int *ret_width, int *ret_precision)
{
	int star = step->star ? (int)evaluate(run, step->star) : -1;

	if (star > STAR_MAX)
		star = STAR_MAX;
	*ret_width = step->conversion.star_width ? star : step->conversion.width;
	*ret_precision = step->conversion.star_precision ? star : step->conversion.precision;
}

static void run_number(struct run *run, const struct step *step)
{
	const struct conversion *conversion = &step->conversion;
	uint64_t value = evaluate(run, step->value);
	int width, precision;

	resolve(run, step, &width, &precision);
	if (conversion->letter == 'c') {
		char c = (char)value;
		put_padded(run, &c, c != 0, width, conversion->minus);
	} else {
		put_number(run, conversion, value, width, precision);
	}
}

static void run_function(struct run *run, const struct step *step)
{
	uint64_t address = evaluate(run, step->value), start = address;
	const char *module = NULL;
	const char *name = run->formats->resolver ? run->formats->resolver(run->formats->resolver_context, address, &start, &module) : NULL;

	if (!name) {
		put_address(run, address);
		return;
	}
	put_safe(run, name, strlen(name));
	if (step->kind == STEP_FUNCTION_OFFSET) {
		put_bytes_raw(run, "+", 1);
		put_address(run, address - start);
	}
}

/* How a string conversion puts one text: width and precision apply to it. */
struct text_style {
	int width, precision;
	bool minus;
};

static void put(struct run *run, const struct text_style *style, const char *text, size_t len)
{
	if (style->precision >= 0 && len > (size_t)style->precision)
		len = (size_t)style->precision;
	put_padded(run, text, len, style->width, style->minus);
}

static void put_flags(struct run *run, const struct text_source *source, const struct text_style *style)
{
	int64_t value = (int64_t)evaluate(run, source->value);
	bool any = false;

	for (size_t i = 0; i < source->name_count; i++) {
		const struct flag_name *name = &source->names[i];
		if (!value && name->value < 0) {
			put(run, style, name->text, strlen(name->text));
			break;
		}
		if (name->value <= 0 || (value & name->value) != name->value)
			continue;
		if (any)
			put_string(run, source->constant);
		put(run, style, name->text, strlen(name->text));
		any = true;
		value &= ~name->value;
	}
	if (!value)
		return;
	if (any)
		put_string(run, source->constant);
	put_address(run, (uint64_t)value);
}

static void put_symbol(struct run *run, const struct text_source *source, const struct text_style *style)
{
	uint64_t value = evaluate(run, source->value);

	for (size_t i = 0; i < source->name_count; i++) {
		if ((uint64_t)source->names[i].value != value)
			continue;
		put(run, style, source->names[i].text, strlen(source->names[i].text));
		return;
	}
	put_address(run, value);
}

const uint8_t *run_bytes(const struct run *run, const struct text_source *source, size_t *ret_left, size_t *ret_len)
{
	uint64_t len = source->size, offset = source->dynamic ? locate(run, source->offset, source->relative, &len) : source->offset;

	if (offset > run->size)
		offset = run->size;
	*ret_left = run->size - offset;
	*ret_len = (size_t)len;
	return run->raw + offset;
}

static void put_hex(struct run *run, const struct text_source *source)
{
	uint32_t count = (uint32_t)evaluate(run, source->value);
	size_t left, len;
	const uint8_t *bytes = run_bytes(run, source, &left, &len);

	if (count > left)
		count = (uint32_t)left;
	for (uint32_t i = 0; i < count; i++) {
		char pair[2] = {"0123456789abcdef"[bytes[i] >> 4], "0123456789abcdef"[bytes[i] & 15]};
		if (i)
			put_string(run, source->constant);
		put_bytes_raw(run, pair, 2);
	}
}

static void put_numbers(struct run *run, const struct text_source *source)
{
	uint32_t count = (uint32_t)evaluate(run, source->value);
	uint64_t size = (uint32_t)evaluate(run, source->element), number;
	size_t left, len;
	const uint8_t *bytes = run_bytes(run, source, &left, &len);

	put_bytes_raw(run, "{", 1);
	for (uint32_t i = 0; i < count; i++) {
		bool bad = size != 1 && size != 2 && size != 4 && size != 8;
		if (bad && left) {
			put_string(run, i ? ",BAD SIZE:" : "BAD SIZE:");
			put_decimal(run, (uint64_t)(int64_t)(int)size, (int)size < 0);
			put_bytes_raw(run, " ", 1);
			size = 1;
		} else if (i) {
			put_bytes_raw(run, ",", 1);
		}
		if (left < size)
			break;
		number = 0;
		memcpy(&number, bytes, size);
		put_address(run, number);
		bytes += size;
		left -= size;
	}
	put_bytes_raw(run, "}", 1);
}

/* A mask of bits as hexadecimal digits, highest first, with a comma after every 32 bits. */
static void put_bitmask(struct run *run, const struct text_source *source, const struct text_style *style)
{
	uint64_t len, offset = locate(run, source->offset, source->relative, &len);
	struct strbuf text = {0};

	for (uint64_t i = len; i-- > 0;) {
		uint8_t byte = run->raw[offset + (run->formats->big_endian ? len - 1 - i : i)];
		strbuf_add_char(&text, "0123456789abcdef"[byte >> 4]);
		strbuf_add_char(&text, "0123456789abcdef"[byte & 15]);
		if (i && i % 4 == 0)
			strbuf_add_char(&text, ',');
	}
	put(run, style, strbuf_str(&text), text.len);
	strbuf_deinit(&text);
}

/* A mask of CPUs as a list: "0-3,7". */
static void put_cpumask(struct run *run, const struct text_source *source, const struct text_style *style)
{
	uint64_t len, offset = locate(run, source->offset, source->relative, &len);
	struct strbuf text = {0};
	int64_t first = -1;

	for (uint64_t bit = 0; bit <= len * 8; bit++) {
		uint64_t byte = run->formats->big_endian ? len - 1 - bit / 8 : bit / 8;
		bool set = bit < len * 8 && run->raw[offset + byte] >> bit % 8 & 1;
		if (set && first < 0)
			first = (int64_t)bit;
		if (set || first < 0)
			continue;
		strbuf_printf(&text, "%s%lld", text.len ? "," : "", (long long)first);
		if ((int64_t)bit > first + 1)
			strbuf_printf(&text, "-%llu", (unsigned long long)bit - 1);
		first = -1;
	}
	put(run, style, strbuf_str(&text), text.len);
	strbuf_deinit(&text);
}

static void put_pointer(struct run *run, const struct text_source *source)
{
	uint64_t address = read_number(run, source->offset, source->size);
	const char *text = tracepoint_printk(run->formats, address);

	if (text)
		put_string(run, text);
	else
		put_hex_number(run, address);
}

static void put_bytes(struct run *run, const struct text_style *style, uint64_t offset, uint64_t len)
{
	if (offset > run->size)
		return;
	if (!len || len > run->size - offset)
		len = run->size - offset;
	put(run, style, (const char *)run->raw + offset, strnlen((const char *)run->raw + offset, len));
}

static void put_text(struct run *run, const struct text_source *source, const struct text_style *style)
{
	uint64_t len, offset;

	switch (source->kind) {
	case TEXT_NONE:
		break;
	case TEXT_CONSTANT:
		put(run, style, source->constant, strlen(source->constant));
		break;
	case TEXT_FIELD:
		put_bytes(run, style, source->offset, source->size);
		break;
	case TEXT_POINTER:
		put_pointer(run, source);
		break;
	case TEXT_DYNAMIC:
		offset = locate(run, source->offset, source->relative, &len);
		if (len)
			put_bytes(run, style, offset, len);
		break;
	case TEXT_FLAGS:
		put_flags(run, source, style);
		break;
	case TEXT_SYMBOL:
		put_symbol(run, source, style);
		break;
	case TEXT_HEX:
		put_hex(run, source);
		break;
	case TEXT_NUMBERS:
		put_numbers(run, source);
		break;
	case TEXT_BITMASK:
		put_bitmask(run, source, style);
		break;
	case TEXT_CPUMASK:
		put_cpumask(run, source, style);
		break;
	case TEXT_CHOICE:
		put_text(run, evaluate(run, source->value) ? source->first : source->second, style);
		break;
	}
}

static void run_string(struct run *run, const struct step *step)
{
	struct text_style style = {.minus = step->conversion.minus};

	resolve(run, step, &style.width, &style.precision);
	put_text(run, step->source, &style);
}

static void run_pointer(struct run *run, const struct step *step)
{
	uint64_t value = evaluate(run, step->value);

	if (value)
		put_address(run, value);
	else
		put_string(run, "(nil)");
}

static void run_text(struct run *run, const struct step *step)
{
	need_room(run, step->len + STEP_TEXT_PADDING);
	for (uint32_t i = 0; i < step->len; i += STEP_TEXT_PADDING)
		memcpy(run->at + i, step->text + i, STEP_TEXT_PADDING);
	run->at += step->len;
}

/* The step's value; the common ones, whole fields in our byte order, without a call. */
static inline uint64_t value_of(const struct run *run, const struct step *step)
{
	const struct node *node = step->value;
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
	return evaluate(run, node);
}

static void run_step(struct run *run, const struct step *step)
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
		put_decimal(run, value, step->conversion.letter == 'd' && (int64_t)value < 0);
		break;
	case STEP_HEX:
		put_hex_number(run, cut(&step->conversion, value_of(run, step)));
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
		run_special(run, step, step->star ? (int)evaluate(run, step->star) : 1);
		run_open(run, 0);
		break;
	}
}

bool tracepoint_run(const struct tracepoint_program *program, const struct tracepoint_formats *formats, const void *raw, size_t size,
		    struct strbuf *out)
{
	struct run run = {.formats = formats, .raw = raw, .size = size, .out = out};

	if (!program->understood)
		return false;
	run_open(&run, 0);
	for (size_t i = 0; i < program->count; i++)
		run_step(&run, &program->steps[i]);
	run_close(&run);
	return true;
}

uint64_t tracepoint_constant(const struct node *node)
{
	static const struct tracepoint_formats none;
	struct run run = {.formats = &none};

	return evaluate(&run, node);
}
