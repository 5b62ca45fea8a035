/* From an operand in memory to the data that is there. A register's content may be told in several ways: each is tried, and a structure
 * is better than a number. */
#include "symbol/data/tracking.h"

#include "symbol/data/data_type_internal.h"
#include "symbol/dwarf/debug_types.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { CHAIN_MAX = 64, CANDIDATES_MAX = 64, CANARY = 0x28, PAGE = 4096 };

/* ---- types ---- */

/* Of an array of structures the structure, its typedefs left; anything else stays. */
static bool element_of(const Dwarf_Die *type, Dwarf_Die *ret)
{
	Dwarf_Die real;
	*ret = *type;
	if (!data_real_type(type, &real) || !debug_is_structure(dwarf_tag(&real)))
		return false;
	bool array = false;
	for (unsigned int i = 0; i < CHAIN_MAX; i++) {
		Dwarf_Die at = *ret, next;
		if (dwarf_tag(&at) == DW_TAG_typedef && !debug_real_type(&at, &at))
			return array;
		if (dwarf_tag(&at) != DW_TAG_array_type || !debug_named_type(&at, &next))
			return array;
		*ret = next;
		array = true;
	}
	return array;
}

/* The place at an offset of a type. */
static enum data_outcome settle(const Dwarf_Die *type, bool array, int64_t offset, struct typed_place *ret)
{
	Dwarf_Die real = *type;
	if (dwarf_tag(&real) == DW_TAG_typedef && !debug_real_type(&real, &real))
		return DATA_NO_TYPE;
	if (dwarf_tag(&real) == DW_TAG_subroutine_type)
		return DATA_NO_TYPE;
	array |= element_of(type, &ret->type);
	uint64_t size = debug_type_size(&ret->type);
	if (!size || size > INT64_MAX)
		return DATA_NO_SIZE;
	if (array) {
		offset %= (int64_t)size;
		offset += offset < 0 ? (int64_t)size : 0;
	}
	if (offset < 0 || (uint64_t)offset >= size)
		return DATA_BAD_OFFSET;
	ret->offset = (uint64_t)offset;
	return DATA_FOUND;
}

static bool is_structure(const Dwarf_Die *type)
{
	Dwarf_Die real;
	return data_real_type(type, &real) && debug_is_structure(dwarf_tag(&real));
}

/* ---- what is in memory ---- */

/* Of the function's variables of a kind, the one that covers an offset. */
static enum data_outcome variable_place(const struct type_tracking *tracking, enum variable_kind kind, uint32_t reg, uint64_t address,
					int64_t offset, struct typed_place *ret)
{
	const struct data_function *function = tracking->function;
	const struct variable *variable = function ? data_function_first(function, kind, reg, address) : NULL;
	for (; variable; variable = data_function_next(function, variable, address))
		if (offset >= variable->offset && (uint64_t)data_distance(variable->offset, offset) < variable->size)
			return settle(&variable->type, false, data_distance(variable->offset, offset), ret);
	return DATA_NO_VARIABLE;
}

/* A variable of the program: of this unit, static in the function, or of another unit and declared here. */
static enum data_outcome address_place(const struct type_tracking *tracking, uint64_t address, int64_t target, struct typed_place *ret)
{
	struct variable variable;
	struct code_name name;
	if (!tracking->unit)
		return DATA_NO_VARIABLE;
	if (data_unit_variable_at(tracking->file, tracking->unit, (uint64_t)target, &variable))
		return settle(&variable.type, false, data_distance(variable.offset, target), ret);
	enum data_outcome outcome = variable_place(tracking, VARIABLE_ADDRESS, 0, address, target, ret);
	if (outcome != DATA_NO_VARIABLE)
		return outcome;
	bool named = code_file_name(tracking->code, &tracking->range, (uint64_t)target, &name) && !name.slot;
	if (named && data_unit_variable(tracking->file, tracking->unit, name.name, &variable) && name.offset < variable.size)
		return settle(&variable.type, false, (int64_t)name.offset, ret);
	/* Not every compiler declares what a unit uses of others. */
	if (named && data_file_variable_at(tracking->file, (uint64_t)target, &variable))
		return settle(&variable.type, false, data_distance(variable.offset, target), ret);
	return DATA_NO_VARIABLE;
}

static enum data_outcome content_place(const struct type_tracking *tracking, const struct content *content, uint64_t address,
				       int64_t offset, struct typed_place *ret)
{
	switch (content->kind) {
	case CONTENT_POINTER:
		return settle(&content->type, content->array, data_sum(content->offset, offset), ret);
	case CONTENT_FRAME:
		return variable_place(tracking, VARIABLE_FRAME, 0, address, data_sum(content->offset, offset), ret);
	case CONTENT_ADDRESS:
		return address_place(tracking, address, data_sum(content->offset, offset), ret);
	default:
		return DATA_NO_VARIABLE;
	}
}

/* ---- what is in registers ---- */

/* What the n-th of the variables in a register says; false behind the last. */
static bool next_variable(const struct type_tracking *tracking, const struct variable **variable, uint8_t reg, uint64_t address)
{
	if (!tracking->function)
		return false;
	*variable = *variable ? data_function_next(tracking->function, *variable, address)
			      : data_function_first(tracking->function, VARIABLE_VALUE, reg, address);
	return *variable != NULL;
}

/* False where a variable is no pointer; *ret_void: to nothing in particular. */
static bool content_of(const struct variable *variable, struct content *ret, bool *ret_void)
{
	Dwarf_Die real = variable->type;
	*ret_void = false;
	if (dwarf_tag(&real) == DW_TAG_typedef && !debug_real_type(&real, &real))
		return false;
	if (!debug_is_pointer(dwarf_tag(&real)))
		return false;
	*ret = (struct content){.kind = CONTENT_POINTER, .offset = variable->offset};
	*ret_void = !debug_named_type(&real, &ret->type);
	return !*ret_void;
}

struct content register_content(const struct type_tracking *tracking, const struct tracked_registers *registers, uint8_t reg,
				uint64_t address)
{
	struct content best = {0}, content;
	const struct variable *variable = NULL;
	bool to_void;
	if (reg == OPERATION_NO_REGISTER)
		return best;
	for (unsigned int i = 0; i < CANDIDATES_MAX && next_variable(tracking, &variable, reg, address); i++) {
		if (!content_of(variable, &content, &to_void))
			continue;
		if (is_structure(&content.type))
			return content;
		if (!best.kind)
			best = content;
	}
	const struct content *known = &registers->contents[reg];
	bool better = known->kind == CONTENT_POINTER ? is_structure(&known->type) : known->kind != CONTENT_UNKNOWN;
	return better || !best.kind ? *known : best;
}

/* The better one stays: a structure, anything, the reason that was nearest to something. */
struct choice {
	enum data_outcome outcome;
	struct typed_place place;
};

static bool is_final(const struct choice *choice)
{
	return choice->outcome == DATA_FOUND && is_structure(&choice->place.type);
}

static void choose(struct choice *choice, enum data_outcome outcome, const struct typed_place *place)
{
	bool found = choice->outcome == DATA_FOUND;
	if (outcome == DATA_FOUND ? !found || (!is_final(choice) && is_structure(&place->type)) : !found && outcome > choice->outcome) {
		choice->outcome = outcome;
		choice->place = *place;
	}
}

static void try_register(const struct type_tracking *tracking, const struct tracked_registers *registers, uint8_t reg, uint64_t address,
			 int64_t offset, struct choice *choice)
{
	const struct variable *variable = NULL;
	struct typed_place place = {0};
	struct content content;
	bool to_void;
	if (reg == OPERATION_NO_REGISTER)
		return;
	for (unsigned int i = 0; i < CANDIDATES_MAX && !is_final(choice) && next_variable(tracking, &variable, reg, address); i++)
		if (content_of(variable, &content, &to_void))
			choose(choice, content_place(tracking, &content, address, offset, &place), &place);
		else if (to_void)
			choose(choice, DATA_NO_TYPE, &place);
	if (!is_final(choice))
		choose(choice, variable_place(tracking, VARIABLE_BASED, reg, address, offset, &place), &place);
	if (is_final(choice))
		return;
	place.tracked = true;
	choose(choice, content_place(tracking, &registers->contents[reg], address, offset, &place), &place);
}

enum data_outcome operand_place(const struct type_tracking *tracking, const struct tracked_registers *registers,
				const struct memory_operand *operand, uint64_t address, struct typed_place *ret)
{
	const bool based = operand->base != OPERATION_NO_REGISTER, indexed = operand->index != OPERATION_NO_REGISTER;
	struct choice choice = {.outcome = DATA_NO_VARIABLE};
	if (operand->segment) {
		char own = tracking->kernel ? 'g' : 'f';
		if (based || indexed || operand->segment != own)
			return DATA_NO_VARIABLE;
		if (operand->offset == CANARY)
			return DATA_CANARY;
		/* The kernel's variables of each CPU; user space has thread-local ones there, which have no address. */
		return tracking->kernel ? address_place(tracking, address, operand->offset, ret) : DATA_NO_VARIABLE;
	}
	if (based)
		try_register(tracking, registers, operand->base, address, operand->offset, &choice);
	else if (!indexed || operand->offset)
		choice.outcome = address_place(tracking, address, operand->offset, &choice.place);
	if (choice.outcome != DATA_FOUND && indexed && operand->scale == 1)
		try_register(tracking, registers, operand->index, address, operand->offset, &choice);
	/* "movsd 0x4040e0(%rdi), %xmm0": an array at a fixed address, and an index in bytes. */
	if (choice.outcome == DATA_NO_VARIABLE && based && llabs(operand->offset) >= PAGE)
		choice.outcome = address_place(tracking, address, operand->offset, &choice.place);
	*ret = choice.place;
	return choice.outcome;
}
