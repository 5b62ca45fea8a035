/* Jitdumps: their code, lines and call frame information. */
#include "model/jitdump.h"
#include "base/log.h"
#include "symbol/code/code_image.h"
#include "unwind/cfi.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void read_frames(const struct jitdump *dump, const struct jitdump_code *code)
{
	const struct elf_file form = {.is_64bit = true, .swap = dump->swap, .machine = dump->machine};
	struct cfi_section frames;
	struct cfi_row row;
	struct jitdump_unwind unwind;
	if (!jitdump_unwind(dump, code, &unwind))
		return;
	cfi_section_init(&frames, &form, unwind.eh_frame, unwind.size, unwind.address, true);
	cfi_section_row(&frames, code->offset, &row);
	for (size_t i = 0; i < frames.count && i < 20; i++) {
		const struct cfi_entry entry = cfi_section_at(&frames, i);
		cfi_section_row(&frames, cfi_entry_end(&frames, &entry) - 1, &row);
	}
	cfi_section_deinit(&frames);
}

/* What is written of it can be read: the code under its name. */
static void make_image(const struct jitdump *dump, const struct jitdump_code *code)
{
	struct strbuf out = {0};
	struct buildid id;
	code_image_make(dump, code, &out, &id);
	if (out.len < CODE_IMAGE_TEXT + code->size || memcmp(out.data + CODE_IMAGE_TEXT, dump->mapping.data + code->offset, code->size))
		abort();
	strbuf_deinit(&out);
}

static volatile size_t keep; /* what is read isn't optimised away */

static void read_code(const struct jitdump *dump, const struct jitdump_code *code)
{
	const char *file;
	uint32_t line;
	size_t used = strlen(code->name);
	if (code->offset > dump->mapping.size || code->size > dump->mapping.size - code->offset)
		abort();
	if (jitdump_find(dump, code->offset) != code || jitdump_find(dump, code->offset + code->size - 1) != code)
		abort();
	for (uint64_t at = 0; at < code->size && at < 64; at += 4)
		if (jitdump_line(dump, code, at, &file, &line))
			used += strlen(file);
	keep = used;
	read_frames(dump, code);
	make_image(dump, code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jitdump *dump;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	log_set_level(LOG_QUIET);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	struct error *error = jitdump_open(fd, "fuzz", 0, &dump);
	close(fd);
	if (error) {
		error_free(error);
		return 0;
	}
	for (size_t i = 0; i < dump->events.len; i++)
		if (dump->events.data[i].code >= dump->codes.len)
			abort();
	for (size_t i = 0; i < dump->codes.len && i < 200; i++)
		read_code(dump, &dump->codes.data[i]);
	jitdump_find(dump, UINT64_MAX);
	jitdump_close(dump);
	return 0;
}
