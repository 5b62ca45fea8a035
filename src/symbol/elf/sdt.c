/* Notes of static tracepoints. The section .note.stapsdt has one note for each place (name "stapsdt", type 3):
 *
 *	address, base, semaphore      of the file's word size
 *	provider \0 name \0 arguments \0
 *
 * A prelinked file's addresses have moved: by as much as its section .stapsdt.base lies elsewhere than the note says it was.
 * Source: the SystemTap wiki, "UserSpaceProbeImplementation". */
#include "symbol/elf/sdt.h"

#include "base/cursor.h"

#include <elf.h>
#include <string.h>

enum { NOTE_TYPE = 3 };

static uint64_t read_word(struct cursor *at, bool is_64bit)
{
	return is_64bit ? cursor_u64(at) : cursor_u32(at);
}

static const char *read_string(struct cursor *at)
{
	size_t len = strnlen((const char *)at->at, cursor_left(at));

	if (at->failed || len == cursor_left(at)) {
		at->failed = true;
		return "";
	}
	return cursor_bytes(at, len + 1);
}

static bool read_probe(const struct elf_file *elf, struct cursor at, struct sdt_probe *ret)
{
	const struct elf_section *base = elf_section(elf, ".stapsdt.base");

	ret->address = read_word(&at, elf->is_64bit);
	uint64_t noted_base = read_word(&at, elf->is_64bit);
	ret->semaphore = read_word(&at, elf->is_64bit);
	ret->provider = read_string(&at);
	ret->name = read_string(&at);
	ret->arguments = read_string(&at);
	if (base && noted_base) {
		ret->address += base->addr - noted_base;
		ret->semaphore += ret->semaphore ? base->addr - noted_base : 0;
	}
	return !at.failed;
}

static const void *skip_aligned(struct cursor *at, uint32_t size)
{
	const void *bytes = cursor_bytes(at, size);

	cursor_bytes(at, -size & 3u);
	return bytes;
}

void sdt_visit(const struct elf_file *elf, void (*visit)(void *context, const struct sdt_probe *probe), void *context)
{
	const struct elf_section *section = elf_section(elf, ".note.stapsdt");
	const uint8_t *data = section ? elf_section_data(elf, section) : NULL;

	if (!data)
		return;
	for (struct cursor at = cursor_init(data, section->size, elf->swap); cursor_left(&at);) {
		uint32_t name_size = cursor_u32(&at), size = cursor_u32(&at), type = cursor_u32(&at);
		const char *name = skip_aligned(&at, name_size);
		const void *bytes = cursor_bytes(&at, size);
		struct sdt_probe probe;
		if (at.failed)
			return;
		if (type == NOTE_TYPE && name_size == sizeof("stapsdt") && !memcmp(name, "stapsdt", name_size) &&
		    read_probe(elf, cursor_init(bytes, size, elf->swap), &probe))
			visit(context, &probe);
		if (cursor_left(&at))
			cursor_bytes(&at, -size & 3u);
	}
}
