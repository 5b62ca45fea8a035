/* The texts of a print format's %s: fields of characters, names of flags and symbols, arrays, masks. */
#include "event/tracepoint/run_put.h"
#include "event/tracepoint/tracepoint_internal.h"

#include <string.h>

static void put(struct print_run *run, const struct text_style *style, const char *text, size_t len)
{
	if (style->precision >= 0 && len > (size_t)style->precision)
		len = (size_t)style->precision;
	run_put_padded(run, text, len, style->width, style->minus);
}

static void put_flags(struct print_run *run, const struct text_source *source, const struct text_style *style)
{
	int64_t value = (int64_t)run_evaluate(run, source->value);
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
			run_put_string(run, source->constant);
		put(run, style, name->text, strlen(name->text));
		any = true;
		value &= ~name->value;
	}
	if (!value)
		return;
	if (any)
		run_put_string(run, source->constant);
	run_put_address(run, (uint64_t)value);
}

static void put_symbol(struct print_run *run, const struct text_source *source, const struct text_style *style)
{
	uint64_t value = run_evaluate(run, source->value);

	for (size_t i = 0; i < source->name_count; i++) {
		if ((uint64_t)source->names[i].value != value)
			continue;
		put(run, style, source->names[i].text, strlen(source->names[i].text));
		return;
	}
	run_put_address(run, value);
}

static void put_hex(struct print_run *run, const struct text_source *source)
{
	uint32_t count = (uint32_t)run_evaluate(run, source->value);
	size_t left, len;
	const uint8_t *bytes = run_bytes(run, source, &left, &len);

	if (count > left)
		count = (uint32_t)left;
	for (uint32_t i = 0; i < count; i++) {
		char pair[2] = {"0123456789abcdef"[bytes[i] >> 4], "0123456789abcdef"[bytes[i] & 15]};
		if (i)
			run_put_string(run, source->constant);
		run_put_bytes_raw(run, pair, 2);
	}
}

static void put_numbers(struct print_run *run, const struct text_source *source)
{
	uint32_t count = (uint32_t)run_evaluate(run, source->value);
	uint64_t size = (uint32_t)run_evaluate(run, source->element), number;
	size_t left, len;
	const uint8_t *bytes = run_bytes(run, source, &left, &len);

	run_put_bytes_raw(run, "{", 1);
	if (size != 1 && size != 2 && size != 4 && size != 8 && count && left) {
		run_put_string(run, "BAD SIZE:");
		run_put_decimal(run, (uint64_t)(int64_t)(int)size, (int)size < 0);
		run_put_bytes_raw(run, " ", 1);
		size = 1;
	}
	for (uint32_t i = 0; i < count && left && left >= size; i++) {
		if (i)
			run_put_bytes_raw(run, ",", 1);
		number = 0;
		memcpy(&number, bytes, size);
		run_put_address(run, number);
		bytes += size;
		left -= size;
	}
	run_put_bytes_raw(run, "}", 1);
}

/* A mask of bits as hexadecimal digits, highest first, with a comma after every 32 bits. */
static void put_bitmask(struct print_run *run, const struct text_source *source, const struct text_style *style)
{
	uint64_t len, offset = run_locate(run, source->offset, source->relative, &len);
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
static void put_cpumask(struct print_run *run, const struct text_source *source, const struct text_style *style)
{
	uint64_t len, offset = run_locate(run, source->offset, source->relative, &len);
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

static void put_pointer(struct print_run *run, const struct text_source *source)
{
	uint64_t address = run_read(run, source->offset, source->size);
	const char *text = tracepoint_printk(run->formats, address);

	if (text)
		run_put_safe(run, text, strlen(text));
	else
		run_put_hex_number(run, address);
}

static void put_bytes(struct print_run *run, const struct text_style *style, uint64_t offset, uint64_t len)
{
	if (offset > run->size)
		return;
	if (!len || len > run->size - offset)
		len = run->size - offset;
	put(run, style, (const char *)run->raw + offset, strnlen((const char *)run->raw + offset, len));
}

void run_put_text(struct print_run *run, const struct text_source *source, const struct text_style *style)
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
		offset = run_locate(run, source->offset, source->relative, &len);
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
		run_put_text(run, run_evaluate(run, source->value) ? source->first : source->second, style);
		break;
	}
}
