/* Annotations as text, in two forms that the kernel tool's users know:
 *
 *	 Percent |	Source code & Disassembly of prog for cycles (323 samples, percent: local period)
 *	    0.31 :   12e7:   jmp    1301 <sum+0x31>
 *
 *	  0.31      ↓ jmp      31
 *	  8.05  20:   add      $0x1,%rbx
 */
#include "base/mem.h"
#include "base/text.h"
#include "view/annotation_lines.h"
#include "view/stdio_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MNEMONIC_WIDTH = 6, TAB = 8, FLUSH_SIZE = 1 << 16, SAMPLES_WIDTH = 32, RULE_EXTRA = 5 };

#define COLOR_ADDRESS "\033[35m"
#define COLOR_SOURCE "\033[34m"

struct writing {
	const struct annotation *annotation;
	struct strbuf *out;
	bool color;
	unsigned int address_width, label_width, mnemonic_width, raw_width, value_width, number_width, counters_width;
};

#define COUNTERS_TITLE "Branch Counter"

static unsigned int hex_digits(uint64_t value)
{
	unsigned int digits = 1;
	while (value >>= 4)
		digits++;
	return digits;
}

static unsigned int decimal_digits(uint64_t value)
{
	unsigned int digits = 1;
	while (value /= 10)
		digits++;
	return digits;
}

static unsigned int larger(unsigned int a, unsigned int b)
{
	return a > b ? a : b;
}

/* Whether the compact form says where the instruction is in the function. */
static bool has_offset(const struct annotation_style *style, const struct annotation_line *line)
{
	return line->is_target || style->offsets == OFFSETS_ALL || (style->offsets == OFFSETS_CALLS && line->flow == FLOW_CALL);
}

/* What branch counters tell of the block that ends at a line. */
static void add_counters(const struct annotation *annotation, size_t line, struct strbuf *out)
{
	const struct annotation_cycles *cycles = &annotation->cycles[line];
	if (cycles->counts)
		branch_counts_add_text(annotation->counters, cycles->counts, annotation->counter_count, cycles->runs,
				       annotation->style.counts, out);
}

/* So that the longest text fits. */
static unsigned int counters_width(const struct annotation *annotation)
{
	unsigned int width = sizeof(COUNTERS_TITLE) - 1;
	struct strbuf text = {0};
	for (size_t i = 0; annotation->counter_count && i < annotation->lines.len; i++) {
		strbuf_clear(&text);
		add_counters(annotation, i, &text);
		width = larger(width, (unsigned int)text.len);
	}
	strbuf_deinit(&text);
	return width;
}

static void writing_init(struct writing *writing, const struct annotation *annotation, struct strbuf *out)
{
	const struct annotation_style *style = &annotation->style;
	*writing = (struct writing){.annotation = annotation, .out = out, .mnemonic_width = MNEMONIC_WIDTH, .raw_width = 7 * 3};
	writing->value_width = style->show == ANNOTATION_PERIOD ? 11 : style->compact ? 6 : 7;
	for (size_t i = 0; i < annotation->lines.len; i++) {
		const struct annotation_line *line = &annotation->lines.data[i];
		if (line->kind == ANNOTATION_SOURCE)
			writing->number_width = larger(writing->number_width, decimal_digits(line->line));
		if (line->kind != ANNOTATION_INSTRUCTION)
			continue;
		writing->address_width = larger(writing->address_width, hex_digits(line->address));
		writing->raw_width = larger(writing->raw_width, line->size * 3);
		if (style->compact)
			writing->mnemonic_width = larger(writing->mnemonic_width, (unsigned int)strlen(line->mnemonic));
		if (has_offset(style, line))
			writing->label_width = larger(writing->label_width, hex_digits(line->address - annotation->start));
	}
	if (!style->compact)
		writing->number_width = larger(writing->number_width, writing->address_width);
	writing->counters_width = counters_width(annotation);
}

static void add_safe(struct strbuf *out, const char *text)
{
	text_add_safe(out, text, strlen(text));
}

static void add_color(const struct writing *writing, const char *escape)
{
	if (writing->color)
		strbuf_add_str(writing->out, escape);
}

/* Source text with its tabs as blanks. */
static void add_source_text(struct strbuf *out, const char *text)
{
	size_t column = 0;
	while (*text) {
		size_t piece = strcspn(text, "\t");
		text_add_safe(out, text, piece);
		column += text_width(text, piece);
		text += piece;
		for (; *text == '\t'; text++) {
			strbuf_add_chars(out, ' ', TAB - column % TAB);
			column += TAB - column % TAB;
		}
	}
}

/* ---- values ---- */

static const char *value_title(const struct annotation_style *style)
{
	return style->show == ANNOTATION_SAMPLES ? "Samples" : style->show == ANNOTATION_PERIOD ? "Period" : "Percent";
}

static void add_value(const struct writing *writing, const struct annotation_value *value, size_t event)
{
	const struct annotation_style *style = &writing->annotation->style;
	double percent = annotation_percent(writing->annotation, value, event);
	const char *color = writing->color ? stdio_color(percent) : NULL;
	int width = (int)writing->value_width;
	if (color)
		strbuf_add_str(writing->out, color);
	if (style->compact && !value->samples)
		strbuf_add_chars(writing->out, ' ', writing->value_width);
	else if (style->show == ANNOTATION_PERCENT)
		strbuf_printf(writing->out, "%*.2f", width, percent);
	else
		strbuf_printf(writing->out, "%*" PRIu64, width, style->show == ANNOTATION_SAMPLES ? value->samples : value->period);
	if (color)
		strbuf_add_str(writing->out, STDIO_COLOR_END);
}

static void add_blank_values(const struct writing *writing)
{
	strbuf_add_chars(writing->out, ' ', (writing->value_width + 1) * writing->annotation->event_count);
}

/* Instructions a cycle, and cycles where a block ends. */
static void add_cycles(const struct writing *writing, size_t line)
{
	enum { IPC = 7, CYCLES = 7, RANGE = 22 };
	const struct annotation *annotation = writing->annotation;
	const struct annotation_cycles *cycles = annotation->cycles ? &annotation->cycles[line] : NULL;
	int width = annotation->style.cycle_range ? RANGE : CYCLES;
	if (!cycles)
		return;
	if (cycles->ipc > 0)
		strbuf_printf(writing->out, "%*.2f", IPC, cycles->ipc);
	else
		strbuf_add_chars(writing->out, ' ', IPC);
	char text[80] = "";
	if (cycles->average && annotation->style.cycle_range)
		snprintf(text, sizeof(text), "%" PRIu64 "(%" PRIu64 "/%" PRIu64 ")", cycles->average, cycles->least, cycles->most);
	else if (cycles->average)
		snprintf(text, sizeof(text), "%" PRIu64, cycles->average);
	strbuf_printf(writing->out, "%*s ", width, text);
	if (!annotation->counter_count)
		return;
	struct strbuf counts = {0};
	add_counters(annotation, line, &counts);
	strbuf_printf(writing->out, "%*s ", (int)writing->counters_width, strbuf_str(&counts));
	strbuf_deinit(&counts);
}

/* The titles of these. */
static void add_cycle_titles(const struct writing *writing)
{
	const struct annotation *annotation = writing->annotation;
	size_t blank = (writing->value_width + 1) * annotation->event_count, used = strlen(value_title(&annotation->style));
	if (!annotation->cycles)
		return;
	strbuf_add_chars(writing->out, ' ', blank > used ? blank - used : 1);
	strbuf_printf(writing->out, annotation->style.cycle_range ? "    IPC        Cycle(min/max)" : "    IPC  Cycle");
	if (annotation->counter_count)
		strbuf_printf(writing->out, " %*s", (int)writing->counters_width, COUNTERS_TITLE);
	strbuf_printf(writing->out, "   (Average IPC: %.2f, IPC Coverage: %.1f%%)", annotation->ipc, annotation->ipc_coverage);
}

/* ---- instructions ---- */

static void add_name(const struct writing *writing, const struct annotation_name *name)
{
	add_safe(writing->out, name->name);
	if (name->slot)
		strbuf_add_str(writing->out, "@got");
	if (name->offset)
		strbuf_printf(writing->out, "+0x%" PRIx64, name->offset);
}

/* What stands for a target among the operands. */
static void add_target(const struct writing *writing, const struct annotation_line *line)
{
	const struct annotation *annotation = writing->annotation;
	bool compact = annotation->style.compact;
	if (compact && line->target_line != ANNOTATION_NO_LINE) {
		strbuf_printf(writing->out, "%" PRIx64, line->target - annotation->start);
	} else if (compact && line->target_name.name) {
		add_name(writing, &line->target_name);
	} else {
		strbuf_printf(writing->out, "%" PRIx64, line->target);
		if (!line->target_name.name)
			return;
		strbuf_add_str(writing->out, " <");
		add_name(writing, &line->target_name);
		strbuf_add_char(writing->out, '>');
	}
}

/* The operands, the number at `found` replaced. */
static const char *find_number(const char *operands, uint64_t number)
{
	char text[24];
	snprintf(text, sizeof(text), "0x%" PRIx64, number);
	const char *found = strstr(operands, text);
	return found && (found[strlen(text)] == '\0' || !strchr("0123456789abcdef", found[strlen(text)])) ? found : NULL;
}

static void add_operands(const struct writing *writing, const struct annotation_line *line)
{
	struct strbuf *out = writing->out;
	const char *operands = line->operands, *number = line->has_target ? find_number(operands, line->target) : NULL;
	if (number) {
		size_t before = (size_t)(number - operands);
		strbuf_add(out, operands, before && number[-1] == '#' ? before - 1 : before);
		add_target(writing, line);
		strbuf_add_str(out, number + strspn(number, "0123456789abcdefx"));
	} else if (line->target_name.name) {
		add_name(writing, &line->target_name);
	} else {
		strbuf_add_str(out, operands);
	}
}

/* Compact: the name in place of "0xd39(%rip)" or "[rip + 0xd39]". */
static bool add_named_operands(const struct writing *writing, const struct annotation_line *line)
{
	const char *operands = line->operands, *base = line->reference_name.name ? strstr(operands, "rip") : NULL;
	if (!base)
		return false;
	const char *begin = base, *end = strpbrk(base, ")]");
	while (begin > operands && begin[-1] != ',' && begin[-1] != '*' && begin[-1] != ':')
		begin--;
	if (!end)
		return false;
	strbuf_add(writing->out, operands, (size_t)(begin - operands));
	add_name(writing, &line->reference_name);
	strbuf_add_str(writing->out, end + 1);
	return true;
}

static void add_reference(const struct writing *writing, const struct annotation_line *line)
{
	if (!line->has_reference && !line->reference_name.name)
		return;
	strbuf_add_str(writing->out, "        #");
	if (line->has_reference)
		strbuf_printf(writing->out, " %" PRIx64, line->reference);
	if (!line->reference_name.name)
		return;
	strbuf_add_str(writing->out, " <");
	add_name(writing, &line->reference_name);
	strbuf_add_char(writing->out, '>');
}

static void add_raw(const struct writing *writing, const struct annotation_line *line)
{
	for (uint32_t i = 0; i < line->size; i++)
		strbuf_printf(writing->out, "%02x ", line->bytes[i]);
	strbuf_add_chars(writing->out, ' ', (writing->raw_width + TAB - 1) / TAB * TAB - line->size * 3);
}

static void add_instruction(const struct writing *writing, const struct annotation_line *line)
{
	bool compact = writing->annotation->style.compact;
	if (writing->annotation->style.raw)
		add_raw(writing, line);
	bool filler = compact && strstr(line->mnemonic, "nop");
	if (filler || (!*line->operands && !line->target_name.name)) {
		strbuf_add_str(writing->out, filler ? "nop" : line->mnemonic);
		return;
	}
	strbuf_printf(writing->out, "%-*s ", (int)writing->mnemonic_width, line->mnemonic);
	if (compact && add_named_operands(writing, line))
		return;
	add_operands(writing, line);
	add_reference(writing, line);
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void add_place(const struct writing *writing, const char *file, uint32_t line)
{
	add_safe(writing->out, writing->annotation->style.full_paths ? file : last_component(file));
	strbuf_printf(writing->out, ":%u", line);
}

static bool has_samples(const struct annotation *annotation, size_t index)
{
	for (size_t event = 0; event < annotation->event_count; event++)
		if (annotation_value(annotation, index, event)->samples)
			return true;
	return false;
}

/* ---- the wide form ---- */

/* "12d0:" and blanks up to the next tab stop behind it. */
static void add_address(const struct writing *writing, uint64_t address)
{
	size_t width = writing->address_width + 1;
	add_color(writing, COLOR_ADDRESS);
	strbuf_printf(writing->out, "   %*" PRIx64 ":", (int)writing->address_width, address);
	add_color(writing, STDIO_COLOR_END);
	strbuf_add_chars(writing->out, ' ', TAB - width % TAB);
}

static void add_wide_text(const struct writing *writing, uint32_t number, const char *text)
{
	struct strbuf *out = writing->out;
	add_blank_values(writing);
	strbuf_add_str(out, " :");
	if (!*text && !number) {
		strbuf_add_char(out, '\n');
		return;
	}
	strbuf_add_char(out, ' ');
	add_color(writing, COLOR_SOURCE);
	if (number)
		strbuf_printf(out, "%-*u ", (int)writing->number_width, number);
	else
		strbuf_add_chars(out, ' ', writing->number_width + 1);
	add_source_text(out, text);
	add_color(writing, STDIO_COLOR_END);
	strbuf_add_char(out, '\n');
}

static void add_wide_line(const struct writing *writing, size_t index)
{
	const struct annotation *annotation = writing->annotation;
	const struct annotation_line *line = &annotation->lines.data[index];
	if (line->kind != ANNOTATION_INSTRUCTION) {
		add_wide_text(writing, line->line, line->text);
		return;
	}
	for (size_t event = 0; event < annotation->event_count; event++) {
		strbuf_add_char(writing->out, ' ');
		add_value(writing, annotation_value(annotation, index, event), event);
	}
	strbuf_add_str(writing->out, " :");
	add_address(writing, line->address);
	add_instruction(writing, line);
	if (annotation->style.print_lines && line->file && has_samples(annotation, index)) {
		strbuf_add_str(writing->out, " // ");
		add_place(writing, line->file, line->line);
	}
	strbuf_add_char(writing->out, '\n');
}

static void add_counts(const struct writing *writing)
{
	const struct annotation *annotation = writing->annotation;
	for (size_t i = 0; i < annotation->lines.len; i++) {
		uint64_t samples = annotation_value(annotation, i, 0)->samples;
		if (samples)
			strbuf_printf(writing->out, "%*" PRIx64 ": %" PRIu64 "\n", SAMPLES_WIDTH, annotation->lines.data[i].address,
				      samples);
	}
	strbuf_printf(writing->out, "%*s: %" PRIu64 "\n", SAMPLES_WIDTH, "h->nr_samples", annotation->events[0].local.samples);
}

static void add_wide_head(const struct writing *writing)
{
	const struct annotation *annotation = writing->annotation;
	const struct annotation_style *style = &annotation->style;
	struct strbuf *out = writing->out;
	size_t begin = out->len;
	strbuf_printf(out, " %-*s|\t", (int)((writing->value_width + 1) * annotation->event_count), value_title(style));
	strbuf_add_str(out, "Source code & Disassembly of ");
	add_safe(out, style->full_paths ? annotation->path : annotation->file);
	strbuf_add_str(out, " for ");
	add_safe(out, annotation->events_name);
	strbuf_printf(out, " (%" PRIu64 " samples, percent: %s %s)", annotation->events[0].local.samples,
		      style->global ? "global" : "local", style->hits ? "hits" : "period");
	size_t length = out->len - begin;
	strbuf_add_char(out, '\n');
	strbuf_add_chars(out, '-', length + RULE_EXTRA);
	strbuf_add_char(out, '\n');
}

static void add_wide_body(const struct writing *writing)
{
	const struct annotation *annotation = writing->annotation;
	struct strbuf text = {0};
	if (annotation->style.counts)
		add_counts(writing);
	add_wide_text(writing, 0, "");
	if (annotation->section) {
		strbuf_printf(&text, "Disassembly of section %s:", annotation->section);
		add_wide_text(writing, 0, strbuf_str(&text));
		add_wide_text(writing, 0, "");
	}
	strbuf_clear(&text);
	strbuf_printf(&text, "%016" PRIx64 " <%s>:", annotation->start, annotation->function);
	add_wide_text(writing, 0, strbuf_str(&text));
	strbuf_deinit(&text);
}

/* ---- the compact form ---- */

static void add_compact_head(const struct writing *writing)
{
	const struct annotation *annotation = writing->annotation;
	const struct annotation_style *style = &annotation->style;
	struct strbuf *out = writing->out;
	struct annotation_value all = {0};
	for (size_t i = 0; i < annotation->event_count; i++) {
		all.samples += annotation->events[i].local.samples;
		all.period += annotation->events[i].local.period;
	}
	strbuf_printf(out, "Samples: %" PRIu64 "  of %s%s '", all.samples, annotation->subject_id, annotation->event_count > 1 ? "s" : "");
	add_safe(out, annotation->events_name);
	strbuf_add_str(out, "', ");
	if (annotation->frequency)
		strbuf_printf(out, "%" PRIu64 " Hz, ", annotation->frequency);
	strbuf_printf(out, "Event count (approx.): %" PRIu64 ", [percent: %s %s]\n", all.period, style->global ? "global" : "local",
		      style->hits ? "hits" : "period");
	add_safe(out, annotation->function);
	strbuf_add_str(out, "() ");
	add_safe(out, annotation->path);
	strbuf_printf(out, "\n%s", value_title(style));
	add_cycle_titles(writing);
	strbuf_add_char(out, '\n');
}

/* The direction of a jump, or which way the function is left. */
static const char *arrow(const struct annotation *annotation, const struct annotation_line *line)
{
	switch (line->flow) {
	case FLOW_JUMP:
		return line->target_line == ANNOTATION_NO_LINE ? "→" : line->target > line->address ? "↓" : "↑";
	case FLOW_CALL:
		return "→";
	case FLOW_RETURN:
		return "←";
	default:
		return " ";
	}
}

static void add_source_place(const struct writing *writing, const struct annotation_line *line)
{
	enum annotation_places places = writing->annotation->style.places;
	if (line->kind != ANNOTATION_SOURCE || !places)
		return;
	if (places == PLACES_FILES && line->file) {
		add_safe(writing->out, line->file);
		strbuf_printf(writing->out, ":%u ", line->line);
	} else {
		strbuf_printf(writing->out, "%-*u ", (int)writing->number_width, line->line);
	}
}

static void add_data_type(const struct writing *writing, size_t index)
{
	const struct annotation *annotation = writing->annotation;
	const char *type = annotation->style.data_types && annotation->data_types ? annotation->data_types[index] : NULL;
	if (!type)
		return;
	strbuf_add_str(writing->out, "   # data-type: ");
	add_safe(writing->out, type);
}

static void add_compact_line(const struct writing *writing, size_t index)
{
	const struct annotation *annotation = writing->annotation;
	const struct annotation_line *line = &annotation->lines.data[index];
	struct strbuf *out = writing->out;
	if (line->kind != ANNOTATION_INSTRUCTION) {
		add_blank_values(writing);
		add_cycles(writing, index);
		strbuf_add_chars(out, ' ', writing->label_width + 3);
		add_color(writing, COLOR_SOURCE);
		add_source_place(writing, line);
		add_source_text(out, line->text);
		add_color(writing, STDIO_COLOR_END);
		strbuf_add_char(out, '\n');
		return;
	}
	for (size_t event = 0; event < annotation->event_count; event++) {
		add_value(writing, annotation_value(annotation, index, event), event);
		strbuf_add_char(out, ' ');
	}
	add_cycles(writing, index);
	strbuf_add_char(out, ' ');
	if (has_offset(&annotation->style, line))
		strbuf_printf(out, "%*" PRIx64 ":", (int)writing->label_width, line->address - annotation->start);
	else
		strbuf_add_chars(out, ' ', writing->label_width + 1);
	strbuf_printf(out, " %s ", arrow(annotation, line));
	add_instruction(writing, line);
	add_data_type(writing, index);
	strbuf_add_char(out, '\n');
}

/* ---- both ---- */

static void add_summary(const struct writing *writing)
{
	const struct annotation *annotation = writing->annotation;
	struct strbuf *out = writing->out;
	bool any = false;
	strbuf_add_str(out, "\nSorted summary for file ");
	add_safe(out, annotation->path);
	strbuf_add_str(out, "\n----------------------------------------------\n\n");
	for (size_t i = 0; i < annotation->source_count; i++) {
		const struct annotation_source *source = &annotation->sources[i];
		if (annotation_percent(annotation, &source->values[0], 0) < annotation->style.least_percent)
			continue;
		any = true;
		for (size_t event = 0; event < annotation->event_count; event++)
			strbuf_printf(out, " %7.2f", annotation_percent(annotation, &source->values[event], event));
		strbuf_add_char(out, ' ');
		add_place(writing, source->file, source->line);
		strbuf_add_char(out, '\n');
	}
	if (!any)
		strbuf_printf(out, " Nothing higher than %.1f%%\n", annotation->style.least_percent);
}

static void flush(struct strbuf *out, const struct sink *output, size_t size)
{
	if (out->len > size)
		sink_move(output, out);
}

struct error *stdio_annotation(const struct annotation *annotation, const struct view_options *options, const struct sink *output)
{
	struct strbuf out = {0};
	struct writing writing;
	bool compact = annotation->style.compact;
	writing_init(&writing, annotation, &out);
	writing.color = options->color;
	if (annotation->style.print_lines)
		add_summary(&writing);
	if (compact) {
		add_compact_head(&writing);
	} else {
		add_wide_head(&writing);
		add_wide_body(&writing);
	}
	for (size_t i = 0; i < annotation->lines.len; i++) {
		if (compact)
			add_compact_line(&writing, i);
		else
			add_wide_line(&writing, i);
		flush(&out, output, FLUSH_SIZE);
	}
	flush(&out, output, 0);
	strbuf_deinit(&out);
	return NULL;
}

/* ---- one at a time ---- */

struct annotation_lines {
	struct writing writing;
	struct strbuf text;
};

struct annotation_lines *annotation_lines_open(const struct annotation *annotation)
{
	struct annotation_lines *lines = mem_zalloc(sizeof(*lines));
	writing_init(&lines->writing, annotation, &lines->text);
	return lines;
}

void annotation_lines_close(struct annotation_lines *lines)
{
	if (!lines)
		return;
	strbuf_deinit(&lines->text);
	free(lines);
}

/* What was written, without its last newline. */
static void hand_over(struct annotation_lines *lines, struct strbuf *out)
{
	size_t length = lines->text.len;
	strbuf_add(out, strbuf_str(&lines->text), length && lines->text.data[length - 1] == '\n' ? length - 1 : length);
	strbuf_clear(&lines->text);
}

void annotation_lines_add(struct annotation_lines *lines, size_t line, struct strbuf *out)
{
	(lines->writing.annotation->style.compact ? add_compact_line : add_wide_line)(&lines->writing, line);
	hand_over(lines, out);
}

void annotation_lines_add_head(struct annotation_lines *lines, struct strbuf *out)
{
	add_compact_head(&lines->writing);
	hand_over(lines, out);
}
