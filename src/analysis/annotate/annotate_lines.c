/* Annotate, second step: a function as lines. Its code is disassembled once from beginning to end; before an instruction of another source
 * line than the one before come the lines of source between the last one that was shown and its own:
 *
 *	last shown ──► 12  for (i = 0; …
 *	               13          if (v[i] > 0.5)
 *	this line  ──► 14                  t += v[i];
 *	                   addsd %xmm0,%xmm1
 *
 * but at most a few of them, and of lines that were passed already only its own. Samples lie at addresses; an instruction gets those from
 * its first byte to the next one's. */
#include "analysis/annotate/annotate_internal.h"

#include "analysis/source_lines.h"
#include "arch/arch.h"
#include "base/mem.h"
#include "base/text.h"
#include "symbol/code/gnu_syntax.h"

#include <stdlib.h>
#include <string.h>

enum { FUNCTION_SIZE_MAX = 1 << 23, CONTEXT_LINES = 5 };

struct making {
	struct annotate_private *private;
	const struct annotate_function *function;
	const struct symtab *symtab;
	struct code_file *file;
	struct code_range range;
	struct annotation *annotation;
	bool gnu; /* AT&T syntax */
	/* Of the last instruction. */
	const char *function_name, *source_file;
	uint32_t source_line;
	struct map64 shown; /* function and source file → last line that was shown */
};

/* ---- code ---- */

static struct error *open_code(struct annotate_private *private, struct dso *dso, struct annotate_code **ret)
{
	struct annotate_code *code = &private->codes[dso->index];
	if (!code->tried) {
		code->tried = true;
		struct error *error = code_file_open(private->resolver, dso, &code->file);
		if (!error)
			error = disasm_open(code_file_arch(code->file), private->options.syntax, &code->disasm);
		if (error) {
			code->why_not = mem_strdup(error_message(error));
			error_free(error);
		}
	}
	*ret = code;
	return code->why_not ? error_new("%s", code->why_not) : NULL;
}

static struct error *read_code(struct making *making)
{
	const struct symbol *symbol = making->function->symbol;
	uint64_t size = symbol->end - symbol->start;
	if (size > FUNCTION_SIZE_MAX)
		return error_new("its size would be %lu MB: the symbols of the file are incomplete", size >> 20);
	if (!size || !code_file_read(making->file, symbol->start, size, &making->range))
		return error_new("the file does not contain its code");
	return NULL;
}

/* ---- source ---- */

static struct annotation_line *add_line(struct making *making, enum annotation_kind kind)
{
	struct annotation_line *line = vec_add(&making->annotation->lines);
	*line = (struct annotation_line){.kind = kind, .target_line = ANNOTATION_NO_LINE};
	return line;
}

static void add_source_line(struct making *making, const char *file, uint32_t number)
{
	const char *text;
	size_t size;
	if (!source_line(making->private->sources, file, number, &text, &size))
		return;
	struct annotation_line *line = add_line(making, ANNOTATION_SOURCE);
	line->text = arena_strndup(&making->annotation->arena, text, size);
	line->file = file;
	line->line = number;
}

/* Does something else end with this line? A blank one, the end of a function, of a declaration, of a comment. */
static bool is_border(struct making *making, const char *file, uint64_t number)
{
	const char *text;
	size_t size;
	if (!source_line(making->private->sources, file, (uint32_t)number, &text, &size))
		return true;
	while (size && (text[size - 1] == ' ' || text[size - 1] == '\t'))
		size--;
	if (!size || text[0] == '}' || text[0] == '#' || (size >= 2 && text[size - 2] == '*' && text[size - 1] == '/'))
		return true;
	bool indented = text[0] == ' ' || text[0] == '\t';
	return !indented && (text[size - 1] == ';' || text[size - 1] == '}');
}

/* The first line of a function's code is often the brace: its head is above. */
static uint64_t head_of(struct making *making, const char *file, uint64_t line)
{
	uint64_t first = line;
	while (first > 1 && line - first < CONTEXT_LINES && !is_border(making, file, first - 1))
		first--;
	return first;
}

static void add_source(struct making *making, const char *function, const char *file, uint32_t line)
{
	uint64_t *shown = map64_insert(&making->shown, hash_combine((uintptr_t)file, (uintptr_t)function), NULL);
	uint64_t first = line;
	if (!*shown)
		first = head_of(making, file, line);
	else if (line > *shown)
		first = line - *shown > CONTEXT_LINES ? line - CONTEXT_LINES : *shown + 1;
	for (uint64_t number = first; number <= line; number++)
		add_source_line(making, file, (uint32_t)number);
	*shown = line > *shown ? line : *shown;
}

/* What stands before an instruction: where it comes from, if that is somewhere else than the one before. */
static void add_origin(struct making *making, const struct code_function *function)
{
	const char *file = function->file ? intern_string(&making->private->files, function->file) : NULL;
	bool same = function->symbol->name == making->function_name;
	if (!same) {
		struct annotation_line *line = add_line(making, ANNOTATION_NOTE);
		line->text = arena_printf(&making->annotation->arena, "%s():", function->symbol->name);
	}
	if (file && function->line && making->private->options.source &&
	    (!same || file != making->source_file || function->line != making->source_line))
		add_source(making, function->symbol->name, file, function->line);
	making->function_name = function->symbol->name;
	making->source_file = file;
	making->source_line = function->line;
}

/* ---- instructions ---- */

static enum annotation_flow flow_of(enum instruction_kind kind)
{
	switch (kind) {
	case INSTRUCTION_JUMP:
	case INSTRUCTION_BRANCH:
		return FLOW_JUMP;
	case INSTRUCTION_CALL:
		return FLOW_CALL;
	case INSTRUCTION_RETURN:
		return FLOW_RETURN;
	default:
		return FLOW_ON;
	}
}

static struct annotation_name name_at(const struct making *making, uint64_t address)
{
	struct code_name name;
	if (!code_file_name(making->file, &making->range, address, &name))
		return (struct annotation_name){0};
	return (struct annotation_name){.name = name.name, .offset = name.offset, .slot = name.slot};
}

static void add_names(const struct making *making, const struct instruction *instruction, struct annotation_line *line)
{
	struct code_name name;
	if (!instruction->has_target && !instruction->has_reference)
		return;
	bool linked_later = code_file_relocation(making->file, &making->range, instruction->address, instruction->size, &name);
	struct annotation_name later = {.name = linked_later ? name.name : NULL};
	line->has_target = instruction->has_target && !linked_later;
	line->target = instruction->target;
	line->has_reference = instruction->has_reference && !linked_later;
	line->reference = instruction->reference;
	if (instruction->has_target)
		line->target_name = linked_later ? later : name_at(making, instruction->target);
	if (instruction->has_reference)
		line->reference_name = linked_later ? later : name_at(making, instruction->reference);
}

/* x86 as the GNU tools write it: everyone who reads assembly knows that. */
static void add_text(struct making *making, const struct instruction *instruction, struct annotation_line *line)
{
	struct arena *arena = &making->annotation->arena;
	struct strbuf text = {0};
	if (!making->gnu) {
		line->mnemonic = intern_string(&making->private->mnemonics, instruction->mnemonic);
		line->operands = arena_strdup(arena, instruction->operands);
		return;
	}
	gnu_syntax_add_mnemonic(instruction->mnemonic, instruction->operands, &text);
	line->mnemonic = intern_string(&making->private->mnemonics, strbuf_str(&text));
	strbuf_clear(&text);
	gnu_syntax_add_operands(instruction->operands, &text);
	line->operands = arena_strndup(arena, strbuf_str(&text), text.len);
	strbuf_deinit(&text);
}

static void add_instruction(struct making *making, const struct instruction *instruction, const struct code_function *origin)
{
	struct annotation_line *line = add_line(making, ANNOTATION_INSTRUCTION);
	struct arena *arena = &making->annotation->arena;
	line->flow = (uint8_t)flow_of(instruction->kind);
	line->address = instruction->address;
	line->size = instruction->size;
	line->bytes = arena_copy(arena, instruction->bytes, instruction->size);
	add_text(making, instruction, line);
	if (origin && making->source_file) {
		line->file = making->source_file;
		line->line = making->source_line;
	}
	add_names(making, instruction, line);
}

static void disassemble(struct making *making, struct disasm *disasm)
{
	const struct symbol *symbol = making->function->symbol;
	struct code code = {.bytes = making->range.bytes, .size = making->range.size, .address = making->range.address};
	struct instruction instruction;
	while (disasm_next(disasm, &code, &instruction)) {
		const struct code_function *functions = NULL;
		uint64_t at = symbol->start + (instruction.address - making->range.address);
		size_t depth = symtab_functions(making->symtab, at, symbol, &functions);
		if (depth)
			add_origin(making, &functions[0]);
		add_instruction(making, &instruction, depth ? &functions[0] : NULL);
	}
}

/* ---- what needs all lines ---- */

size_t annotate_position(const struct annotation *annotation, const uint32_t *instructions, size_t count, uint64_t address)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (annotation->lines.data[instructions[middle]].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : count;
}

/* The line of that; lines in between are none. */
static uint32_t line_at(const struct annotation *annotation, const uint32_t *instructions, size_t count, uint64_t address)
{
	size_t position = annotate_position(annotation, instructions, count, address);
	return position < count ? instructions[position] : ANNOTATION_NO_LINE;
}

static void link_jumps(struct annotation *annotation, const struct making *making, const uint32_t *instructions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct annotation_line *line = &annotation->lines.data[instructions[i]];
		if (line->flow != FLOW_JUMP || !line->has_target || line->target - making->range.address >= making->range.size)
			continue;
		uint32_t target = line_at(annotation, instructions, count, line->target);
		if (target == ANNOTATION_NO_LINE || annotation->lines.data[target].address != line->target)
			continue;
		line->target_line = target;
		annotation->lines.data[target].is_target = true;
	}
}

static void add_values(struct annotation *annotation, const struct making *making, const uint32_t *instructions, size_t count,
		       const unsigned int *events)
{
	const struct annotate_function *function = making->function;
	const struct annotate_place *places = making->private->places.data + function->first;
	for (uint32_t i = 0; i < function->count; i++) {
		uint64_t address = places[i].address - function->symbol->start + making->range.address;
		uint32_t line = line_at(annotation, instructions, count, address);
		for (size_t event = 0; line != ANNOTATION_NO_LINE && event < annotation->event_count; event++) {
			if (events[event] != places[i].event)
				continue;
			struct annotation_value *value = &annotation->values[line * annotation->event_count + event];
			value->samples += places[i].value.samples;
			value->period += places[i].value.period;
		}
	}
}

static struct error *finish(struct making *making, const struct annotate *annotate, const unsigned int *events)
{
	struct annotation *annotation = making->annotation;
	size_t count = 0;
	uint32_t *instructions = mem_alloc_array(annotation->lines.len + 1, sizeof(*instructions));
	for (size_t i = 0; i < annotation->lines.len; i++)
		if (annotation->lines.data[i].kind == ANNOTATION_INSTRUCTION)
			instructions[count++] = (uint32_t)i;
	annotation->values =
		arena_zalloc(&annotation->arena, annotation->lines.len * annotation->event_count * sizeof(*annotation->values));
	link_jumps(annotation, making, instructions, count);
	add_values(annotation, making, instructions, count, events);
	const struct event *first = making->private->session->reader->events.events.data[events[0]];
	struct error *error = annotate_add_cycles(making->private, making->function, first, instructions, count, annotation);
	free(instructions);
	for (size_t i = 0; i < annotation->event_count; i++)
		annotation->events[i] = (struct annotation_event){
			.local = making->function->values[events[i]],
			.global = annotate->totals[events[i]],
		};
	annotation_sum_sources(annotation);
	return error;
}

struct error *annotate_function(struct annotate *annotate, const struct annotate_function *function, const unsigned int *events,
				size_t event_count, struct annotation **ret)
{
	struct annotate_private *private = annotate->private;
	struct annotate_code *code;
	struct making making = {.private = private, .function = function, .symtab = resolver_symtab(private->resolver, function->dso)};
	struct error *error = open_code(private, function->dso, &code);
	if (error)
		return error;
	making.file = code->file;
	const struct arch *arch = arch_find(code_file_arch(code->file));
	making.gnu = arch && arch->code.has_att_syntax && private->options.syntax == DISASM_ATT;
	error = read_code(&making);
	if (error)
		return error;
	struct annotation *annotation = making.annotation = annotation_create();
	annotation->function = function->symbol->name;
	annotation->path = code_file_path(code->file);
	annotation->file = annotation->path[0] == '[' ? function->dso->short_name : source_file(annotation->path, false);
	annotation->section = making.range.section;
	annotation->start = making.range.address;
	annotation->event_count = event_count;
	annotation->events = arena_zalloc(&annotation->arena, event_count * sizeof(*annotation->events));
	disassemble(&making, code->disasm);
	error = finish(&making, annotate, events);
	map64_deinit(&making.shown);
	if (error)
		annotation_destroy(annotation);
	else
		*ret = annotation;
	return error;
}
