/* Types follow each other without an index: 12 bytes, then as many as the kind and the number of members say. */
#include "base/formats/btf.h"

#include "base/cursor.h"

#include <string.h>

/* Bytes behind the 12 of a type. */
static size_t extra_size(uint32_t info)
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

void btf_init(struct btf *btf, const void *data, size_t size, bool swap)
{
	struct cursor head = cursor_init(data, size, swap);
	*btf = (struct btf){0};
	cursor_u32(&head); /* magic, version, flags */
	uint32_t head_size = cursor_u32(&head), types = cursor_u32(&head), types_size = cursor_u32(&head);
	uint32_t strings = cursor_u32(&head), strings_size = cursor_u32(&head);
	uint64_t types_at = (uint64_t)head_size + types, strings_at = (uint64_t)head_size + strings;
	if (head.failed || types_at + types_size > size || strings_at + strings_size > size)
		return;
	struct cursor type = cursor_init((const uint8_t *)data + types_at, types_size, swap);
	const char *names = (const char *)data + strings_at;
	btf->types = (const uint8_t *)data + types_at;
	btf->types_size = types_size;
	btf->strings = names;
	btf->strings_size = strings_size;
	btf->swap = swap;
	while (cursor_left(&type)) {
		uint32_t place = (uint32_t)(type.at - btf->types);
		uint32_t name = cursor_u32(&type), info = cursor_u32(&type);
		cursor_u32(&type);
		cursor_bytes(&type, extra_size(info));
		if (type.failed)
			break;
		bool inside = name < strings_size && memchr(names + name, 0, strings_size - name);
		vec_push(&btf->names, inside ? names + name : NULL);
		vec_push(&btf->kinds, (uint8_t)(info >> 24 & 0x1f));
		vec_push(&btf->places, place);
	}
}

void btf_deinit(struct btf *btf)
{
	vec_deinit(&btf->names);
	vec_deinit(&btf->kinds);
	vec_deinit(&btf->places);
}

const char *btf_type_name(const struct btf *btf, uint32_t type)
{
	return type && type <= btf->names.len ? btf->names.data[type - 1] : NULL;
}

uint32_t btf_find(const struct btf *btf, enum btf_kind kind, const char *name)
{
	for (size_t i = 0; i < btf->names.len; i++)
		if (btf->kinds.data[i] == kind && btf->names.data[i] && !strcmp(btf->names.data[i], name))
			return (uint32_t)i + 1;
	return 0;
}

static struct cursor at_type(const struct btf *btf, uint32_t type)
{
	uint32_t place = btf->places.data[type - 1];
	return cursor_init(btf->types + place, btf->types_size - place, btf->swap);
}

bool btf_type(const struct btf *btf, uint32_t type, struct btf_type *ret)
{
	if (!type || type > btf->places.len)
		return false;
	struct cursor at = at_type(btf, type);
	cursor_u32(&at); /* name */
	uint32_t info = cursor_u32(&at), size_or_type = cursor_u32(&at);
	*ret = (struct btf_type){.kind = info >> 24 & 0x1f, .count = (uint16_t)info};
	switch (ret->kind) {
	case BTF_ARRAY:
		ret->type = cursor_u32(&at);
		break;
	case BTF_INTEGER: {
		uint32_t encoding = cursor_u32(&at) >> 24;
		ret->is_signed = encoding & 1;
		ret->is_char = encoding & 2 || size_or_type == 1;
		ret->size = size_or_type;
		break;
	}
	case BTF_STRUCTURE:
	case BTF_UNION:
	case BTF_ENUM:
	case BTF_ENUM64:
	case BTF_FLOAT:
		ret->size = size_or_type;
		break;
	default:
		ret->type = size_or_type;
	}
	return true;
}

/* Bit-fields: with the type's flag (bit 31) the upper eight bits of the offset are the size. */
bool btf_member(const struct btf *btf, uint32_t type, uint16_t index, struct btf_member *ret)
{
	if (!type || type > btf->places.len)
		return false;
	struct cursor at = at_type(btf, type);
	cursor_u32(&at);
	uint32_t info = cursor_u32(&at), kind = info >> 24 & 0x1f;
	bool structure = kind == BTF_STRUCTURE || kind == BTF_UNION;
	if ((!structure && kind != BTF_PROTOTYPE) || index >= (info & 0xffff))
		return false;
	cursor_bytes(&at, 4 + (size_t)index * (structure ? 12 : 8));
	uint32_t name = cursor_u32(&at);
	*ret = (struct btf_member){.type = cursor_u32(&at)};
	uint32_t offset = structure ? cursor_u32(&at) : 0;
	ret->bit_offset = info >> 31 ? offset & 0xffffff : offset;
	ret->bit_size = info >> 31 ? offset >> 24 : 0;
	bool named = name < btf->strings_size && memchr(btf->strings + name, 0, btf->strings_size - name);
	ret->name = named ? btf->strings + name : "";
	return !at.failed;
}

/* Each is a name and a value: 32 bits, or 64 in two halves. */
static bool find_enumerator(const struct btf *btf, uint32_t type, const char *name, int64_t *ret)
{
	struct cursor at = at_type(btf, type);
	cursor_u32(&at);
	uint32_t info = cursor_u32(&at);
	bool wide = (info >> 24 & 0x1f) == BTF_ENUM64, is_signed = info >> 31;
	cursor_u32(&at);
	for (uint32_t i = 0; i < (info & 0xffff) && !at.failed; i++) {
		uint32_t its_name = cursor_u32(&at), low = cursor_u32(&at), high = wide ? cursor_u32(&at) : 0;
		size_t room = its_name < btf->strings_size ? btf->strings_size - its_name : 0;
		if (at.failed || strnlen(btf->strings + its_name, room) >= room || strcmp(btf->strings + its_name, name))
			continue;
		*ret = wide ? (int64_t)((uint64_t)high << 32 | low) : is_signed ? (int32_t)low : (int64_t)low;
		return true;
	}
	return false;
}

bool btf_enumerator(const struct btf *btf, uint32_t type, const char *name, int64_t *ret)
{
	for (uint32_t i = type ? type : 1; i <= (type ? type : btf->kinds.len); i++) {
		bool is_enumeration = i <= btf->kinds.len && (btf->kinds.data[i - 1] == BTF_ENUM || btf->kinds.data[i - 1] == BTF_ENUM64);
		if (is_enumeration && find_enumerator(btf, i, name, ret))
			return true;
	}
	return false;
}
