/* Mini debug information. */
#include "symbol/elf/minidebug.h"

#include "symbol/elf/inflate.h"

bool minidebug_open(const struct elf_file *elf, struct elf_file *ret)
{
	const struct elf_section *section = elf_section(elf, ".gnu_debugdata");
	const uint8_t *data = section ? elf_section_data(elf, section) : NULL;
	size_t size;
	void *bytes = data ? inflate_buffer(INFLATE_XZ, data, section->size, inflate_limit(section->size), &size) : NULL;
	struct error *error = bytes ? elf_open_memory(bytes, size, ".gnu_debugdata", ret) : NULL;
	if (error)
		error_free(error);
	return bytes && !error;
}
