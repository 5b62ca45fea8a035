/* A symbol by its name, as the dynamic linker finds it: without a look at the others. Section .gnu.hash has
 *
 *	buckets, first, words, shift      four numbers of 32 bits
 *	words                             a filter, of the file's word size; not needed here
 *	buckets                           each the number of its first symbol; 0 = none
 *	hashes                            of the symbols from `first` on, those of a bucket one behind the other; bit 0: its last one
 *
 * Source: the blog of Ali Bahrami, "GNU Hash ELF Sections". */
#include "base/cursor.h"
#include "symbol/elf/elf.h"

#include <elf.h>
#include <string.h>

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;
	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* 0 where it lies outside. */
static uint32_t number_at(const struct elf_file *elf, const uint8_t *data, uint64_t size, uint64_t index)
{
	if (index >= size / 4)
		return 0;
	struct cursor at = cursor_init(data + index * 4, 4, elf->swap);
	return cursor_u32(&at);
}

static bool is_it(const struct elf_file *elf, const struct elf_section *table, uint64_t index, const char *name, struct elf_symbol *ret)
{
	return elf_symbol_at(elf, table, index, ret) && ret->section != SHN_UNDEF && !strcmp(ret->name, name);
}

static bool find_hashed(const struct elf_file *elf, const struct elf_section *table, const struct elf_section *hashes, const char *name,
			struct elf_symbol *ret)
{
	const uint8_t *data = elf_section_data(elf, hashes);
	uint64_t size = data ? hashes->size : 0;
	uint64_t buckets = number_at(elf, data, size, 0), first = number_at(elf, data, size, 1);
	uint64_t filter = (uint64_t)number_at(elf, data, size, 2) * (elf->is_64bit ? 2 : 1), begin = 4 + filter;
	uint32_t wanted = hash_of(name), hash = 0;
	if (!buckets)
		return false;
	for (uint64_t i = number_at(elf, data, size, begin + wanted % buckets); i >= first && i && !(hash & 1); i++) {
		uint64_t place = begin + buckets + i - first;
		if (place >= size / 4)
			return false;
		hash = number_at(elf, data, size, place);
		if ((hash | 1) == (wanted | 1) && is_it(elf, table, i, name, ret))
			return true;
	}
	return false;
}

bool elf_symbol_find(const struct elf_file *elf, const char *name, struct elf_symbol *ret)
{
	const struct elf_section *dynamic = elf_section(elf, ".dynsym"), *hashes = elf_section(elf, ".gnu.hash");
	const struct elf_section *table = dynamic ? dynamic : elf_section(elf, ".symtab");
	if (dynamic && hashes && hashes->type == SHT_GNU_HASH)
		return find_hashed(elf, dynamic, hashes, name, ret);
	uint64_t count = table ? elf_symbol_count(elf, table) : 0;
	for (uint64_t i = 0; i < count; i++)
		if (is_it(elf, table, i, name, ret))
			return true;
	return false;
}
