/* BPF programs that were loaded while recording, one line each: what /proc/kallsyms would call them, where they lay, how long they were.
 *
 * The entry holds a struct bpf_prog_info whose pointers are offsets into the data behind it. Names of functions come from the program's
 * BTF. Source of the facts: include/uapi/linux/bpf.h. */
#include "base/cursor.h"
#include "base/formats/btf.h"
#include "base/text.h"
#include "perfdata/features/features_print_internal.h"

#include <inttypes.h>
#include <string.h>

enum {
	/* positions in struct bpf_prog_info */
	INFO_ID = 4,
	INFO_NAME = 64,
	INFO_KSYM_COUNT = 104,
	INFO_KSYMS = 112,
	INFO_LENGTHS = 120,
	INFO_BTF_ID = 128,
	INFO_FUNCTION_SIZE = 132,
	INFO_FUNCTIONS = 136,
	INFO_TAG_COUNT = 180,
	INFO_TAGS = 184,

	ENTRY_HEAD = 16, /* before the bpf_prog_info */
	TAG_SIZE = 8,
	NAME_SIZE = 16,
};

struct program {
	const uint8_t *info;
	size_t info_size;
	const uint8_t *data;
	size_t data_size;
	bool has_btf;
	struct btf btf;
	bool swap;
};

static uint64_t number_at(const uint8_t *base, size_t size, uint64_t offset, size_t width, bool swap)
{
	if (offset > size || width > size - offset)
		return 0;
	struct cursor cursor = cursor_init(base + offset, width, swap);
	return width == 8 ? cursor_u64(&cursor) : cursor_u32(&cursor);
}

static uint64_t info_number(const struct program *program, uint64_t offset, size_t width)
{
	return number_at(program->info, program->info_size, offset, width, program->swap);
}

/* Element `index` of the array that the info's field points to. */
static uint64_t array_number(const struct program *program, uint64_t field, uint64_t index, size_t stride, size_t width)
{
	uint64_t offset = info_number(program, field, 8);
	return offset > program->data_size ? 0
					   : number_at(program->data, program->data_size, offset + index * stride, width, program->swap);
}

static void find_btf(const struct features *features, struct program *program)
{
	uint32_t id = (uint32_t)info_number(program, INFO_BTF_ID, 4);
	for (size_t i = 0; id && i < features->btfs.len && !program->has_btf; i++) {
		const struct feature_btf *btf = &features->btfs.data[i];
		program->has_btf = btf->id == id;
		if (program->has_btf)
			btf_init(&program->btf, btf->data, btf->size, program->swap);
	}
}

/* ── Lines ── */

/* bpf_prog_TAG_NAME */
static void add_name(const struct program *program, uint64_t index, uint64_t count, struct strbuf *out)
{
	uint64_t tags = info_number(program, INFO_TAGS, 8);
	strbuf_add_str(out, "bpf_prog_");
	for (size_t i = 0; i < TAG_SIZE && tags <= program->data_size && tags + index * TAG_SIZE + i < program->data_size; i++)
		strbuf_printf(out, "%02x", program->data[tags + index * TAG_SIZE + i]);
	if (program->has_btf) {
		uint64_t stride = info_number(program, INFO_FUNCTION_SIZE, 4);
		/* an entry: instruction offset, type id */
		uint32_t type = (uint32_t)array_number(program, INFO_FUNCTIONS, index * stride + 4, 1, 4);
		const char *name = btf_type_name(&program->btf, type);
		strbuf_add_char(out, '_');
		if (name)
			text_add_safe(out, name, strlen(name));
	} else if (index == 0 && count == 1) {
		const char *name = (const char *)program->info + INFO_NAME;
		if (program->info_size < INFO_NAME + NAME_SIZE || !*name)
			return;
		strbuf_add_char(out, '_');
		text_add_safe(out, name, strnlen(name, NAME_SIZE));
	} else {
		strbuf_add_str(out, "_F");
	}
}

static void add_place(const struct program *program, uint64_t index, struct strbuf *out)
{
	strbuf_printf(out, " addr 0x%" PRIx64 " size %u\n", array_number(program, INFO_KSYMS, index, 8, 8),
		      (uint32_t)array_number(program, INFO_LENGTHS, index, 4, 4));
}

void bpf_program_print(const struct features *features, const struct feature_bpf_prog *entry, bool swap, struct strbuf *out)
{
	struct cursor cursor = cursor_init(entry->data, entry->size, swap);
	struct program program = {.swap = swap};
	program.info_size = cursor_u32(&cursor);
	program.data_size = cursor_u32(&cursor);
	cursor_u64(&cursor); /* which arrays there are */
	program.info = cursor_bytes(&cursor, program.info_size);
	program.data = cursor_bytes(&cursor, program.data_size);
	uint64_t count = info_number(&program, INFO_KSYM_COUNT, 4);
	if (cursor.failed || count != info_number(&program, INFO_TAG_COUNT, 4) || count > program.data_size / TAG_SIZE)
		return;
	find_btf(features, &program);
	strbuf_printf(out, "# bpf_prog_info %u:", entry->id);
	if (count != 1)
		strbuf_add_char(out, '\n');
	for (uint64_t i = 0; i < count; i++) {
		if (count == 1)
			strbuf_add_char(out, ' ');
		else
			strbuf_printf(out, "# \tsub_prog %" PRIu64 ": ", i);
		add_name(&program, i, count, out);
		add_place(&program, i, out);
	}
	btf_deinit(&program.btf);
}
