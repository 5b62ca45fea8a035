/* Ranges of addresses: two numbers, or a list in .debug_ranges (until DWARF 4) or .debug_rnglists (DWARF 5). */
#include "symbol/dwarf/dwarf_unit.h"

#include "base/formats/leb128.h"
#include "base/search.h"

#include <dwarf.h>
#include <stdlib.h>

/* Of one list; and of all in a target: many entries of a hostile file can share one long list. */
enum { RANGES_MAX = 1 << 20, ALL_RANGES_MAX = 1 << 23 };

/* Where the ranges of an entry go. */
struct target {
	struct dwarf_range_list *list;
	uint32_t owner, depth;
};

/* Code that the linker has dropped begins at 0, or where no code can be: the range wraps around then. */
static void add(const struct target *target, uint64_t low, uint64_t high)
{
	if (low && high > low && target->list->len < ALL_RANGES_MAX)
		vec_push(target->list, (struct dwarf_range){low, high, target->owner, target->depth});
}

static uint64_t read_address(struct cursor *at, unsigned int size)
{
	return size == 8 ? cursor_u64(at) : size == 4 ? cursor_u32(at) : cursor_u16(at);
}

/* Pairs; 0, 0 ends, a pair that begins with the highest address sets the base. Split units' offsets are from a place that the skeleton
 * tells. */
static void add_old_list(const struct dwarf_unit *unit, uint64_t offset, const struct target *target)
{
	const struct dwarf_unit *owner = unit->skeleton ? unit->skeleton : unit;
	struct cursor at = dwarf_cursor(owner->file, DWARF_RANGES, offset + (unit->skeleton ? unit->ranges_base : 0));
	uint64_t base = owner->low_pc, highest = UINT64_MAX >> (64 - 8 * unit->address_size);
	for (size_t i = 0; i < RANGES_MAX; i++) {
		uint64_t low = read_address(&at, unit->address_size), high = read_address(&at, unit->address_size);
		if (at.failed || (!low && !high))
			break;
		if (low == highest)
			base = high;
		else
			add(target, base + low, base + high);
	}
}

/* One entry of a list of DWARF 5; false at the end. */
static bool add_list_entry(const struct dwarf_unit *unit, struct cursor *at, uint64_t *base, const struct target *target)
{
	uint64_t low = 0, high = 0;
	switch (cursor_u8(at)) {
	case DW_RLE_base_addressx:
		return dwarf_indexed_address(unit, leb128_unsigned(at), base);
	case DW_RLE_base_address:
		*base = read_address(at, unit->address_size);
		return true;
	case DW_RLE_startx_endx:
		if (!dwarf_indexed_address(unit, leb128_unsigned(at), &low) || !dwarf_indexed_address(unit, leb128_unsigned(at), &high))
			return false;
		break;
	case DW_RLE_startx_length:
		if (!dwarf_indexed_address(unit, leb128_unsigned(at), &low))
			return false;
		high = low + leb128_unsigned(at);
		break;
	case DW_RLE_offset_pair:
		low = *base + leb128_unsigned(at);
		high = *base + leb128_unsigned(at);
		break;
	case DW_RLE_start_end:
		low = read_address(at, unit->address_size);
		high = read_address(at, unit->address_size);
		break;
	case DW_RLE_start_length:
		low = read_address(at, unit->address_size);
		high = low + leb128_unsigned(at);
		break;
	default:
		return false;
	}
	if (at->failed)
		return false;
	add(target, low, high);
	return true;
}

static void add_list(const struct dwarf_unit *unit, uint64_t offset, const struct target *target)
{
	struct cursor at = dwarf_cursor(unit->file, DWARF_RNGLISTS, offset);
	uint64_t base = unit->skeleton ? unit->skeleton->low_pc : unit->low_pc;
	for (size_t i = 0; i < RANGES_MAX && !at.failed; i++)
		if (!add_list_entry(unit, &at, &base, target))
			break;
}

/* Where a list is, by its number: a table of offsets, from its own beginning, begins at the unit's base. */
static bool list_offset(const struct dwarf_unit *unit, uint64_t number, uint64_t *ret)
{
	if (number > UINT32_MAX)
		return false;
	struct cursor at = dwarf_cursor(unit->file, DWARF_RNGLISTS, unit->range_lists_base + number * unit->offset_size);
	*ret = unit->range_lists_base + dwarf_offset_read(&at, unit->offset_size);
	return !at.failed;
}

void dwarf_entry_ranges(const struct dwarf_unit *unit, const struct dwarf_entry *entry, uint32_t owner, uint32_t depth,
			struct dwarf_range_list *list)
{
	const struct target target = {list, owner, depth};
	uint64_t offset = entry->ranges.number;
	if (entry->ranges.class == DWARF_RANGE_LIST) {
		if (list_offset(unit, entry->ranges.number, &offset))
			add_list(unit, offset, &target);
	} else if (entry->ranges.class == DWARF_CONSTANT) {
		if (unit->version >= 5)
			add_list(unit, offset, &target);
		else
			add_old_list(unit, offset, &target);
	} else if (entry->low.class == DWARF_ADDRESS && entry->high.class == DWARF_ADDRESS) {
		add(&target, entry->low.number, entry->high.number);
	} else if (entry->low.class == DWARF_ADDRESS && entry->high.class == DWARF_CONSTANT) {
		add(&target, entry->low.number, entry->low.number + entry->high.number);
	}
}

static int compare(const void *a, const void *b)
{
	const struct dwarf_range *x = a, *y = b;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

void dwarf_ranges_sort(struct dwarf_range_list *list)
{
	if (list->len)
		qsort(list->data, list->len, sizeof(*list->data), compare);
}

const struct dwarf_range *dwarf_ranges_find(const struct dwarf_range_list *list, uint64_t address)
{
	size_t after = partition_point(i, list->len, list->data[i].low <= address);
	return after ? &list->data[after - 1] : NULL;
}
