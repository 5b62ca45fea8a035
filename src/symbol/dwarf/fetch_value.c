/* Steps from a variable to a part of it (fetch_value.h). Each moves the place that the value is at, or reads a pointer there first, and
 * leaves the type of the part behind. */
#include "symbol/dwarf/fetch_value.h"

#include "base/text.h"

enum { REGISTER_BITS = 64 };

/* From a pointer to what it points to; the type may be unknown then. */
static struct error *follow(struct fetch_value *value, bool *ret_known)
{
	if (!fetch_dereference(&value->fetch, 0))
		return error_new("'%s' goes through too many pointers", value->name);
	*ret_known = value->types->go_to_target(value);
	return NULL;
}

static struct error *step_to_member(struct fetch_value *value, const struct debug_step *step)
{
	bool known, pointer = value->types->kind(value) == FETCH_POINTER;
	uint64_t offset;
	struct error *error = pointer ? follow(value, &known) : NULL;

	if (error)
		return error;
	if (value->types->kind(value) != FETCH_STRUCTURE)
		return error_new("'%s' is not a structure, so it has no member '%s'", value->name, step->member);
	if (pointer != step->arrow)
		return error_new("'%s' is %s pointer: write %s%s", value->name, pointer ? "a" : "no", pointer ? "->" : ".", step->member);
	if ((error = value->types->go_to_member(value, step->member, &offset)))
		return error;
	value->name = step->member;
	if (fetch_add_offset(&value->fetch, (int64_t)offset))
		return NULL;
	/* A structure in a register. */
	value->fetch.bit += (unsigned int)offset * 8;
	return value->fetch.base == FETCH_REGISTER && value->fetch.bit < REGISTER_BITS ? NULL
										       : error_new("'%s' is not in memory", value->name);
}

static struct error *step_to_element(struct fetch_value *value, const struct debug_step *step)
{
	enum fetch_kind kind = value->types->kind(value);
	struct error *error = NULL;
	bool known = false;
	int64_t offset;

	if (kind == FETCH_POINTER)
		error = follow(value, &known);
	else if (kind == FETCH_ARRAY)
		known = value->types->go_to_target(value);
	else
		error = error_new("'%s' is neither an array nor a pointer, so it has no element [%lld]", value->name,
				  (long long)step->index);
	if (error)
		return error;
	if (!known || __builtin_mul_overflow(step->index, (int64_t)value->types->size(value), &offset) ||
	    !fetch_add_offset(&value->fetch, offset))
		return error_new("'%s': the location of its element [%lld] is unknown", value->name, (long long)step->index);
	return NULL;
}

/* A string: what a pointer points to, or an array itself. */
static struct error *make_string(struct fetch_value *value)
{
	enum fetch_kind kind = value->types->kind(value);
	bool known;

	if ((kind != FETCH_POINTER && kind != FETCH_ARRAY) || !value->types->has_characters(value))
		return error_new("'%s' is neither a pointer to characters nor an array of them, so it is not a string", value->name);
	return kind == FETCH_POINTER ? follow(value, &known) : NULL;
}

struct error *fetch_value_walk(struct fetch_value *value, const struct debug_fetch_query *query)
{
	struct error *error = NULL;

	for (size_t i = 0; !error && i < query->step_count; i++)
		error = query->steps[i].member ? step_to_member(value, &query->steps[i]) : step_to_element(value, &query->steps[i]);
	if (!error && query->cast && (str_starts_with(query->cast, "string") || str_starts_with(query->cast, "ustring")))
		error = make_string(value);
	return error;
}

void fetch_value_add_type(struct fetch_value *value, const struct debug_fetch_query *query, struct strbuf *out)
{
	uint64_t size = value->types->size(value);

	if (query->cast)
		strbuf_printf(out, ":%s", query->cast);
	else if (value->bits && value->box)
		strbuf_printf(out, ":b%u@%u/%u", value->bits, value->bit_at + value->fetch.bit,
			      value->fetch.count ? value->box : REGISTER_BITS);
	else if (value->fetch.bit)
		strbuf_printf(out, ":b%u@%u/%u", (unsigned int)size * 8, value->fetch.bit, REGISTER_BITS);
	else if (value->types->kind(value) == FETCH_POINTER)
		strbuf_add_str(out, ":x64");
	else if (value->types->kind(value) != FETCH_ARRAY && size)
		strbuf_printf(out, ":%c%u", value->types->is_signed(value) ? 's' : 'x',
			      size >= 8	  ? 64
			      : size >= 4 ? 32
			      : size >= 2 ? 16
					  : 8);
}
