/* Fields as they were recorded, and the list of them for a record whose print format is not understood. */
#include "event/tracepoint/tracepoint_internal.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>

static bool is_printable(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len && bytes[i]; i++)
		if (!isprint(bytes[i]) && !isspace(bytes[i]))
			return false;
	return true;
}

static void print_array(const struct tracepoint_field *field, const void *raw, size_t size, struct strbuf *out)
{
	size_t len;
	const uint8_t *bytes = tracepoint_read_bytes(field, raw, size, &len);

	if ((field->flags & TRACEPOINT_FIELD_STRING) && is_printable(bytes, len)) {
		if (len)
			text_add_safe(out, (const char *)bytes, strnlen((const char *)bytes, len));
		return;
	}
	strbuf_add_str(out, "ARRAY[");
	for (size_t i = 0; i < len; i++)
		strbuf_printf(out, i ? ", %02x" : "%02x", bytes[i]);
	strbuf_add_char(out, ']');
}

/* Pointers and longs are shown in hexadecimal, except signed ones of 64 bits. */
static void print_integer(const struct tracepoint_field *field, uint64_t value, struct strbuf *out)
{
	bool is_long = strstr(field->type, "long");

	if (field->flags & TRACEPOINT_FIELD_POINTER)
		strbuf_printf(out, "0x%llx", (unsigned long long)value);
	else if ((field->flags & TRACEPOINT_FIELD_SIGNED) && field->size == 4 && is_long)
		strbuf_printf(out, "0x%x", (uint32_t)value);
	else if (field->flags & TRACEPOINT_FIELD_SIGNED)
		strbuf_printf(out, field->size == 2 ? "%2lld" : "%lld", (long long)value);
	else
		strbuf_printf(out, is_long ? "0x%llx" : "%llu", (unsigned long long)value);
}

void tracepoint_print_field(const struct tracepoint_field *field, const void *raw, size_t size, struct strbuf *out)
{
	if (field->flags & TRACEPOINT_FIELD_ARRAY)
		print_array(field, raw, size, out);
	else
		print_integer(field, tracepoint_read(field, raw, size), out);
}

void tracepoint_print_fields(const struct tracepoint *tracepoint, const void *raw, size_t size, struct strbuf *out)
{
	for (size_t i = 0; i < tracepoint->field_count; i++) {
		const struct tracepoint_field *field = &tracepoint->fields[i];
		if (field->flags & TRACEPOINT_FIELD_COMMON)
			continue;
		strbuf_printf(out, " %s=", field->name);
		tracepoint_print_field(field, raw, size, out);
	}
}
