/* Decoding of CPU_MAP, THREAD_MAP and STAT_CONFIG. */
#include "perfdata/stat_maps.h"

#include "base/cursor.h"
#include "base/mem.h"

/* More CPUs than any machine has. */
enum { MOST_CPUS = 1 << 16, NAME_SIZE = 16 };

struct cpu_list {
	int *data;
	size_t len;
};

static void add_cpu(struct cpu_list *list, int cpu)
{
	if (list->len < MOST_CPUS)
		list->data[list->len++] = cpu;
}

static struct cursor payload(const struct record_header *header)
{
	return cursor_init(header + 1, header->size - sizeof(*header), false);
}

static void add_listed(struct cursor *cursor, struct cpu_list *list)
{
	uint16_t listed = cursor_u16(cursor);
	for (unsigned int i = 0; i < listed && cursor_left(cursor) >= 2; i++)
		add_cpu(list, (int16_t)cursor_u16(cursor));
}

static void add_mask(struct cursor *cursor, struct cpu_list *list)
{
	uint16_t words = cursor_u16(cursor), word_size = cursor_u16(cursor);
	if (word_size == 8)
		cursor_u32(cursor); /* padding */
	for (unsigned int word = 0; word < words && (word_size == 4 || word_size == 8) && cursor_left(cursor) >= word_size; word++) {
		uint64_t bits = word_size == 8 ? cursor_u64(cursor) : cursor_u32(cursor);
		for (unsigned int bit = 0; bit < word_size * 8u; bit++)
			if (bits >> bit & 1)
				add_cpu(list, (int)(word * word_size * 8 + bit));
	}
}

static void add_range(struct cursor *cursor, struct cpu_list *list)
{
	bool any = cursor_u8(cursor);
	cursor_u8(cursor); /* padding */
	unsigned int first = cursor_u16(cursor), last = cursor_u16(cursor);
	if (any)
		add_cpu(list, -1);
	for (unsigned int cpu = first; cpu <= last; cpu++)
		add_cpu(list, (int)cpu);
}

int *stat_map_cpus(const struct record_header *header, size_t *ret_count)
{
	static void (*const forms[])(struct cursor *, struct cpu_list *) = {add_listed, add_mask, add_range}; /* enum PERF_CPU_MAP__* */
	struct cursor cursor = payload(header);
	struct cpu_list list = {.data = mem_alloc_array(MOST_CPUS, sizeof(*list.data))};
	uint16_t form = cursor_u16(&cursor);
	if (!cursor.failed && form < sizeof(forms) / sizeof(*forms))
		forms[form](&cursor, &list);
	*ret_count = list.len;
	return list.data;
}

bool stat_map_thread(const struct record_header *header, size_t index, struct stat_map_thread *ret)
{
	enum { ENTRY_SIZE = sizeof(uint64_t) + NAME_SIZE };
	struct cursor cursor = payload(header);
	if (index >= cursor_u64(&cursor) || index >= cursor_left(&cursor) / ENTRY_SIZE)
		return false;
	cursor_bytes(&cursor, index * ENTRY_SIZE);
	ret->tid = (int32_t)cursor_u64(&cursor);
	ret->name = cursor_bytes(&cursor, NAME_SIZE);
	ret->name_length = strnlen(ret->name, NAME_SIZE);
	return true;
}

bool stat_map_config(const struct record_header *header, uint64_t term, uint64_t *ret)
{
	struct cursor cursor = payload(header);
	uint64_t count = cursor_u64(&cursor);
	bool found = false;
	for (uint64_t i = 0; i < count && cursor_left(&cursor) >= 16; i++) {
		uint64_t which = cursor_u64(&cursor), value = cursor_u64(&cursor);
		if (which != term)
			continue;
		*ret = value;
		found = true;
	}
	return found;
}
