/* Types of data from debug information. Damaged information may nest types in themselves: what is deeper, or more members, than any
 * program has is left out. */
#include "symbol/data/data_type_internal.h"

#include "base/vec.h"
#include "symbol/data/effort.h"
#include "symbol/dwarf/debug_types.h"

#include <dwarf.h>
#include <inttypes.h>
#include <string.h>

enum { CHAIN_MAX = 64, DEPTH_MAX = 16, MEMBERS_MAX = 10000, NAME_MAX_SIZE = 1000 };

const struct data_type data_type_unknown = {.name = "(unknown)"};
const struct data_type data_type_stack = {.name = "(stack operation)"};
const struct data_type data_type_canary = {.name = "(stack canary)"};

bool data_type_is_special(const struct data_type *type)
{
	return type == &data_type_unknown || type == &data_type_stack || type == &data_type_canary;
}

void data_type_add_path(const struct data_type *type, uint64_t offset, struct strbuf *out)
{
	size_t begin = out->len;
	for (uint32_t i = 0, depth = 0; i < type->member_count;) {
		const struct data_member *member = &type->members[i];
		if (member->depth < depth)
			return;
		if (offset < member->offset || offset - member->offset >= member->size) {
			i = member->after;
			continue;
		}
		if (out->len > begin && *member->name)
			strbuf_add_char(out, '.');
		strbuf_add_str(out, member->name);
		depth = member->depth + 1;
		i++;
	}
}

void data_types_deinit(struct data_types *types)
{
	arena_deinit(&types->arena);
	intern_deinit(&types->texts);
	map64_deinit(&types->by_entry);
	map64_deinit(&types->by_name);
}

/* ---- asking debug information ---- */

bool data_real_type(const Dwarf_Die *type, Dwarf_Die *ret)
{
	bool found = type->addr != NULL;
	*ret = *type;
	for (unsigned int i = 0; found && i < CHAIN_MAX; i++) {
		int tag = dwarf_tag(ret);
		if (tag != DW_TAG_typedef && tag != DW_TAG_array_type)
			return true;
		Dwarf_Die of = *ret;
		found = debug_real_type(&of, ret);
	}
	return false;
}

/* Without typedefs, but as an array where it is one. */
static bool without_typedefs(const Dwarf_Die *type, Dwarf_Die *ret)
{
	Dwarf_Die of = *type;
	*ret = of;
	return dwarf_tag(&of) != DW_TAG_typedef || debug_real_type(&of, ret);
}

/* Bit-fields of DWARF 4 and later count bits from the beginning of the structure. */
static uint64_t member_offset(Dwarf_Die *member)
{
	Dwarf_Attribute attribute;
	Dwarf_Word bits;
	if (dwarf_attr_integrate(member, DW_AT_data_bit_offset, &attribute) && dwarf_formudata(&attribute, &bits) == 0)
		return bits / 8;
	return debug_member_offset(member);
}

/* Members of a structure, their types with typedefs; false at the end, or when nothing is left. Begin with ret->addr NULL. */
static bool next_member(Dwarf_Die *structure, Dwarf_Die *member, size_t *left, Dwarf_Die *ret_type)
{
	int more = member->addr ? dwarf_siblingof(member, member) : dwarf_child(structure, member);
	for (; more == 0 && effort_spend(left, 1); more = dwarf_siblingof(member, member)) {
		int tag = dwarf_tag(member);
		/* Static members of classes have no place in it. */
		if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) && !dwarf_hasattr(member, DW_AT_external) &&
		    debug_named_type(member, ret_type))
			return true;
	}
	return false;
}

/* For one question. */
static size_t least(size_t effort)
{
	return effort < MEMBERS_MAX ? effort : MEMBERS_MAX;
}

bool data_is_open_ended(const Dwarf_Die *type, size_t *effort)
{
	Dwarf_Die real, member = {0}, inner;
	size_t most = least(*effort), left = most;
	bool open = false;
	if (!data_real_type(type, &real) || !debug_is_structure(dwarf_tag(&real)))
		return false;
	while (next_member(&real, &member, &left, &inner))
		open = without_typedefs(&inner, &inner) && dwarf_tag(&inner) == DW_TAG_array_type && !debug_type_size(&inner);
	*effort -= most - left;
	return open;
}

/* `left`: entries that may still be looked at, in all structures within each other: members may overlap, and be of the type itself. */
static bool pointer_target(const Dwarf_Die *type, uint64_t offset, unsigned int depth, size_t *left, Dwarf_Die *ret)
{
	Dwarf_Die real, member = {0}, inner;
	if (depth > DEPTH_MAX || !data_real_type(type, &real))
		return false;
	uint64_t size = debug_type_size(&real);
	if (size)
		offset %= size; /* of one element of an array */
	if (debug_is_pointer(dwarf_tag(&real)))
		return !offset && debug_named_type(&real, ret);
	if (!debug_is_structure(dwarf_tag(&real)))
		return false;
	while (next_member(&real, &member, left, &inner)) {
		uint64_t at = member_offset(&member);
		if (offset >= at && offset - at < debug_type_size(&inner) && pointer_target(&inner, offset - at, depth + 1, left, ret))
			return true;
	}
	return false;
}

bool data_pointer_target(const Dwarf_Die *type, uint64_t offset, size_t *effort, Dwarf_Die *ret)
{
	size_t most = least(*effort), left = most;
	bool found = pointer_target(type, offset, 0, &left, ret);
	*effort -= most - left;
	return found;
}

/* ---- making them ---- */

struct making {
	struct data_types *types;
	size_t *effort;
	VEC(struct data_member) members;
};

static const char *name_of(struct making *making, Dwarf_Die *type)
{
	struct strbuf text = {0};
	debug_add_name_of_type(&text, type);
	effort_spend(making->effort, text.len / 16); /* many may have one name, however long */
	const char *kept = intern_string(&making->types->texts, strbuf_str(&text));
	strbuf_deinit(&text);
	return kept;
}

/* "large", of a bit-field "large:20". */
static const char *member_name(struct making *making, Dwarf_Die *member)
{
	const char *name = dwarf_tag(member) == DW_TAG_member ? dwarf_diename(member) : NULL;
	struct strbuf text = {0};
	Dwarf_Attribute attribute;
	Dwarf_Word bits;
	strbuf_add(&text, name ? name : "", name ? strnlen(name, NAME_MAX_SIZE) : 0);
	if (dwarf_attr_integrate(member, DW_AT_bit_size, &attribute) && dwarf_formudata(&attribute, &bits) == 0)
		strbuf_printf(&text, ":%" PRIu64, (uint64_t)bits);
	const char *kept = intern_string(&making->types->texts, strbuf_str(&text));
	strbuf_deinit(&text);
	return kept;
}

static void add_members(struct making *making, const Dwarf_Die *type, uint64_t base, uint32_t depth)
{
	Dwarf_Die real, member = {0}, inner;
	if (depth > DEPTH_MAX || !without_typedefs(type, &real) || !debug_is_structure(dwarf_tag(&real)))
		return;
	while (making->members.len < MEMBERS_MAX && next_member(&real, &member, making->effort, &inner)) {
		size_t number = making->members.len;
		struct data_member made = {.name = member_name(making, &member),
					   .type = name_of(making, &inner),
					   .offset = base + member_offset(&member),
					   .size = debug_type_size(&inner),
					   .depth = depth};
		vec_push(&making->members, made);
		add_members(making, &inner, made.offset, depth + 1);
		making->members.data[number].after = (uint32_t)making->members.len;
	}
}

/* One of the same name and size, whatever unit it is from; collisions of hashes are gone by. */
static struct data_type **find_slot(struct data_types *types, const char *name, uint64_t size)
{
	for (uint64_t key = hash_combine((uintptr_t)name, size);; key++) {
		uint64_t *slot = map64_insert(&types->by_name, key, NULL);
		const struct data_type *known = (const struct data_type *)(uintptr_t)*slot;
		if (!known || (known->name == name && known->size == size))
			return (struct data_type **)slot;
	}
}

const struct data_type *data_types_get(struct data_types *types, Dwarf_Die *type, size_t *effort)
{
	uint64_t *known = map64_insert(&types->by_entry, (uintptr_t)type->addr, NULL);
	if (*known)
		return (const struct data_type *)(uintptr_t)*known;
	struct making making = {.types = types, .effort = effort};
	const char *name = name_of(&making, type);
	uint64_t size = debug_type_size(type);
	struct data_type **slot = find_slot(types, name, size);
	if (!*slot) {
		add_members(&making, type, 0, 0);
		struct data_type made = {.name = name, .size = size, .member_count = (uint32_t)making.members.len};
		made.members = arena_copy(&types->arena, making.members.data, making.members.len * sizeof(*making.members.data));
		*slot = arena_copy(&types->arena, &made, sizeof(made));
		vec_deinit(&making.members);
	}
	*known = (uintptr_t)*slot;
	return *slot;
}
