/* The cost of C++ names. libiberty parses a name into a graph of components with at most two for each byte, in which substitutions are
 * shared; printing it walks all paths. Each component's number of visits is found once, from those below it:
 *
 *	_Z1fI1AIiiES0_IS1_S1_E…        A<int, int> ◄─┬─ S1_ ◄─┬─ S2_ …      1, 2, 4, … visits in as many bytes
 *	                                             └────────┘
 *
 * A template parameter stands for an argument of the function that it is in, and arguments can have parameters of a function further out.
 * So a cost is a sum, "fixed + parameters × what a parameter costs here", and a function puts in the cost of its arguments. The number is
 * an upper limit; compilers write names that stay far below COST_MAX.
 *
 * libiberty notes in which function a reference to a parameter ("RT_") was first seen, and resolves it there from then on. Where a
 * substitution takes a parameter into another function, arguments can so be put in more often than the sums say: then only few functions
 * may be within each other (compilers make three).
 *
 * Not here: what to do with a name that costs too much (demangle.c).
 */
#include "symbol/demangle_cost.h"

#include "base/mem.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	COST_MAX = 1 << 18,
	/* Functions that a parameter may cross without more ado. */
	CROSSING_SCOPES = 4,
	/* Fewer references than this can't make much: n of them, spread as well as possible, multiply a name by 3^(n/3). */
	FEW_REFERENCES = 12,
	/* libiberty parses the arguments in "cv T_ I…E" twice, and so on inside. */
	CONVERSION_DEPTH = 8,
	LENGTH_PER_STEP = 16,
};

/* Visits: fixed + parameters × cost of a parameter of the function around + converted × cost of one of the template around. None is above
 * COST_MAX. */
struct cost {
	uint64_t fixed, parameters, converted;
};

struct place {
	struct cost cost;
	bool known;
	const struct demangle_component *scope; /* the function that it was found in */
};

struct weighing {
	const struct demangle_component *first; /* the array of all */
	struct place *places;			/* of each */
	size_t count;
	uint64_t longest; /* list of arguments */
	unsigned int scopes;
	bool crosses; /* a parameter is in two functions */
};

static const struct cost too_much = {COST_MAX, 0, 0};

static struct cost weigh(struct weighing *weighing, const struct demangle_component *component);

static uint64_t limited(uint64_t cost)
{
	return cost < COST_MAX ? cost : COST_MAX;
}

static struct cost sum(struct cost a, struct cost b)
{
	return (struct cost){limited(a.fixed + b.fixed), limited(a.parameters + b.parameters), limited(a.converted + b.converted)};
}

static struct cost times(struct cost a, uint64_t factor)
{
	factor = limited(factor);
	return (struct cost){limited(a.fixed * factor), limited(a.parameters * factor), limited(a.converted * factor)};
}

/* What is below a component: at most two. */
struct children {
	const struct demangle_component *left, *right;
};

static struct children children_of(const struct demangle_component *component)
{
	switch (component->type) {
	case DEMANGLE_COMPONENT_NAME:
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
	case DEMANGLE_COMPONENT_FUNCTION_PARAM:
	case DEMANGLE_COMPONENT_SUB_STD:
	case DEMANGLE_COMPONENT_OPERATOR:
	case DEMANGLE_COMPONENT_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_CHARACTER:
	case DEMANGLE_COMPONENT_NUMBER:
	case DEMANGLE_COMPONENT_UNNAMED_TYPE:
		return (struct children){0};
	case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
		return (struct children){component->u.s_extended_operator.name, NULL};
	case DEMANGLE_COMPONENT_FIXED_TYPE:
		return (struct children){component->u.s_fixed.length, NULL};
	case DEMANGLE_COMPONENT_CTOR:
		return (struct children){component->u.s_ctor.name, NULL};
	case DEMANGLE_COMPONENT_DTOR:
		return (struct children){component->u.s_dtor.name, NULL};
	case DEMANGLE_COMPONENT_LAMBDA:
	case DEMANGLE_COMPONENT_DEFAULT_ARG:
		return (struct children){component->u.s_unary_num.sub, NULL};
	default:
		return (struct children){component->u.s_binary.left, component->u.s_binary.right};
	}
}

/* The template that the parameters of a function are of: its name, behind what qualifies it. NULL when it is none. */
static const struct demangle_component *template_of(const struct weighing *weighing, const struct demangle_component *function)
{
	const struct demangle_component *name = function->u.s_binary.left;
	for (size_t i = 0; name && i < weighing->count && name->type != DEMANGLE_COMPONENT_TEMPLATE; i++) {
		struct children children = children_of(name);
		name = name->type == DEMANGLE_COMPONENT_LOCAL_NAME ? children.right : children.left;
	}
	return name && name->type == DEMANGLE_COMPONENT_TEMPLATE ? name : NULL;
}

static uint64_t list_length(const struct weighing *weighing, const struct demangle_component *list)
{
	uint64_t length = 0;
	for (; list && length < weighing->count && list->type == DEMANGLE_COMPONENT_TEMPLATE_ARGLIST; list = list->u.s_binary.right)
		length++;
	return length;
}

/* A parameter of this function costs what the arguments do, which are looked through for it. */
static struct cost weigh_function(struct weighing *weighing, const struct demangle_component *component, struct cost all)
{
	const struct demangle_component *template = template_of(weighing, component);
	if (!template)
		return all;
	weighing->scopes++;
	struct cost arguments = weigh(weighing, template->u.s_binary.right);
	arguments.fixed += 1 + weighing->longest;
	return sum((struct cost){all.fixed, 0, all.converted}, times(arguments, all.parameters));
}

static struct cost weigh_template(struct weighing *weighing, const struct demangle_component *component, struct cost all)
{
	struct cost arguments = weigh(weighing, component->u.s_binary.right);
	uint64_t length = list_length(weighing, component->u.s_binary.right);
	if (length > weighing->longest)
		weighing->longest = length;
	arguments.fixed += 1 + weighing->longest;
	return sum((struct cost){all.fixed, all.parameters, 0}, times(arguments, all.converted));
}

static struct cost weigh_kind(struct weighing *weighing, const struct demangle_component *component)
{
	struct children children = children_of(component);
	/* The right first: a list's length counts from its arguments on. */
	struct cost all = weigh(weighing, children.right);
	all = sum(all, weigh(weighing, children.left));
	switch (component->type) {
	case DEMANGLE_COMPONENT_NAME:
		return (struct cost){.fixed = limited((uint64_t)component->u.s_name.len / LENGTH_PER_STEP)};
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
		return (struct cost){.parameters = 1};
	case DEMANGLE_COMPONENT_TEMPLATE_ARGLIST:
		if (weighing->longest < list_length(weighing, component))
			weighing->longest = list_length(weighing, component);
		return all;
	case DEMANGLE_COMPONENT_PACK_EXPANSION:
		/* Looked through for the pack, then written for each of its members. */
		return times(all, weighing->longest + 1);
	case DEMANGLE_COMPONENT_TYPED_NAME:
		return weigh_function(weighing, component, all);
	case DEMANGLE_COMPONENT_CAST:
	case DEMANGLE_COMPONENT_CONVERSION:
		return sum(all, (struct cost){.converted = all.parameters});
	case DEMANGLE_COMPONENT_TEMPLATE:
		return weigh_template(weighing, component, all);
	default:
		return all;
	}
}

static struct place *place_of(const struct weighing *weighing, const struct demangle_component *component)
{
	bool inside = component >= weighing->first && component < weighing->first + weighing->count;
	return inside ? &weighing->places[component - weighing->first] : NULL;
}

/* Visits for a component and all below it. */
static struct cost weigh(struct weighing *weighing, const struct demangle_component *component)
{
	if (!component)
		return (struct cost){0};
	struct place *place = place_of(weighing, component);
	if (!place)
		return too_much;
	if (place->known)
		return place->cost;
	/* Until it is known: a loop. */
	*place = (struct place){.cost = too_much, .known = true};
	place->cost = sum((struct cost){.fixed = 1}, weigh_kind(weighing, component));
	return place->cost;
}

/* Whether a parameter is in more than one function. */
static void survey(struct weighing *weighing, const struct demangle_component *component, const struct demangle_component *scope)
{
	struct place *place = component ? place_of(weighing, component) : NULL;
	if (!place)
		return;
	if (place->scope) {
		weighing->crosses |= place->scope != scope && place->cost.parameters;
		return;
	}
	place->scope = scope;
	if (component->type == DEMANGLE_COMPONENT_TYPED_NAME)
		scope = component;
	struct children children = children_of(component);
	survey(weighing, children.left, scope);
	survey(weighing, children.right, scope);
}

static bool is_bounded(struct weighing *weighing, const struct demangle_component *top)
{
	struct cost cost = weigh(weighing, top);
	if (cost.fixed + cost.parameters + cost.converted >= COST_MAX)
		return false;
	survey(weighing, top, top);
	return !weighing->crosses || weighing->scopes <= CROSSING_SCOPES;
}

/* How often "S…_" and "T…_", the references to what came before, can occur at most; and "T…_I", which conversions parse again and again. */
static size_t count_references(const char *name, size_t *ret_again)
{
	size_t count = 0;
	*ret_again = 0;
	for (const char *at = name; *at; at++) {
		if (*at != 'S' && *at != 'T')
			continue;
		const char *end = at + 1;
		while (isdigit((unsigned char)*end) || isupper((unsigned char)*end))
			end++;
		count += *end == '_';
		*ret_again += *at == 'T' && end[0] == '_' && end[1] == 'I';
	}
	return count;
}

bool demangle_cost_cxx(const char *name)
{
	if (name[0] != '_' || name[1] != 'Z')
		return true;
	/* libiberty itself takes none of more components, two a byte; weighing goes as deep as a name is nested. */
	if (2 * strlen(name) > DEMANGLE_RECURSION_LIMIT)
		return true;
	size_t again, references = count_references(name, &again);
	if (again > CONVERSION_DEPTH && strstr(name, "cv"))
		return false;
	if (references <= FEW_REFERENCES)
		return true;
	void *memory = NULL;
	const struct demangle_component *top = cplus_demangle_v3_components(name, DMGL_NO_OPTS, &memory);
	if (!top) {
		free(memory);
		return true;
	}
	struct weighing weighing = {.first = memory, .count = 2 * strlen(name)};
	weighing.places = mem_zalloc_array(weighing.count, sizeof(*weighing.places));
	bool bounded = is_bounded(&weighing, top);
	free(weighing.places);
	free(memory);
	return bounded;
}
