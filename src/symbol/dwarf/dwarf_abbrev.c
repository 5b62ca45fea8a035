/* Abbreviations and values.
 *
 * Most entries are of no interest (types, variables). They are passed over by the sum of their values' sizes where all are of fixed size,
 * which is worked out once for each abbreviation.
 */
#include "symbol/dwarf/dwarf_unit.h"

#include "base/formats/leb128.h"
#include "base/hash.h"

#include <dwarf.h>
#include <string.h>

enum { TABLES_SHARING_BYTES = 8, VARIABLE = -1 };

struct dwarf_abbrevs {
	VEC(struct dwarf_abbrev) list; /* number 1 first, as far as they come in order */
	struct map64 others;	       /* number → place in `out_of_order` + 1 */
	VEC(struct dwarf_abbrev) out_of_order;
	VEC(struct dwarf_attribute) attributes;
};

/* ---- values ---- */

/* Of a form in bytes; VARIABLE when it isn't fixed. */
static int32_t fixed_size(const struct dwarf_unit *unit, unsigned int form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sup8:
	case DW_FORM_ref_sig8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return unit->address_size;
	case DW_FORM_ref_addr:
		return unit->version < 3 ? unit->address_size : unit->offset_size;
	case DW_FORM_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return unit->offset_size;
	default:
		return VARIABLE;
	}
}

static uint64_t read_fixed(struct cursor *at, int32_t size)
{
	switch (size) {
	case 1:
		return cursor_u8(at);
	case 2:
		return cursor_u16(at);
	case 3: {
		const uint8_t *bytes = cursor_bytes(at, 3);
		if (!bytes)
			return 0;
		return at->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) ? (uint64_t)bytes[0] << 16 | bytes[1] << 8 | bytes[2]
									       : (uint64_t)bytes[2] << 16 | bytes[1] << 8 | bytes[0];
	}
	case 4:
		return cursor_u32(at);
	case 8:
		return cursor_u64(at);
	default:
		cursor_bytes(at, (size_t)size);
		return 0;
	}
}

/* Values of other sizes: numbers are returned, blocks passed over. */
static uint64_t read_variable(const struct dwarf_unit *unit, struct cursor *at, unsigned int form)
{
	switch (form) {
	case DW_FORM_sdata:
		return (uint64_t)leb128_signed(at);
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return leb128_unsigned(at);
	case DW_FORM_string:
		cursor_string(at);
		return 0;
	case DW_FORM_block1:
		cursor_bytes(at, cursor_u8(at));
		return 0;
	case DW_FORM_block2:
		cursor_bytes(at, cursor_u16(at));
		return 0;
	case DW_FORM_block4:
		cursor_bytes(at, cursor_u32(at));
		return 0;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		cursor_bytes(at, leb128_unsigned(at));
		return 0;
	default:
		at->failed = true;
		return 0;
	}
}

static const char *indexed_string(const struct dwarf_unit *unit, uint64_t index)
{
	if (index > UINT32_MAX)
		return NULL;
	struct cursor at = dwarf_cursor(unit->file, DWARF_STR_OFFSETS, unit->string_offsets_base + index * unit->offset_size);
	uint64_t offset = read_fixed(&at, unit->offset_size);
	return at.failed ? NULL : dwarf_string(unit->file, DWARF_STR, offset);
}

static struct dwarf_value address_value(const struct dwarf_unit *unit, uint64_t index)
{
	uint64_t address;
	return dwarf_indexed_address(unit, index, &address) ? (struct dwarf_value){.class = DWARF_ADDRESS, .number = address}
							    : (struct dwarf_value){0};
}

bool dwarf_indexed_address(const struct dwarf_unit *unit, uint64_t index, uint64_t *ret)
{
	const struct dwarf_unit *owner = unit->skeleton ? unit->skeleton : unit;
	if (index > UINT32_MAX)
		return false;
	struct cursor at = dwarf_cursor(owner->file, DWARF_ADDR, unit->address_base + index * unit->address_size);
	*ret = read_fixed(&at, unit->address_size);
	return !at.failed;
}

static struct dwarf_value value_of(const struct dwarf_unit *unit, unsigned int form, uint64_t number)
{
	const struct dwarf_source *file = unit->file;
	switch (form) {
	case DW_FORM_addr:
		return (struct dwarf_value){.class = DWARF_ADDRESS, .number = number};
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return address_value(unit, number);
	case DW_FORM_strp:
		return (struct dwarf_value){.class = DWARF_TEXT, .text = dwarf_string(file, DWARF_STR, number)};
	case DW_FORM_line_strp:
		return (struct dwarf_value){.class = DWARF_TEXT, .text = dwarf_string(file, DWARF_LINE_STR, number)};
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return (struct dwarf_value){.class = DWARF_TEXT,
					    .text = file->supplement ? dwarf_string(file->supplement, DWARF_STR, number) : NULL};
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return (struct dwarf_value){.class = DWARF_TEXT, .text = indexed_string(unit, number)};
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		return (struct dwarf_value){.class = DWARF_REFERENCE, .number = unit->offset + number};
	case DW_FORM_ref_addr:
		return (struct dwarf_value){.class = DWARF_REFERENCE, .number = number};
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		return (struct dwarf_value){.class = DWARF_SUPPLEMENT_REFERENCE, .number = number};
	case DW_FORM_rnglistx:
		return (struct dwarf_value){.class = DWARF_RANGE_LIST, .number = number};
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_sec_offset:
		return (struct dwarf_value){.class = DWARF_CONSTANT, .number = number};
	default:
		return (struct dwarf_value){0};
	}
}

/* The form itself can be among the values; once. */
static unsigned int real_form(struct cursor *at, const struct dwarf_attribute *attribute)
{
	return attribute->form == DW_FORM_indirect ? (unsigned int)leb128_unsigned(at) : attribute->form;
}

struct dwarf_value dwarf_value_read(const struct dwarf_unit *unit, struct cursor *at, const struct dwarf_attribute *attribute)
{
	unsigned int form = real_form(at, attribute);
	if (form == DW_FORM_implicit_const)
		return (struct dwarf_value){.class = DWARF_CONSTANT, .number = (uint64_t)attribute->implicit};
	if (form == DW_FORM_string)
		return (struct dwarf_value){.class = DWARF_TEXT, .text = cursor_string(at)};
	int32_t size = fixed_size(unit, form);
	uint64_t number = size == VARIABLE ? read_variable(unit, at, form) : size ? read_fixed(at, size) : 0;
	return at->failed ? (struct dwarf_value){0} : value_of(unit, form, number);
}

void dwarf_value_skip(const struct dwarf_unit *unit, struct cursor *at, const struct dwarf_attribute *attribute)
{
	unsigned int form = real_form(at, attribute);
	int32_t size = fixed_size(unit, form);
	if (size == VARIABLE)
		read_variable(unit, at, form);
	else
		cursor_bytes(at, (size_t)size);
}

void dwarf_values_skip(const struct dwarf_unit *unit, struct cursor *at, const struct dwarf_abbrev *abbrev)
{
	if (abbrev->size != VARIABLE) {
		cursor_bytes(at, (size_t)abbrev->size);
		return;
	}
	const struct dwarf_attribute *attributes = dwarf_abbrev_attributes(unit->abbrevs, abbrev);
	for (uint32_t i = 0; i < abbrev->count && !at->failed; i++)
		dwarf_value_skip(unit, at, &attributes[i]);
}

/* ---- abbreviations ---- */

static bool read_attributes(const struct dwarf_unit *unit, struct cursor *at, struct dwarf_abbrevs *abbrevs, struct dwarf_abbrev *abbrev)
{
	/* An attribute takes two bytes, and tables don't overlap but in hostile files. */
	uint64_t most = dwarf_section_bytes(unit->file, DWARF_ABBREV).size * TABLES_SHARING_BYTES;
	abbrev->first = (uint32_t)abbrevs->attributes.len;
	while (!at->failed && unit->file->attribute_count < most) {
		unit->file->attribute_count++;
		uint64_t name = leb128_unsigned(at), form = leb128_unsigned(at);
		int64_t implicit = form == DW_FORM_implicit_const ? leb128_signed(at) : 0;
		if (!name && !form)
			return true;
		int32_t size = fixed_size(unit, (unsigned int)form);
		abbrev->size = size == VARIABLE || abbrev->size == VARIABLE ? VARIABLE : abbrev->size + size;
		vec_push(&abbrevs->attributes, (struct dwarf_attribute){(uint16_t)name, form > UINT16_MAX ? 0 : (uint16_t)form, implicit});
		abbrev->count++;
	}
	return false;
}

static struct dwarf_abbrevs *read_abbrevs(const struct dwarf_unit *unit)
{
	struct dwarf_abbrevs *abbrevs = mem_zalloc(sizeof(*abbrevs));
	struct cursor at = dwarf_cursor(unit->file, DWARF_ABBREV, unit->abbrev_offset);
	while (!at.failed) {
		uint64_t code = leb128_unsigned(&at);
		if (!code)
			break;
		struct dwarf_abbrev abbrev = {.tag = (uint16_t)leb128_unsigned(&at), .children = cursor_u8(&at)};
		if (!read_attributes(unit, &at, abbrevs, &abbrev))
			break;
		if (code == abbrevs->list.len + 1) {
			vec_push(&abbrevs->list, abbrev);
			continue;
		}
		vec_push(&abbrevs->out_of_order, abbrev);
		*map64_insert(&abbrevs->others, code, NULL) = abbrevs->out_of_order.len;
	}
	return abbrevs;
}

struct dwarf_abbrevs *dwarf_unit_abbrevs(struct dwarf_unit *unit)
{
	struct dwarf_abbrevs *known = __atomic_load_n(&unit->abbrevs, __ATOMIC_ACQUIRE);
	if (known)
		return known;
	uint64_t key = unit->abbrev_offset << 8 | (uint64_t)unit->address_size << 4 | (uint64_t)(unit->offset_size == 8) << 1 |
		       (unit->version < 3);
	struct dwarf_source *file = unit->file;
	pthread_mutex_lock(&file->abbrev_lock);
	uint64_t *slot = map64_insert(&file->abbrevs, key, NULL);
	if (!*slot)
		*slot = (uintptr_t)read_abbrevs(unit);
	known = (struct dwarf_abbrevs *)(uintptr_t)*slot;
	pthread_mutex_unlock(&file->abbrev_lock);
	__atomic_store_n(&unit->abbrevs, known, __ATOMIC_RELEASE);
	return known;
}

void dwarf_abbrevs_free(struct dwarf_source *file)
{
	map64_each (slot, &file->abbrevs) {
		struct dwarf_abbrevs *abbrevs = map64_pointer(slot);
		vec_deinit(&abbrevs->list);
		vec_deinit(&abbrevs->out_of_order);
		vec_deinit(&abbrevs->attributes);
		map64_deinit(&abbrevs->others);
		free(abbrevs);
	}
	map64_deinit(&file->abbrevs);
}

const struct dwarf_abbrev *dwarf_abbrev_find(const struct dwarf_abbrevs *abbrevs, uint64_t code)
{
	if (code - 1 < abbrevs->list.len)
		return &abbrevs->list.data[code - 1];
	const uint64_t *place = map64_find(&abbrevs->others, code);
	return place ? &abbrevs->out_of_order.data[*place - 1] : NULL;
}

const struct dwarf_attribute *dwarf_abbrev_attributes(const struct dwarf_abbrevs *abbrevs, const struct dwarf_abbrev *abbrev)
{
	return abbrevs->attributes.data + abbrev->first;
}
