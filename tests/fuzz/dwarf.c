/* Debug information: units, abbreviations, functions, ranges, lines, and names, of ELF files made of anything. */
#include "symbol/dwarf/debug_info.h"
#include "symbol/elf/elf.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Addresses where code is: the starts and inner places of the sections, and small ones. */
static void ask(struct debug_info *info, const struct elf_file *elf)
{
	struct debug_frame frames[DEBUG_FRAMES_MAX];
	for (uint32_t i = 0; i < elf->section_count && i < 32; i++) {
		const struct elf_section *section = &elf->sections[i];
		uint64_t start = elf->type == ET_REL ? debug_info_section_address(i, 0) : section->addr;
		for (unsigned int k = 0; k < 24; k++) {
			size_t count = debug_info_frames(info, start + k * (section->size / 16 % 4096 + 1), frames);
			for (size_t f = 0; f < count; f++) {
				if (frames[f].name && !*frames[f].name)
					abort();
				if (frames[f].file && memchr(frames[f].file, 0, strlen(frames[f].file)))
					abort();
			}
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char path[40];
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	struct debug_info *info = debug_info_open(path);
	struct elf_file elf = {0};
	struct error *error = info ? elf_open(path, &elf) : NULL;
	if (info && !error)
		ask(info, &elf);
	error_free(error);
	elf_close(&elf);
	debug_info_close(info);
	close(fd);
	return 0;
}
