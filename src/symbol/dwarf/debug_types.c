/* Types of variables: what they are called, how large they are, where their members are. */
#include "symbol/dwarf/debug_types.h"

#include <dwarf.h>
#include <string.h>

enum { CHAIN_MAX = 64, NESTING_MAX = 16 };

static bool is_qualifier(int tag)
{
	return tag == DW_TAG_const_type || tag == DW_TAG_volatile_type || tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type ||
	       tag == DW_TAG_shared_type;
}

static bool type_of(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, ret);
}

bool debug_named_type(Dwarf_Die *die, Dwarf_Die *ret)
{
	bool found = type_of(die, ret);

	for (unsigned int i = 0; found && i < CHAIN_MAX && is_qualifier(dwarf_tag(ret)); i++) {
		Dwarf_Die next;
		found = type_of(ret, &next);
		*ret = next;
	}
	return found;
}

bool debug_real_type(Dwarf_Die *die, Dwarf_Die *ret)
{
	bool found = debug_named_type(die, ret);

	for (unsigned int i = 0; found && i < CHAIN_MAX && dwarf_tag(ret) == DW_TAG_typedef; i++) {
		Dwarf_Die next;
		found = debug_named_type(ret, &next);
		*ret = next;
	}
	return found;
}

bool debug_is_pointer(int tag)
{
	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

bool debug_is_structure(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_class_type;
}

static const char *kind_of(int tag)
{
	return tag == DW_TAG_structure_type	? "struct "
	       : tag == DW_TAG_union_type	? "union "
	       : tag == DW_TAG_enumeration_type ? "enum "
						: "";
}

static void add_target_name(struct strbuf *out, Dwarf_Die *variable, unsigned int depth);

static void add_name(struct strbuf *out, Dwarf_Die *type, unsigned int depth)
{
	int tag = dwarf_tag(type);
	if (debug_is_pointer(tag) || tag == DW_TAG_array_type) {
		add_target_name(out, type, depth + 1);
		strbuf_add_str(out, tag == DW_TAG_array_type ? "[]" : tag == DW_TAG_pointer_type ? "*" : "&");
	} else if (tag == DW_TAG_subroutine_type) {
		strbuf_add_str(out, "(function_type)");
	} else {
		const char *name = dwarf_diename(type);
		strbuf_add_str(out, kind_of(tag));
		strbuf_add_str(out, name ? name : "<anonymous>");
	}
}

/* Of the type that a variable has, a pointer leads to, an array has as elements. */
static void add_target_name(struct strbuf *out, Dwarf_Die *variable, unsigned int depth)
{
	Dwarf_Die type;

	if (depth <= NESTING_MAX && debug_named_type(variable, &type))
		add_name(out, &type, depth);
	else
		strbuf_add_str(out, "void");
}

void debug_add_type_name(struct strbuf *out, Dwarf_Die *variable)
{
	add_target_name(out, variable, 0);
}

void debug_add_name_of_type(struct strbuf *out, Dwarf_Die *type)
{
	add_name(out, type, 0);
}

uint64_t debug_type_size(Dwarf_Die *type)
{
	Dwarf_Word size;

	return dwarf_aggregate_size(type, &size) == 0 ? size : 0;
}

bool debug_is_char(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word encoding;

	if (dwarf_tag(type) != DW_TAG_base_type || debug_type_size(type) != 1 || !dwarf_attr(type, DW_AT_encoding, &attribute) ||
	    dwarf_formudata(&attribute, &encoding) != 0)
		return false;
	return encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char || encoding == DW_ATE_UTF || encoding == DW_ATE_unsigned;
}

/* DW_AT_data_member_location is a number, or in old versions an expression that adds one. */
uint64_t debug_member_offset(Dwarf_Die *member)
{
	Dwarf_Attribute attribute;
	Dwarf_Word offset;
	Dwarf_Op *operations;
	size_t count;

	if (!dwarf_attr_integrate(member, DW_AT_data_member_location, &attribute))
		return 0;
	if (dwarf_formudata(&attribute, &offset) == 0)
		return offset;
	if (dwarf_getlocation(&attribute, &operations, &count) == 0 && count == 1 && operations[0].atom == DW_OP_plus_uconst)
		return operations[0].number;
	return 0;
}

static bool find_member(Dwarf_Die *type, const char *name, unsigned int depth, Dwarf_Die *ret, uint64_t *ret_offset)
{
	Dwarf_Die child, inner;

	if (depth > NESTING_MAX || dwarf_child(type, &child) != 0)
		return false;
	do {
		int tag = dwarf_tag(&child);
		const char *its = dwarf_diename(&child);
		if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
			continue;
		if (tag == DW_TAG_member && its && !strcmp(its, name)) {
			*ret = child;
			*ret_offset = debug_member_offset(&child);
			return true;
		}
		if ((tag == DW_TAG_inheritance || !its) && debug_real_type(&child, &inner) &&
		    find_member(&inner, name, depth + 1, ret, ret_offset)) {
			*ret_offset += debug_member_offset(&child);
			return true;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

bool debug_find_member(Dwarf_Die *type, const char *name, Dwarf_Die *ret, uint64_t *ret_offset)
{
	return find_member(type, name, 0, ret, ret_offset);
}
