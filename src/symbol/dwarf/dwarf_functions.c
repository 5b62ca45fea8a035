/* One walk over a unit's entries makes a list of the ranges of all its functions, each with the number of the function around it:
 *
 *	outer  |--------------------|      the last range that starts at or before the address belongs to the innermost
 *	  inlined  |------|                function there, or to one whose surroundings contain the address: go up until one
 *	    inlined  |--|      ^address    does
 *
 * Entries are a tree, written in order; a zero ends the children of one. What can't have code inside is passed over, by the address of its
 * next sibling where the compiler wrote that down.
 */
#include "symbol/dwarf/dwarf_functions.h"

#include "base/formats/leb128.h"
#include "base/mem.h"
#include "symbol/demangle.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 256, ORIGINS_MAX = 16 };

/* What surrounds an entry: the number of a function, or: */
enum { OUTSIDE = DWARF_NO_FUNCTION, IGNORED = -2 /* something without code */ };

struct walk {
	const struct dwarf_unit *unit;
	struct dwarf_functions *functions;
	struct cursor at;
	const uint8_t *info; /* where .debug_info begins */
	unsigned int depth;
	int32_t around[DEPTH_MAX]; /* of the entries at each depth */
};

/* Can functions with code be inside? */
static bool is_scope(int tag)
{
	switch (tag) {
	case DW_TAG_compile_unit:
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

/* What is inside of it: the function's number; or, when it has no code (a declaration, what copies were made of), what is around it:
 * functions of types that are inside may have code. */
static int32_t add_function(struct walk *walk, uint64_t offset, const struct dwarf_entry *entry)
{
	struct dwarf_functions *functions = walk->functions;
	struct dwarf_function function = {
		.entry = offset,
		.parent = walk->around[walk->depth],
		.first_range = (uint32_t)functions->unsorted.len,
		.inlined = entry->tag == DW_TAG_inlined_subroutine,
		.call_file = entry->call_file,
		.call_line = (uint32_t)entry->call_line,
	};
	dwarf_entry_ranges(walk->unit, entry, (uint32_t)functions->list.len, walk->depth, &functions->unsorted);
	function.range_count = (uint32_t)functions->unsorted.len - function.first_range;
	if (!function.range_count)
		return function.parent;
	vec_push(&functions->list, function);
	return (int32_t)functions->list.len - 1;
}

/* Reads the values of an entry that can't have code inside; true when the cursor is behind its children too. */
static bool pass_over(struct walk *walk, const struct dwarf_abbrev *abbrev)
{
	const struct dwarf_unit *unit = walk->unit;
	if (!abbrev->children) {
		dwarf_values_skip(unit, &walk->at, abbrev);
		return true;
	}
	const struct dwarf_attribute *attributes = dwarf_abbrev_attributes(unit->abbrevs, abbrev);
	uint64_t sibling = 0;
	for (uint32_t i = 0; i < abbrev->count && !walk->at.failed; i++) {
		if (attributes[i].name == DW_AT_sibling)
			sibling = dwarf_value_read(unit, &walk->at, &attributes[i]).number;
		else
			dwarf_value_skip(unit, &walk->at, &attributes[i]);
	}
	if (walk->at.failed || sibling >= unit->end || sibling <= (uint64_t)(walk->at.at - walk->info))
		return false;
	walk->at.at = walk->info + sibling;
	return true;
}

/* An entry; its children come next if it has any and the result isn't true. */
static bool read_entry(struct walk *walk, uint64_t offset, const struct dwarf_abbrev *abbrev, int32_t *ret_inside)
{
	int32_t around = walk->around[walk->depth];
	*ret_inside = IGNORED;
	if (around != IGNORED && is_scope(abbrev->tag)) {
		dwarf_values_skip(walk->unit, &walk->at, abbrev);
		*ret_inside = around;
		return false;
	}
	if (around == IGNORED || (abbrev->tag != DW_TAG_subprogram && abbrev->tag != DW_TAG_inlined_subroutine))
		return pass_over(walk, abbrev);
	struct dwarf_entry entry;
	dwarf_entry_read(walk->unit, &walk->at, abbrev, &entry);
	*ret_inside = add_function(walk, offset, &entry);
	return false;
}

static void walk_unit(struct walk *walk)
{
	while (!walk->at.failed && walk->at.at < walk->at.end) {
		uint64_t offset = (uint64_t)(walk->at.at - walk->info), code = leb128_unsigned(&walk->at);
		int32_t inside;
		if (!code) {
			if (!walk->depth--)
				return;
			continue;
		}
		const struct dwarf_abbrev *abbrev = dwarf_abbrev_find(walk->unit->abbrevs, code);
		if (!abbrev)
			return;
		if (read_entry(walk, offset, abbrev, &inside) || !abbrev->children)
			continue;
		if (++walk->depth >= DEPTH_MAX)
			return;
		walk->around[walk->depth] = inside;
	}
}

void dwarf_functions_read(const struct dwarf_unit *unit, struct dwarf_functions *ret)
{
	struct walk walk = {.unit = unit, .functions = ret, .info = dwarf_section_bytes(unit->file, DWARF_INFO).data, .around = {OUTSIDE}};
	*ret = (struct dwarf_functions){0};
	walk.at = cursor_init(walk.info + unit->first, unit->end - unit->first, unit->file->elf.swap);
	walk_unit(&walk);
	vec_reserve(&ret->sorted, ret->unsorted.len);
	ret->sorted.len = ret->unsorted.len;
	if (ret->unsorted.len)
		memcpy(ret->sorted.data, ret->unsorted.data, ret->unsorted.len * sizeof(*ret->unsorted.data));
	dwarf_ranges_sort(&ret->sorted);
}

void dwarf_functions_deinit(struct dwarf_functions *functions)
{
	vec_deinit(&functions->list);
	vec_deinit(&functions->unsorted);
	vec_deinit(&functions->sorted);
	map64_deinit(&functions->names);
}

static bool covers(const struct dwarf_functions *functions, const struct dwarf_function *function, uint64_t address)
{
	for (uint32_t i = 0; i < function->range_count; i++) {
		const struct dwarf_range *range = &functions->unsorted.data[function->first_range + i];
		if (address >= range->low && address < range->high)
			return true;
	}
	return false;
}

int32_t dwarf_functions_find(const struct dwarf_functions *functions, uint64_t address)
{
	const struct dwarf_range *range = dwarf_ranges_find(&functions->sorted, address);
	int32_t number = range ? (int32_t)range->owner : DWARF_NO_FUNCTION;
	while (number != DWARF_NO_FUNCTION && !covers(functions, &functions->list.data[number], address))
		number = functions->list.data[number].parent;
	return number;
}

/* ---- names ---- */

/* The name, or that of what it is a copy or the definition of: the linker's is preferred, wherever it stands. *entry: the last one read. */
static const char *find_name(const struct dwarf_unit *unit, struct dwarf_entry *entry)
{
	const struct dwarf_source *file = unit->file;
	const char *name = NULL;
	for (int i = 0; i < ORIGINS_MAX; i++) {
		if (entry->linkage_name)
			return entry->linkage_name;
		if (!name)
			name = entry->name;
		struct dwarf_value origin = entry->origin;
		if (origin.class == DWARF_SUPPLEMENT_REFERENCE)
			file = file->supplement;
		else if (origin.class != DWARF_REFERENCE)
			break;
		if (!file || !dwarf_entry_at(file, unit, origin.number, entry))
			break;
	}
	return name;
}

static const char *readable_name(const char *name, struct arena *arena)
{
	char *readable = demangle_candidate(name) ? demangle(name, DEMANGLE_LIMIT) : NULL;
	if (!readable)
		return name;
	const char *kept = arena_strdup(arena, readable);
	free(readable);
	return kept;
}

/* Copies of one function share its name. */
static const char *shared_name(struct dwarf_functions *functions, const struct dwarf_unit *unit, uint64_t offset, struct arena *arena)
{
	struct dwarf_entry entry;
	if (!dwarf_entry_at(unit->file, unit, offset, &entry))
		return "";
	bool elsewhere = entry.origin.class == DWARF_SUPPLEMENT_REFERENCE;
	uint64_t named = entry.origin.class == DWARF_REFERENCE || elsewhere ? entry.origin.number : offset;
	uint64_t *slot = map64_insert(&functions->names, named << 1 | elsewhere, NULL);
	if (!*slot) {
		const char *name = find_name(unit, &entry);
		*slot = (uintptr_t)(name ? readable_name(name, arena) : "");
	}
	return (const char *)(uintptr_t)*slot;
}

const char *dwarf_function_name(struct dwarf_functions *functions, const struct dwarf_unit *unit, struct dwarf_function *function,
				struct arena *arena)
{
	if (!function->name)
		function->name = shared_name(functions, unit, function->entry, arena);
	return *function->name ? function->name : NULL;
}
