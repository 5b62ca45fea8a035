/* What BPF programs send with bpf_perf_event_output(): a small hex dump, and the text when it is one. */
#include "analysis/script/internal.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>

enum { BYTES_PER_LINE = 8 };

static void add_line(const uint8_t *data, size_t size, size_t offset, struct strbuf *out)
{
	strbuf_printf(out, "%17s %04zx:", offset ? "" : "BPF output:", offset);
	for (size_t i = 0; i < BYTES_PER_LINE; i++)
		if (offset + i < size)
			strbuf_printf(out, " %02x", data[offset + i]);
		else
			strbuf_add_str(out, "   ");
	strbuf_add_str(out, "  ");
	for (size_t i = 0; i < BYTES_PER_LINE; i++)
		strbuf_add_char(out, offset + i >= size ? ' ' : isprint(data[offset + i]) ? (char)data[offset + i] : '.');
	strbuf_add_char(out, '\n');
}

/* Printable bytes, then nothing but zeroes. */
static bool is_text(const uint8_t *data, size_t size, size_t *ret_length)
{
	size_t length = strnlen((const char *)data, size);
	if (length == size)
		return false;
	for (size_t i = 0; i < size; i++)
		if (i < length ? !isprint(data[i]) : data[i] != 0)
			return false;
	*ret_length = length;
	return true;
}

void script_print_bpf_output(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	const uint8_t *data = at->sample->raw;
	size_t size = at->sample->raw_size, length;
	if (!data || !size)
		return;
	strbuf_add_char(out, '\n');
	for (size_t offset = 0; offset < size; offset += BYTES_PER_LINE)
		add_line(data, size, offset, out);
	if (!is_text(data, size, &length))
		return;
	strbuf_printf(out, "%17s \"", "BPF string:");
	text_add_safe(out, (const char *)data, length);
	strbuf_add_str(out, "\"\n");
}
