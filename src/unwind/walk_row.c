/* Forms of rows that a walk without expressions can follow: those of gcc's functions that align their stack, of glibc's and musl's return
 * from signal handlers, of the linkers' stubs, and of the dynamic linker's look-up of functions, which saves all registers. */
#include "unwind/walk_row.h"

#include "base/cursor.h"
#include "base/formats/leb128.h"
#include "unwind/packed.h"

#include <dwarf.h>
#include <string.h>

_Static_assert((int)WALK_SP == PACKED_SP && (int)WALK_FP == PACKED_FP && (int)WALK_OTHER == PACKED_OTHER && (int)WALK_END == PACKED_END &&
		       (int)WALK_SAME == PACKED_SAME && (int)WALK_LOST == PACKED_LOST && (int)WALK_UNIT == PACKED_UNIT,
	       "rows begin as packed ones");

static bool to_units(int64_t offset, int16_t *ret)
{
	if (offset % WALK_UNIT || offset / WALK_UNIT <= WALK_LOST || offset / WALK_UNIT > INT16_MAX)
		return false;
	*ret = (int16_t)(offset / WALK_UNIT);
	return true;
}

/* Whether an expression is a register plus an offset, and with `in_memory` what lies there. */
static bool is_place(const struct cfi_row *row, int32_t place, uint16_t length, unsigned int reg, bool in_memory, int16_t *ret)
{
	struct cursor at = cursor_init(row->section + place, length, false);

	if (cursor_u8(&at) != DW_OP_breg0 + reg)
		return false;
	int64_t offset = leb128_signed(&at);
	if (in_memory && cursor_u8(&at) != DW_OP_deref)
		return false;
	return !at.failed && at.at == at.end && to_units(offset, ret);
}

static const struct cfi_rule *rule_of(const struct cfi_row *row, unsigned int reg)
{
	for (unsigned int i = 0; i < row->count; i++)
		if (row->rules[i].reg == reg)
			return &row->rules[i];
	return NULL;
}

/* Whether a register is kept at an offset from another one, or, with no such register, from the CFA. */
static bool is_kept_at(const struct cfi_row *row, unsigned int reg, uint8_t from, int16_t *ret)
{
	const struct cfi_rule *rule = rule_of(row, reg);

	if (!rule)
		return false;
	if (from == ARCH_NO_REGISTER)
		return rule->kind == CFI_AT_OFFSET && !(row->popped >> reg & 1) && to_units(rule->value, ret);
	return rule->kind == CFI_AT_EXPRESSION && is_place(row, rule->value, rule->length, from, false, ret);
}

/* Where the third register is, below the CFA or the register that places are counted from. */
static uint8_t find_third(const struct frame_registers *numbers, const struct cfi_row *row, uint8_t from)
{
	const struct cfi_rule *rule = rule_of(row, numbers->third);
	int16_t units;

	if (!rule || (rule->kind == CFI_AT_OFFSET && row->popped >> rule->reg & 1))
		return 0;
	return is_kept_at(row, numbers->third, from, &units) && units < 0 && -units < WALK_MORE_LOST ? (uint8_t)-units : WALK_MORE_LOST;
}

static bool is_third(const struct frame_registers *numbers, const struct cfi_row *row, struct walk_row *ret)
{
	if (row->cfa_kind != CFI_IS_OFFSET || row->cfa_register != numbers->third || row->signal_frame ||
	    !to_units(row->cfa_value, &ret->cfa) || !is_kept_at(row, numbers->ip, ARCH_NO_REGISTER, &ret->ip))
		return false;
	if (rule_of(row, numbers->fp) && !is_kept_at(row, numbers->fp, ARCH_NO_REGISTER, &ret->fp))
		return false;
	ret->base = WALK_THIRD;
	ret->more = find_third(numbers, row, ARCH_NO_REGISTER);
	return true;
}

/* Where a register is kept in such a frame. On arm64, where nothing is pushed, that is near its lower end. */
static bool is_kept_in_wide(const struct frame_registers *numbers, const struct cfi_row *row, unsigned int reg, int16_t *ret)
{
	const struct cfi_rule *rule = rule_of(row, reg);

	if (numbers->third != ARCH_NO_REGISTER)
		return is_kept_at(row, reg, ARCH_NO_REGISTER, ret);
	return rule && rule->kind == CFI_AT_OFFSET && !(row->popped >> reg & 1) && to_units((int64_t)row->cfa_value + rule->value, ret);
}

static bool is_wide(const struct frame_registers *numbers, const struct cfi_row *row, struct walk_row *ret)
{
	int64_t units = row->cfa_value / WALK_UNIT;

	if (row->cfa_kind != CFI_IS_OFFSET || row->cfa_register != numbers->sp || row->signal_frame || row->cfa_value % WALK_UNIT ||
	    units <= INT16_MAX || units >> 24 || !is_kept_in_wide(numbers, row, numbers->ip, &ret->ip))
		return false;
	if (rule_of(row, numbers->fp) && !is_kept_in_wide(numbers, row, numbers->fp, &ret->fp))
		return false;
	ret->base = WALK_WIDE;
	ret->cfa = (int16_t)(units & 0xffff);
	ret->more = (uint8_t)(units >> 16);
	return true;
}

static bool is_aligned(const struct frame_registers *numbers, const struct cfi_row *row, struct walk_row *ret)
{
	if (row->signal_frame || !is_place(row, row->cfa_value, row->cfa_length, numbers->fp, true, &ret->cfa) ||
	    !is_kept_at(row, numbers->ip, ARCH_NO_REGISTER, &ret->ip) || !is_kept_at(row, numbers->fp, numbers->fp, &ret->fp))
		return false;
	ret->base = WALK_ALIGNED;
	ret->more = find_third(numbers, row, numbers->fp);
	return true;
}

static bool is_signal(const struct frame_registers *numbers, const struct cfi_row *row, struct walk_row *ret)
{
	if (!row->signal_frame || !is_place(row, row->cfa_value, row->cfa_length, numbers->sp, true, &ret->cfa) ||
	    !is_kept_at(row, numbers->ip, numbers->sp, &ret->ip) || !is_kept_at(row, numbers->fp, numbers->sp, &ret->fp))
		return false;
	ret->base = WALK_SIGNAL;
	ret->more = WALK_MORE_LOST;
	return true;
}

/* rsp + 8 + ((rip & 15) >= BOUND) * 8 */
static bool is_stub(const struct frame_registers *numbers, const struct cfi_row *row, struct walk_row *ret)
{
	static const uint8_t before[] = {DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and},
			     behind[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
	const uint8_t *code = row->section + row->cfa_value, *bound = code + sizeof(before);

	if (numbers->sp != 7 || numbers->ip != 16 || row->signal_frame || row->cfa_length != sizeof(before) + 1 + sizeof(behind) ||
	    memcmp(code, before, sizeof(before)) != 0 || memcmp(bound + 1, behind, sizeof(behind)) != 0 || *bound < DW_OP_lit0 ||
	    *bound > DW_OP_lit15 || !is_kept_at(row, numbers->ip, ARCH_NO_REGISTER, &ret->ip) || rule_of(row, numbers->fp))
		return false;
	ret->base = WALK_STUB;
	ret->cfa = 8 / WALK_UNIT;
	ret->more = (uint8_t)(*bound - DW_OP_lit0);
	return true;
}

struct walk_row walk_row_of(const struct cfi_section *section, const struct cfi_row *row)
{
	const struct frame_registers *numbers = &section->numbers;
	struct packed_row packed = packed_row_of(numbers, row);
	struct walk_row walk = {.cfa = packed.cfa, .fp = packed.fp, .ip = packed.ip, .base = packed.base};

	if (packed.base != PACKED_OTHER) {
		walk.more = numbers->third == ARCH_NO_REGISTER ? packed.is_signed : find_third(numbers, row, ARCH_NO_REGISTER);
		return walk;
	}
	walk = (struct walk_row){.fp = WALK_SAME, .ip = WALK_SAME};
	if (row->return_register != numbers->ip)
		return (struct walk_row){.base = WALK_OTHER};
	if (is_wide(numbers, row, &walk))
		return walk;
	if (numbers->third != ARCH_NO_REGISTER &&
	    (row->cfa_kind == CFI_IS_EXPRESSION
		     ? is_aligned(numbers, row, &walk) || is_signal(numbers, row, &walk) || is_stub(numbers, row, &walk)
		     : is_third(numbers, row, &walk)))
		return walk;
	return (struct walk_row){.base = WALK_OTHER};
}
