/* Data accesses of functions. A function is taken apart when one of its instructions is first asked for, and all its answers are kept: the
 * samples of a function come in no order. How much code is looked at in all is bounded, since symbols of a hostile file may overlap. */
#include "symbol/data/data_access.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/text.h"
#include "base/vec.h"
#include "symbol/carried/carried.h"
#include "symbol/code/gnu_syntax.h"
#include "symbol/data/data_type_internal.h"
#include "symbol/data/effort.h"
#include "symbol/data/tracking.h"
#include "symbol/elf/elf.h"
#include "symbol/symtab.h"

#include <stdlib.h>

enum { FUNCTION_SIZE_MAX = 1 << 20, CODE_MAX = 1 << 28, INSTRUCTION_MAX = 16 };

/* All instructions of a function, in the order of addresses. */
struct answers {
	struct data_access *list;
	size_t count;
};

struct data_code {
	bool tried;
	struct code_file *file;	     /* NULL = there is none */
	struct disasm *disasm, *gnu; /* gnu: for mnemonics */
	struct data_file *data;	     /* NULL = no debug information */
};

struct data_accesses {
	struct resolver *resolver;
	struct arena arena;
	struct data_types types;
	struct intern mnemonics;
	struct map64 functions;	     /* hash of dso and place of the function → struct answers * */
	VEC(struct data_code) codes; /* by index of the dso: more come while a session is live */
	size_t left;		     /* bytes of code that may still be taken apart */
	size_t effort;
};

static const struct data_access no_symbol = {.type = &data_type_unknown, .outcome = DATA_NO_SYMBOL};
static const struct data_access no_code = {.type = &data_type_unknown, .outcome = DATA_NO_CODE};

const char *data_outcome_name(enum data_outcome outcome)
{
	static const char *const names[] = {
		[DATA_FOUND] = "ok",
		[DATA_STACK] = "ok",
		[DATA_CANARY] = "ok",
		[DATA_NO_SYMBOL] = "no_sym",
		[DATA_NO_CODE] = "no_insn",
		[DATA_NO_ACCESS] = "no_mem_ops",
		[DATA_NO_DEBUG] = "no_dbginfo",
		[DATA_NO_UNIT] = "no_cuinfo",
		[DATA_NO_VARIABLE] = "no_var",
		[DATA_NO_TYPE] = "no_typeinfo",
		[DATA_NO_SIZE] = "invalid_size",
		[DATA_BAD_OFFSET] = "bad_offset",
	};
	return names[outcome];
}

struct data_accesses *data_accesses_create(struct resolver *resolver)
{
	struct data_accesses *accesses = mem_zalloc(sizeof(*accesses));
	*accesses = (struct data_accesses){.resolver = resolver, .left = CODE_MAX, .effort = EFFORT_MAX};
	return accesses;
}

void data_accesses_destroy(struct data_accesses *accesses)
{
	if (!accesses)
		return;
	for (size_t i = 0; i < accesses->codes.len; i++) {
		struct data_code *code = &accesses->codes.data[i];
		disasm_close(code->disasm);
		disasm_close(code->gnu);
		data_file_close(code->data);
		code_file_close(code->file);
	}
	vec_deinit(&accesses->codes);
	map64_deinit(&accesses->functions);
	intern_deinit(&accesses->mnemonics);
	data_types_deinit(&accesses->types);
	arena_deinit(&accesses->arena);
	free(accesses);
}

/* ---- a file ---- */

static struct error *open_code(struct data_accesses *accesses, struct dso *dso, struct data_code *code)
{
	struct error *error = code_file_open(accesses->resolver, dso, &code->file);
	if (!error)
		error = disasm_open(code_file_arch(code->file), DISASM_INTEL, &code->disasm);
	if (!error)
		error = disasm_open(code_file_arch(code->file), DISASM_ATT, &code->gnu);
	return error;
}

/* Where the recorder had the names from there may be another program here. */
static bool is_recorded(const struct data_accesses *accesses, const struct dso *dso, const char *path)
{
	const struct carried_file *carried = carried_find(resolver_options(accesses->resolver)->carried, dso);
	struct buildid id;
	return carried && carried->build_id.size && elf_read_build_id(path, &id) && buildid_equal(&id, &carried->build_id);
}

static struct data_file *open_data(struct data_accesses *accesses, const struct dso *dso, const struct symtab *symtab)
{
	if (!symtab->path || (symtab->is_carried && !is_recorded(accesses, dso, symtab->path)))
		return NULL;
	return data_file_open(symtab->path, &accesses->effort);
}

/* NULL where there is no code. Valid until the next call. */
static struct data_code *code_of(struct data_accesses *accesses, struct dso *dso)
{
	while (accesses->codes.len <= dso->index)
		vec_push(&accesses->codes, (struct data_code){0});
	struct data_code *code = &accesses->codes.data[dso->index];
	if (!code->tried) {
		code->tried = true;
		struct error *error = open_code(accesses, dso, code);
		if (!error)
			code->data = open_data(accesses, dso, resolver_symtab(accesses->resolver, dso));
		error_free(error);
	}
	return code->gnu ? code : NULL;
}

/* ---- a function ---- */

static void take_apart(struct type_tracking *tracking, struct disasm *disasm)
{
	struct code left = {tracking->range.bytes, tracking->range.size, tracking->range.address};
	struct instruction instruction;
	while (disasm_next(disasm, &left, &instruction)) {
		struct code_step step = {.address = instruction.address,
					 .kind = instruction.kind,
					 .has_target = instruction.has_target,
					 .target = instruction.target};
		step.known = disasm_operation(disasm, &step.operation);
		vec_push(&tracking->steps, step);
	}
}

struct answering {
	struct data_accesses *accesses;
	struct answers *answers;
};

static enum data_outcome look(const struct type_tracking *tracking, const struct code_step *step, const struct tracked_registers *registers,
			      struct typed_place *ret)
{
	const struct code_operation *operation = &step->operation;
	enum data_outcome outcome = DATA_NO_ACCESS;
	if (!step->known)
		return outcome;
	if (operation->accesses)
		outcome = !tracking->file   ? DATA_NO_DEBUG
			  : !tracking->unit ? DATA_NO_UNIT
					    : operand_place(tracking, registers, &operation->operand, step->address, ret);
	/* "call *8(%rax)" reads a pointer first. */
	return operation->stack && outcome != DATA_FOUND ? DATA_STACK : outcome;
}

static struct data_access answer(const struct answering *answering, const struct type_tracking *tracking, const struct code_step *step,
				 const struct tracked_registers *registers)
{
	struct typed_place place;
	struct data_access access = {.type = &data_type_unknown, .outcome = (uint8_t)look(tracking, step, registers, &place)};
	if (access.outcome == DATA_FOUND) {
		access.type = data_types_get(&answering->accesses->types, &place.type, &answering->accesses->effort);
		access.offset = (uint32_t)place.offset;
		access.tracked = place.tracked;
	} else if (access.outcome == DATA_STACK) {
		access.type = &data_type_stack;
	} else if (access.outcome == DATA_CANARY) {
		access.type = &data_type_canary;
	}
	return access;
}

/* A branch that is executed together with the comparison before it has that one's data. */
static void visit(void *context, const struct type_tracking *tracking, size_t number, const struct tracked_registers *registers)
{
	const struct answering *answering = context;
	const struct code_step *step = &tracking->steps.data[number];
	struct data_access *ret = &answering->answers->list[number];
	if (step->kind == INSTRUCTION_BRANCH && number && step[-1].operation.fuses) {
		*ret = ret[-1];
		return;
	}
	*ret = answer(answering, tracking, step, registers);
	ret->address = (uint32_t)(step->address - tracking->range.address);
}

static struct answers *take_function(struct data_accesses *accesses, struct dso *dso, const struct symbol *symbol)
{
	struct answers *answers = arena_zalloc(&accesses->arena, sizeof(*answers));
	struct data_code *code = code_of(accesses, dso);
	uint64_t size = symbol->end - symbol->start;
	struct type_tracking tracking = {.kernel = dso->kernel, .effort = &accesses->effort};
	if (!code || size > FUNCTION_SIZE_MAX || size > accesses->left || !disasm_calling(code->disasm) ||
	    !code_file_read(code->file, symbol->start, size, &tracking.range))
		return answers;
	accesses->left -= size;
	tracking.code = code->file;
	tracking.calling = disasm_calling(code->disasm);
	tracking.file = code->data;
	tracking.unit = code->data ? data_file_unit(code->data, tracking.range.address) : NULL;
	tracking.function = tracking.unit ? data_unit_function(code->data, tracking.unit, tracking.range.address) : NULL;
	take_apart(&tracking, code->disasm);
	answers->count = tracking.steps.len;
	answers->list = arena_zalloc(&accesses->arena, answers->count * sizeof(*answers->list));
	tracking_run(&tracking, visit, &(struct answering){accesses, answers});
	vec_deinit(&tracking.steps);
	return answers;
}

/* ---- questions ---- */

const struct data_access *data_accesses_at(struct data_accesses *accesses, struct dso *dso, const struct symbol *symbol, uint64_t dso_addr)
{
	if (!symbol || dso_addr < symbol->start || dso_addr >= symbol->end)
		return &no_symbol;
	uint64_t key = hash_combine(hash_combine((uintptr_t)dso, symbol->start), symbol->end),
		 *known = map64_find(&accesses->functions, key);
	struct answers *answers = known ? (struct answers *)(uintptr_t)*known : take_function(accesses, dso, symbol);
	if (!known)
		*map64_insert(&accesses->functions, key, NULL) = (uintptr_t)answers;
	/* A branch has the address of what is before it: only the order counts. */
	size_t after = partition_point(i, answers->count, answers->list[i].address <= dso_addr - symbol->start);
	return after ? &answers->list[after - 1] : &no_code;
}

const char *data_accesses_mnemonic(struct data_accesses *accesses, struct dso *dso, uint64_t dso_addr)
{
	struct data_code *code = code_of(accesses, dso);
	struct code_range range;
	struct instruction instruction;
	if (!code || !code_file_read(code->file, dso_addr, INSTRUCTION_MAX, &range))
		return "";
	struct code left = {range.bytes, range.size, range.address};
	struct strbuf text = {0};
	if (disasm_next(code->gnu, &left, &instruction))
		gnu_syntax_add_mnemonic(instruction.mnemonic, instruction.operands, &text);
	const char *kept = intern_string(&accesses->mnemonics, strbuf_str(&text));
	strbuf_deinit(&text);
	return kept;
}
