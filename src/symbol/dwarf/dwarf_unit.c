/* Units: their headers and first entries, and what an entry says of a function. */
#include "symbol/dwarf/dwarf_unit.h"

#include "base/formats/leb128.h"
#include "base/mem.h"
#include "base/search.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS_MAX = 1 << 22 };

/* ---- headers ---- */

uint64_t dwarf_offset_read(struct cursor *at, unsigned int size)
{
	return size == 8 ? cursor_u64(at) : cursor_u32(at);
}

uint64_t dwarf_length_read(struct cursor *at, uint8_t *ret_offset_size)
{
	uint64_t length = cursor_u32(at);
	*ret_offset_size = length == 0xffffffff ? 8 : 4;
	if (*ret_offset_size == 8)
		length = cursor_u64(at);
	if (length > cursor_left(at))
		at->failed = true;
	return length;
}

bool dwarf_unit_header(struct dwarf_source *file, uint64_t offset, struct dwarf_unit *ret)
{
	struct cursor at = dwarf_cursor(file, DWARF_INFO, offset);
	const uint8_t *start = at.at;
	struct dwarf_unit unit = {.file = file, .offset = offset, .lines = UINT64_MAX, .type = DW_UT_compile};
	uint64_t length = dwarf_length_read(&at, &unit.offset_size);
	unit.end = offset + (uint64_t)(at.at - start) + length;
	unit.version = cursor_u16(&at);
	if (unit.version >= 5) {
		unit.type = cursor_u8(&at);
		unit.address_size = cursor_u8(&at);
	}
	unit.abbrev_offset = dwarf_offset_read(&at, unit.offset_size);
	if (unit.version < 5)
		unit.address_size = cursor_u8(&at);
	if (unit.type == DW_UT_skeleton || unit.type == DW_UT_split_compile || unit.type == DW_UT_type || unit.type == DW_UT_split_type)
		unit.id = cursor_u64(&at);
	if (unit.type == DW_UT_type || unit.type == DW_UT_split_type)
		dwarf_offset_read(&at, unit.offset_size);
	unit.first = offset + (uint64_t)(at.at - start);
	*ret = unit;
	return !at.failed && unit.first <= unit.end;
}

/* Of a version and with sizes that are known here. */
static bool is_readable(const struct dwarf_unit *unit)
{
	uint8_t size = unit->address_size;
	return unit->version >= 2 && unit->version <= 5 && (size == 2 || size == 4 || size == 8);
}

void dwarf_units_read(struct dwarf_source *file)
{
	VEC(struct dwarf_unit) units = {0};
	struct dwarf_unit unit;
	for (uint64_t offset = 0; units.len < UNITS_MAX && dwarf_unit_header(file, offset, &unit); offset = unit.end)
		if (is_readable(&unit))
			vec_push(&units, unit);
	file->units = units.data;
	file->unit_count = units.len;
}

void dwarf_units_free(struct dwarf_source *file)
{
	dwarf_abbrevs_free(file);
	free(file->units);
}

struct dwarf_unit *dwarf_unit_at(const struct dwarf_source *file, uint64_t offset)
{
	size_t after = partition_point(i, file->unit_count, file->units[i].offset <= offset);
	struct dwarf_unit *unit = after ? &file->units[after - 1] : NULL;
	return unit && offset >= unit->first && offset < unit->end ? unit : NULL;
}

/* ---- entries ---- */

static struct cursor entry_cursor(const struct dwarf_unit *unit, uint64_t offset)
{
	struct cursor at = dwarf_cursor(unit->file, DWARF_INFO, offset);
	if (!at.failed)
		at.end = at.at + (unit->end - offset);
	return at;
}

/* An attribute of a unit's first entry. Tables' places come before what uses them is read: see dwarf_unit_open(). */
static void take_base(struct dwarf_unit *unit, unsigned int name, uint64_t number)
{
	switch (name) {
	case DW_AT_str_offsets_base:
		unit->string_offsets_base = number;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		unit->address_base = number;
		break;
	case DW_AT_rnglists_base:
		unit->range_lists_base = number;
		break;
	case DW_AT_GNU_ranges_base:
		unit->ranges_base = number;
		break;
	case DW_AT_stmt_list:
		unit->lines = number;
		break;
	case DW_AT_GNU_dwo_id:
		unit->id = number;
		break;
	default:
		break;
	}
}

static void take_text(struct dwarf_unit *unit, unsigned int name, const char *text)
{
	switch (name) {
	case DW_AT_name:
		unit->name = text;
		break;
	case DW_AT_comp_dir:
		unit->directory = text;
		break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		unit->split_name = text;
		break;
	default:
		break;
	}
}

/* Twice: strings and addresses may be numbers in tables, whose places are told anywhere in the same entry. */
bool dwarf_unit_open(struct dwarf_unit *unit, struct dwarf_entry *ret)
{
	struct cursor at = entry_cursor(unit, unit->first);
	const struct dwarf_abbrevs *abbrevs = dwarf_unit_abbrevs(unit);
	const struct dwarf_abbrev *abbrev = dwarf_abbrev_find(abbrevs, leb128_unsigned(&at));
	if (!abbrev || at.failed || (abbrev->tag != DW_TAG_compile_unit && abbrev->tag != DW_TAG_skeleton_unit))
		return false;
	const struct dwarf_attribute *attributes = dwarf_abbrev_attributes(abbrevs, abbrev);
	struct cursor first = at;
	for (uint32_t i = 0; i < abbrev->count && !first.failed; i++) {
		struct dwarf_value value = dwarf_value_read(unit, &first, &attributes[i]);
		if (value.class == DWARF_CONSTANT)
			take_base(unit, attributes[i].name, value.number);
	}
	struct cursor second = at;
	for (uint32_t i = 0; i < abbrev->count && !second.failed; i++) {
		struct dwarf_value value = dwarf_value_read(unit, &second, &attributes[i]);
		if (value.class == DWARF_TEXT)
			take_text(unit, attributes[i].name, value.text);
	}
	dwarf_entry_read(unit, &at, abbrev, ret);
	unit->low_pc = ret->low.class == DWARF_ADDRESS ? ret->low.number : 0;
	return true;
}

static void take_value(struct dwarf_entry *entry, unsigned int name, const struct dwarf_value *value)
{
	switch (name) {
	case DW_AT_low_pc:
		entry->low = *value;
		break;
	case DW_AT_high_pc:
		entry->high = *value;
		break;
	case DW_AT_ranges:
		entry->ranges = *value;
		break;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		entry->origin = *value;
		break;
	case DW_AT_name:
		entry->name = value->text;
		break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		entry->linkage_name = value->text;
		break;
	case DW_AT_call_file:
		entry->call_file = value->number;
		break;
	case DW_AT_call_line:
		entry->call_line = value->number;
		break;
	default:
		break;
	}
}

static bool is_wanted(unsigned int name)
{
	switch (name) {
	case DW_AT_low_pc:
	case DW_AT_high_pc:
	case DW_AT_ranges:
	case DW_AT_abstract_origin:
	case DW_AT_specification:
	case DW_AT_name:
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
	case DW_AT_call_file:
	case DW_AT_call_line:
		return true;
	default:
		return false;
	}
}

void dwarf_entry_read(const struct dwarf_unit *unit, struct cursor *at, const struct dwarf_abbrev *abbrev, struct dwarf_entry *ret)
{
	const struct dwarf_attribute *attributes = dwarf_abbrev_attributes(unit->abbrevs, abbrev);
	*ret = (struct dwarf_entry){.tag = abbrev->tag};
	for (uint32_t i = 0; i < abbrev->count && !at->failed; i++) {
		if (!is_wanted(attributes[i].name)) {
			dwarf_value_skip(unit, at, &attributes[i]);
			continue;
		}
		struct dwarf_value value = dwarf_value_read(unit, at, &attributes[i]);
		if (value.class != DWARF_NOTHING)
			take_value(ret, attributes[i].name, &value);
	}
}

bool dwarf_entry_at(const struct dwarf_source *file, const struct dwarf_unit *hint, uint64_t offset, struct dwarf_entry *ret)
{
	bool inside = hint && offset >= hint->first && offset < hint->end && hint->file == file;
	struct dwarf_unit *found = inside ? NULL : dwarf_unit_at(file, offset);
	const struct dwarf_unit *unit = inside ? hint : found;
	if (!unit)
		return false;
	const struct dwarf_abbrevs *abbrevs = inside ? hint->abbrevs : dwarf_unit_abbrevs(found);
	struct cursor at = entry_cursor(unit, offset);
	const struct dwarf_abbrev *abbrev = dwarf_abbrev_find(abbrevs, leb128_unsigned(&at));
	if (!abbrev || at.failed)
		return false;
	dwarf_entry_read(unit, &at, abbrev, ret);
	return !at.failed;
}
