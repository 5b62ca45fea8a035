/* Parsers of the header features: by the fields of their rows (features.def), or by a function. All reading is checked by the
 * cursor; a count from the file is never trusted for an allocation: entries are added one by one while there are bytes.
 *
 * Not done here: what to do with them (model, printing), tracepoint formats (event/tracepoint). */
#include "perfdata/features/features_read.h"
#include "base/cursor.h"
#include "perfdata/compress.h"
#include "perfdata/features/features_fields.h"
#include "perfdata/header.h"

#include <string.h>

/* A 32-bit length (padding included) and the text. Copied, since nothing promises a NUL. */
static const char *read_string(struct features *features, struct cursor *cursor)
{
	uint32_t length = cursor_u32(cursor);
	const char *text = cursor_bytes(cursor, length);
	return text ? arena_strndup(&features->arena, text, strnlen(text, length)) : NULL;
}

/* A count and as many strings, ended by NULL. */
static const char **read_strings(struct features *features, struct cursor *cursor, uint32_t *ret_count)
{
	uint32_t count = cursor_u32(cursor);
	if (ret_count)
		*ret_count = 0;
	if (count > cursor_left(cursor) / sizeof(uint32_t))
		cursor->failed = true;
	if (cursor->failed)
		return NULL;
	const char **strings = arena_alloc(&features->arena, (count + 1) * sizeof(*strings));
	uint32_t n = 0;
	for (const char *string; n < count && (string = read_string(features, cursor)); n++)
		strings[n] = string;
	strings[n] = NULL;
	if (ret_count)
		*ret_count = n;
	return strings;
}

static void read_command_line(struct features *f, struct cursor *cursor)
{
	f->command_line = read_strings(f, cursor, &f->command_line_count);
}

static void read_event_desc(struct features *f, struct cursor *cursor)
{
	uint32_t count = cursor_u32(cursor);
	uint32_t attr_size = cursor_u32(cursor);
	for (uint32_t i = 0; i < count && !cursor->failed; i++) {
		struct feature_event_desc desc = {0};
		size_t taken;
		const void *attr = cursor_bytes(cursor, attr_size);
		if (!attr || !attr_read(attr, attr_size, cursor->swap, &desc.attr, &taken)) {
			cursor->failed = true;
			return;
		}
		desc.id_count = cursor_u32(cursor);
		desc.name = read_string(f, cursor);
		const uint8_t *ids = cursor_bytes(cursor, (size_t)desc.id_count * sizeof(uint64_t));
		if (!ids)
			return;
		uint64_t *copy = arena_alloc(&f->arena, (size_t)desc.id_count * sizeof(uint64_t));
		struct cursor at = cursor_init(ids, (size_t)desc.id_count * sizeof(uint64_t), cursor->swap);
		for (uint32_t j = 0; j < desc.id_count; j++)
			copy[j] = cursor_u64(&at);
		desc.ids = copy;
		vec_push(&f->event_descs, desc);
	}
}

/* Core and thread siblings; since 3.18 core and socket of each CPU (as many as NRCPUS says); since 5.3 dies. */
static void read_cpu_topology(struct features *f, struct cursor *cursor)
{
	f->core_siblings = read_strings(f, cursor, NULL);
	f->thread_siblings = read_strings(f, cursor, NULL);
	size_t count = f->cpus_available;
	if (cursor->failed || count > cursor_left(cursor) / (2 * sizeof(uint32_t)))
		return;
	for (size_t i = 0; i < count; i++) {
		struct feature_cpu cpu = {.core_id = (int32_t)cursor_u32(cursor), .die_id = -1};
		cpu.socket_id = (int32_t)cursor_u32(cursor);
		vec_push(&f->cpus, cpu);
	}
	if (!cursor_left(cursor))
		return;
	f->die_siblings = read_strings(f, cursor, NULL);
	if (cursor->failed || count > cursor_left(cursor) / sizeof(uint32_t))
		return;
	f->has_dies = true;
	for (size_t i = 0; i < count; i++)
		f->cpus.data[i].die_id = (int32_t)cursor_u32(cursor);
}

static void read_group_desc(struct features *f, struct cursor *cursor)
{
	uint32_t count = cursor_u32(cursor);
	for (uint32_t i = 0; i < count; i++) {
		struct feature_group group = {.name = read_string(f, cursor)};
		group.leader = cursor_u32(cursor);
		group.members = cursor_u32(cursor);
		if (cursor->failed)
			return;
		vec_push(&f->groups, group);
	}
}

static void read_memory_topology(struct features *f, struct cursor *cursor)
{
	if (cursor_u64(cursor) != 1) /* version */
		return;
	f->memory_block_size = cursor_u64(cursor);
	uint64_t count = cursor_u64(cursor);
	for (uint64_t i = 0; i < count; i++) {
		struct feature_mem_node node = {.node = cursor_u64(cursor)};
		cursor_u64(cursor); /* the size again */
		node.bits = cursor_u64(cursor);
		uint64_t words = node.bits / 64 + !!(node.bits % 64);
		if (cursor->failed || words > cursor_left(cursor) / 8) {
			cursor->failed = true;
			return;
		}
		uint64_t *bitmap = arena_alloc(&f->arena, words * 8);
		for (uint64_t j = 0; j < words; j++)
			bitmap[j] = cursor_u64(cursor);
		node.bitmap = bitmap;
		vec_push(&f->memory_nodes, node);
	}
}

static void read_bpf_programs(struct features *f, struct cursor *cursor)
{
	uint32_t count = cursor_u32(cursor);
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *start = cursor->at;
		uint32_t info_size = cursor_u32(cursor);
		uint32_t data_size = cursor_u32(cursor);
		cursor_u64(cursor); /* which arrays are in the data */
		struct cursor info = cursor_init(cursor->at, cursor_left(cursor), cursor->swap);
		cursor_u32(&info); /* program type */
		struct feature_bpf_prog program = {.id = cursor_u32(&info)};
		cursor_bytes(cursor, info_size);
		cursor_bytes(cursor, data_size);
		if (cursor->failed)
			return;
		program.size = (uint64_t)(cursor->at - start);
		program.data = arena_copy(&f->arena, start, program.size);
		vec_push(&f->bpf_progs, program);
	}
}

static int compare_btf(const void *a, const void *b)
{
	uint32_t left = ((const struct feature_btf *)a)->id, right = ((const struct feature_btf *)b)->id;
	return (left > right) - (left < right);
}

/* Written as programs were met that use them, told by their numbers. */
static void read_btf(struct features *f, struct cursor *cursor)
{
	uint32_t count = cursor_u32(cursor);
	for (uint32_t i = 0; i < count && !cursor->failed; i++) {
		struct feature_btf btf = {.id = cursor_u32(cursor)};
		btf.size = cursor_u32(cursor);
		const void *data = cursor_bytes(cursor, btf.size);
		if (!data)
			break;
		btf.data = arena_copy(&f->arena, data, btf.size);
		vec_push(&f->btfs, btf);
	}
	if (f->btfs.len)
		qsort(f->btfs.data, f->btfs.len, sizeof(*f->btfs.data), compare_btf);
}

static void read_caps(struct features *f, struct cursor *cursor, const char *pmu_name)
{
	uint32_t count = cursor_u32(cursor);
	if (cursor->failed || count > cursor_left(cursor) / (2 * sizeof(uint32_t))) {
		cursor->failed = true;
		return;
	}
	const char **names = arena_alloc(&f->arena, (size_t)count * sizeof(*names));
	const char **values = arena_alloc(&f->arena, (size_t)count * sizeof(*values));
	for (uint32_t i = 0; i < count; i++) {
		names[i] = read_string(f, cursor);
		values[i] = read_string(f, cursor);
	}
	struct feature_pmu_caps caps = {.names = names, .values = values, .count = count};
	caps.pmu_name = pmu_name ? pmu_name : read_string(f, cursor);
	if (!cursor->failed)
		vec_push(&f->pmu_caps, caps);
}

static void read_cpu_pmu_caps(struct features *f, struct cursor *cursor)
{
	read_caps(f, cursor, "cpu");
}

static void read_pmu_caps(struct features *f, struct cursor *cursor)
{
	uint32_t count = cursor_u32(cursor);
	for (uint32_t i = 0; i < count && !cursor->failed; i++)
		read_caps(f, cursor, NULL);
}

bool features_read_build_id(struct features *features, const struct record_header *header, const void *payload, size_t size, bool swap,
			    bool without_pid)
{
	enum { ID_BYTES = 20, ID_FIELD = 24, MISC_SIZE_GIVEN = 1 << 15 };
	struct cursor cursor = cursor_init(payload, size, swap);
	struct feature_build_id entry = {.misc = header->misc, .pid = -1};
	if (!without_pid)
		entry.pid = (int32_t)cursor_u32(&cursor);
	const uint8_t *id = cursor_bytes(&cursor, ID_FIELD);
	if (!id)
		return false;
	entry.id.size = header->misc & MISC_SIZE_GIVEN && id[ID_BYTES] <= ID_BYTES ? id[ID_BYTES] : ID_BYTES;
	memcpy(entry.id.data, id, entry.id.size);
	size_t left = cursor_left(&cursor);
	entry.filename = arena_strndup(&features->arena, (const char *)cursor.at, strnlen((const char *)cursor.at, left));
	vec_push(&features->build_ids, entry);
	return true;
}

/* Files of 2.6.33 had no pid in the entries. The kernel's own entry gives it away: read as if there were one, its name lacks 4 letters. */
static bool build_ids_without_pid(const uint8_t *data, size_t size)
{
	enum { NAME_OFFSET = 36 };
	static const char cut_name[] = "nel.kallsyms]";
	return size >= NAME_OFFSET + sizeof(cut_name) && !memcmp(data + NAME_OFFSET, cut_name, sizeof(cut_name));
}

static void read_build_ids(struct features *f, struct cursor *cursor)
{
	bool without_pid = build_ids_without_pid(cursor->at, cursor_left(cursor));
	while (cursor_left(cursor) >= sizeof(struct record_header)) {
		struct record_header header = {.type = cursor_u32(cursor)};
		header.misc = cursor_u16(cursor);
		header.size = cursor_u16(cursor);
		const void *payload = cursor_bytes(cursor, header.size - sizeof(header));
		if (header.size < sizeof(header) || !payload ||
		    !features_read_build_id(f, &header, payload, header.size - sizeof(header), cursor->swap, without_pid)) {
			cursor->failed = true;
			return;
		}
	}
}

/* Two numbers of 64 bits, the version and the size without compression; then a zstd stream. */
static void read_carried(struct features *f, struct cursor *cursor)
{
	uint64_t version = cursor_u64(cursor), size = cursor_u64(cursor);
	if (version != 1 || size > FEATURE_CARRIED_MAX || cursor->failed)
		return;
	uint8_t *data = arena_alloc(&f->arena, size);
	if (!decompress_all(cursor->at, cursor_left(cursor), data, size))
		return;
	f->carried = data;
	f->carried_size = size;
}

static void (*const readers[FEATURE_COUNT])(struct features *, struct cursor *) = {
#define CODED(type, number, read, write, print, detailed) [FEATURE_##type] = read,
#include "perfdata/features/features.def"
};

static void read_fields(struct features *features, void *item, struct cursor *cursor, const struct feature_field *field);

static void read_list(struct features *features, struct feature_list *list, struct cursor *cursor, const struct feature_field *field)
{
	uint32_t count = cursor_u32(cursor);
	for (uint32_t i = 0; i < count; i++) {
		_Alignas(uint64_t) uint8_t item[FEATURE_ITEM_MOST] = {0};
		read_fields(features, item, cursor, field->items());
		if (cursor->failed)
			return;
		if (list->len == list->cap) {
			list->cap = vec_grown(list->cap, list->len + 1);
			list->data = mem_resize(list->data, list->cap * field->size);
		}
		memcpy(list->data + list->len++ * field->size, item, field->size);
	}
}

/* Into the members of `item`. */
static void read_fields(struct features *features, void *item, struct cursor *cursor, const struct feature_field *field)
{
	for (; field->kind != FEATURE_FIELD_END; field++) {
		void *member = (uint8_t *)item + field->offset;
		if (field->kind == FEATURE_FIELD_LIST)
			read_list(features, member, cursor, field);
		else if (field->kind == FEATURE_FIELD_TEXT)
			*(const char **)member = read_string(features, cursor);
		else if (field->kind == FEATURE_FIELD_NUMBER && field->size == sizeof(uint64_t))
			*(uint64_t *)member = cursor_u64(cursor);
		else if (field->kind == FEATURE_FIELD_NUMBER)
			*(uint32_t *)member = cursor_u32(cursor);
		else if (cursor_u32(cursor) != field->size && field->kind == FEATURE_FIELD_VERSION)
			return;
	}
}

bool features_read(struct features *features, unsigned int feature, const void *data, size_t size, bool swap)
{
	bool again = features_has(features, feature);
	features_set(features, feature);
	const struct feature_field *fields = feature_fields(feature);
	if (feature >= FEATURE_COUNT || (!readers[feature] && !fields) || again)
		return true;
	struct cursor cursor = cursor_init(data, size, swap);
	if (fields)
		read_fields(features, features, &cursor, fields);
	else
		readers[feature](features, &cursor);
	return !cursor.failed;
}
