/* -F flags and callindent: what branches of a hardware trace are, and functions as deep as they are called. */
#include "analysis/script/flow.h"
#include "analysis/itrace/flow.h"
#include "analysis/script/internal.h"
#include "analysis/script/sample_text.h"

#include "base/text.h"

#include <string.h>

/* What decoders of instruction traces know of a branch, in 24 columns: nothing is known of samples that the kernel took. */
void script_print_flags(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	enum { COLUMNS = 24 };
	const uint32_t flags = sample_flow_of(at->event, at->sample).flags;
	(void)text;
	const size_t end = out->len + COLUMNS;
	strbuf_add_chars(out, ' ', 2);
	if (flags)
		flow_flags_text(flags, out);
	if (out->len < end)
		strbuf_add_chars(out, ' ', end - out->len);
}

const char *flow_function(struct resolver *resolver, const struct flow_place *place, uint64_t *ret_address)
{
	const struct sample *sample = place->sample;
	const uint32_t flags = sample_flow_of(place->event, sample).flags;
	struct frame frame = {0};
	*ret_address = 0;
	if (flags & (TRACED_CALL | TRACED_BEGIN)) {
		*ret_address = sample->addr;
		if (sample_addr_is_symbol(&place->event->attr))
			sample_resolve_data(resolver, place->thread, sample->cpumode, sample->addr, place->model_time, &frame);
	} else if (flags & (TRACED_RETURN | TRACED_END)) {
		*ret_address = sample->ip;
		sample_resolve(resolver, place->thread, sample->cpumode, sample->ip, place->model_time, &frame);
	}
	return frame.symbol ? frame.symbol->name : NULL;
}

/* Columns for names grow, so that what follows stays in line; they shrink only where there is much room. */
static void fill_up(struct script_text *text, size_t length, struct strbuf *out)
{
	enum { STEP = 32, GAP = 4, ROOM = 52 };
	if (length > text->call_width || (length && length + ROOM < text->call_width))
		text->call_width = (length + GAP + STEP - 1) / STEP * STEP;
	if (length < text->call_width)
		strbuf_add_chars(out, ' ', text->call_width - length);
}

void script_print_callindent(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	enum { INDENT = 4 };
	uint64_t address;
	const struct sample_flow flow = sample_flow_of(at->event, at->sample);
	const struct flow_place place = {at->event, at->sample, at->thread, at->model_time};
	const char *name = flow_function(text->resolver, &place, &address);
	if (script_shows(at->plan, SCRIPT_DSO) && !script_shows(at->plan, SCRIPT_IP) && !script_shows(at->plan, SCRIPT_ADDR)) {
		struct frame frame;
		script_resolve_ip(text, at, at->sample->cpumode, at->sample->ip, &frame);
		strbuf_add_char(out, '(');
		script_add_dso(text, frame.map, out);
		strbuf_add_str(out, ")\t");
	}
	const size_t begin = out->len;
	/* A return has left the function that is named. */
	if (name || address)
		strbuf_add_chars(out, ' ', INDENT * ((size_t)flow.depth + (flow.flags & TRACED_RETURN ? 1 : 0)));
	if (name)
		text_add_safe(out, name, strlen(name));
	else if (address)
		strbuf_add_hex(out, address, 16);
	fill_up(text, out->len - begin, out);
}
