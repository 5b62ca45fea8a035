/* Variables of a program by name and by place, and the way from one to its members and elements. */
#include "symbol/dwarf/debug_program_internal.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64, REFERENCES_MAX = 16 };

/* A variable, or a part of one, and what is known of its place. */
struct value {
	Dwarf_Die type; /* real */
	bool has_type;
	struct fetch fetch;
	const char *symbol;		/* of a static one */
	unsigned int bits, bit_at, box; /* of a bit-field: its width, where it begins in a box of so many bits; 0 = none */
	const char *name;		/* as far as the way has gone, for errors */
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

static bool is_pointer(const struct value *value)
{
	Dwarf_Die type = value->type;
	int tag = value->has_type ? dwarf_tag(&type) : 0;

	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

/* From a pointer to what it points to. */
static struct error *follow(struct value *value)
{
	Dwarf_Die pointer = value->type;

	if (!fetch_dereference(&value->fetch, 0))
		return error_new("'%s' goes through too many pointers", value->name);
	value->has_type = debug_real_type(&pointer, &value->type);
	return NULL;
}

/* Bit-fields: DWARF 4 and later count the bits from the beginning of the structure; before, from the high end of a box. */
static void note_bits(struct value *value, Dwarf_Die *member, uint64_t *offset)
{
	Dwarf_Attribute attribute;
	Dwarf_Word width, at;
	uint64_t size = debug_type_size(&value->type);

	value->bits = 0;
	if (!dwarf_attr_integrate(member, DW_AT_bit_size, &attribute) || dwarf_formudata(&attribute, &width) != 0 || !size)
		return;
	value->box = (unsigned int)size * 8;
	if (dwarf_attr_integrate(member, DW_AT_data_bit_offset, &attribute) && dwarf_formudata(&attribute, &at) == 0) {
		*offset += at / value->box * size;
		value->bit_at = (unsigned int)(at % value->box);
	} else if (dwarf_attr_integrate(member, DW_AT_bit_offset, &attribute) && dwarf_formudata(&attribute, &at) == 0) {
		value->bit_at = value->box - (unsigned int)width - (unsigned int)at;
	}
	value->bits = (unsigned int)width;
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

static struct error *step_to_member(struct value *value, const struct debug_step *step)
{
	Dwarf_Die member, structure;
	uint64_t offset;
	bool pointer = is_pointer(value);
	struct error *error = pointer ? follow(value) : NULL;

	if (error)
		return error;
	int tag = value->has_type ? dwarf_tag(&value->type) : 0;
	if (tag != DW_TAG_structure_type && tag != DW_TAG_union_type && tag != DW_TAG_class_type)
		return error_new("'%s' is not a structure, so it has no member '%s'", value->name, step->member);
	if (pointer != step->arrow)
		return error_new("'%s' is %s pointer: write %s%s", value->name, pointer ? "a" : "no", pointer ? "->" : ".", step->member);
	structure = value->type;
	if (!debug_find_member(&structure, step->member, &member, &offset))
		return unknown_member(&structure, step->member);
	value->has_type = debug_real_type(&member, &value->type);
	note_bits(value, &member, &offset);
	value->name = step->member;
	if (fetch_add_offset(&value->fetch, (int64_t)offset))
		return NULL;
	/* A structure in a register. */
	value->fetch.bit += (unsigned int)offset * 8;
	return value->fetch.base == FETCH_REGISTER && value->fetch.bit < WORD_BITS ? NULL : error_new("'%s' is not in memory", value->name);
}

static struct error *step_to_element(struct value *value, const struct debug_step *step)
{
	Dwarf_Die type = value->type, element;
	int64_t offset;
	bool pointer = is_pointer(value);
	struct error *error;

	if (!pointer && (!value->has_type || dwarf_tag(&type) != DW_TAG_array_type))
		return error_new("'%s' is neither an array nor a pointer, so it has no element [%lld]", value->name,
				 (long long)step->index);
	if (pointer && (error = follow(value)))
		return error;
	if (!debug_real_type(&type, &element) || __builtin_mul_overflow(step->index, (int64_t)debug_type_size(&element), &offset) ||
	    !fetch_add_offset(&value->fetch, offset))
		return error_new("'%s': the location of its element [%lld] is unknown", value->name, (long long)step->index);
	value->type = element;
	value->has_type = true;
	return NULL;
}

static struct error *take_steps(struct value *value, const struct debug_fetch_query *query)
{
	struct error *error = NULL;

	for (size_t i = 0; !error && i < query->step_count; i++)
		error = query->steps[i].member ? step_to_member(value, &query->steps[i]) : step_to_element(value, &query->steps[i]);
	return error;
}

/* ---- the type for the kernel ---- */

static bool is_signed(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word encoding;

	return dwarf_tag(type) == DW_TAG_base_type && dwarf_attr(type, DW_AT_encoding, &attribute) &&
	       dwarf_formudata(&attribute, &encoding) == 0 &&
	       (encoding == DW_ATE_signed || encoding == DW_ATE_signed_char || encoding == DW_ATE_signed_fixed);
}

static void add_type(struct strbuf *out, struct value *value)
{
	uint64_t size = value->has_type ? debug_type_size(&value->type) : 8;
	int tag = value->has_type ? dwarf_tag(&value->type) : 0;

	if (value->bits) {
		strbuf_printf(out, ":b%u@%u/%u", value->bits, value->bit_at + value->fetch.bit,
			      value->fetch.count ? value->box : WORD_BITS);
	} else if (value->fetch.bit) {
		strbuf_printf(out, ":b%u@%u/%u", (unsigned int)size * 8, value->fetch.bit, WORD_BITS);
	} else if (is_pointer(value)) {
		strbuf_add_str(out, ":x64");
	} else if (tag != DW_TAG_array_type && size) {
		unsigned int width = size >= 8 ? 64 : size >= 4 ? 32 : size >= 2 ? 16 : 8;
		strbuf_printf(out, ":%c%u", is_signed(&value->type) ? 's' : 'x', width);
	}
}

/* A string: what a pointer points to, or an array itself. */
static struct error *make_string(struct value *value)
{
	Dwarf_Die element, type = value->type;
	bool pointer = is_pointer(value);

	if (!pointer && (!value->has_type || dwarf_tag(&type) != DW_TAG_array_type))
		return error_new("'%s' is neither a pointer to characters nor an array of them, so it is not a string", value->name);
	if (!debug_real_type(&type, &element) || (!debug_is_char(&element)))
		return error_new("'%s' does not point to characters, so it is not a string", value->name);
	return pointer ? follow(value) : NULL;
}

static bool is_string_cast(const char *cast)
{
	return cast && (str_starts_with(cast, "string") || str_starts_with(cast, "ustring"));
}

static struct error *fetch_text(struct debug_program *program, struct place *place, uint64_t address, const struct debug_fetch_query *query,
				struct strbuf *out)
{
	Dwarf_Die variable;
	struct value value = {.name = query->name};
	struct error *error;

	if (!find_variable(program, place, query->name, &variable))
		return unknown_variable(place, query->name);
	if ((error = debug_locate(program, &variable, place->function, address, &value.fetch)))
		return error;
	value.symbol = dwarf_diename(&variable);
	value.has_type = debug_real_type(&variable, &value.type);
	if ((error = take_steps(&value, query)) || (is_string_cast(query->cast) && (error = make_string(&value))))
		return error;
	struct fetch_form form = {program->arch, program->kernel, value.symbol, query->static_delta};
	if ((error = fetch_add_text(&value.fetch, &form, out)))
		return error;
	if (query->cast)
		strbuf_printf(out, ":%s", query->cast);
	else
		add_type(out, &value);
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
	struct fetch_form form = {program->arch, program->kernel, name, 0};
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
