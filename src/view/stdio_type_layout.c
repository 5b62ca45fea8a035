/* Types of data as text, the way the kernel's tool writes them:
 *
 *	Annotate type: 'struct item' in /tmp/prog (13 samples):
 *	============================================================================
 *	 Percent     offset       size  field
 *	  100.00          0       0x38  struct item	 {
 *	   38.46          0        0x8      long int	key;
 *	                                };
 */
#include "base/text.h"
#include "view/stdio_internal.h"

#include <inttypes.h>
#include <string.h>

enum { INDENT = 4, VALUE_WIDTH = 8, PERIOD_WIDTH = 12, NUMBERS_WIDTH = 2 * 11 + 2, RULE = 76 };

static void add_safe(struct strbuf *out, const char *text)
{
	text_add_safe(out, text, strlen(text));
}

static unsigned int value_width(const struct type_layout *layout)
{
	return layout->show == ANNOTATION_PERIOD ? PERIOD_WIDTH : VALUE_WIDTH;
}

static void add_head(const struct type_layout *layout, struct strbuf *out)
{
	static const char *const titles[] = {
		[ANNOTATION_PERCENT] = "Percent", [ANNOTATION_SAMPLES] = "Samples", [ANNOTATION_PERIOD] = "Period"};
	uint64_t samples = 0;
	for (size_t event = 0; event < layout->event_count; event++)
		samples += layout->events[event].local.samples;
	strbuf_add_str(out, "Annotate type: '");
	add_safe(out, layout->type);
	strbuf_add_str(out, "' in ");
	add_safe(out, layout->dso);
	strbuf_printf(out, " (%" PRIu64 " samples):\n", samples);
	for (size_t event = 0; event < layout->event_count && layout->says_events; event++) {
		strbuf_printf(out, " event[%zu] = ", event);
		add_safe(out, layout->events[event].name);
		strbuf_add_char(out, '\n');
	}
	strbuf_add_chars(out, '=', RULE);
	strbuf_printf(out, "\n%*s %10s %10s  field\n", (int)(value_width(layout) * layout->event_count), titles[layout->show], "offset",
		      "size");
}

static void add_value(const struct type_layout *layout, size_t field, size_t event, bool color, struct strbuf *out)
{
	const struct annotation_value *value = type_layout_value(layout, field, event);
	double percent = type_layout_percent(layout, value, event);
	const char *begin = color ? stdio_color(percent) : NULL;
	int width = (int)value_width(layout);
	if (begin)
		strbuf_add_str(out, begin);
	if (layout->show == ANNOTATION_PERCENT)
		strbuf_printf(out, "%*.2f", width, percent);
	else
		strbuf_printf(out, "%*" PRIu64, width, layout->show == ANNOTATION_PERIOD ? value->period : value->samples);
	if (begin)
		strbuf_add_str(out, STDIO_COLOR_END);
}

/* Ends what has been opened at a depth. */
static void add_end(const struct type_layout *layout, unsigned int depth, struct strbuf *out)
{
	strbuf_add_chars(out, ' ', value_width(layout) * layout->event_count + NUMBERS_WIDTH + (size_t)INDENT * depth);
	strbuf_add_str(out, "};\n");
}

static void add_field(const struct type_layout *layout, size_t number, bool color, struct strbuf *out)
{
	const struct type_field *field = &layout->fields.data[number];
	for (size_t event = 0; event < layout->event_count; event++)
		add_value(layout, number, event, color, out);
	strbuf_printf(out, " %#10" PRIx64 " %#10" PRIx64 "  %*s", field->offset, field->size, (int)(INDENT * field->depth), "");
	add_safe(out, field->type);
	strbuf_add_char(out, '\t');
	add_safe(out, field->name);
	strbuf_add_str(out, field->opens ? " {\n" : ";\n");
}

struct error *stdio_type_layout(const struct type_layout *layout, const struct view_options *options, const struct sink *output)
{
	struct strbuf out = {0};
	add_head(layout, &out);
	for (size_t i = 0; i < layout->fields.len; i++) {
		const struct type_field *field = &layout->fields.data[i];
		add_field(layout, i, options->color, &out);
		unsigned int next = i + 1 < layout->fields.len ? field[1].depth : 0;
		for (unsigned int depth = field->depth + field->opens; depth-- > next;)
			add_end(layout, depth, &out);
	}
	strbuf_add_char(&out, '\n');
	sink_move(output, &out);
	strbuf_deinit(&out);
	return NULL;
}
