/* Values of parameters by BTF. The calling convention says in which register the first whole numbers and pointers are; a function with a
 * parameter that is a structure or a floating point number isn't read beyond it. */
#include "symbol/kernel/kernel_types.h"

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/formats/btf.h"
#include "base/mem.h"
#include "base/text.h"
#include "symbol/dwarf/fetch_value.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHAIN_MAX = 64, NESTING_MAX = 16, WORD = 8 };

struct kernel_types {
	char *data;
	struct btf btf;
};

struct kernel_types *kernel_types_open(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct strbuf data = {0};

	if (fd < 0 || strbuf_read(&data, fd, SIZE_MAX)) {
		strbuf_deinit(&data);
		return NULL;
	}
	struct kernel_types *types = mem_zalloc(sizeof(*types));
	size_t size = data.len;
	types->data = strbuf_detach(&data);
	btf_init(&types->btf, types->data, size, false);
	return types;
}

void kernel_types_close(struct kernel_types *types)
{
	if (!types)
		return;
	btf_deinit(&types->btf);
	free(types->data);
	free(types);
}

/* ---- types ---- */

static bool is_transparent(uint8_t kind, bool typedefs)
{
	return kind == BTF_CONST || kind == BTF_VOLATILE || kind == BTF_RESTRICT || kind == BTF_TYPE_TAG ||
	       (typedefs && kind == BTF_TYPEDEF);
}

/* Without const, volatile and, if wanted, typedefs; 0 = void. */
static uint32_t peel(const struct btf *btf, uint32_t id, bool typedefs, struct btf_type *ret)
{
	for (unsigned int i = 0; i < CHAIN_MAX && btf_type(btf, id, ret) && is_transparent(ret->kind, typedefs); i++)
		id = ret->type;
	if (!btf_type(btf, id, ret)) {
		*ret = (struct btf_type){0};
		return 0;
	}
	return id;
}

static void add_type_name(const struct btf *btf, uint32_t id, unsigned int depth, struct strbuf *out)
{
	struct btf_type type;
	uint32_t named = peel(btf, id, false, &type);
	const char *name = btf_type_name(btf, named);

	if (!named || depth > NESTING_MAX) {
		strbuf_add_str(out, "void");
	} else if (type.kind == BTF_POINTER || type.kind == BTF_ARRAY) {
		add_type_name(btf, type.type, depth + 1, out);
		strbuf_add_str(out, type.kind == BTF_POINTER ? "*" : "[]");
	} else if (type.kind == BTF_PROTOTYPE) {
		strbuf_add_str(out, "(function_type)");
	} else {
		bool structure = type.kind == BTF_STRUCTURE || type.kind == BTF_FORWARD;
		strbuf_add_str(out, structure ? "struct " : type.kind == BTF_UNION ? "union " : type.kind == BTF_ENUM ? "enum " : "");
		strbuf_add_str(out, name && *name ? name : "<anonymous>");
	}
}

/* ---- parameters ---- */

/* The prototype; 0 = unknown. */
static uint32_t find_prototype(const struct btf *btf, const char *function, uint16_t *ret_count)
{
	uint32_t id = btf_find(btf, BTF_FUNCTION, function);
	struct btf_type type, prototype;

	if (!id || !btf_type(btf, id, &type) || !btf_type(btf, type.type, &prototype) || prototype.kind != BTF_PROTOTYPE)
		return 0;
	*ret_count = prototype.count;
	return type.type;
}

/* Does it take one register? */
static bool fits_register(const struct btf *btf, uint32_t id)
{
	struct btf_type type;

	peel(btf, id, true, &type);
	return type.kind == BTF_POINTER ||
	       ((type.kind == BTF_INTEGER || type.kind == BTF_ENUM || type.kind == BTF_ENUM64) && type.size <= WORD);
}

void kernel_types_parameters(struct kernel_types *types, const char *function, struct debug_variables *ret)
{
	uint16_t count = 0;
	uint32_t prototype = find_prototype(&types->btf, function, &count);
	struct btf_member parameter;
	bool simple = true;

	for (uint16_t i = 0; prototype && i < count && btf_member(&types->btf, prototype, i, &parameter); i++) {
		struct strbuf name = {0};
		simple = simple && fits_register(&types->btf, parameter.type);
		if (!*parameter.name)
			continue;
		add_type_name(&types->btf, parameter.type, 0, &name);
		vec_push(&ret->items, (struct debug_variable){.type = strbuf_detach(&name),
							      .name = parameter.name,
							      .parameter = true,
							      .available = simple && arch_probe_of_parameter(arch_own(), i)});
	}
}

/* ---- the way to a part ---- */

struct value {
	struct fetch_value way;
	const struct btf *btf;
	struct btf_type type; /* peeled */
	uint32_t id;	      /* 0 = void */
};

static void set_type(struct value *value, uint32_t id)
{
	value->id = peel(value->btf, id, true, &value->type);
}

static enum fetch_kind kind_of(struct fetch_value *way)
{
	switch (((struct value *)way)->type.kind) {
	case BTF_POINTER:
		return FETCH_POINTER;
	case BTF_ARRAY:
		return FETCH_ARRAY;
	case BTF_STRUCTURE:
	case BTF_UNION:
		return FETCH_STRUCTURE;
	default:
		return FETCH_OTHER;
	}
}

static uint64_t size_of(struct fetch_value *way)
{
	const struct value *value = (struct value *)way;

	return value->type.kind == BTF_POINTER ? WORD : value->type.size;
}

static bool is_signed(struct fetch_value *way)
{
	return ((struct value *)way)->type.is_signed;
}

static bool has_characters(struct fetch_value *way)
{
	const struct value *value = (struct value *)way;
	struct btf_type element;

	peel(value->btf, value->type.type, true, &element);
	return element.kind == BTF_INTEGER && element.size == 1;
}

static bool go_to_target(struct fetch_value *way)
{
	struct value *value = (struct value *)way;

	set_type(value, value->type.type);
	return true;
}

static bool find_member(const struct btf *btf, uint32_t id, const char *name, unsigned int depth, struct btf_member *ret)
{
	struct btf_type inner;
	struct btf_member member, nested;

	for (uint16_t i = 0; depth < NESTING_MAX && btf_member(btf, id, i, &member); i++) {
		if (!strcmp(member.name, name)) {
			*ret = member;
			return true;
		}
		uint32_t own = *member.name ? 0 : peel(btf, member.type, true, &inner);
		if (own && find_member(btf, own, name, depth + 1, &nested)) {
			*ret = nested;
			ret->bit_offset += member.bit_offset;
			return true;
		}
	}
	return false;
}

static struct error *go_to_member(struct fetch_value *way, const char *name, uint64_t *ret_offset)
{
	struct value *value = (struct value *)way;
	struct btf_member member;

	if (!find_member(value->btf, value->id, name, 0, &member))
		return error_new("%s has no member '%s'", btf_type_name(value->btf, value->id), name);
	set_type(value, member.type);
	way->bits = member.bit_size;
	way->box = value->type.size * 8;
	uint32_t at = member.bit_offset;
	if (way->bits && way->box) {
		way->bit_at = at % way->box;
		at -= way->bit_at;
	}
	*ret_offset = at / 8;
	return NULL;
}

static const struct fetch_types btf_types = {
	.kind = kind_of,
	.size = size_of,
	.is_signed = is_signed,
	.has_characters = has_characters,
	.go_to_target = go_to_target,
	.go_to_member = go_to_member,
};

static struct error *unknown_parameter(struct kernel_types *types, const char *function, const char *name)
{
	struct debug_variables variables = {0};
	struct strbuf names = {0};

	kernel_types_parameters(types, function, &variables);
	for (size_t i = 0; i < variables.items.len; i++)
		strbuf_printf(&names, "%s%s", i ? ", " : "", variables.items.data[i].name);
	struct error *error =
		names.len ? error_new("%s has no parameter '%s'; its parameters are %s; other variables require the kernel's debug "
				      "information (-k VMLINUX)",
				      function, name, strbuf_str(&names))
			  : error_new("'%s': the kernel does not describe the parameters of %s; use its debug information (-k VMLINUX)",
				      name, function);
	strbuf_deinit(&names);
	debug_variables_deinit(&variables);
	return error;
}

struct error *kernel_types_fetch(struct kernel_types *types, const char *function, const struct debug_fetch_query *query,
				 struct strbuf *out)
{
	uint16_t count = 0, at = 0;
	uint32_t prototype = find_prototype(&types->btf, function, &count);
	struct btf_member parameter;
	struct value value = {.way = {.types = &btf_types, .name = query->name}, .btf = &types->btf};
	bool simple = true;
	struct error *error = NULL;

	for (; prototype && at < count && btf_member(&types->btf, prototype, at, &parameter); at++) {
		simple = simple && fits_register(&types->btf, parameter.type);
		if (!strcmp(parameter.name, query->name))
			break;
	}
	if (!prototype || at == count)
		return unknown_parameter(types, function, query->name);
	const struct fetch_form form = {.reg = simple ? arch_probe_of_parameter(arch_own(), at) : NULL};
	if (!form.reg)
		return error_new_kind(ERROR_UNSUPPORTED,
				      "'%s' is not passed in a register; use the kernel's debug information (-k VMLINUX)", query->name);
	set_type(&value, parameter.type);
	if ((error = fetch_value_walk(&value.way, query)) || (error = fetch_add_text(&value.way.fetch, &form, out)))
		return error;
	fetch_value_add_type(&value.way, query, out);
	return NULL;
}
