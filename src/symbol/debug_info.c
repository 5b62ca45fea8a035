/* Debug information: DWARF read by libdw, under indexes of our own.
 *
 * libdw finds the functions at an address by walking the compilation unit's whole tree, each time. Instead: one list of the units' address
 * ranges for the file, and, when an address in a unit is first asked for, one list of the ranges of all its functions, inlined ones too,
 *with the number of the function around each:
 *
 *	outer  |--------------------|      the last range that starts at or before the address belongs to the innermost
 *	  inlined  |------|                function there, or to one whose surroundings contain the address: go up until one
 *	    inlined  |--|      ^address    does
 *
 * libdw reads lazily into its own tables: one thread at a time.
 */
#include "symbol/debug_info.h"

#include "base/arena.h"
#include "base/vec.h"
#include "symbol/demangle.h"
#include "symbol/dwarf_file.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 200, NO_FUNCTION = -1 };

struct range {
	uint64_t low, high;
	uint32_t owner;
	uint32_t depth; /* of functions: deeper is further inside */
};

struct function {
	Dwarf_Off die;
	int32_t parent;			   /* NO_FUNCTION = none */
	uint32_t first_range, range_count; /* in unit->unsorted */
};

struct unit {
	Dwarf_Die die; /* of the split unit where there is one */
	bool indexed;
	VEC(struct function) functions;
	VEC(struct range) unsorted, sorted;
};

struct debug_info {
	struct dwarf_file file;
	struct arena arena;
	VEC(struct unit) units;
	VEC(struct range) unit_ranges; /* sorted */
};

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static void index_units(struct debug_info *info)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	Dwarf_Half version;
	uint8_t type;
	while (dwarf_get_units(info->file.dwarf, cu, &cu, &version, &type, &die, &split) == 0) {
		Dwarf_Addr base, low, high;
		ptrdiff_t offset = 0;
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		struct unit unit = {.die = type == DW_UT_skeleton && split.addr ? split : die};
		while ((offset = dwarf_ranges(&die, offset, &base, &low, &high)) > 0)
			if (low && high > low)
				vec_push(&info->unit_ranges, (struct range){low, high, (uint32_t)info->units.len, 0});
		vec_push(&info->units, unit);
	}
	if (info->unit_ranges.len)
		qsort(info->unit_ranges.data, info->unit_ranges.len, sizeof(struct range), compare_ranges);
}

struct debug_info *debug_info_open(const char *path)
{
	struct dwarf_file file;
	if (!dwarf_file_open(path, &file))
		return NULL;
	struct debug_info *info = mem_zalloc(sizeof(*info));
	info->file = file;
	index_units(info);
	return info;
}

/* The address that the debug information has for a section's. */
static uint64_t relocated(const struct debug_info *info, uint64_t vaddr)
{
	GElf_Shdr header;
	Elf_Scn *section = info->file.elf ? elf_getscn(info->file.elf, (size_t)(vaddr >> 40)) : NULL;
	if (!section || !gelf_getshdr(section, &header))
		return vaddr;
	return header.sh_addr + (vaddr - debug_info_section_address((uint32_t)(vaddr >> 40), 0));
}

void debug_info_close(struct debug_info *info)
{
	if (!info)
		return;
	for (size_t i = 0; i < info->units.len; i++) {
		vec_deinit(&info->units.data[i].functions);
		vec_deinit(&info->units.data[i].unsorted);
		vec_deinit(&info->units.data[i].sorted);
	}
	vec_deinit(&info->units);
	vec_deinit(&info->unit_ranges);
	arena_deinit(&info->arena);
	dwarf_file_close(&info->file);
	free(info);
}

/* ---- functions of a unit ---- */

static bool is_function(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* Can functions with code be inside? */
static bool is_scope(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return true;
	default:
		return false;
	}
}

/* The function's number, or NO_FUNCTION when it has no code. */
static int32_t add_function(struct unit *unit, Dwarf_Die *die, int32_t parent, uint32_t depth)
{
	struct function function = {dwarf_dieoffset(die), parent, (uint32_t)unit->unsorted.len, 0};
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;
	while ((offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0)
		if (low && high > low)
			vec_push(&unit->unsorted, (struct range){low, high, (uint32_t)unit->functions.len, depth});
	function.range_count = (uint32_t)unit->unsorted.len - function.first_range;
	if (!function.range_count)
		return NO_FUNCTION;
	vec_push(&unit->functions, function);
	return (int32_t)unit->functions.len - 1;
}

static void walk(struct unit *unit, Dwarf_Die *die, int32_t parent, uint32_t depth)
{
	Dwarf_Die child;
	if (depth > DEPTH_MAX || dwarf_child(die, &child) != 0)
		return;
	do {
		int tag = dwarf_tag(&child);
		if (is_scope(tag)) {
			walk(unit, &child, parent, depth + 1);
		} else if (is_function(tag)) {
			int32_t number = add_function(unit, &child, parent, depth);
			if (number != NO_FUNCTION)
				walk(unit, &child, number, depth + 1);
		}
	} while (dwarf_siblingof(&child, &child) == 0);
}

static void index_functions(struct unit *unit)
{
	unit->indexed = true;
	walk(unit, &unit->die, NO_FUNCTION, 0);
	vec_reserve(&unit->sorted, unit->unsorted.len);
	unit->sorted.len = unit->unsorted.len;
	if (!unit->sorted.len)
		return;
	memcpy(unit->sorted.data, unit->unsorted.data, unit->sorted.len * sizeof(struct range));
	qsort(unit->sorted.data, unit->sorted.len, sizeof(struct range), compare_ranges);
}

/* The last range that starts at or before the address, or NULL. */
static const struct range *last_range(const struct range *ranges, size_t count, uint64_t vaddr)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ranges[middle].low <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &ranges[low - 1] : NULL;
}

static bool covers(const struct unit *unit, const struct function *function, uint64_t vaddr)
{
	for (uint32_t i = 0; i < function->range_count; i++) {
		const struct range *range = &unit->unsorted.data[function->first_range + i];
		if (vaddr >= range->low && vaddr < range->high)
			return true;
	}
	return false;
}

static int32_t innermost_function(const struct unit *unit, uint64_t vaddr)
{
	const struct range *range = last_range(unit->sorted.data, unit->sorted.len, vaddr);
	int32_t number = range ? (int32_t)range->owner : NO_FUNCTION;
	while (number != NO_FUNCTION && !covers(unit, &unit->functions.data[number], vaddr))
		number = unit->functions.data[number].parent;
	return number;
}

/* ---- names and lines ---- */

static const char *function_name(struct debug_info *info, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;
	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) || dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	if (!name && dwarf_attr_integrate(die, DW_AT_name, &attribute))
		name = dwarf_formstring(&attribute);
	if (!name)
		return NULL;
	char *readable = demangle_candidate(name) ? demangle(name) : NULL;
	const char *kept = arena_strdup(&info->arena, readable ? readable : name);
	free(readable);
	return kept;
}

static void place_of_call(Dwarf_Die *unit, Dwarf_Die *call, struct debug_frame *caller)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t count;
	if (dwarf_attr(call, DW_AT_call_line, &attribute) && dwarf_formudata(&attribute, &line) == 0)
		caller->line = (unsigned int)line;
	if (dwarf_attr(call, DW_AT_call_file, &attribute) && dwarf_formudata(&attribute, &file) == 0 &&
	    dwarf_getsrcfiles(unit, &files, &count) == 0 && file < count)
		caller->file = dwarf_filesrc(files, file, NULL, NULL);
}

static void place_of_address(Dwarf_Die *unit, uint64_t vaddr, struct debug_frame *frame)
{
	Dwarf_Line *row = dwarf_getsrc_die(unit, vaddr);
	int line = 0;
	if (!row || dwarf_lineno(row, &line) != 0)
		return;
	frame->line = (unsigned int)line;
	frame->file = dwarf_linesrc(row, NULL, NULL);
}

static struct unit *find_unit(struct debug_info *info, uint64_t vaddr)
{
	const struct range *range = last_range(info->unit_ranges.data, info->unit_ranges.len, vaddr);
	return range && vaddr < range->high ? &info->units.data[range->owner] : NULL;
}

size_t debug_info_frames(struct debug_info *info, uint64_t vaddr, struct debug_frame *ret)
{
	vaddr = relocated(info, vaddr);
	struct unit *unit = find_unit(info, vaddr);
	size_t count = 0;
	if (!unit)
		return 0;
	if (!unit->indexed)
		index_functions(unit);
	ret[0] = (struct debug_frame){0};
	place_of_address(&unit->die, vaddr, &ret[0]);
	Dwarf *dwarf = dwarf_cu_getdwarf(unit->die.cu);
	for (int32_t number = innermost_function(unit, vaddr); number != NO_FUNCTION && count < DEBUG_FRAMES_MAX - 1;) {
		const struct function *function = &unit->functions.data[number];
		Dwarf_Die die;
		if (!dwarf_offdie(dwarf, function->die, &die))
			break;
		ret[count].name = function_name(info, &die);
		count++;
		if (dwarf_tag(&die) != DW_TAG_inlined_subroutine)
			break;
		ret[count] = (struct debug_frame){0};
		place_of_call(&unit->die, &die, &ret[count]);
		number = function->parent;
	}
	return count || !ret[0].file ? count : 1; /* a line without a function: assembler */
}
