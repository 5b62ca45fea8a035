/* The fields of a tracepoint's record as arguments of a call (event.h). */
#include "cmd/trace/event.h"

#include "cmd/trace/stack.h"

#include "base/text.h"

#include <string.h>

enum { MOST_ELEMENTS = 16 };

static bool is_hexadecimal(const struct tracepoint_field *field)
{
	return field->flags & TRACEPOINT_FIELD_POINTER || (strstr(field->type, "unsigned long") && !strstr(field->type, "long long"));
}

static void add_number(const struct tracepoint_field *field, uint64_t value, const struct trace_event_style *style, struct strbuf *out)
{
	if (is_hexadecimal(field)) {
		strbuf_printf(out, value ? "0x%llx" : "%llu", (unsigned long long)value);
		return;
	}
	strbuf_printf(out, field->flags & TRACEPOINT_FIELD_SIGNED ? "%lld" : "%llu", (unsigned long long)value);
	const struct untrusted *name = !strcmp(field->type, "pid_t") && style->thread_name
					       ? style->thread_name(style->thread_name_context, (uint32_t)value)
					       : NULL;
	if (!name)
		return;
	strbuf_add_str(out, " (");
	text_add_untrusted(out, name);
	strbuf_add_char(out, ')');
}

static void add_array(const struct tracepoint_field *field, const struct sample *sample, const struct trace_event_style *style,
		      struct strbuf *out)
{
	size_t length = 0;
	const void *bytes = tracepoint_read_bytes(field, sample->raw, sample->raw_size, &length);
	size_t size = field->element_size ? field->element_size : 1, count = length / size;
	struct tracepoint_field element = *field;

	element.flags &= ~(unsigned int)(TRACEPOINT_FIELD_ARRAY | TRACEPOINT_FIELD_DYNAMIC | TRACEPOINT_FIELD_RELATIVE);
	element.size = field->element_size;
	strbuf_add_char(out, '[');
	for (size_t i = 0; bytes && i < count && i < MOST_ELEMENTS; i++) {
		element.offset = (uint32_t)(i * size);
		strbuf_add_str(out, i ? ", " : "");
		add_number(&element, tracepoint_read(&element, bytes, length), style, out);
	}
	strbuf_add_str(out, count > MOST_ELEMENTS ? ", ...]" : "]");
}

static void add_string(const struct tracepoint_field *field, const struct sample *sample, struct strbuf *out)
{
	size_t length;
	const struct untrusted *string = tracepoint_read_string(field, sample->raw, sample->raw_size, &length);

	strbuf_add_char(out, '"');
	text_add_safe(out, untrusted_raw(string), length);
	strbuf_add_char(out, '"');
}

void trace_event_add_fields(const struct tracepoint *tracepoint, const struct sample *sample, const struct trace_event_style *style,
			    struct strbuf *out)
{
	bool first = true;

	for (size_t i = 0; i < tracepoint->field_count; i++) {
		const struct tracepoint_field *field = &tracepoint->fields[i];
		bool composed = field->flags & (TRACEPOINT_FIELD_STRING | TRACEPOINT_FIELD_ARRAY | TRACEPOINT_FIELD_DYNAMIC);
		if (field->flags & TRACEPOINT_FIELD_COMMON)
			continue;
		uint64_t value = composed ? 1 : tracepoint_read(field, sample->raw, sample->raw_size);
		if (!value && !style->zeros)
			continue;
		strbuf_printf(out, "%s%s: ", first ? "" : ", ", field->name);
		first = false;
		if (field->flags & TRACEPOINT_FIELD_STRING)
			add_string(field, sample, out);
		else if (composed)
			add_array(field, sample, style, out);
		else
			add_number(field, value, style, out);
	}
}

static void resolve(const struct trace_event_where *where, uint8_t mode, uint64_t address, struct frame *ret)
{
	resolver_frame(where->resolver, machine_maps(where->machine, where->thread, mode), mode, address, where->time, ret);
}

void trace_event_add_fault(const struct trace_event_where *where, const struct sample *sample, struct strbuf *out)
{
	struct frame place, data;

	resolve(where, sample->cpumode, sample->ip, &place);
	resolve(where, sample->cpumode, sample->addr, &data);
	strbuf_add_char(out, '[');
	trace_add_place(&place, out);
	strbuf_add_str(out, "] => ");
	if (data.map) {
		const char *file = data.map->dso->name;
		text_add_safe(out, file, strlen(file));
		strbuf_printf(out, "@0x%llx", (unsigned long long)data.dso_addr);
	} else {
		strbuf_printf(out, "0x%llx", (unsigned long long)sample->addr);
	}
	strbuf_printf(out, " (%c%c)",
		      !data.map				   ? '?'
		      : data.map->prot & 4 /* PROT_EXEC */ ? 'x'
							   : 'd',
		      sample->cpumode == CPUMODE_KERNEL ? 'k' : '.');
}

void trace_event_add_address(const struct trace_event_where *where, const struct sample *sample, struct strbuf *out)
{
	struct frame place;

	resolve(where, sample->cpumode, sample->ip, &place);
	trace_add_place(&place, out);
}
