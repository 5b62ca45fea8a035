/* The machine code of a sampled function: its bytes, and of each instruction the functions and lines that it is from and the names that it
 * speaks of. What annotate asks for is asked for here. */
#include "analysis/carry/carry_internal.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* About what an entry of either kind takes. */
enum { POINT_BYTES = 6, NAME_BYTES = 8, FUNCTION_BYTES = 32 };

typedef VEC(struct carried_name) name_list;

static bool open_code(struct carry *carry, struct carry_file *file)
{
	if (!file->code_tried) {
		file->code_tried = true;
		error_free(code_file_open(carry->resolver, file->dso, &file->code));
		if (file->code) /* without a disassembler there is no code to be shown */
			error_free(disasm_open(code_file_arch(file->code), DISASM_ATT, &file->disasm));
	}
	return file->disasm;
}

static void add_name(struct carry *carry, const struct code_name *name, uint64_t address, bool relocation, name_list *names)
{
	vec_push(names, (struct carried_name){
				.address = address,
				.relocation = relocation,
				.slot = name->slot,
				.offset = name->offset,
				.name = intern_string(&carry->texts, name->name),
			});
}

static void add_names(struct carry *carry, struct carry_file *file, const struct code_range *range, const struct instruction *instruction,
		      name_list *names)
{
	struct code_name name;
	if (!instruction->has_target && !instruction->has_reference)
		return;
	if (code_file_relocation(file->code, range, instruction->address, instruction->size, &name)) {
		add_name(carry, &name, instruction->address, true, names);
		return;
	}
	if (instruction->has_target && code_file_name(file->code, range, instruction->target, &name))
		add_name(carry, &name, instruction->target, false, names);
	if (instruction->has_reference && code_file_name(file->code, range, instruction->reference, &name))
		add_name(carry, &name, instruction->reference, false, names);
}

static int by_kind(const void *a, const void *b)
{
	const struct carried_name *x = a, *y = b;
	if (x->relocation != y->relocation)
		return x->relocation - y->relocation;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* Sorted, each once. */
static void settle_names(struct carry *carry, name_list *names, struct carried_code *code)
{
	size_t kept = 0;
	if (names->len)
		qsort(names->data, names->len, sizeof(*names->data), by_kind);
	for (size_t i = 0; i < names->len; i++)
		if (!kept || by_kind(&names->data[kept - 1], &names->data[i]) != 0)
			names->data[kept++] = names->data[i];
	code->names = arena_copy(&carry->arena, names->data, kept * sizeof(*names->data));
	code->name_count = kept;
	vec_deinit(names);
}

static void note_source(struct carry *carry, const struct carry_file *file, uint32_t answer)
{
	const struct carried_function *innermost = answer ? file->answers.data[answer - 1].functions : NULL;
	if (innermost && innermost->file)
		carry_source_note(carry, innermost->file, innermost->line);
}

/* Returns what it takes. */
static size_t take_apart(struct carry *carry, const struct carry_function *function, const struct code_range *range,
			 struct carried_code *code)
{
	struct carry_file *file = function->file;
	const struct symbol *symbol = function->symbol;
	struct code rest = {.bytes = range->bytes, .size = range->size, .address = range->address};
	struct instruction instruction;
	name_list names = {0};
	uint32_t last = 0;
	size_t points = file->points.len;
	while (disasm_next(file->disasm, &rest, &instruction)) {
		uint64_t at = symbol->start + (instruction.address - range->address);
		uint32_t answer = carry_answer(carry, file, at, symbol);
		add_names(carry, file, range, &instruction, &names);
		vec_push(&file->points, (struct carry_point){symtab_vaddr(file->symtab, at), answer, false});
		if (answer != last)
			note_source(carry, file, answer);
		last = answer;
	}
	vec_push(&file->points, (struct carry_point){symtab_vaddr(file->symtab, symbol->start) + range->size, 0, true});
	settle_names(carry, &names, code);
	return (file->points.len - points) * POINT_BYTES / 2 + code->name_count * NAME_BYTES;
}

static bool has_room(const struct carry *carry, uint64_t size)
{
	return size && size < carry->room && carry->room - size > FUNCTION_BYTES;
}

static struct carried_code copy_code(struct carry *carry, uint64_t dso_addr, const struct code_range *range)
{
	return (struct carried_code){
		.dso_addr = dso_addr,
		.address = range->address,
		.bytes = arena_copy(&carry->arena, range->bytes, range->size),
		.size = range->size,
		.section = range->section ? intern_string(&carry->texts, range->section) : NULL,
		.section_index = range->section_index,
	};
}

void carry_nameless_code(struct carry *carry, struct carry_file *file)
{
	enum { INSTRUCTION_MAX = 16 };
	struct code_range range;
	for (size_t i = 0; i < file->nameless.len && has_room(carry, INSTRUCTION_MAX); i++) {
		if (!open_code(carry, file) || !code_file_read(file->code, file->nameless.data[i], INSTRUCTION_MAX, &range))
			continue;
		vec_push(&file->codes, copy_code(carry, file->nameless.data[i], &range));
		carry->room -= FUNCTION_BYTES;
	}
}

bool carry_code(struct carry *carry, const struct carry_function *function)
{
	struct carry_file *file = function->file;
	const struct symbol *symbol = function->symbol;
	struct code_range range;
	if (!has_room(carry, symbol->end - symbol->start))
		return false;
	if (!open_code(carry, file) || !code_file_read(file->code, symbol->start, symbol->end - symbol->start, &range))
		return true;
	struct carried_code code = copy_code(carry, symbol->start, &range);
	range.bytes = code.bytes;
	size_t taken = FUNCTION_BYTES + range.size + take_apart(carry, function, &range, &code);
	carry->room -= taken < carry->room ? taken : carry->room;
	vec_push(&file->codes, code);
	return true;
}
