/* Compressed sections of ELF files, in both forms: SHF_COMPRESSED with a header of the file's byte order, and the older one, where the name
 * begins with ".z" and the contents with "ZLIB" and the size, big endian.
 *
 * Sections of a hostile file can be all of the same bytes, and a thousand times as large as those. So it counts what all sections of a file
 * say they would take, and nothing of it is inflated when that is too much for a file of this size: the answer depends neither on order nor
 * on threads.
 */
#include "base/cursor.h"
#include "base/log.h"
#include "base/text.h"
#include "symbol/elf/elf.h"
#include "symbol/elf/inflate.h"

#include <elf.h>
#include <string.h>

struct compressed {
	enum inflate_kind kind; /* INFLATE_NONE: not known, or broken */
	const uint8_t *data;
	uint64_t size, inflated;
};

static bool is_compressed(const struct elf_section *section)
{
	return (section->flags & SHF_COMPRESSED) || str_starts_with(section->name, ".zdebug_");
}

static struct compressed read_old(const uint8_t *data, uint64_t size)
{
	uint64_t inflated = 0;
	if (size < 12 || memcmp(data, "ZLIB", 4) != 0)
		return (struct compressed){0};
	for (int i = 4; i < 12; i++)
		inflated = inflated << 8 | data[i];
	return (struct compressed){INFLATE_GZIP, data + 12, size - 12, inflated};
}

static struct compressed read_compressed(const struct elf_file *elf, const struct elf_section *section)
{
	const uint8_t *data = elf_section_data(elf, section);
	if (!data)
		return (struct compressed){0};
	if (!(section->flags & SHF_COMPRESSED))
		return read_old(data, section->size);
	struct cursor at = cursor_init(data, section->size, elf->swap);
	uint32_t type = cursor_u32(&at);
	if (elf->is_64bit)
		cursor_u32(&at);
	uint64_t size = elf->is_64bit ? cursor_u64(&at) : cursor_u32(&at);
	cursor_bytes(&at, elf->is_64bit ? 8 : 4);
	if (at.failed)
		return (struct compressed){0};
	enum inflate_kind kind = type == ELFCOMPRESS_ZLIB ? INFLATE_GZIP : type == 2 ? INFLATE_ZSTD : INFLATE_NONE;
	return (struct compressed){kind, at.at, cursor_left(&at), size};
}

uint64_t elf_inflated_size(const struct elf_file *elf)
{
	uint64_t total = 0;
	for (uint32_t i = 0; i < elf->section_count; i++) {
		const struct elf_section *section = &elf->sections[i];
		uint64_t size = is_compressed(section) ? read_compressed(elf, section).inflated : 0;
		total = size > UINT64_MAX - total ? UINT64_MAX : total + size;
	}
	return total;
}

bool elf_may_inflate(const struct elf_file *elf, const char *path)
{
	uint64_t total = elf_inflated_size(elf), limit = inflate_limit(elf->size);
	if (total <= limit)
		return true;
	if (path)
		log_warning("%s: ignoring compressed sections: their size of %llu MB exceeds the limit of %llu MB for a file of this size",
			    path, (unsigned long long)(total >> 20), (unsigned long long)(limit >> 20));
	return false;
}

const uint8_t *elf_section_inflate(const struct elf_file *elf, const struct elf_section *section, size_t *ret_size, void **ret_owned)
{
	*ret_owned = NULL;
	*ret_size = section->size;
	if (!is_compressed(section))
		return elf_section_data(elf, section);
	struct compressed compressed = read_compressed(elf, section);
	if (compressed.kind == INFLATE_NONE || !elf_may_inflate(elf, NULL))
		return NULL;
	*ret_owned = inflate_buffer(compressed.kind, compressed.data, compressed.size, compressed.inflated, ret_size);
	return *ret_owned;
}
