/* Opening files with debug information.
 *
 * Relocatable files (kernel modules): addresses in debug information are places in sections, by relocations. They become
 * debug_info_section_address(), a number space in which each section has its own part.
 */
#include "symbol/dwarf/dwarf_source.h"

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "symbol/dwarf/debug_info.h"
#include "symbol/dwarf/dwarf_unit.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[DWARF_SECTIONS] = {
	[DWARF_INFO] = "info",	       [DWARF_ABBREV] = "abbrev",	    [DWARF_LINE] = "line",	   [DWARF_STR] = "str",
	[DWARF_LINE_STR] = "line_str", [DWARF_STR_OFFSETS] = "str_offsets", [DWARF_ADDR] = "addr",	   [DWARF_RANGES] = "ranges",
	[DWARF_RNGLISTS] = "rnglists", [DWARF_ARANGES] = "aranges",	    [DWARF_CU_INDEX] = "cu_index",
};

/* ---- sections ---- */

static const struct elf_section *find_section(const struct elf_file *elf, const char *start, const char *name, bool split)
{
	char full[64];
	bool index = name == names[DWARF_CU_INDEX];
	snprintf(full, sizeof(full), ".%sdebug_%s%s", start, name, split && !index ? ".dwo" : "");
	return elf_section(elf, full);
}

/* What a relocation of a data section writes: how many bytes; 0 = unknown kind. */
static unsigned int relocation_width(const struct arch_code *code, uint32_t type)
{
	if (type == code->reloc_64)
		return type ? 8 : 0;
	return type && (type == code->reloc_32[0] || type == code->reloc_32[1]) ? 4 : 0;
}

/* RELA entries of 64-bit files; debug information of relocatable files of 32 bits has addends in place and is left as it is. */
static void relocate(const struct elf_file *elf, const struct elf_section *relocations, uint8_t *bytes, size_t size)
{
	const struct elf_section *symbols = relocations->link < elf->section_count ? &elf->sections[relocations->link] : NULL;
	const uint8_t *data = elf_section_data(elf, relocations);
	const struct arch *arch = elf_arch(elf);
	if (!data || !symbols || !elf->is_64bit || !arch)
		return;
	struct cursor at = cursor_init(data, relocations->size, elf->swap);
	while (cursor_left(&at) >= sizeof(Elf64_Rela)) {
		uint64_t offset = cursor_u64(&at), info = cursor_u64(&at), addend = cursor_u64(&at);
		unsigned int width = relocation_width(&arch->code, (uint32_t)ELF64_R_TYPE(info));
		struct elf_symbol symbol;
		if (!width || offset > size || size - offset < width || !elf_symbol_at(elf, symbols, ELF64_R_SYM(info), &symbol))
			continue;
		uint64_t value = symbol.value + addend;
		if (width == 8 && symbol.section < elf->section_count && (elf->sections[symbol.section].flags & SHF_ALLOC))
			value += debug_info_section_address(symbol.section, 0);
		if (elf->swap)
			value = __builtin_bswap64(value) >> (width == 4 ? 32 : 0);
		memcpy(bytes + offset, &value, width);
	}
}

static void relocate_section(struct dwarf_source *file, enum dwarf_section which, uint32_t index)
{
	struct dwarf_bytes *bytes = &file->sections[which];
	for (uint32_t i = 1; i < file->elf.section_count; i++) {
		const struct elf_section *section = &file->elf.sections[i];
		if (section->type != SHT_RELA || section->info != index)
			continue;
		if (!file->owned[which]) {
			file->owned[which] = mem_alloc(bytes->size);
			memcpy(file->owned[which], bytes->data, bytes->size);
			bytes->data = file->owned[which];
		}
		relocate(&file->elf, section, file->owned[which], bytes->size);
	}
}

static void load_section(struct dwarf_source *file, enum dwarf_section which)
{
	const struct elf_file *elf = &file->elf;
	struct dwarf_bytes *bytes = &file->sections[which];
	const struct elf_section *section = find_section(elf, "", names[which], file->split);
	if (!section)
		section = find_section(elf, "z", names[which], file->split);
	bytes->data = section ? elf_section_inflate(elf, section, &bytes->size, &file->owned[which]) : NULL;
	if (!bytes->data)
		bytes->size = 0;
	else if (elf->type == ET_REL && !file->split)
		relocate_section(file, which, (uint32_t)(section - elf->sections));
}

struct dwarf_bytes dwarf_section_bytes(const struct dwarf_source *source, enum dwarf_section which)
{
	struct dwarf_source *file = (struct dwarf_source *)source;
	if (!__atomic_load_n(&file->loaded[which], __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&file->load_lock);
		if (!file->loaded[which])
			load_section(file, which);
		__atomic_store_n(&file->loaded[which], true, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&file->load_lock);
	}
	return file->sections[which];
}

/* ---- supplementary files ---- */

static struct dwarf_source *open_plain(const char *path, bool split);

static struct dwarf_source *open_with_id(const char *path, const uint8_t *id, size_t id_size)
{
	struct buildid found;
	if (!elf_read_build_id(path, &found) || found.size != id_size || memcmp(found.data, id, id_size) != 0)
		return NULL;
	return open_plain(path, false);
}

/* .gnu_debugaltlink: a file name, absolute or from the file's directory, and the build-id of what is meant. Debian's debug packages put
 * these files into /usr/lib/debug/.dwz, where build-id links lead to them. */
static struct dwarf_source *open_supplement(const struct dwarf_source *file)
{
	const struct elf_section *section = elf_section(&file->elf, ".gnu_debugaltlink");
	const uint8_t *data = section ? elf_section_data(&file->elf, section) : NULL;
	const uint8_t *nul = data ? memchr(data, 0, section->size) : NULL;
	size_t id_size = nul ? section->size - (size_t)(nul + 1 - data) : 0;
	if (id_size < 2 || id_size > sizeof(((struct buildid *)0)->data))
		return NULL;
	const char *name = (const char *)data, *slash = strrchr(file->path, '/');
	int directory = *name != '/' && slash ? (int)(slash - file->path) + 1 : 0;
	cleanup_free char *real = directory ? realpath(file->path, NULL) : NULL;
	const char *real_slash = real ? strrchr(real, '/') : NULL;
	cleanup_free char *beside = mem_printf("%.*s%s", directory, file->path, name);
	cleanup_free char *really = mem_printf("%.*s%s", real_slash ? (int)(real_slash - real) + 1 : 0, real ? real : "", name);
	struct buildid id = {.size = (uint8_t)id_size};
	char text[41];
	memcpy(id.data, nul + 1, id_size);
	buildid_format(&id, text);
	cleanup_free char *by_id = mem_printf("/usr/lib/debug/.build-id/%.2s/%s.debug", text, text + 2);
	const char *const places[] = {beside, really, by_id};
	struct dwarf_source *found = NULL;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !found; i++)
		found = open_with_id(places[i], nul + 1, id_size);
	return found;
}

/* ---- files ---- */

static struct dwarf_source *open_plain(const char *path, bool split)
{
	struct dwarf_source *file = mem_zalloc(sizeof(*file));
	pthread_mutex_init(&file->abbrev_lock, NULL);
	pthread_mutex_init(&file->load_lock, NULL);
	file->path = mem_strdup(path);
	file->split = split;
	struct error *error = elf_open(path, &file->elf);
	bool opened = !error && elf_may_inflate(&file->elf, path);
	error_free(error);
	if (opened && dwarf_section_bytes(file, DWARF_INFO).data && dwarf_section_bytes(file, DWARF_ABBREV).data) {
		dwarf_units_read(file);
		return file;
	}
	dwarf_source_close(file);
	return NULL;
}

struct dwarf_source *dwarf_source_open(const char *path, bool split)
{
	struct dwarf_source *file = open_plain(path, split);
	if (file && !split)
		file->supplement = open_supplement(file);
	return file;
}

void dwarf_source_close(struct dwarf_source *file)
{
	if (!file)
		return;
	dwarf_source_close(file->supplement);
	dwarf_units_free(file);
	for (int i = 0; i < DWARF_SECTIONS; i++)
		free(file->owned[i]);
	elf_close(&file->elf);
	pthread_mutex_destroy(&file->abbrev_lock);
	pthread_mutex_destroy(&file->load_lock);
	free(file->path);
	free(file);
}

struct cursor dwarf_cursor(const struct dwarf_source *file, enum dwarf_section section, uint64_t offset)
{
	struct dwarf_bytes bytes = dwarf_section_bytes(file, section);
	if (offset > bytes.size || !bytes.data)
		return (struct cursor){.failed = true};
	return cursor_init(bytes.data + offset, bytes.size - offset, file->elf.swap);
}

const char *dwarf_string(const struct dwarf_source *file, enum dwarf_section section, uint64_t offset)
{
	struct cursor at = dwarf_cursor(file, section, offset);
	return cursor_string(&at);
}
