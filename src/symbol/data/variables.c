/* Variables by debug information. A unit is looked through when it is first asked for: its functions and the variables outside of them. A
 * function's own variables are read when they are needed:
 *
 *	DW_OP_reg5                        the value is in %rdi
 *	DW_OP_breg5 8; DW_OP_stack_value  %rdi + 8 is the value, so that %rdi has it less 8
 *	DW_OP_fbreg -24                   in the frame; where the function says that frames are counted from a register, at that
 *	DW_OP_addr A                      at an address
 *
 * Everything else, as values in pieces, is left out. */
#include "symbol/data/variables.h"

#include "base/mem.h"
#include "base/search.h"
#include "symbol/dwarf/debug_types.h"
#include "symbol/dwarf/dwarf_file.h"
#include "symbol/dwarf/dwarf_unit.h"

#include <dwarf.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 100, OVERLAPPING_MAX = 1024, VARIABLES_MAX = 1 << 20, SEARCHED_MAX = 1 << 26 };

struct named {
	const char *name;
	Dwarf_Die entry;
};

struct named_list {
	VEC(struct named) items; /* sorted by name once the unit is read */
};

struct data_unit {
	Dwarf_Die entry;
	bool read;
	VEC(Dwarf_Die) functions;
	struct dwarf_range_list ranges; /* owner: number in `functions` */
	struct named_list variables, declared;
	VEC(struct variable) addresses; /* sorted by offset */
};

struct data_file {
	struct dwarf_file dwarf;
	VEC(struct data_unit) units;
	struct dwarf_range_list ranges; /* owner: number in `units` */
	struct data_function function;	/* that was asked for last */
	int64_t left;			/* entries and places that may still be looked at */
	uint64_t name_bytes;		/* that names may still have: all of them may be one long text */
	size_t *effort;
	bool small; /* all units may be looked through for a variable */
};

/* ---- opening ---- */

static void add_ranges(struct data_file *file, Dwarf_Die *entry, uint32_t owner, struct dwarf_range_list *list)
{
	Dwarf_Addr base, low, high;
	for (ptrdiff_t at = 0; file->left-- > 0 && (at = dwarf_ranges(entry, at, &base, &low, &high)) > 0;)
		if (low && low < high)
			vec_push(list, (struct dwarf_range){low, high, owner, 0});
}

struct data_file *data_file_open(const char *path, size_t *effort)
{
	struct dwarf_file dwarf;
	struct stat facts;
	if (!dwarf_file_open(path, &dwarf))
		return NULL;
	if (dwarf.dwfl || fstat(dwarf.fd, &facts) != 0) {
		dwarf_file_close(&dwarf);
		return NULL;
	}
	struct data_file *file = mem_zalloc(sizeof(*file));
	*file = (struct data_file){.dwarf = dwarf,
				   .left = facts.st_size,
				   .name_bytes = 4 * (uint64_t)facts.st_size,
				   .small = facts.st_size <= SEARCHED_MAX,
				   .effort = effort};
	Dwarf_CU *cu = NULL;
	struct data_unit unit = {0};
	while (file->left > 0 && dwarf_file_next_unit(&file->dwarf, &cu, &unit.entry)) {
		add_ranges(file, &unit.entry, (uint32_t)file->units.len, &file->ranges);
		vec_push(&file->units, unit);
	}
	dwarf_ranges_sort(&file->ranges);
	return file;
}

void data_file_close(struct data_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->units.len; i++) {
		struct data_unit *unit = &file->units.data[i];
		vec_deinit(&unit->functions);
		vec_deinit(&unit->ranges);
		vec_deinit(&unit->variables.items);
		vec_deinit(&unit->declared.items);
		vec_deinit(&unit->addresses);
	}
	vec_deinit(&file->units);
	vec_deinit(&file->ranges);
	vec_deinit(&file->function.variables);
	dwarf_file_close(&file->dwarf);
	free(file);
}

struct data_unit *data_file_unit(struct data_file *file, uint64_t address)
{
	const struct dwarf_range *range = dwarf_ranges_find(&file->ranges, address);
	return range && address < range->high ? &file->units.data[range->owner] : NULL;
}

/* ---- one variable ---- */

/* What the numbers of a location are relative to. */
struct frame_base {
	bool known;
	enum variable_kind kind; /* VARIABLE_FRAME or VARIABLE_BASED */
	uint32_t reg;
	int64_t offset;
};

static bool is_register(const Dwarf_Op *operation, uint32_t *ret)
{
	bool short_form = operation->atom >= DW_OP_reg0 && operation->atom <= DW_OP_reg31;
	*ret = short_form ? (uint32_t)operation->atom - DW_OP_reg0 : (uint32_t)operation->number;
	return short_form || operation->atom == DW_OP_regx;
}

static bool is_based(const Dwarf_Op *operation, uint32_t *ret_reg, int64_t *ret_offset)
{
	bool short_form = operation->atom >= DW_OP_breg0 && operation->atom <= DW_OP_breg31;
	*ret_reg = short_form ? (uint32_t)operation->atom - DW_OP_breg0 : (uint32_t)operation->number;
	*ret_offset = (int64_t)(short_form ? operation->number : operation->number2);
	return short_form || operation->atom == DW_OP_bregx;
}

/* Addresses stand in the location, or in a table that it has the index of. */
static bool is_address(Dwarf_Attribute *location, const Dwarf_Op *operation, int64_t *ret)
{
	Dwarf_Attribute entry;
	Dwarf_Addr address = operation->number;
	bool indexed = operation->atom == DW_OP_addrx || operation->atom == DW_OP_GNU_addr_index;
	if (indexed && (dwarf_getlocation_attr(location, operation, &entry) != 0 || dwarf_formaddr(&entry, &address) != 0))
		return false;
	*ret = (int64_t)address;
	return indexed || operation->atom == DW_OP_addr;
}

static bool understand(const struct frame_base *frame, Dwarf_Attribute *location, const Dwarf_Op *operations, size_t count,
		       struct variable *ret)
{
	bool value = count == 2 && operations[1].atom == DW_OP_stack_value;
	if (count != 1 && !value)
		return false;
	ret->offset = 0;
	ret->reg = 0;
	if (is_register(operations, &ret->reg)) {
		ret->kind = VARIABLE_VALUE;
		return !value;
	}
	if (is_based(operations, &ret->reg, &ret->offset)) {
		ret->kind = value ? VARIABLE_VALUE : VARIABLE_BASED;
		ret->offset = value ? data_distance(ret->offset, 0) : ret->offset;
		return true;
	}
	ret->reg = 0;
	if (operations->atom == DW_OP_fbreg) {
		ret->kind = frame->kind;
		ret->reg = frame->reg;
		ret->offset = data_sum(frame->offset, (int64_t)operations->number);
		return frame->known && !value;
	}
	ret->kind = VARIABLE_ADDRESS;
	return !value && is_address(location, operations, &ret->offset);
}

static void keep(struct data_file *file, const struct variable *variable)
{
	if (file->function.variables.len < VARIABLES_MAX)
		vec_push(&file->function.variables, *variable);
}

/* In each range of its block. */
static void add_everywhere(struct data_file *file, Dwarf_Die *block, struct variable *variable)
{
	Dwarf_Addr base;
	for (ptrdiff_t at = 0; file->left-- > 0 && (at = dwarf_ranges(block, at, &base, &variable->low, &variable->high)) > 0;)
		keep(file, variable);
}

static void add_variable(struct data_file *file, const struct frame_base *frame, Dwarf_Die *block, Dwarf_Die *entry, uint32_t depth)
{
	struct variable variable = {.depth = depth};
	Dwarf_Attribute attribute;
	Dwarf_Addr base;
	Dwarf_Op *operations;
	size_t count;
	if (!dwarf_attr(entry, DW_AT_location, &attribute) || !debug_named_type(entry, &variable.type))
		return;
	variable.size = debug_type_size(&variable.type);
	for (ptrdiff_t at = 0; file->left-- > 0 &&
			       (at = dwarf_getlocations(&attribute, at, &base, &variable.low, &variable.high, &operations, &count)) > 0;) {
		if (!understand(frame, &attribute, operations, count, &variable))
			continue;
		if (variable.low == 0 && variable.high == UINT64_MAX)
			add_everywhere(file, block, &variable);
		else
			keep(file, &variable);
	}
}

/* ---- a function ---- */

static bool is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

static void walk_block(struct data_file *file, const struct frame_base *frame, Dwarf_Die *block, uint32_t depth)
{
	Dwarf_Die child;
	if (depth > DEPTH_MAX || dwarf_child(block, &child) != 0)
		return;
	do {
		int tag = dwarf_tag(&child);
		if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
			add_variable(file, frame, block, &child, depth);
		else if (is_block(tag))
			walk_block(file, frame, &child, depth + 1);
	} while (file->left-- > 0 && dwarf_siblingof(&child, &child) == 0);
}

static struct frame_base frame_of(Dwarf_Die *function)
{
	struct frame_base frame = {.kind = VARIABLE_FRAME};
	Dwarf_Attribute attribute;
	Dwarf_Op *operations;
	size_t count;
	if (!dwarf_attr_integrate(function, DW_AT_frame_base, &attribute) || dwarf_getlocation(&attribute, &operations, &count) != 0 ||
	    count != 1)
		return frame;
	frame.known = operations->atom == DW_OP_call_frame_cfa;
	if (is_register(operations, &frame.reg) || is_based(operations, &frame.reg, &frame.offset))
		frame = (struct frame_base){.known = true, .kind = VARIABLE_BASED, .reg = frame.reg, .offset = frame.offset};
	else
		frame.reg = 0, frame.offset = 0;
	return frame;
}

static int compare_variables(const void *a, const void *b)
{
	const struct variable *x = a, *y = b;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->reg != y->reg)
		return x->reg < y->reg ? -1 : 1;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

/* ---- a unit ---- */

static bool is_container(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || debug_is_structure(tag);
}

static void note_name(struct data_file *file, struct named_list *list, Dwarf_Die *entry)
{
	const char *name = dwarf_diename(entry);
	size_t size = name ? strnlen(name, file->name_bytes) + 1 : 0;
	if (!name || size > file->name_bytes)
		return;
	file->name_bytes -= size;
	vec_push(&list->items, (struct named){name, *entry});
}

static void note_variable(struct data_file *file, struct data_unit *unit, Dwarf_Die *entry)
{
	struct variable variable = {.high = UINT64_MAX};
	Dwarf_Attribute attribute;
	Dwarf_Op *operations;
	size_t count;
	note_name(file, &unit->variables, entry);
	if (dwarf_attr(entry, DW_AT_location, &attribute) && dwarf_getlocation(&attribute, &operations, &count) == 0 &&
	    understand(&(struct frame_base){0}, &attribute, operations, count, &variable) && variable.kind == VARIABLE_ADDRESS &&
	    debug_named_type(entry, &variable.type)) {
		variable.size = debug_type_size(&variable.type);
		vec_push(&unit->addresses, variable);
	}
}

static void note_function(struct data_file *file, struct data_unit *unit, Dwarf_Die *entry)
{
	note_name(file, &unit->declared, entry);
	size_t before = unit->ranges.len;
	add_ranges(file, entry, (uint32_t)unit->functions.len, &unit->ranges);
	if (unit->ranges.len > before)
		vec_push(&unit->functions, *entry);
}

static void walk_unit(struct data_file *file, struct data_unit *unit, Dwarf_Die *parent, unsigned int depth)
{
	Dwarf_Die child;
	if (depth > DEPTH_MAX || dwarf_child(parent, &child) != 0)
		return;
	do {
		int tag = dwarf_tag(&child);
		if (tag == DW_TAG_variable)
			note_variable(file, unit, &child);
		else if (tag == DW_TAG_subprogram)
			note_function(file, unit, &child);
		else if (is_container(tag))
			walk_unit(file, unit, &child, depth + 1);
	} while (file->left-- > 0 && dwarf_siblingof(&child, &child) == 0);
}

static int compare_names(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = strcmp(x->name, y->name);
	return order ? order : x->entry.addr < y->entry.addr ? -1 : x->entry.addr > y->entry.addr;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct variable *x = a, *y = b;
	return (uint64_t)x->offset < (uint64_t)y->offset ? -1 : (uint64_t)x->offset > (uint64_t)y->offset;
}

static void sort_names(struct named_list *list)
{
	if (list->items.len)
		qsort(list->items.data, list->items.len, sizeof(*list->items.data), compare_names);
}

static void read_unit(struct data_file *file, struct data_unit *unit)
{
	if (unit->read)
		return;
	unit->read = true;
	walk_unit(file, unit, &unit->entry, 0);
	sort_names(&unit->variables);
	sort_names(&unit->declared);
	dwarf_ranges_sort(&unit->ranges);
	if (unit->addresses.len)
		qsort(unit->addresses.data, unit->addresses.len, sizeof(*unit->addresses.data), compare_addresses);
}

/* ---- questions ---- */

const struct data_function *data_unit_function(struct data_file *file, struct data_unit *unit, uint64_t address)
{
	read_unit(file, unit);
	const struct dwarf_range *range = dwarf_ranges_find(&unit->ranges, address);
	if (!range || address >= range->high)
		return NULL;
	Dwarf_Die *entry = &unit->functions.data[range->owner];
	struct data_function *function = &file->function;
	Dwarf_Addr first = 0;
	function->variables.len = 0;
	function->effort = file->effort;
	function->entry = dwarf_entrypc(entry, &first) == 0 ? first : 0;
	struct frame_base frame = frame_of(entry);
	walk_block(file, &frame, entry, 0);
	if (function->variables.len)
		qsort(function->variables.data, function->variables.len, sizeof(*function->variables.data), compare_variables);
	return function;
}

bool data_unit_variable_at(struct data_file *file, struct data_unit *unit, uint64_t address, struct variable *ret)
{
	read_unit(file, unit);
	size_t after = partition_point(i, unit->addresses.len, (uint64_t)unit->addresses.data[i].offset <= address);
	if (!after || address - (uint64_t)unit->addresses.data[after - 1].offset >= unit->addresses.data[after - 1].size)
		return false;
	*ret = unit->addresses.data[after - 1];
	return true;
}

bool data_file_variable_at(struct data_file *file, uint64_t address, struct variable *ret)
{
	for (size_t i = 0; i < file->units.len && file->small && effort_spend(file->effort, 1); i++)
		if (data_unit_variable_at(file, &file->units.data[i], address, ret))
			return true;
	return false;
}

/* The first of this name. */
static struct named *find_name(struct named_list *list, const char *name)
{
	size_t first = partition_point(i, list->items.len, strcmp(list->items.data[i].name, name) < 0);
	return first < list->items.len && !strcmp(list->items.data[first].name, name) ? &list->items.data[first] : NULL;
}

bool data_unit_variable(struct data_file *file, struct data_unit *unit, const char *name, struct variable *ret)
{
	read_unit(file, unit);
	struct named *found = find_name(&unit->variables, name);
	*ret = (struct variable){.high = UINT64_MAX, .kind = VARIABLE_ADDRESS};
	if (!found || !debug_named_type(&found->entry, &ret->type))
		return false;
	ret->size = debug_type_size(&ret->type);
	return ret->size > 0;
}

bool data_unit_result(struct data_file *file, struct data_unit *unit, const char *name, Dwarf_Die *ret)
{
	Dwarf_Die type;
	read_unit(file, unit);
	struct named *found = find_name(&unit->declared, name);
	return found && debug_real_type(&found->entry, &type) && debug_is_pointer(dwarf_tag(&type)) && debug_named_type(&type, ret);
}

static bool is_before(const struct variable *variable, enum variable_kind kind, uint32_t reg, uint64_t address)
{
	if (variable->kind != kind)
		return variable->kind < kind;
	return variable->reg != reg ? variable->reg < reg : variable->low <= address;
}

/* From `after` backwards: later beginnings are further inside. Only so far, since what is open for long may begin anywhere. */
static const struct variable *find_backwards(const struct data_function *function, size_t after, enum variable_kind kind, uint32_t reg,
					     uint64_t address)
{
	for (size_t looked = 0; after > 0 && looked < OVERLAPPING_MAX && effort_spend(function->effort, 1); looked++) {
		const struct variable *variable = &function->variables.data[--after];
		if (variable->kind != kind || variable->reg != reg)
			return NULL;
		if (address < variable->high)
			return variable;
	}
	return NULL;
}

const struct variable *data_function_first(const struct data_function *function, enum variable_kind kind, uint32_t reg, uint64_t address)
{
	size_t after = partition_point(i, function->variables.len, is_before(&function->variables.data[i], kind, reg, address));
	return find_backwards(function, after, kind, reg, address);
}

const struct variable *data_function_next(const struct data_function *function, const struct variable *variable, uint64_t address)
{
	return find_backwards(function, (size_t)(variable - function->variables.data), variable->kind, variable->reg, address);
}
