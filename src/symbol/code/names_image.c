#include "symbol/code/names_image.h"

#include "base/hash.h"
#include "base/mem.h"
#include "symbol/code/image.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)NAMES_IMAGE_BEGIN == (int)IMAGE_TEXT, "addresses are the image's");

static void add_symbols(struct image *image, const struct names_image_function *functions, size_t count)
{
	struct image_symbol *symbols = mem_alloc_array(count, sizeof(*symbols));
	struct strbuf strings = {0};
	strbuf_add_char(&strings, 0);
	for (size_t i = 0; i < count; i++) {
		symbols[i] = (struct image_symbol){
			.address = IMAGE_TEXT + i * NAMES_IMAGE_STRIDE, .size = NAMES_IMAGE_STRIDE, .name = strings.len};
		strbuf_add(&strings, functions[i].name, strlen(functions[i].name) + 1);
	}
	image_add_symbols(image, symbols, count, &strings);
	strbuf_deinit(&strings);
	free(symbols);
}

static void add_lines(struct image *image, const struct names_image_function *functions, size_t count)
{
	struct image_lines lines;
	image_lines_begin(&lines, false);
	for (size_t i = 0; i < count; i++) {
		const struct names_image_function *function = &functions[i];
		uint64_t begin = (uint64_t)i * NAMES_IMAGE_STRIDE;
		image_lines_add(&lines, function->file, function->first_line, begin);
		for (size_t j = 0; j < function->line_count; j++)
			image_lines_add(&lines, function->file, function->first_line + function->lines[j], begin + function->lines[j]);
	}
	image_add_lines(image, &lines, (uint64_t)count * NAMES_IMAGE_STRIDE);
}

void names_image_make(const struct names_image_function *functions, size_t count, uint16_t machine, struct strbuf *out,
		      struct buildid *ret_id)
{
	struct buildid id = {.size = sizeof(id.data)};
	struct image image;
	uint64_t parts[3];
	size_t begin = out->len, size = count * (size_t)NAMES_IMAGE_STRIDE;
	image_begin(&image, out, false);
	strbuf_add_chars(out, '\0', IMAGE_TEXT - image_position(&image));
	image_begin_section(&image, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, 16)->sh_size = size;
	size_t at = image_add_note(&image, &id);
	add_symbols(&image, functions, count);
	add_lines(&image, functions, count);
	image_end(&image, machine, IMAGE_TEXT + size);
	for (uint64_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		parts[i] = hash_id(out->data + begin, out->len - begin, i);
	memcpy(id.data, parts, sizeof(id.data));
	memcpy(out->data + at, id.data, sizeof(id.data));
	*ret_id = id;
}
