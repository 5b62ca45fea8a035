/* Asking the kernel for loaded BPF programs: once for the sizes of a program's arrays, once more for the arrays. */
#include "kernel/bpf/bpf_programs.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <linux/bpf.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An array of a program: where its address, its count and the size of an element are in bpf_prog_info. The order and the numbers are those
 * of the kernel's perf (enum perf_bpil_array_types). */
struct program_array {
	uint16_t address, count;
	uint16_t size_at; /* of a field with the element's size; 0 = it is `size` */
	uint16_t size;
};

#define AT(field) offsetof(struct bpf_prog_info, field)
static const struct program_array arrays[] = {
	{AT(jited_prog_insns), AT(jited_prog_len), 0, 1},
	{AT(xlated_prog_insns), AT(xlated_prog_len), 0, 1},
	{AT(map_ids), AT(nr_map_ids), 0, 4},
	{AT(jited_ksyms), AT(nr_jited_ksyms), 0, 8},
	{AT(jited_func_lens), AT(nr_jited_func_lens), 0, 4},
	{AT(func_info), AT(nr_func_info), AT(func_info_rec_size), 0},
	{AT(line_info), AT(nr_line_info), AT(line_info_rec_size), 0},
	{AT(jited_line_info), AT(nr_jited_line_info), AT(jited_line_info_rec_size), 0},
	{AT(prog_tags), AT(nr_prog_tags), 0, 8},
};
#undef AT

/* The arrays that are kept: all but the code before its translation and the maps. */
enum { ARRAY_COUNT = sizeof(arrays) / sizeof(arrays[0]), ARRAYS_KEPT = 0x1ff & ~(1 << 1 | 1 << 2) };

/* No program has more. */
enum { ARRAYS_MAX = 64 << 20 };

static long call(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

bool bpf_program_next(uint32_t id, uint32_t *ret_id)
{
	union bpf_attr attr = {.start_id = id};

	if (call(BPF_PROG_GET_NEXT_ID, &attr) < 0)
		return false;
	*ret_id = attr.next_id;
	return true;
}

/* BPF_OBJ_GET_INFO_BY_FD: fills as much of `info` as the kernel knows. */
static bool get_info(int fd, void *info, uint32_t size)
{
	union bpf_attr attr = {.info = {.bpf_fd = (uint32_t)fd, .info_len = size, .info = (uintptr_t)info}};

	return call(BPF_OBJ_GET_INFO_BY_FD, &attr) == 0;
}

/* A member by its offset. */
static uint32_t field_u32(const struct bpf_prog_info *info, uint16_t at)
{
	uint32_t value;

	memcpy(&value, (const char *)info + at, sizeof(value));
	return value;
}

/* Bytes; some arrays have a member that tells, others a fixed size. */
static uint32_t element_size(const struct bpf_prog_info *info, const struct program_array *array)
{
	return array->size_at ? field_u32(info, array->size_at) : array->size;
}

/* Prepares the second question: counts and element sizes of the first answer, and places for the arrays, 8-byte aligned. Returns their
 * size; *mask says which there are. */
static uint64_t place_arrays(const struct bpf_prog_info *known, struct bpf_prog_info *wanted, uint64_t *ret_mask)
{
	uint64_t size = 0;

	*wanted = (struct bpf_prog_info){0};
	*ret_mask = 0;
	for (size_t i = 0; i < ARRAY_COUNT; i++) {
		const struct program_array *array = &arrays[i];
		uint32_t count = field_u32(known, array->count), element = element_size(known, array);
		if (!(ARRAYS_KEPT >> i & 1) || !count || !element)
			continue;
		memcpy((char *)wanted + array->count, &count, sizeof(count));
		if (array->size_at)
			memcpy((char *)wanted + array->size_at, &element, sizeof(element));
		memcpy((char *)wanted + array->address, &size, sizeof(size));
		size += ((uint64_t)count * element + 7) & ~7ull;
		*ret_mask |= 1ull << i;
		if (size > ARRAYS_MAX)
			return size;
	}
	return size;
}

/* Adds `base` to the places of the arrays in `mask`. */
static void move_arrays(struct bpf_prog_info *info, uint64_t mask, uint64_t base)
{
	for (size_t i = 0; i < ARRAY_COUNT; i++) {
		uint64_t address;
		if (!(mask >> i & 1))
			continue;
		memcpy(&address, (char *)info + arrays[i].address, sizeof(address));
		address += base;
		memcpy((char *)info + arrays[i].address, &address, sizeof(address));
	}
}

bool bpf_program_describe(uint32_t id, struct strbuf *out, uint32_t *ret_btf)
{
	union bpf_attr attr = {.prog_id = id};
	cleanup_close int fd = (int)call(BPF_PROG_GET_FD_BY_ID, &attr);
	struct bpf_prog_info known = {0}, wanted;
	uint64_t mask;

	if (fd < 0 || !get_info(fd, &known, sizeof(known)))
		return false;
	uint64_t size = place_arrays(&known, &wanted, &mask);
	if (size > ARRAYS_MAX)
		return false;
	cleanup_free uint8_t *data = mem_zalloc(size + 1);
	move_arrays(&wanted, mask, (uintptr_t)data);
	if (!get_info(fd, &wanted, sizeof(wanted)))
		return false;
	move_arrays(&wanted, mask, 0 - (uint64_t)(uintptr_t)data);
	uint32_t sizes[2] = {sizeof(wanted), (uint32_t)size};
	strbuf_add(out, sizes, sizeof(sizes));
	strbuf_add(out, &mask, sizeof(mask));
	strbuf_add(out, &wanted, sizeof(wanted));
	strbuf_add(out, data, size);
	*ret_btf = wanted.btf_id;
	return true;
}

bool bpf_btf_read(uint32_t id, struct strbuf *out)
{
	union bpf_attr attr = {.btf_id = id};
	cleanup_close int fd = (int)call(BPF_BTF_GET_FD_BY_ID, &attr);
	struct bpf_btf_info info = {0};

	if (fd < 0 || !get_info(fd, &info, sizeof(info)) || !info.btf_size || info.btf_size > ARRAYS_MAX)
		return false;
	uint32_t size = info.btf_size;
	char *data = strbuf_reserve(out, size);
	info = (struct bpf_btf_info){.btf = (uintptr_t)data, .btf_size = size};
	if (!get_info(fd, &info, sizeof(info)) || info.btf_size > size)
		return false;
	strbuf_advance(out, size);
	return true;
}
