/* The cost of Rust's v0 names (RFC 2603, "Symbol grammar v0"). A back reference names a byte at which a path, a type or a constant begins
 * that is to be repeated, so that n references can mean 2^n repetitions. The grammar is walked with each reference followed, until the end
 * or until the steps are used up; nothing is written.
 */
#include "symbol/demangle_cost.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum { STEPS_MAX = 1 << 18, DEPTH_MAX = 600, BYTES_PER_STEP = 16 };

struct walk {
	const char *text; /* behind "_R" */
	size_t size, at;
	unsigned int steps, depth;
	bool stop; /* not in the grammar, or too much */
	bool too_much;
};

static void walk_type(struct walk *walk);
static void walk_path(struct walk *walk);

static char peek(const struct walk *walk)
{
	return walk->at < walk->size ? walk->text[walk->at] : '\0';
}

static bool eat(struct walk *walk, char c)
{
	bool there = c && peek(walk) == c;
	walk->at += there;
	return there;
}

/* One item of the grammar begins. */
static bool enter(struct walk *walk)
{
	walk->too_much |= ++walk->steps >= STEPS_MAX || ++walk->depth > DEPTH_MAX;
	walk->stop |= walk->too_much || walk->at >= walk->size;
	return !walk->stop;
}

static void leave(struct walk *walk)
{
	walk->depth--;
}

/* "_" is 0, "0_" 1 and so on. */
static uint64_t base_62(struct walk *walk)
{
	uint64_t value = 0;
	if (eat(walk, '_'))
		return 0;
	while (!walk->stop && !eat(walk, '_')) {
		char c = peek(walk);
		if (!isalnum((unsigned char)c) || value > UINT32_MAX) {
			walk->stop = true;
			return 0;
		}
		value = value * 62 + (uint64_t)(isdigit((unsigned char)c)   ? c - '0'
						: islower((unsigned char)c) ? c - 'a' + 10
									    : c - 'A' + 36);
		walk->at++;
	}
	return value + 1;
}

static void walk_identifier(struct walk *walk)
{
	size_t length = 0;
	if (eat(walk, 's'))
		base_62(walk);
	eat(walk, 'u');
	if (!isdigit((unsigned char)peek(walk)))
		walk->stop = true;
	if (!eat(walk, '0'))
		while (isdigit((unsigned char)peek(walk)) && length <= walk->size)
			length = length * 10 + (size_t)(walk->text[walk->at++] - '0');
	eat(walk, '_');
	if (length > walk->size - walk->at)
		walk->stop = true;
	else
		walk->at += length;
	walk->steps += (unsigned int)(walk->stop ? 0 : length / BYTES_PER_STEP);
}

/* Goes to where a reference, whose 'B' has been read, leads. It must lead back, or it would never end. */
static void walk_reference(struct walk *walk, void (*item)(struct walk *))
{
	size_t start = walk->at - 1;
	uint64_t target = base_62(walk);
	size_t behind = walk->at;
	if (target >= start)
		walk->stop = true;
	if (walk->stop)
		return;
	walk->at = target;
	item(walk);
	walk->at = behind;
}

static void walk_constant(struct walk *walk)
{
	if (!enter(walk))
		return;
	if (eat(walk, 'B')) {
		walk_reference(walk, walk_constant);
	} else if (!eat(walk, 'p')) {
		walk_type(walk);
		while (!walk->stop && !eat(walk, '_')) {
			walk->stop = !peek(walk);
			walk->at++;
		}
	}
	leave(walk);
}

static void walk_argument(struct walk *walk)
{
	if (eat(walk, 'L'))
		base_62(walk);
	else if (eat(walk, 'K'))
		walk_constant(walk);
	else
		walk_type(walk);
}

static void walk_list(struct walk *walk, void (*item)(struct walk *))
{
	while (!walk->stop && !eat(walk, 'E'))
		item(walk);
}

static void walk_trait(struct walk *walk)
{
	walk_path(walk);
	while (!walk->stop && eat(walk, 'p')) {
		walk_identifier(walk);
		walk_type(walk);
	}
}

static void walk_function(struct walk *walk)
{
	if (eat(walk, 'G'))
		base_62(walk);
	eat(walk, 'U');
	if (eat(walk, 'K') && !eat(walk, 'C'))
		walk_identifier(walk);
	walk_list(walk, walk_type);
	walk_type(walk);
}

static void walk_type(struct walk *walk)
{
	if (!enter(walk))
		return;
	char kind = peek(walk);
	walk->at += islower((unsigned char)kind) || (kind && strchr("ASTRQPOFDB", kind));
	if (kind == 'B') {
		walk_reference(walk, walk_type);
	} else if (kind == 'R' || kind == 'Q') {
		if (eat(walk, 'L'))
			base_62(walk);
		walk_type(walk);
	} else if (kind && strchr("ASPO", kind)) {
		walk_type(walk);
		if (kind == 'A')
			walk_constant(walk);
	} else if (kind == 'T') {
		walk_list(walk, walk_type);
	} else if (kind == 'F') {
		walk_function(walk);
	} else if (kind == 'D') {
		if (eat(walk, 'G'))
			base_62(walk);
		walk_list(walk, walk_trait);
		if (eat(walk, 'L'))
			base_62(walk);
	} else if (!islower((unsigned char)kind)) {
		walk_path(walk);
	}
	leave(walk);
}

/* Where an impl is: a path that isn't shown. */
static void walk_place(struct walk *walk)
{
	if (eat(walk, 's'))
		base_62(walk);
	walk_path(walk);
}

static void walk_path(struct walk *walk)
{
	if (!enter(walk))
		return;
	char kind = peek(walk);
	walk->at++;
	switch (kind) {
	case 'C':
		walk_identifier(walk);
		break;
	case 'M':
	case 'X':
		walk_place(walk);
		walk_type(walk);
		if (kind == 'X')
			walk_path(walk);
		break;
	case 'Y':
		walk_type(walk);
		walk_path(walk);
		break;
	case 'N':
		walk->at++;
		walk_path(walk);
		walk_identifier(walk);
		break;
	case 'I':
		walk_path(walk);
		walk_list(walk, walk_argument);
		break;
	case 'B':
		walk_reference(walk, walk_path);
		break;
	default:
		walk->stop = true;
	}
	leave(walk);
}

bool demangle_cost_rust(const char *name)
{
	name += name[0] == '_' && name[1] == '_';
	if (name[0] != '_' || name[1] != 'R')
		return true;
	struct walk walk = {.text = name + 2, .size = strlen(name + 2)};
	while (isdigit((unsigned char)peek(&walk)))
		walk.at++;
	walk_path(&walk);
	/* Where the grammar ends, libiberty ends too. */
	return !walk.too_much;
}
