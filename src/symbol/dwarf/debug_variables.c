/* Variables of a program by name and by place, and the way from one to its members and elements. */
#include "symbol/dwarf/debug_program_internal.h"

#include "base/cleanup.h"
#include "symbol/dwarf/fetch_value.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = 8 };

/* A variable, or a part of one. */
struct value {
	struct fetch_value way;
	Dwarf_Die type; /* real */
	bool has_type;
};

/* ---- finding ---- */

static bool is_variable(int tag)
{
	return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter || tag == DW_TAG_constant;
}

static bool find_child(Dwarf_Die *parent, const char *name, Dwarf_Die *ret)
{
	Dwarf_Die child;

	if (dwarf_child(parent, &child) != 0)
		return false;
	do {
		const char *its = is_variable(dwarf_tag(&child)) ? dwarf_diename(&child) : NULL;
		if (its && !strcmp(its, name) && !dwarf_hasattr(&child, DW_AT_declaration)) {
			*ret = child;
			return true;
		}
		if (dwarf_tag(&child) == DW_TAG_namespace && find_child(&child, name, ret))
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

struct place {
	Dwarf_Die unit, scopes[SCOPES_MAX];
	size_t count;
	Dwarf_Die *function; /* the one with code of its own, or NULL */
};

static void find_place(struct debug_program *program, uint64_t address, struct place *ret)
{
	ret->function = NULL;
	ret->count = debug_scopes(program, address, &ret->unit, ret->scopes);
	for (size_t i = 0; i < ret->count; i++)
		if (dwarf_tag(&ret->scopes[i]) == DW_TAG_subprogram)
			ret->function = &ret->scopes[i];
}

/* In the scopes from the innermost out, then in the file, then in any other. */
static bool find_variable(struct debug_program *program, struct place *place, const char *name, Dwarf_Die *ret)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;
	Dwarf_Half version;
	uint8_t type;

	for (size_t i = place->count; i-- > 0;)
		if (find_child(&place->scopes[i], name, ret))
			return true;
	if (place->count && find_child(&place->unit, name, ret))
		return true;
	while (dwarf_get_units(program->file.dwarf, cu, &cu, &version, &type, &unit, NULL) == 0)
		if (find_child(&unit, name, ret) && dwarf_hasattr_integrate(ret, DW_AT_external))
			return true;
	return false;
}

static void add_names(struct place *place, struct strbuf *out)
{
	for (size_t i = place->count; i-- > 0;) {
		Dwarf_Die child;
		if (dwarf_child(&place->scopes[i], &child) != 0)
			continue;
		do {
			const char *name = is_variable(dwarf_tag(&child)) ? dwarf_diename(&child) : NULL;
			if (name)
				strbuf_printf(out, "%s%s", out->len ? ", " : "", name);
		} while (dwarf_siblingof(&child, &child) == 0);
	}
}

static struct error *unknown_variable(struct place *place, const char *name)
{
	struct strbuf names = {0};

	add_names(place, &names);
	struct error *error = error_new("no variable '%s' there%s%s", name, names.len ? "; the variables are: " : "", strbuf_str(&names));
	strbuf_deinit(&names);
	return error;
}

/* ---- the way to a part ---- */

static enum fetch_kind kind_of(struct fetch_value *way)
{
	struct value *value = (struct value *)way;

	switch (value->has_type ? dwarf_tag(&value->type) : 0) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return FETCH_POINTER;
	case DW_TAG_array_type:
		return FETCH_ARRAY;
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_class_type:
		return FETCH_STRUCTURE;
	default:
		return FETCH_OTHER;
	}
}

/* What has no type takes a register. */
static uint64_t size_of(struct fetch_value *way)
{
	struct value *value = (struct value *)way;

	return value->has_type ? debug_type_size(&value->type) : WORD;
}

static bool is_signed(struct fetch_value *way)
{
	struct value *value = (struct value *)way;
	Dwarf_Attribute attribute;
	Dwarf_Word encoding;

	return value->has_type && dwarf_tag(&value->type) == DW_TAG_base_type && dwarf_attr(&value->type, DW_AT_encoding, &attribute) &&
	       dwarf_formudata(&attribute, &encoding) == 0 &&
	       (encoding == DW_ATE_signed || encoding == DW_ATE_signed_char || encoding == DW_ATE_signed_fixed);
}

static bool has_characters(struct fetch_value *way)
{
	struct value *value = (struct value *)way;
	Dwarf_Die element;

	return debug_real_type(&value->type, &element) && debug_is_char(&element);
}

static bool go_to_target(struct fetch_value *way)
{
	struct value *value = (struct value *)way;
	Dwarf_Die type = value->type;

	return value->has_type = debug_real_type(&type, &value->type);
}

/* Bit-fields: DWARF 4 and later count the bits from the beginning of the structure; before, from the high end of a box. */
static void note_bits(struct fetch_value *way, Dwarf_Die *member, uint64_t *offset)
{
	Dwarf_Attribute attribute;
	Dwarf_Word width, at;
	uint64_t size = size_of(way);

	way->bits = 0;
	if (!dwarf_attr_integrate(member, DW_AT_bit_size, &attribute) || dwarf_formudata(&attribute, &width) != 0 || !size)
		return;
	way->box = (unsigned int)size * 8;
	if (dwarf_attr_integrate(member, DW_AT_data_bit_offset, &attribute) && dwarf_formudata(&attribute, &at) == 0) {
		*offset += at / way->box * size;
		way->bit_at = (unsigned int)(at % way->box);
	} else if (dwarf_attr_integrate(member, DW_AT_bit_offset, &attribute) && dwarf_formudata(&attribute, &at) == 0) {
		way->bit_at = way->box - (unsigned int)width - (unsigned int)at;
	}
	way->bits = (unsigned int)width;
}

static struct error *unknown_member(Dwarf_Die *type, const char *name)
{
	struct strbuf names = {0};
	Dwarf_Die child;

	if (dwarf_child(type, &child) == 0) {
		do {
			const char *its = dwarf_tag(&child) == DW_TAG_member ? dwarf_diename(&child) : NULL;
			if (its)
				strbuf_printf(&names, "%s%s", names.len ? ", " : "", its);
		} while (dwarf_siblingof(&child, &child) == 0);
	}
	const char *its = dwarf_diename(type);
	struct error *error =
		error_new("%s has no member '%s'%s%s", its ? its : "the structure", name, names.len ? ", but " : "", strbuf_str(&names));
	strbuf_deinit(&names);
	return error;
}

static struct error *go_to_member(struct fetch_value *way, const char *name, uint64_t *ret_offset)
{
	struct value *value = (struct value *)way;
	Dwarf_Die member, structure = value->type;

	if (!debug_find_member(&structure, name, &member, ret_offset))
		return unknown_member(&structure, name);
	value->has_type = debug_real_type(&member, &value->type);
	note_bits(way, &member, ret_offset);
	return NULL;
}

static const struct fetch_types dwarf_types = {
	.kind = kind_of,
	.size = size_of,
	.is_signed = is_signed,
	.has_characters = has_characters,
	.go_to_target = go_to_target,
	.go_to_member = go_to_member,
};

static struct error *fetch_text(struct debug_program *program, struct place *place, uint64_t address, const struct debug_fetch_query *query,
				struct strbuf *out)
{
	Dwarf_Die variable;
	struct value value = {.way = {.types = &dwarf_types, .name = query->name}};
	struct error *error;

	if (!find_variable(program, place, query->name, &variable))
		return unknown_variable(place, query->name);
	if ((error = debug_locate(program, &variable, place->function, address, &value.way.fetch)))
		return error;
	value.has_type = debug_real_type(&variable, &value.type);
	const struct fetch_form form = {
		.arch = program->arch, .kernel = program->kernel, .symbol = dwarf_diename(&variable), .static_delta = query->static_delta};
	if ((error = fetch_value_walk(&value.way, query)) || (error = fetch_add_text(&value.way.fetch, &form, out)))
		return error;
	fetch_value_add_type(&value.way, query, out);
	return NULL;
}

struct error *debug_program_fetch(struct debug_program *program, uint64_t address, const struct debug_fetch_query *query,
				  struct strbuf *out)
{
	struct place place;

	find_place(program, address, &place);
	return fetch_text(program, &place, address, query, out);
}

/* ---- lists ---- */

static uint64_t entry_of(struct place *place)
{
	Dwarf_Addr entry = 0;

	for (size_t i = place->count; i-- > 0;)
		if (debug_is_function(dwarf_tag(&place->scopes[i])) && dwarf_entrypc(&place->scopes[i], &entry) == 0)
			break;
	return entry;
}

/* Where a variable has a place: by its list of locations, or as far as its scope goes. */
static char *describe_ranges(Dwarf_Die *variable, Dwarf_Die *scope, uint64_t entry)
{
	Dwarf_Attribute attribute;
	Dwarf_Addr base, low, high;
	Dwarf_Op *operations;
	size_t count;
	struct strbuf out = {0};

	if (dwarf_attr_integrate(variable, DW_AT_location, &attribute))
		for (ptrdiff_t at = 0; (at = dwarf_getlocations(&attribute, at, &base, &low, &high, &operations, &count)) > 0;)
			if (low || high != UINT64_MAX)
				strbuf_printf(&out, "%s%lld-%lld", out.len ? "," : "", (long long)(low - entry), (long long)(high - entry));
	if (!out.len && scope)
		for (ptrdiff_t at = 0; (at = dwarf_ranges(scope, at, &base, &low, &high)) > 0;)
			strbuf_printf(&out, "%s%lld-%lld", out.len ? "," : "", (long long)(low - entry), (long long)(high - entry));
	if (out.len)
		return strbuf_detach(&out);
	return NULL;
}

static void list_variable(struct debug_program *program, struct place *place, uint64_t address, Dwarf_Die *variable, Dwarf_Die *scope,
			  struct debug_variables *ret)
{
	struct strbuf type = {0}, text = {0};
	struct fetch fetch;
	const char *name = dwarf_diename(variable);

	if (!name)
		return;
	const struct fetch_form form = {.arch = program->arch, .kernel = program->kernel, .symbol = name};
	struct error *error = debug_locate(program, variable, place->function, address, &fetch);
	if (!error)
		error = fetch_add_text(&fetch, &form, &text);
	debug_add_type_name(&type, variable);
	struct debug_variable one = {.type = strbuf_detach(&type),
				     .name = name,
				     .parameter = dwarf_tag(variable) == DW_TAG_formal_parameter,
				     .external = !scope,
				     .available = !error,
				     .ranges = scope ? describe_ranges(variable, scope, entry_of(place)) : NULL};
	vec_push(&ret->items, one);
	strbuf_deinit(&text);
	error_free(error);
}

static void list_children(struct debug_program *program, struct place *place, uint64_t address, Dwarf_Die *parent, bool external,
			  struct debug_variables *ret)
{
	Dwarf_Die child;

	if (dwarf_child(parent, &child) != 0)
		return;
	do {
		int tag = dwarf_tag(&child);
		if (tag == DW_TAG_variable || (tag == DW_TAG_formal_parameter && !external))
			list_variable(program, place, address, &child, external ? NULL : parent, ret);
	} while (dwarf_siblingof(&child, &child) == 0);
}

/* Blocks up to the function around them: an inlined one doesn't see its caller's variables. */
void debug_program_variables(struct debug_program *program, uint64_t address, bool externals, struct debug_variables *ret)
{
	struct place place;

	find_place(program, address, &place);
	size_t first = place.count;
	while (first > 0 && !debug_is_function(dwarf_tag(&place.scopes[--first])))
		;
	for (size_t i = first; i < place.count; i++)
		list_children(program, &place, address, &place.scopes[i], false, ret);
	if (externals && place.count)
		list_children(program, &place, address, &place.unit, true, ret);
}

void debug_variables_deinit(struct debug_variables *variables)
{
	for (size_t i = 0; i < variables->items.len; i++) {
		free(variables->items.data[i].type);
		free(variables->items.data[i].ranges);
	}
	vec_deinit(&variables->items);
}
