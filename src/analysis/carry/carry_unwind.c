/* Call frame information of the functions that stacks go through. Sections keep their size and the place of each entry, since pointers in
 * them are distances; what isn't needed becomes an empty entry as long as what it stands for:
 *
 *	.eh_frame   ├ CIE ┼ FDE ┼ FDE ┼ FDE ┼ FDE ┤
 *	carried     ├ CIE ┼ empty ····┼ FDE ┼ empty ┤ */
#include "analysis/carry/carry_internal.h"

#include "base/mem.h"
#include "unwind/tables.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* An entry of the section, its length first. */
struct entry {
	uint64_t offset, size;
};

typedef VEC(struct entry) entry_list;
typedef VEC(struct carried_piece) piece_list;

static uint32_t word_at(const struct cfi_section *section, uint64_t offset)
{
	uint32_t word;
	memcpy(&word, section->data + offset, sizeof(word));
	return section->swap ? __builtin_bswap32(word) : word;
}

/* Entries of more than 4 GB have another form, which nobody needs. */
static void add_entry(const struct cfi_section *section, uint64_t offset, entry_list *entries)
{
	uint64_t left = section->size > offset ? section->size - offset : 0;
	uint64_t length = left >= sizeof(uint32_t) ? word_at(section, offset) : 0;
	if (length && length < UINT32_MAX && length <= left - sizeof(uint32_t))
		vec_push(entries, (struct entry){offset, length + sizeof(uint32_t)});
}

static int by_offset(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Length and id of an entry that readers pass over: a CIE. */
static void add_gap(struct carry *carry, const struct cfi_section *section, uint64_t from, uint64_t to, piece_list *pieces)
{
	uint32_t words[2] = {(uint32_t)(to - from - sizeof(uint32_t)), section->eh_frame ? 0 : UINT32_MAX};
	if (to - from < sizeof(words))
		return;
	words[0] = section->swap ? __builtin_bswap32(words[0]) : words[0];
	vec_push(pieces, (struct carried_piece){from, arena_copy(&carry->arena, words, sizeof(words)), sizeof(words)});
}

static void settle_pieces(struct carry *carry, const struct cfi_section *section, entry_list *entries, struct carried_section *ret)
{
	piece_list pieces = {0};
	uint64_t end = 0;
	qsort(entries->data, entries->len, sizeof(*entries->data), by_offset);
	for (size_t i = 0; i < entries->len; i++) {
		const struct entry *entry = &entries->data[i];
		if (entry->offset < end)
			continue;
		add_gap(carry, section, end, entry->offset, &pieces);
		vec_push(&pieces,
			 (struct carried_piece){entry->offset, arena_copy(&carry->arena, section->data + entry->offset, entry->size),
						entry->size});
		end = entry->offset + entry->size;
	}
	ret->size = end;
	ret->pieces = arena_copy(&carry->arena, pieces.data, pieces.len * sizeof(*pieces.data));
	ret->piece_count = pieces.len;
	vec_deinit(&pieces);
}

/* The entries for the addresses, and for the bytes before them, where calls are. */
static void add_frames(struct carry *carry, const struct unwind_tables *tables, enum unwind_section which, const uint64_t *addresses,
		       size_t count, struct carried_unwind *ret)
{
	const struct cfi_section *section = &tables->sections[which];
	entry_list entries = {0};
	uint64_t vaddr, cie;
	for (size_t i = 0; i < 2 * count; i++) {
		struct cfi_entry entry;
		if (!unwind_tables_vaddr(tables, addresses[i / 2] - i % 2, &vaddr) || !cfi_section_entry(section, vaddr, &entry) ||
		    !cfi_entry_cie(section, &entry, &cie))
			continue;
		add_entry(section, cie, &entries);
		add_entry(section, entry.offset, &entries);
	}
	if (entries.len) {
		struct carried_section *carried = &ret->sections[ret->section_count++];
		*carried = (struct carried_section){.name = unwind_section_name(which), .vaddr = section->address};
		settle_pieces(carry, section, &entries, carried);
	}
	vec_deinit(&entries);
}

/* Linkage stubs may have no rules but their code. */
static void add_stubs(struct carry *carry, const struct elf_file *elf, struct carried_unwind *ret)
{
	enum { STUBS_MAX = 1 << 16 };
	for (uint32_t i = 0; i < elf->section_count; i++) {
		const struct elf_section *section = &elf->sections[i];
		const uint8_t *data = strncmp(section->name, ".plt", 4) ? NULL : elf_section_data(elf, section);
		if (!data || section->size > STUBS_MAX)
			continue;
		struct carried_piece *piece = arena_alloc(&carry->arena, sizeof(*piece));
		*piece = (struct carried_piece){0, arena_copy(&carry->arena, data, section->size), section->size};
		ret->sections[ret->section_count++] =
			(struct carried_section){intern_string(&carry->texts, section->name), section->addr, section->size, piece, 1};
	}
}

static uint64_t size_of(const struct carried_unwind *unwind)
{
	uint64_t size = 0;
	for (size_t i = 0; i < unwind->section_count; i++)
		size += unwind->sections[i].size;
	return size;
}

void carry_unwind(struct carry *carry, const struct carry_file *file, const uint64_t *addresses, size_t count, struct carried_unwind *ret)
{
	const struct unwind_tables *tables = resolver_attachment(carry->resolver, file->dso, unwind_tables_make, unwind_tables_destroy);
	const struct elf_file *elf = &tables->runtime;
	if (!elf->data)
		return;
	*ret = (struct carried_unwind){
		.is_64bit = elf->is_64bit,
		.big_endian = elf->swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
		.machine = elf->machine,
		.entry = elf->entry,
		.loads = arena_alloc(&carry->arena, elf->segment_count * sizeof(*ret->loads)),
		.sections = arena_alloc(&carry->arena, (elf->section_count + (size_t)UNWIND_SECTIONS) * sizeof(*ret->sections)),
	};
	for (uint32_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];
		if (segment->type == PT_LOAD)
			ret->loads[ret->load_count++] =
				(struct carried_load){segment->offset, segment->vaddr, segment->filesz, segment->flags};
	}
	for (enum unwind_section i = 0; i < UNWIND_SECTIONS; i++)
		if (tables->sections[i].count)
			add_frames(carry, tables, i, addresses, count, ret);
	add_stubs(carry, elf, ret);
	uint64_t size = size_of(ret);
	if (size > CARRIED_UNWIND_MAX || size > CARRIED_UNWIND_ALL - carry->unwind_size || !ret->section_count)
		*ret = (struct carried_unwind){0};
	else
		carry->unwind_size += size;
}
