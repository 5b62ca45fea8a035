/* A stack machine of bounded size and time. Source of the facts: DWARF 5 section 2.5. Not here: operations that describe variables (pieces,
 * frame base, TLS), which call frame information does not use. */
#include "unwind/expression.h"

#include "base/cursor.h"
#include "base/formats/leb128.h"

#include <dwarf.h>

enum { DEPTH_MAX = 64, STEPS_MAX = 4096 };

struct evaluation {
	const struct expression_context *context;
	struct cursor at;
	const uint8_t *code;
	size_t size;
	uint64_t stack[DEPTH_MAX];
	unsigned int depth;
	bool failed;
};

static void push(struct evaluation *e, uint64_t value)
{
	if (e->depth == DEPTH_MAX)
		e->failed = true;
	else
		e->stack[e->depth++] = value;
}

static uint64_t pop(struct evaluation *e)
{
	if (!e->depth) {
		e->failed = true;
		return 0;
	}
	return e->stack[--e->depth];
}

static uint64_t peek(struct evaluation *e, unsigned int below)
{
	if (below >= e->depth) {
		e->failed = true;
		return 0;
	}
	return e->stack[e->depth - 1 - below];
}

static void push_register(struct evaluation *e, uint64_t number, int64_t offset)
{
	if (number >= e->context->register_count || !(e->context->known >> number & 1)) {
		e->failed = true;
		return;
	}
	push(e, e->context->registers[number] + (uint64_t)offset);
}

static void push_memory(struct evaluation *e, unsigned int size)
{
	uint64_t value = 0;
	if (!e->context->read(e->context->context, pop(e), size, &value))
		e->failed = true;
	push(e, value);
}

static void jump(struct evaluation *e, bool taken)
{
	int16_t distance = (int16_t)cursor_u16(&e->at);
	if (!taken || e->at.failed)
		return;
	int64_t target = e->at.at - e->code + distance;
	if (target < 0 || (uint64_t)target > e->size)
		e->failed = true;
	else
		e->at.at = e->code + target;
}

static void rotate(struct evaluation *e)
{
	uint64_t top = pop(e), second = pop(e), third = pop(e);
	push(e, top);
	push(e, third);
	push(e, second);
}

/* False: no such operation of two values. */
static bool binary(uint8_t op, uint64_t a, uint64_t b, uint64_t *ret)
{
	int64_t x = (int64_t)a, y = (int64_t)b;
	switch (op) {
	case DW_OP_and:
		*ret = a & b;
		return true;
	case DW_OP_or:
		*ret = a | b;
		return true;
	case DW_OP_xor:
		*ret = a ^ b;
		return true;
	case DW_OP_plus:
		*ret = a + b;
		return true;
	case DW_OP_minus:
		*ret = a - b;
		return true;
	case DW_OP_mul:
		*ret = a * b;
		return true;
	case DW_OP_div:
		*ret = y == 0 || y == -1 ? 0 - a * (y == -1) : (uint64_t)(x / y);
		return true;
	case DW_OP_mod:
		*ret = b ? a % b : 0;
		return true;
	case DW_OP_shl:
		*ret = b < 64 ? a << b : 0;
		return true;
	case DW_OP_shr:
		*ret = b < 64 ? a >> b : 0;
		return true;
	case DW_OP_shra:
		*ret = (uint64_t)(x >> (b < 63 ? b : 63));
		return true;
	case DW_OP_eq:
		*ret = x == y;
		return true;
	case DW_OP_ne:
		*ret = x != y;
		return true;
	case DW_OP_ge:
		*ret = x >= y;
		return true;
	case DW_OP_gt:
		*ret = x > y;
		return true;
	case DW_OP_le:
		*ret = x <= y;
		return true;
	case DW_OP_lt:
		*ret = x < y;
		return true;
	default:
		return false;
	}
}

static void constant(struct evaluation *e, uint8_t op)
{
	switch (op) {
	case DW_OP_addr:
		push(e, e->context->word == 4 ? cursor_u32(&e->at) : cursor_u64(&e->at));
		break;
	case DW_OP_const8u:
	case DW_OP_const8s:
		push(e, cursor_u64(&e->at));
		break;
	case DW_OP_const1u:
		push(e, cursor_u8(&e->at));
		break;
	case DW_OP_const1s:
		push(e, (uint64_t)(int64_t)(int8_t)cursor_u8(&e->at));
		break;
	case DW_OP_const2u:
		push(e, cursor_u16(&e->at));
		break;
	case DW_OP_const2s:
		push(e, (uint64_t)(int64_t)(int16_t)cursor_u16(&e->at));
		break;
	case DW_OP_const4u:
		push(e, cursor_u32(&e->at));
		break;
	case DW_OP_const4s:
		push(e, (uint64_t)(int64_t)(int32_t)cursor_u32(&e->at));
		break;
	case DW_OP_constu:
		push(e, leb128_unsigned(&e->at));
		break;
	case DW_OP_consts:
		push(e, (uint64_t)leb128_signed(&e->at));
		break;
	default:
		e->failed = true;
	}
}

static void step(struct evaluation *e, uint8_t op)
{
	uint64_t value;
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		push(e, op - DW_OP_lit0);
	} else if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		push_register(e, op - DW_OP_breg0, leb128_signed(&e->at));
	} else if (op >= DW_OP_reg0 && op <= DW_OP_reg31) {
		push_register(e, op - DW_OP_reg0, 0);
	} else if (op >= DW_OP_const1u && op <= DW_OP_consts) {
		constant(e, op);
	} else if (e->depth >= 2 && binary(op, peek(e, 1), peek(e, 0), &value)) {
		e->depth -= 2;
		push(e, value);
	} else {
		switch (op) {
		case DW_OP_nop:
			break;
		case DW_OP_addr:
			constant(e, op);
			break;
		case DW_OP_deref:
			push_memory(e, e->context->word);
			break;
		case DW_OP_deref_size:
			push_memory(e, cursor_u8(&e->at));
			break;
		case DW_OP_dup:
			push(e, peek(e, 0));
			break;
		case DW_OP_over:
			push(e, peek(e, 1));
			break;
		case DW_OP_pick:
			push(e, peek(e, cursor_u8(&e->at)));
			break;
		case DW_OP_drop:
			pop(e);
			break;
		case DW_OP_swap:
			value = pop(e);
			{
				uint64_t other = pop(e);
				push(e, value);
				push(e, other);
			}
			break;
		case DW_OP_rot:
			rotate(e);
			break;
		case DW_OP_abs:
			value = pop(e);
			push(e, (int64_t)value < 0 ? 0 - value : value);
			break;
		case DW_OP_neg:
			push(e, 0 - pop(e));
			break;
		case DW_OP_not:
			push(e, ~pop(e));
			break;
		case DW_OP_plus_uconst:
			value = pop(e);
			push(e, value + leb128_unsigned(&e->at));
			break;
		case DW_OP_bregx:
			value = leb128_unsigned(&e->at);
			push_register(e, value, leb128_signed(&e->at));
			break;
		case DW_OP_skip:
			jump(e, true);
			break;
		case DW_OP_bra:
			jump(e, pop(e) != 0);
			break;
		default:
			e->failed = true;
		}
	}
}

bool expression_evaluate(const struct expression_context *context, const uint8_t *code, size_t size, bool has_first, uint64_t first,
			 uint64_t *ret)
{
	struct evaluation e = {.context = context, .at = cursor_init(code, size, false), .code = code, .size = size};
	if (has_first)
		push(&e, first);
	for (unsigned int steps = 0; cursor_left(&e.at) && !e.failed && !e.at.failed; steps++) {
		if (steps == STEPS_MAX)
			return false;
		step(&e, cursor_u8(&e.at));
	}
	if (e.failed || e.at.failed || !e.depth)
		return false;
	*ret = e.stack[e.depth - 1];
	return true;
}
