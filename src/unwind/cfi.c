/* Call frame information: an index of functions (FDEs), and what their entries and those that they share (CIEs) say.
 *
 * The index is the table that run-time unwinders search (.eh_frame_hdr), which is a twentieth of the section; where there is none that is
 * sorted, or it has functions of other sections, too, one is made. An entry that is not about the function that the table says is broken.
 */
#include "unwind/cfi_internal.h"

#include "base/cursor.h"
#include "base/formats/leb128.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/vec.h"
#include "unwind/packed.h"

#include <dwarf.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* A function that a walk over the section has found. */
struct cfi_place {
	uint64_t start;
	uint32_t offset, size; /* 0 = isn't known: the table has told of it */
};

static struct cursor section_cursor(const struct cfi_section *section, uint64_t offset)
{
	if (offset > section->size)
		return (struct cursor){.failed = true};
	return cursor_init(section->data + offset, section->size - offset, section->swap);
}

static uint64_t read_size(struct cursor *at, unsigned int size)
{
	switch (size) {
	case 2:
		return cursor_u16(at);
	case 4:
		return cursor_u32(at);
	case 8:
		return cursor_u64(at);
	default:
		at->failed = true;
		return 0;
	}
}

uint64_t cfi_read_pointer(const struct cfi_section *section, struct cursor *at, uint8_t encoding, unsigned int address_size)
{
	uint64_t place = section->address + (uint64_t)(at->at - section->data), value;
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
		value = read_size(at, address_size);
		break;
	case DW_EH_PE_uleb128:
		value = leb128_unsigned(at);
		break;
	case DW_EH_PE_sleb128:
		value = (uint64_t)leb128_signed(at);
		break;
	case DW_EH_PE_udata2:
		value = cursor_u16(at);
		break;
	case DW_EH_PE_udata4:
		value = cursor_u32(at);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)(int64_t)(int16_t)cursor_u16(at);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)(int64_t)(int32_t)cursor_u32(at);
		break;
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = cursor_u64(at);
		break;
	default:
		at->failed = true;
		return 0;
	}
	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		value += place;
	if (!section->is_64bit)
		value = (uint32_t)value;
	return value;
}

/* The contents of the entry at `offset`: a cursor over its bytes behind the length; false at the end of the section. */
static bool entry_at(const struct cfi_section *section, uint64_t offset, struct cursor *ret, uint64_t *ret_next, bool *ret_wide)
{
	struct cursor at = section_cursor(section, offset);
	uint64_t length = cursor_u32(&at);
	*ret_wide = length == 0xffffffff;
	if (*ret_wide)
		length = cursor_u64(&at);
	if (at.failed || !length || length > cursor_left(&at))
		return false;
	*ret = cursor_init(at.at, length, section->swap);
	*ret_next = (uint64_t)(at.at - section->data) + length;
	return true;
}

static void read_augmentation(const struct cfi_section *section, const char *letters, struct cursor *at, struct cfi_cie *cie)
{
	uint64_t size = leb128_unsigned(at);
	const uint8_t *data = cursor_bytes(at, size);
	if (!data)
		return;
	struct cursor inner = cursor_init(data, size, section->swap);
	cie->augmented = true;
	for (const char *letter = letters + 1; *letter; letter++) {
		if (*letter == 'R')
			cie->pointer_encoding = cursor_u8(&inner);
		else if (*letter == 'P')
			cfi_read_pointer(section, &inner, cursor_u8(&inner) & 0x0f, cie->address_size);
		else if (*letter == 'L')
			cursor_u8(&inner);
		else if (*letter == 'S')
			cie->signal_frame = true;
		else if (*letter != 'B' && *letter != 'G')
			break; /* what follows can't be known; the rest isn't needed */
	}
}

static bool read_cie(const struct cfi_section *section, uint64_t offset, struct cfi_cie *ret)
{
	struct cursor at;
	uint64_t next;
	bool wide;
	if (!entry_at(section, offset, &at, &next, &wide))
		return false;
	uint64_t id = wide && !section->eh_frame ? cursor_u64(&at) : cursor_u32(&at);
	bool right = section->eh_frame ? !id : id == (wide ? UINT64_MAX : UINT32_MAX);
	uint8_t version = cursor_u8(&at);
	const char *letters = cursor_string(&at);
	if (!right || !letters || (version != 1 && version != 3 && version != 4))
		return false;
	*ret = (struct cfi_cie){.address_size = section->is_64bit ? 8 : 4};
	if (!strncmp(letters, "eh", 2)) /* GCC 2: a pointer */
		cursor_bytes(&at, ret->address_size);
	if (version == 4) {
		ret->address_size = cursor_u8(&at);
		cursor_u8(&at);
	}
	ret->code_align = leb128_unsigned(&at);
	ret->data_align = leb128_signed(&at);
	ret->return_register = version == 1 ? cursor_u8(&at) : leb128_unsigned(&at);
	if (letters[0] == 'z')
		read_augmentation(section, letters, &at, ret);
	ret->program = at;
	return !at.failed;
}

/* The CIE that an FDE points to: a distance back from the pointer in .eh_frame, an offset in .debug_frame. */
static uint64_t cie_offset(const struct cfi_section *section, struct cursor *at, bool wide)
{
	uint64_t place = (uint64_t)(at->at - section->data);
	uint64_t pointer = wide && !section->eh_frame ? cursor_u64(at) : cursor_u32(at);
	return section->eh_frame ? place - pointer : pointer;
}

static bool read_fde(const struct cfi_section *section, const struct cfi_cie *cie, struct cursor at, struct cfi_fde *ret)
{
	ret->cie = *cie;
	ret->start = cfi_read_pointer(section, &at, cie->pointer_encoding, cie->address_size);
	uint64_t length = cfi_read_pointer(section, &at, cie->pointer_encoding & 0x0f, cie->address_size);
	ret->end = ret->start + length;
	if (cie->augmented)
		cursor_bytes(&at, leb128_unsigned(&at));
	ret->program = at;
	return !at.failed && ret->end > ret->start;
}

/* No function has more than 4 GB. */
static uint32_t size_of(const struct cfi_fde *fde)
{
	uint64_t size = fde->end - fde->start;
	return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

static int compare_places(const void *a, const void *b)
{
	const struct cfi_place *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static struct frame_registers numbers_of(const struct elf_file *elf)
{
	const struct arch *arch = elf_arch(elf);
	if (arch && arch->frames.word)
		return arch->frames.numbers;
	return (struct frame_registers){ARCH_NO_REGISTER, ARCH_NO_REGISTER, ARCH_NO_REGISTER, ARCH_NO_REGISTER};
}

static bool is_sorted(const struct cfi_place *places, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (places[i - 1].start > places[i].start)
			return false;
	return true;
}

static struct cfi_section describe(const struct elf_file *elf, const uint8_t *data, size_t size, uint64_t address, bool eh_frame)
{
	return (struct cfi_section){.data = data,
				    .size = size < UINT32_MAX ? size : UINT32_MAX,
				    .address = address,
				    .eh_frame = eh_frame,
				    .is_64bit = elf->is_64bit,
				    .swap = elf->swap,
				    .numbers = numbers_of(elf)};
}

static void finish(struct cfi_section *section, struct cfi_place *places, size_t count)
{
	section->places = places;
	section->count = count;
	section->functions = mem_zalloc_array(count / CFI_FUNCTIONS + 1, sizeof(*section->functions));
}

void cfi_section_init(struct cfi_section *section, const struct elf_file *elf, const uint8_t *data, size_t size, uint64_t address,
		      bool eh_frame)
{
	VEC(struct cfi_place) places = {0};
	struct cfi_cie cie = {0};
	uint64_t cie_at = UINT64_MAX, next;
	struct cursor at;
	struct cfi_fde fde;
	bool wide, cie_good = false;
	*section = describe(elf, data, size, address, eh_frame);
	for (uint64_t offset = 0; entry_at(section, offset, &at, &next, &wide); offset = next) {
		struct cursor peek = at;
		uint64_t id = wide && !eh_frame ? cursor_u64(&peek) : cursor_u32(&peek);
		if (eh_frame ? !id : id == (wide ? UINT64_MAX : UINT32_MAX))
			continue;
		uint64_t belongs = cie_offset(section, &at, wide);
		if (belongs != cie_at) {
			cie_good = read_cie(section, belongs, &cie);
			cie_at = belongs;
		}
		if (cie_good && read_fde(section, &cie, at, &fde) && fde.start)
			vec_push(&places, (struct cfi_place){.start = fde.start, .size = size_of(&fde), .offset = (uint32_t)offset});
	}
	if (!is_sorted(places.data, places.len))
		qsort(places.data, places.len, sizeof(*places.data), compare_places);
	finish(section, places.data, places.len);
}

/* ---- the table ---- */

enum { PAIR = 8 };

/* A word of a pair: an address, relative to the table's. */
static uint64_t read_pair(const struct cfi_section *section, size_t word)
{
	uint32_t value;
	memcpy(&value, section->pairs + word * sizeof(value), sizeof(value));
	if (section->swap)
		value = __builtin_bswap32(value);
	return section->pairs_address + (uint64_t)(int64_t)(int32_t)value;
}

static uint64_t pair_start(const struct cfi_section *section, size_t number)
{
	return read_pair(section, 2 * number);
}

static uint64_t pair_offset(const struct cfi_section *section, size_t number)
{
	return read_pair(section, 2 * number + 1) - section->address;
}

/* Those of other sections are left out. */
static void copy_pairs(struct cfi_section *section, size_t count)
{
	VEC(struct cfi_place) places = {0};
	for (size_t i = 0; i < count; i++) {
		uint64_t start = pair_start(section, i), offset = pair_offset(section, i);
		if (start && offset < section->size)
			vec_push(&places, (struct cfi_place){.start = start, .offset = (uint32_t)offset});
	}
	section->pairs = NULL;
	finish(section, places.data, places.len);
}

/* Whether all of them are of this section, and sorted. */
static bool can_search_pairs(const struct cfi_section *section, size_t count)
{
	uint64_t before = 1;
	for (size_t i = 0; i < count; i++) {
		uint64_t start = pair_start(section, i);
		if (start < before || pair_offset(section, i) >= section->size)
			return false;
		before = start;
	}
	return true;
}

/* LSB "The .eh_frame_hdr section": version, three encodings, a pointer to .eh_frame, the count, and pairs of a function's address and its
 * FDE's. All linkers write pairs of 32 bits, relative to the table. */
bool cfi_section_init_sorted(struct cfi_section *section, const struct elf_file *elf, const uint8_t *data, size_t size, uint64_t address,
			     const struct cfi_table *table)
{
	struct cursor at = cursor_init(table->data, table->size, elf->swap);
	uint8_t version = cursor_u8(&at), pointer = cursor_u8(&at), count_encoding = cursor_u8(&at), pairs = cursor_u8(&at);
	*section = describe(elf, data, size, address, true);
	if (version != 1 || pointer != (DW_EH_PE_pcrel | DW_EH_PE_sdata4) || count_encoding != DW_EH_PE_udata4 ||
	    pairs != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return false;
	cursor_u32(&at);
	uint64_t count = cursor_u32(&at);
	if (at.failed || !count || count > cursor_left(&at) / PAIR)
		return false;
	section->pairs = at.at;
	section->pairs_address = table->address;
	if (can_search_pairs(section, count)) {
		finish(section, NULL, count);
		return true;
	}
	copy_pairs(section, count);
	if (section->count && is_sorted(section->places, section->count))
		return true;
	cfi_section_deinit(section);
	return false;
}

struct cfi_entry cfi_section_at(const struct cfi_section *section, size_t number)
{
	struct cfi_entry entry = {.number = (uint32_t)number};
	if (section->pairs) {
		entry.start = pair_start(section, number);
		entry.offset = (uint32_t)pair_offset(section, number);
	} else {
		entry.start = section->places[number].start;
		entry.offset = section->places[number].offset;
	}
	return entry;
}

size_t cfi_section_until(const struct cfi_section *section, uint64_t address)
{
	if (section->pairs)
		return partition_point(i, section->count, pair_start(section, i) <= address);
	return partition_point(i, section->count, section->places[i].start <= address);
}

bool cfi_read_fde(const struct cfi_section *section, uint64_t offset, struct cfi_fde *ret)
{
	struct cursor at;
	struct cfi_cie cie;
	uint64_t next;
	bool wide;
	return entry_at(section, offset, &at, &next, &wide) && read_cie(section, cie_offset(section, &at, wide), &cie) &&
	       read_fde(section, &cie, at, ret);
}

uint64_t cfi_entry_end(const struct cfi_section *section, const struct cfi_entry *entry)
{
	uint32_t size = section->places ? section->places[entry->number].size : 0;
	struct cfi_fde fde;
	if (!size && cfi_read_fde(section, entry->offset, &fde) && fde.start == entry->start)
		size = size_of(&fde);
	return entry->start + size;
}

bool cfi_entry_cie(const struct cfi_section *section, const struct cfi_entry *entry, uint64_t *ret)
{
	struct cursor at;
	uint64_t next;
	bool wide;
	if (!entry_at(section, entry->offset, &at, &next, &wide))
		return false;
	*ret = cie_offset(section, &at, wide);
	return !at.failed;
}

void cfi_section_deinit(struct cfi_section *section)
{
	packed_forget(section);
	free(section->places);
	*section = (struct cfi_section){0};
}

bool cfi_section_entry(const struct cfi_section *section, uint64_t address, struct cfi_entry *ret)
{
	size_t after = cfi_section_until(section, address);
	if (!after)
		return false;
	*ret = cfi_section_at(section, after - 1);
	return address < cfi_entry_end(section, ret);
}
