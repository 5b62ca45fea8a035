/* The file, offset = virtual address from the code on:
 *
 *	ELF header | segment | code | .eh_frame | .eh_frame_hdr | note | symbols | strings | lines … | section headers
 *
 * Call frame information counts from its own place, so it must lie where the compiler has put it: behind the code, at the next multiple of
 * 8. The line program is made of the dump's entries. All is in the byte order of the dump. */
#include "symbol/code/code_image.h"

#include "base/hash.h"
#include "symbol/code/image.h"

#include <string.h>

_Static_assert((int)CODE_IMAGE_TEXT == (int)IMAGE_TEXT, "the code comes first");

static void add_lines(struct image *image, const struct jitdump *dump, const struct jitdump_code *code)
{
	struct image_lines program;
	struct jitdump_lines lines;
	image_lines_begin(&program, dump->swap);
	jitdump_lines_begin(dump, code, &lines);
	while (jitdump_lines_next(&lines))
		if (lines.file && *lines.file && lines.distance >= program.last_distance && lines.distance < code->size)
			image_lines_add(&program, lines.file, lines.line, lines.distance);
	image_add_lines(image, &program, code->size);
}

static void add_code(struct image *image, const struct jitdump *dump, const struct jitdump_code *code)
{
	struct jitdump_unwind unwind;
	strbuf_add_chars(image->out, '\0', CODE_IMAGE_TEXT - image_position(image));
	image_begin_section(image, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 16);
	strbuf_add(image->out, dump->mapping.data + code->offset, code->size);
	image_end_section(image);
	if (!jitdump_unwind(dump, code, &unwind))
		return;
	image_begin_section(image, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 8);
	strbuf_add(image->out, unwind.eh_frame, unwind.size);
	image_end_section(image);
	image_begin_section(image, ".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC, 1);
	strbuf_add(image->out, unwind.eh_frame + unwind.size, unwind.table_size);
	image_end_section(image);
}

static struct buildid make_id(const struct jitdump *dump, const struct jitdump_code *code)
{
	struct buildid id = {.size = sizeof(id.data)};
	uint64_t parts[3];
	for (uint64_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		parts[i] = hash_mix(hash_id(code->name, strlen(code->name), i) +
				    3 * hash_id(dump->mapping.data + code->offset, code->size, i));
	memcpy(id.data, parts, sizeof(id.data));
	return id;
}

static void add_symbol(struct image *image, const struct jitdump_code *code)
{
	const struct image_symbol symbol = {.address = CODE_IMAGE_TEXT, .size = code->size, .name = 1};
	struct strbuf strings = {0};
	strbuf_add_char(&strings, 0);
	strbuf_add(&strings, code->name, strlen(code->name) + 1);
	image_add_symbols(image, &symbol, 1, &strings);
	strbuf_deinit(&strings);
}

void code_image_make(const struct jitdump *dump, const struct jitdump_code *code, struct strbuf *out, struct buildid *ret_id)
{
	struct image image;
	image_begin(&image, out, dump->swap);
	*ret_id = make_id(dump, code);
	add_code(&image, dump, code);
	image_add_note(&image, ret_id);
	uint64_t end = image_position(&image);
	add_symbol(&image, code);
	add_lines(&image, dump, code);
	image_end(&image, dump->machine, end);
}
