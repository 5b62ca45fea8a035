/* Addresses as text: ip, stacks, the address of the data, and branches that are samples themselves. */
#include "analysis/script/internal.h"
#include "analysis/script/sample_text.h"
#include "analysis/script/stacks.h"
#include "analysis/source_lines.h"

#include "base/text.h"
#include "symbol/source_file.h"

#include <string.h>

void script_add_symbol(const struct frame *frame, bool offset, struct strbuf *out)
{
	if (!frame->symbol) {
		strbuf_add(out, "[unknown]", 9);
		return;
	}
	const char *name = frame->symbol->name;
	text_add_safe(out, name, strlen(name));
	if (!offset)
		return;
	strbuf_add(out, "+0x", 3);
	strbuf_add_hex(out, frame->dso_addr - frame->symbol->start, 0);
}

void script_add_dso(const struct script_text *text, const struct map *map, struct strbuf *out)
{
	const char *name = "[unknown]";
	if (map)
		name = text->options.kernel_path && map->dso->kernel ? map->dso->name : map->dso->script_name;
	size_t length = strlen(name), width = text->options.file_width;
	if (width && length >= width)
		length = width - 1;
	text_add_safe(out, name, length);
	if (length < width)
		strbuf_add_chars(out, ' ', width - length);
}

void script_add_place(const struct script_text *text, const struct script_plan *plan, const struct frame *frame, struct strbuf *out)
{
	if (script_shows(plan, SCRIPT_SYM)) {
		strbuf_add_char(out, ' ');
		script_add_symbol(frame, script_shows(plan, SCRIPT_SYMOFF), out);
	}
	if ((frame->symbol && frame->symbol->inlined) || (!script_shows(plan, SCRIPT_DSO) && !script_shows(plan, SCRIPT_DSOFF)))
		return;
	strbuf_add(out, " (", 2);
	script_add_dso(text, frame->map, out);
	if (script_shows(plan, SCRIPT_DSOFF) && frame->map && !frame->map->dso->kernel) {
		strbuf_add(out, "+0x", 3);
		strbuf_add_hex(out, frame->dso_addr, 0);
	}
	strbuf_add_char(out, ')');
}

/* The source line of a frame. */
static void add_source(const struct script_text *text, const struct script_plan *plan, const struct frame *frame, struct strbuf *out)
{
	if (!frame->map)
		return;
	const struct code_function *function = source_find(text->resolver, frame, plan->own_lines);
	const char *file = function ? function->file : NULL;
	const char *name = source_file(file ? file : frame->map->dso->short_name, text->options.source_path);
	strbuf_add(out, "\n  ", 3);
	text_add_safe(out, name, strlen(name));
	if (file)
		strbuf_printf(out, ":%u", function->line);
	else
		strbuf_printf(out, "[%llx]", (unsigned long long)frame->dso_addr);
}

/* Tabs stay: code is full of them. */
static void add_code(const char *code, size_t size, struct strbuf *out)
{
	for (const char *tab; size && (tab = memchr(code, '\t', size));) {
		text_add_safe(out, code, (size_t)(tab - code));
		strbuf_add_char(out, '\t');
		size -= (size_t)(tab + 1 - code);
		code = tab + 1;
	}
	text_add_safe(out, code, size);
}

void script_add_source_code(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	struct frame frame;
	const char *code;
	size_t size;
	script_resolve_ip(text, at, at->sample->cpumode, at->sample->ip, &frame);
	const struct code_function *function = frame.map ? source_find(text->resolver, &frame, false) : NULL;
	if (!function || !function->file)
		return;
	uint64_t line = hash_combine(hash_bytes(function->file, strlen(function->file)), function->line);
	uint64_t *last = map64_insert(&text->last_lines, (uintptr_t)at->thread, NULL);
	if (!text->sources) {
		const struct source_options options = {.symfs = resolver_options(text->resolver)->symfs,
						       .carried = resolver_options(text->resolver)->carried};
		text->sources = source_files_create(&options);
	}
	if (*last == line || !source_line(text->sources, function->file, function->line, &code, &size))
		return;
	*last = line;
	strbuf_printf(out, "|%-8u ", function->line);
	add_code(code, size, out);
	strbuf_add_char(out, '\n');
}

void script_add_frame(const struct script_text *text, const struct script_plan *plan, const struct frame *frame, struct strbuf *out)
{
	script_add_place(text, plan, frame, out);
	if (script_shows(plan, SCRIPT_SRCLINE))
		add_source(text, plan, frame, out);
	if (frame->symbol && frame->symbol->inlined)
		strbuf_add_str(out, " (inlined)");
}

void script_resolve_ip(struct script_text *text, const struct script_sample *at, uint8_t cpumode, uint64_t ip, struct frame *ret)
{
	sample_resolve(text->resolver, at->thread, cpumode, ip, at->model_time, ret);
}

void script_resolve_data(struct script_text *text, const struct script_sample *at, uint64_t addr, struct frame *ret)
{
	sample_resolve_data(text->resolver, at->thread, at->sample->cpumode, addr, at->model_time, ret);
}

void script_print_addr(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	strbuf_add_hex(out, at->sample->addr, 16);
	if (!at->plan->addr_is_symbol)
		return;
	struct frame frame;
	script_resolve_data(text, at, at->sample->addr, &frame);
	script_add_place(text, at->plan, &frame, out);
}

void script_print_ip(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	if (at->plan->stacks) {
		strbuf_add_char(out, '\n');
		script_stacks_add(text, at, out);
	} else {
		strbuf_add_char(out, ' ');
		script_stacks_add_ip(text, at, out);
	}
}

/* "from => to" */
void script_print_branch(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	if (script_shows(at->plan, SCRIPT_IP))
		script_print_ip(text, at, out);
	if (script_shows(at->plan, SCRIPT_ADDR)) {
		strbuf_add(out, " => ", 4);
		script_print_addr(text, at, out);
	}
}
