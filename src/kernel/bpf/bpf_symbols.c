/* Names of BPF functions come from three places: the tag (a hash of the code) of each function, the type id of each function, and the type
 * information (base/formats/btf.h). Source of the facts: include/uapi/linux/bpf.h. */
#include "kernel/bpf/bpf_symbols.h"

#include "base/cursor.h"
#include "kernel/bpf/bpf_programs.h"

#include <stdio.h>
#include <string.h>

/* Bits of the array mask. */
enum { ARRAY_ADDRESSES = 3, ARRAY_LENGTHS = 4, ARRAY_FUNCTIONS = 5, ARRAY_TAGS = 8 };

bool bpf_symbols_open(struct bpf_symbols *symbols, uint32_t id)
{
	struct {
		uint32_t info_size, data_size;
		uint64_t arrays;
	} head;
	uint32_t btf;

	*symbols = (struct bpf_symbols){0};
	if (!bpf_program_describe(id, &symbols->program, &btf))
		return false;
	struct cursor at = cursor_init(symbols->program.data, symbols->program.len, false);
	const void *bytes = cursor_bytes(&at, sizeof(head));
	memcpy(&head, bytes ? bytes : &(typeof(head)){0}, sizeof(head));
	const void *info = cursor_bytes(&at, head.info_size);
	symbols->data = cursor_bytes(&at, head.data_size);
	if (at.failed) {
		bpf_symbols_close(symbols);
		return false;
	}
	memcpy(&symbols->info, info, head.info_size < sizeof(symbols->info) ? head.info_size : sizeof(symbols->info));
	symbols->data_size = head.data_size;
	symbols->arrays = head.arrays;
	if (btf)
		bpf_btf_read(btf, &symbols->btf_data);
	btf_init(&symbols->btf, symbols->btf_data.data, symbols->btf_data.len, false);
	return true;
}

void bpf_symbols_close(struct bpf_symbols *symbols)
{
	strbuf_deinit(&symbols->program);
	btf_deinit(&symbols->btf);
	strbuf_deinit(&symbols->btf_data);
}

/* Copies an element of one of the arrays; false when there is none. */
static bool element(const struct bpf_symbols *symbols, unsigned int bit, uint64_t offset, uint64_t index, uint32_t stride, void *ret,
		    size_t size)
{
	uint64_t at = offset + index * stride;

	if (!(symbols->arrays >> bit & 1) || stride < size || at > symbols->data_size || size > symbols->data_size - at)
		return false;
	memcpy(ret, symbols->data + at, size);
	return true;
}

bool bpf_symbols_function(const struct bpf_symbols *symbols, uint32_t function, uint64_t *ret_address, uint32_t *ret_length, char name[256])
{
	const struct bpf_prog_info *info = &symbols->info;
	uint8_t tag[BPF_TAG_SIZE];
	uint32_t types[2]; /* offset of the function, its type */
	const char *own = NULL;

	if (function >= info->nr_jited_ksyms || function >= info->nr_jited_func_lens ||
	    !element(symbols, ARRAY_ADDRESSES, info->jited_ksyms, function, 8, ret_address, 8) ||
	    !element(symbols, ARRAY_LENGTHS, info->jited_func_lens, function, 4, ret_length, 4) || !*ret_address)
		return false;
	if (function >= info->nr_prog_tags || !element(symbols, ARRAY_TAGS, info->prog_tags, function, sizeof(tag), tag, sizeof(tag)))
		memcpy(tag, info->tag, sizeof(tag));
	if (function < info->nr_func_info &&
	    element(symbols, ARRAY_FUNCTIONS, info->func_info, function, info->func_info_rec_size, types, sizeof(types)))
		own = btf_type_name(&symbols->btf, types[1]);
	if (!own || !*own)
		own = function || !info->name[0] ? "F" : info->name;
	snprintf(name, 256, "bpf_prog_%02x%02x%02x%02x%02x%02x%02x%02x_%.200s", tag[0], tag[1], tag[2], tag[3], tag[4], tag[5], tag[6],
		 tag[7], own);
	return true;
}
