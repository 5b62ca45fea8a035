/* The set of known formats, and reading fields of raw records. */
#include "event/tracepoint/tracepoint_internal.h"

#include <stdlib.h>
#include <string.h>

struct tracepoint_formats *tracepoint_formats_create(void)
{
	struct tracepoint_formats *formats = mem_zalloc(sizeof(*formats));

	formats->big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	formats->long_size = sizeof(long);
	pthread_mutex_init(&formats->lock, NULL);
	return formats;
}

void tracepoint_formats_destroy(struct tracepoint_formats *formats)
{
	if (!formats)
		return;
	pthread_mutex_destroy(&formats->lock);
	map64_deinit(&formats->printk_by_address);
	map64_deinit(&formats->by_id);
	map64_deinit(&formats->by_name);
	vec_deinit(&formats->tracepoints);
	arena_deinit(&formats->arena);
	free(formats);
}

static uint64_t name_key(const char *system, const char *name)
{
	return hash_combine(hash_bytes(system, strlen(system)), hash_bytes(name, strlen(name)));
}

struct error *tracepoint_formats_add(struct tracepoint_formats *formats, const char *system, const char *text, size_t size)
{
	struct tracepoint *tracepoint = arena_zalloc(&formats->arena, sizeof(*tracepoint));
	struct tracepoint_private *private = arena_zalloc(&formats->arena, sizeof(*private));

	struct error *error = tracepoint_parse_format(&formats->arena, text, strnlen(text, size), formats->swap, tracepoint);
	if (error)
		return error_wrap(error, "%s", system);
	tracepoint->system = arena_strdup(&formats->arena, system);
	tracepoint->formats = formats;
	tracepoint->private = private;
	vec_push(&formats->tracepoints, tracepoint);
	bool fresh;
	uint64_t *slot = map64_insert(&formats->by_id, (uint64_t)tracepoint->id, &fresh);
	if (fresh)
		*slot = formats->tracepoints.len;
	slot = map64_insert(&formats->by_name, name_key(tracepoint->system, tracepoint->name), &fresh);
	if (fresh)
		*slot = formats->tracepoints.len;
	return NULL;
}

const struct tracepoint *tracepoint_by_index(const struct tracepoint_formats *formats, size_t index)
{
	return formats->tracepoints.data[index];
}

const struct tracepoint *tracepoint_by_id(const struct tracepoint_formats *formats, int id)
{
	const uint64_t *slot = map64_find(&formats->by_id, (uint64_t)id);

	return slot ? formats->tracepoints.data[*slot - 1] : NULL;
}

const struct tracepoint *tracepoint_by_name(const struct tracepoint_formats *formats, const char *system, const char *name)
{
	const uint64_t *slot = map64_find(&formats->by_name, name_key(system, name));
	const struct tracepoint *tracepoint = slot ? formats->tracepoints.data[*slot - 1] : NULL;

	return tracepoint && !strcmp(tracepoint->system, system) && !strcmp(tracepoint->name, name) ? tracepoint : NULL;
}

const struct tracepoint_field *tracepoint_field(const struct tracepoint *tracepoint, const char *name)
{
	for (size_t i = 0; i < tracepoint->field_count; i++)
		if (!strcmp(tracepoint->fields[i].name, name))
			return &tracepoint->fields[i];
	return NULL;
}

uint32_t tracepoint_page_size(const struct tracepoint *tracepoint)
{
	enum { USUAL = 4096, MOST = 1 << 20 };
	uint32_t size = tracepoint->formats->page_size;
	return size >= USUAL && size <= MOST && !(size & (size - 1)) ? size : USUAL;
}

void tracepoint_formats_set_resolver(struct tracepoint_formats *formats, tracepoint_resolver resolver, void *context)
{
	formats->resolver = resolver;
	formats->resolver_context = context;
}

static uint64_t read_integer(const uint8_t *at, uint32_t size, uint32_t flags)
{
	bool swap = flags & TRACEPOINT_FIELD_SWAPPED, is_signed = flags & TRACEPOINT_FIELD_SIGNED;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	switch (size) {
	case 1:
		return is_signed ? (uint64_t)(int8_t)*at : *at;
	case 2:
		memcpy(&u16, at, 2);
		u16 = swap ? __builtin_bswap16(u16) : u16;
		return is_signed ? (uint64_t)(int16_t)u16 : u16;
	case 4:
		memcpy(&u32, at, 4);
		u32 = swap ? __builtin_bswap32(u32) : u32;
		return is_signed ? (uint64_t)(int32_t)u32 : u32;
	case 8:
		memcpy(&u64, at, 8);
		return swap ? __builtin_bswap64(u64) : u64;
	default:
		return 0;
	}
}

uint64_t tracepoint_read(const struct tracepoint_field *field, const void *raw, size_t size)
{
	uint32_t width = field->flags & TRACEPOINT_FIELD_DYNAMIC ? field->size : field->element_size;

	if (field->offset > size || width > size - field->offset)
		return 0;
	return read_integer((const uint8_t *)raw + field->offset, width, field->flags);
}

const void *tracepoint_read_bytes(const struct tracepoint_field *field, const void *raw, size_t size, size_t *ret_len)
{
	size_t offset = field->offset, len = field->size;

	*ret_len = 0;
	if (offset > size || len > size - offset)
		return NULL;
	if (field->flags & TRACEPOINT_FIELD_DYNAMIC) {
		uint64_t location = read_integer((const uint8_t *)raw + offset, field->size, field->flags & TRACEPOINT_FIELD_SWAPPED);
		if (field->size == 8) { /* as old kernels had it on 64-bit machines: two 32-bit halves */
			len = location >> 32;
			location &= UINT32_MAX;
		} else {
			len = location >> 16 & 0xffff;
			location &= 0xffff;
		}
		offset = field->flags & TRACEPOINT_FIELD_RELATIVE ? location + field->offset + field->size : location;
		if (offset > size || len > size - offset)
			return NULL;
	}
	*ret_len = len;
	return (const uint8_t *)raw + offset;
}

const struct untrusted *tracepoint_read_string(const struct tracepoint_field *field, const void *raw, size_t size, size_t *ret_len)
{
	size_t len;
	const char *bytes = tracepoint_read_bytes(field, raw, size, &len);

	*ret_len = bytes ? strnlen(bytes, len) : 0;
	return untrusted(bytes ? bytes : "");
}

const char *tracepoint_printk(const struct tracepoint_formats *formats, uint64_t address)
{
	const uint64_t *text = map64_find(&formats->printk_by_address, address);

	return text ? (const char *)(uintptr_t)*text : NULL;
}
