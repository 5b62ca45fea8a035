/* Reading ELF: header, section and segment tables into plain arrays of host values; everything else is a checked look into the bytes.
 *
 * libelf could do this, but it trusts files more than we can, and copies more than we need: a symbol table is read once and thrown away.
 * Not here: DWARF (dwarf_*.c), and what the symbols mean (elf_symbols.c).
 */
#include "symbol/elf/elf.h"

#include "base/cursor.h"
#include "base/mem.h"
#include "symbol/elf/inflate.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADERS_MAX = 1 << 20 };

static struct cursor cursor_at(const struct elf_file *elf, uint64_t offset, uint64_t size)
{
	if (offset > elf->size || size > elf->size - offset)
		return (struct cursor){.failed = true, .swap = elf->swap};
	return cursor_init(elf->data + offset, size, elf->swap);
}

/* An address-sized field. */
static uint64_t cursor_word(struct cursor *at, bool is_64bit)
{
	return is_64bit ? cursor_u64(at) : cursor_u32(at);
}

/* A string at `offset` of a string table; "" when there is none or it doesn't end. Where the table ends with an end they all have one, and
 * none of its pages has to be looked at. */
static const char *string_at(const struct elf_file *elf, const struct elf_section *strings, uint64_t offset)
{
	const uint8_t *data = strings ? elf_section_data(elf, strings) : NULL;
	if (!data || offset >= strings->size || (data[strings->size - 1] && !memchr(data + offset, 0, strings->size - offset)))
		return "";
	return (const char *)data + offset;
}

struct table_place {
	uint64_t offset;
	uint32_t count, entry_size, names;
};

static void read_section(const struct elf_file *elf, const struct table_place *place, uint32_t index, struct elf_section *ret,
			 uint32_t *ret_name)
{
	struct cursor at = cursor_at(elf, place->offset + (uint64_t)index * place->entry_size, place->entry_size);
	bool wide = elf->is_64bit;
	*ret_name = cursor_u32(&at);
	ret->type = cursor_u32(&at);
	ret->flags = cursor_word(&at, wide);
	ret->addr = cursor_word(&at, wide);
	ret->offset = cursor_word(&at, wide);
	ret->size = cursor_word(&at, wide);
	ret->link = cursor_u32(&at);
	ret->info = cursor_u32(&at);
	ret->align = cursor_word(&at, wide);
	ret->entsize = cursor_word(&at, wide);
	ret->name = "";
	if (at.failed)
		*ret = (struct elf_section){.name = ""};
}

static void read_sections(struct elf_file *elf, struct table_place *place)
{
	struct elf_section first;
	uint32_t ignored;
	if (!place->offset || place->entry_size < (elf->is_64bit ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
		return;
	/* Counts that don't fit in the header are in the first section. */
	read_section(elf, place, 0, &first, &ignored);
	if (!place->count)
		place->count = first.size < HEADERS_MAX ? (uint32_t)first.size : 0;
	if (place->names == SHN_XINDEX)
		place->names = first.link;
	if (place->offset > elf->size || place->count > (elf->size - place->offset) / place->entry_size)
		return;
	elf->sections = mem_zalloc_array(place->count, sizeof(*elf->sections));
	elf->section_count = place->count;
	uint32_t *names = mem_alloc_array(place->count, sizeof(*names));
	for (uint32_t i = 0; i < place->count; i++)
		read_section(elf, place, i, &elf->sections[i], &names[i]);
	const struct elf_section *strings = place->names < place->count ? &elf->sections[place->names] : NULL;
	for (uint32_t i = 0; i < place->count; i++)
		elf->sections[i].name = string_at(elf, strings, names[i]);
	free(names);
}

static void read_segments(struct elf_file *elf, const struct table_place *place)
{
	if (!place->offset || place->entry_size < (elf->is_64bit ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
		return;
	uint32_t count = place->count;
	if (count == PN_XNUM)
		count = elf->section_count ? elf->sections[0].info : 0;
	if (place->offset > elf->size || count > (elf->size - place->offset) / place->entry_size)
		return;
	elf->segments = mem_zalloc_array(count, sizeof(*elf->segments));
	elf->segment_count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct cursor at = cursor_at(elf, place->offset + (uint64_t)i * place->entry_size, place->entry_size);
		struct elf_segment *segment = &elf->segments[i];
		segment->type = cursor_u32(&at);
		if (elf->is_64bit)
			segment->flags = cursor_u32(&at);
		segment->offset = cursor_word(&at, elf->is_64bit);
		segment->vaddr = cursor_word(&at, elf->is_64bit);
		cursor_word(&at, elf->is_64bit);
		segment->filesz = cursor_word(&at, elf->is_64bit);
		segment->memsz = cursor_word(&at, elf->is_64bit);
		if (!elf->is_64bit)
			segment->flags = cursor_u32(&at);
	}
}

bool elf_notes_build_id(const void *notes, size_t size, bool swap, struct buildid *ret)
{
	struct cursor at = cursor_init(notes, size, swap);
	while (cursor_left(&at) >= 12) {
		uint32_t name_size = cursor_u32(&at), data_size = cursor_u32(&at), type = cursor_u32(&at);
		const void *name = cursor_bytes(&at, ((uint64_t)name_size + 3) & ~(uint64_t)3);
		const void *data = cursor_bytes(&at, data_size);
		cursor_bytes(&at, -data_size & 3);
		if (!name || !data)
			return false;
		if (type != NT_GNU_BUILD_ID || name_size != 4 || memcmp(name, "GNU", 4) || !data_size)
			continue;
		ret->size = data_size < sizeof(ret->data) ? (uint8_t)data_size : sizeof(ret->data);
		memcpy(ret->data, data, ret->size);
		return true;
	}
	return false;
}

static void find_build_id(struct elf_file *elf)
{
	for (uint32_t i = 0; i < elf->section_count; i++) {
		const uint8_t *data = elf->sections[i].type == SHT_NOTE ? elf_section_data(elf, &elf->sections[i]) : NULL;
		if (data && elf_notes_build_id(data, elf->sections[i].size, elf->swap, &elf->build_id))
			return;
	}
	for (uint32_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];
		struct cursor at = cursor_at(elf, segment->offset, segment->filesz);
		if (segment->type == PT_NOTE && !at.failed && elf_notes_build_id(at.at, segment->filesz, elf->swap, &elf->build_id))
			return;
	}
}

static struct error *read_headers(struct elf_file *elf, const char *name)
{
	const uint8_t *ident = elf->data;
	if (elf->size < EI_NIDENT || memcmp(ident, ELFMAG, SELFMAG))
		return error_new_kind(ERROR_FORMAT, "%s: not an ELF file", name);
	if ((ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64) ||
	    (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB))
		return error_new_kind(ERROR_FORMAT, "%s: unknown ELF class or byte order", name);
	elf->is_64bit = ident[EI_CLASS] == ELFCLASS64;
	elf->swap = (ident[EI_DATA] == ELFDATA2MSB) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	struct cursor at = cursor_at(elf, EI_NIDENT, elf->size - EI_NIDENT);
	struct table_place sections = {0}, segments = {0};
	elf->type = cursor_u16(&at);
	elf->machine = cursor_u16(&at);
	cursor_u32(&at);
	elf->entry = cursor_word(&at, elf->is_64bit);
	segments.offset = cursor_word(&at, elf->is_64bit);
	sections.offset = cursor_word(&at, elf->is_64bit);
	cursor_u32(&at);
	cursor_u16(&at);
	segments.entry_size = cursor_u16(&at);
	segments.count = cursor_u16(&at);
	sections.entry_size = cursor_u16(&at);
	sections.count = cursor_u16(&at);
	sections.names = cursor_u16(&at);
	if (at.failed)
		return error_new_kind(ERROR_FORMAT, "%s: truncated ELF header", name);
	read_sections(elf, &sections);
	read_segments(elf, &segments);
	find_build_id(elf);
	return NULL;
}

struct error *elf_open_memory(void *bytes, size_t size, const char *name, struct elf_file *ret)
{
	struct elf_file elf = {.data = bytes, .size = size, .owned = bytes};
	struct error *error = read_headers(&elf, name);
	if (error)
		elf_close(&elf);
	else
		*ret = elf;
	return error;
}

struct error *elf_open(const char *path, struct elf_file *ret)
{
	struct stat status;
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return error_new_kind(ERROR_FORMAT, "%s: not a regular file", path);
	struct mapping mapping = {0};
	struct error *error = mapping_open(path, &mapping);
	if (error)
		return error;
	enum inflate_kind kind = inflate_detect(mapping.data, mapping.size);
	if (kind != INFLATE_NONE) {
		size_t size, limit = inflate_limit(mapping.size);
		void *bytes = inflate_buffer(kind, mapping.data, mapping.size, limit, &size);
		mapping_close(&mapping);
		if (!bytes)
			return error_new_kind(ERROR_FORMAT, "%s cannot be decompressed, or would exceed %zu MB", path, limit >> 20);
		return elf_open_memory(bytes, size, path, ret);
	}
	struct elf_file elf = {.data = mapping.data, .size = mapping.size, .mapping = mapping};
	error = read_headers(&elf, path);
	if (error)
		elf_close(&elf);
	else
		*ret = elf;
	return error;
}

void elf_close(struct elf_file *elf)
{
	free(elf->sections);
	free(elf->segments);
	free(elf->owned);
	if (elf->mapping.data)
		mapping_close(&elf->mapping);
	*elf = (struct elf_file){0};
}

const struct arch *elf_arch(const struct elf_file *elf)
{
	return arch_of_elf(elf->machine, elf->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__));
}

const struct elf_section *elf_section(const struct elf_file *elf, const char *name)
{
	for (uint32_t i = 1; i < elf->section_count; i++)
		if (!strcmp(elf->sections[i].name, name))
			return &elf->sections[i];
	return NULL;
}

const uint8_t *elf_section_data(const struct elf_file *elf, const struct elf_section *section)
{
	if (section->type == SHT_NOBITS)
		return NULL;
	return cursor_at(elf, section->offset, section->size).at;
}

const struct elf_segment *elf_segment_of(const struct elf_file *elf, uint64_t vaddr)
{
	for (uint32_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];
		uint64_t size = segment->memsz > segment->filesz ? segment->memsz : segment->filesz;
		if (segment->type == PT_LOAD && vaddr >= segment->vaddr && vaddr - segment->vaddr < size)
			return segment;
	}
	return NULL;
}

const char *elf_debuglink(const struct elf_file *elf)
{
	const struct elf_section *section = elf_section(elf, ".gnu_debuglink");
	const char *name = section ? string_at(elf, section, 0) : "";
	return *name ? name : NULL;
}

uint64_t elf_symbol_count(const struct elf_file *elf, const struct elf_section *table)
{
	size_t entry = elf->is_64bit ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	return elf_section_data(elf, table) ? table->size / entry : 0;
}

bool elf_symbol_at(const struct elf_file *elf, const struct elf_section *table, uint64_t index, struct elf_symbol *ret)
{
	size_t entry = elf->is_64bit ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	const uint8_t *data = elf_section_data(elf, table);
	if (!data || index >= table->size / entry)
		return false;
	struct cursor at = cursor_init(data + index * entry, entry, elf->swap);
	uint32_t name = cursor_u32(&at);
	if (!elf->is_64bit) {
		ret->value = cursor_u32(&at);
		ret->size = cursor_u32(&at);
	}
	ret->info = cursor_u8(&at);
	ret->other = cursor_u8(&at);
	ret->section = cursor_u16(&at);
	if (elf->is_64bit) {
		ret->value = cursor_u64(&at);
		ret->size = cursor_u64(&at);
	}
	ret->name = name ? string_at(elf, table->link < elf->section_count ? &elf->sections[table->link] : NULL, name) : "";
	return true;
}

bool elf_relocation_at(const struct elf_file *elf, const struct elf_section *section, uint64_t index, struct elf_relocation *ret)
{
	size_t word = elf->is_64bit ? 8 : 4;
	size_t entry = word * (section->type == SHT_RELA ? 3 : 2);
	const uint8_t *data = elf_section_data(elf, section);
	if (!data || index >= section->size / entry)
		return false;
	struct cursor at = cursor_init(data + index * entry, entry, elf->swap);
	ret->offset = cursor_word(&at, elf->is_64bit);
	uint64_t info = cursor_word(&at, elf->is_64bit);
	ret->symbol = elf->is_64bit ? ELF64_R_SYM(info) : ELF32_R_SYM(info);
	ret->addend = section->type == SHT_RELA ? cursor_word(&at, elf->is_64bit) : 0;
	return true;
}

bool elf_read_build_id(const char *path, struct buildid *ret)
{
	struct elf_file elf = {0};
	struct error *error = elf_open(path, &elf);
	if (error) {
		error_free(error);
		return false;
	}
	*ret = elf.build_id;
	elf_close(&elf);
	return ret->size;
}
