/* BPF programs that were loaded while recording, one line each: what /proc/kallsyms would call them, where they lay, how long they were.
 *
 * The entry holds a struct bpf_prog_info whose pointers are offsets into the data behind it. Names of functions come from the program's
 * BTF. Source of the facts: include/uapi/linux/bpf.h, Documentation/bpf/btf.rst. */
#include "base/cursor.h"
#include "base/text.h"
#include "perfdata/features_print_internal.h"

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

/* ── Names in BTF ── */

/* Bytes behind the 12 of each type. */
static size_t btf_extra(uint32_t info)
{
	size_t members = info & 0xffff;
	switch (info >> 24 & 0x1f) {
	case 1:	 /* int */
	case 14: /* var */
	case 17: /* declaration tag */
		return 4;
	case 3: /* array */
		return 12;
	case 4:	 /* struct */
	case 5:	 /* union */
	case 15: /* section */
	case 19: /* 64-bit enum */
		return members * 12;
	case 6:	 /* enum */
	case 13: /* function prototype */
		return members * 8;
	}
	return 0;
}

static const char *btf_type_name(const struct feature_btf *btf, uint32_t wanted, bool swap)
{
	struct cursor head = cursor_init(btf->data, btf->size, swap);
	cursor_u32(&head); /* magic, version, flags */
	uint32_t head_size = cursor_u32(&head), types = cursor_u32(&head), types_size = cursor_u32(&head);
	uint32_t strings = cursor_u32(&head), strings_size = cursor_u32(&head);
	uint64_t types_at = (uint64_t)head_size + types, strings_at = (uint64_t)head_size + strings;
	if (head.failed || types_at + types_size > btf->size || strings_at + strings_size > btf->size)
		return NULL;
	struct cursor type = cursor_init((const uint8_t *)btf->data + types_at, types_size, swap);
	for (uint32_t id = 1; !type.failed; id++) {
		uint32_t name = cursor_u32(&type), info = cursor_u32(&type);
		cursor_u32(&type);
		cursor_bytes(&type, btf_extra(info));
		if (id != wanted || type.failed || name >= strings_size)
			continue;
		struct cursor text = cursor_init((const uint8_t *)btf->data + strings_at + name, strings_size - name, false);
		return cursor_string(&text);
	}
	return NULL;
}

static const struct feature_btf *find_btf(const struct features *features, uint32_t id)
{
	for (size_t i = 0; id && i < features->btfs.len; i++)
		if (features->btfs.data[i].id == id)
			return &features->btfs.data[i];
	return NULL;
}

/* ── Lines ── */

/* bpf_prog_TAG_NAME */
static void add_name(const struct features *features, const struct program *program, uint64_t index, uint64_t count, struct strbuf *out)
{
	uint64_t tags = info_number(program, INFO_TAGS, 8);
	const struct feature_btf *btf = find_btf(features, (uint32_t)info_number(program, INFO_BTF_ID, 4));
	strbuf_add_str(out, "bpf_prog_");
	for (size_t i = 0; i < TAG_SIZE && tags <= program->data_size && tags + index * TAG_SIZE + i < program->data_size; i++)
		strbuf_printf(out, "%02x", program->data[tags + index * TAG_SIZE + i]);
	if (btf) {
		uint64_t stride = info_number(program, INFO_FUNCTION_SIZE, 4);
		/* an entry: instruction offset, type id */
		uint32_t type = (uint32_t)array_number(program, INFO_FUNCTIONS, index * stride + 4, 1, 4);
		const char *name = btf_type_name(btf, type, program->swap);
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
	strbuf_printf(out, "# bpf_prog_info %u:", entry->id);
	if (count != 1)
		strbuf_add_char(out, '\n');
	for (uint64_t i = 0; i < count; i++) {
		if (count == 1)
			strbuf_add_char(out, ' ');
		else
			strbuf_printf(out, "# \tsub_prog %" PRIu64 ": ", i);
		add_name(features, &program, i, count, out);
		add_place(&program, i, out);
	}
}
