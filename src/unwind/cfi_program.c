/* Call frame information: the interpreter of functions' little programs. One is run when rows are asked for: all of a function are then
 * kept in a packed form (packed.c). */
#include "unwind/cfi_internal.h"

#include "base/formats/leb128.h"

#include <dwarf.h>

struct frame_state {
	uint8_t cfa_kind, cfa_register;
	uint16_t cfa_length;
	int32_t cfa_value;
	bool return_signed;
	uint64_t set; /* bit set: the register has a rule other than CFI_SAME */
	struct cfi_rule rules[CFI_REGISTERS];
};
_Static_assert(CFI_REGISTERS <= 64, "a bit for each register");

enum { STATES_MAX = 8, STEPS_MAX = 1 << 16 };

struct machine_state {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	struct frame_state now, initial;
	struct frame_state saved[STATES_MAX];
	unsigned int saved_count;
	uint64_t place;	  /* where the rules hold from */
	uint64_t address; /* what is asked for */
	uint64_t framed;  /* bit set: where the register was saved has been part of the frame */
	cfi_visitor visit;
	void *context;
};

static void finish_row(const struct machine_state *state, struct cfi_row *ret);

static void set_rule(struct machine_state *state, uint64_t reg, enum cfi_kind kind, int64_t value)
{
	if (reg >= CFI_REGISTERS)
		return;
	if (kind == CFI_SAME)
		state->now.set &= ~((uint64_t)1 << reg);
	else
		state->now.set |= (uint64_t)1 << reg;
	state->now.rules[reg] = (struct cfi_rule){.reg = (uint8_t)reg, .kind = (uint8_t)kind, .value = (int32_t)value};
	state->framed &= ~((uint64_t)1 << reg);
}

/* An expression: a length and its bytes, remembered by their place. */
static bool read_expression(struct machine_state *state, struct cursor *at, int32_t *ret_place, uint16_t *ret_length)
{
	uint64_t length = leb128_unsigned(at);
	const uint8_t *bytes = cursor_bytes(at, length);
	if (!bytes || length > UINT16_MAX)
		return false;
	*ret_place = (int32_t)(bytes - state->section->data);
	*ret_length = (uint16_t)length;
	return true;
}

static bool set_expression(struct machine_state *state, struct cursor *at, enum cfi_kind kind)
{
	uint64_t reg = leb128_unsigned(at);
	int32_t place;
	uint16_t length;
	if (!read_expression(state, at, &place, &length))
		return false;
	set_rule(state, reg, kind, place);
	if (reg < CFI_REGISTERS)
		state->now.rules[reg].length = length;
	return true;
}

static void set_cfa(struct machine_state *state, uint64_t reg, int64_t offset)
{
	state->now.cfa_kind = CFI_IS_OFFSET;
	state->now.cfa_register = reg < CFI_REGISTERS ? (uint8_t)reg : UINT8_MAX;
	state->now.cfa_value = (int32_t)offset;
}

static void restore_rule(struct machine_state *state, uint64_t reg)
{
	if (reg >= CFI_REGISTERS)
		return;
	state->now.rules[reg] = state->initial.rules[reg];
	state->now.set = (state->now.set & ~((uint64_t)1 << reg)) | (state->initial.set & (uint64_t)1 << reg);
}

static bool remember(struct machine_state *state)
{
	if (state->saved_count == STATES_MAX)
		return false;
	state->saved[state->saved_count++] = state->now;
	return true;
}

static bool recall(struct machine_state *state)
{
	if (!state->saved_count)
		return false;
	state->now = state->saved[--state->saved_count];
	return true;
}

/* Below the stack pointer, if the CFA is counted from that. */
static bool is_below(const struct machine_state *state, const struct cfi_rule *rule)
{
	const struct frame_state *now = &state->now;
	return rule->kind == CFI_AT_OFFSET && now->cfa_kind == CFI_IS_OFFSET && now->cfa_register == state->section->numbers.sp &&
	       rule->value < -now->cfa_value;
}

/* What holds so far ends here. */
static void end_row(struct machine_state *state)
{
	struct cfi_row row;
	for (uint64_t left = state->now.set & ~state->framed; left; left &= left - 1) {
		const struct cfi_rule *rule = &state->now.rules[__builtin_ctzll(left)];
		if (rule->kind == CFI_AT_OFFSET && !is_below(state, rule))
			state->framed |= left & -left;
	}
	if (!state->visit)
		return;
	finish_row(state, &row);
	state->visit(state->context, state->place, &row);
}

static bool advance_to(struct machine_state *state, uint64_t place)
{
	if (place > state->address)
		return false;
	if (place != state->place)
		end_row(state);
	state->place = place;
	return true;
}

static bool advance(struct machine_state *state, uint64_t delta)
{
	return advance_to(state, state->place + delta * state->cie->code_align);
}

/* An offset in units of the CIE. In a hostile file the product overflows, to whatever. */
static int64_t scaled(const struct machine_state *state, uint64_t factor)
{
	return (int64_t)(factor * (uint64_t)state->cie->data_align);
}

static void set_offset(struct machine_state *state, struct cursor *at, enum cfi_kind kind, bool is_signed)
{
	uint64_t reg = leb128_unsigned(at);
	set_rule(state, reg, kind, scaled(state, is_signed ? (uint64_t)leb128_signed(at) : leb128_unsigned(at)));
}

static uint64_t read_delta(uint8_t op, struct cursor *at)
{
	return op == DW_CFA_advance_loc1 ? cursor_u8(at) : op == DW_CFA_advance_loc2 ? cursor_u16(at) : cursor_u32(at);
}

/* Instructions with operands of their own. Returns 1: go on, 0: the row is reached, -1: broken. */
static int run_extended(struct machine_state *state, uint8_t op, struct cursor *at)
{
	uint64_t reg;
	switch (op) {
	case DW_CFA_nop:
		return 1;
	case DW_CFA_set_loc:
		return advance_to(state, cfi_read_pointer(state->section, at, state->cie->pointer_encoding, state->cie->address_size));
	case DW_CFA_advance_loc1:
	case DW_CFA_advance_loc2:
	case DW_CFA_advance_loc4:
		return advance(state, read_delta(op, at));
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
		set_offset(state, at, CFI_AT_OFFSET, op == DW_CFA_offset_extended_sf);
		return 1;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		set_offset(state, at, CFI_IS_OFFSET, op == DW_CFA_val_offset_sf);
		return 1;
	case DW_CFA_restore_extended:
		restore_rule(state, leb128_unsigned(at));
		return 1;
	case DW_CFA_undefined:
		set_rule(state, leb128_unsigned(at), CFI_UNDEFINED, 0);
		return 1;
	case DW_CFA_same_value:
		set_rule(state, leb128_unsigned(at), CFI_SAME, 0);
		return 1;
	case DW_CFA_register:
		reg = leb128_unsigned(at);
		set_rule(state, reg, CFI_IN_REGISTER, (int64_t)leb128_unsigned(at));
		return 1;
	case DW_CFA_remember_state:
		return remember(state) ? 1 : -1;
	case DW_CFA_restore_state:
		return recall(state) ? 1 : -1;
	case DW_CFA_def_cfa:
		reg = leb128_unsigned(at);
		set_cfa(state, reg, (int64_t)leb128_unsigned(at));
		return 1;
	case DW_CFA_def_cfa_sf:
		reg = leb128_unsigned(at);
		set_cfa(state, reg, scaled(state, (uint64_t)leb128_signed(at)));
		return 1;
	case DW_CFA_def_cfa_register:
		set_cfa(state, leb128_unsigned(at), state->now.cfa_value);
		return 1;
	case DW_CFA_def_cfa_offset:
		set_cfa(state, state->now.cfa_register, (int64_t)leb128_unsigned(at));
		return 1;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa(state, state->now.cfa_register, scaled(state, (uint64_t)leb128_signed(at)));
		return 1;
	case DW_CFA_def_cfa_expression:
		state->now.cfa_kind = CFI_IS_EXPRESSION;
		return read_expression(state, at, &state->now.cfa_value, &state->now.cfa_length) ? 1 : -1;
	case DW_CFA_expression:
		return set_expression(state, at, CFI_AT_EXPRESSION) ? 1 : -1;
	case DW_CFA_val_expression:
		return set_expression(state, at, CFI_IS_EXPRESSION) ? 1 : -1;
	case DW_CFA_GNU_args_size:
		leb128_unsigned(at);
		return 1;
	case 0x2d: /* arm64: DW_CFA_AARCH64_negate_ra_state; else GNU_window_save, SPARC only */
		state->now.return_signed = !state->now.return_signed;
		return 1;
	default:
		return -1;
	}
}

static bool run(struct machine_state *state, struct cursor at)
{
	for (unsigned int steps = 0; cursor_left(&at) && steps < STEPS_MAX; steps++) {
		uint8_t op = cursor_u8(&at);
		int status = 1;
		switch (op & 0xc0) {
		case DW_CFA_advance_loc:
			status = advance(state, op & 0x3f);
			break;
		case DW_CFA_offset:
			set_rule(state, op & 0x3f, CFI_AT_OFFSET, scaled(state, leb128_unsigned(&at)));
			break;
		case DW_CFA_restore:
			restore_rule(state, op & 0x3f);
			break;
		default:
			status = run_extended(state, op, &at);
		}
		if (at.failed || status < 0)
			return false;
		if (!status)
			return true;
	}
	return true;
}

static void finish_row(const struct machine_state *state, struct cfi_row *ret)
{
	const struct frame_state *now = &state->now;
	ret->cfa_kind = now->cfa_kind;
	ret->cfa_register = now->cfa_register;
	ret->cfa_value = now->cfa_value;
	ret->cfa_length = now->cfa_length;
	ret->return_register = state->cie->return_register < CFI_REGISTERS ? (uint8_t)state->cie->return_register : UINT8_MAX;
	ret->signal_frame = state->cie->signal_frame;
	ret->return_signed = now->return_signed;
	ret->section = state->section->data;
	ret->count = 0;
	ret->popped = 0;
	for (uint64_t left = now->set; left; left &= left - 1) {
		const struct cfi_rule *rule = &now->rules[__builtin_ctzll(left)];
		ret->rules[ret->count++] = *rule;
		if ((state->framed & left & -left) && is_below(state, rule))
			ret->popped |= left & -left;
	}
}

/* Reads the function's entry and runs what all functions of its CIE begin with. */
static bool begin(struct machine_state *state, const struct cfi_section *section, const struct cfi_entry *entry, struct cfi_fde *fde)
{
	if (!cfi_read_fde(section, entry->offset, fde))
		return false;
	*state = (struct machine_state){.section = section, .cie = &fde->cie, .place = fde->start, .address = UINT64_MAX};
	state->now.cfa_register = UINT8_MAX;
	if (!run(state, fde->cie.program))
		return false;
	state->initial = state->now;
	state->place = fde->start;
	return true;
}

bool cfi_section_row(const struct cfi_section *section, uint64_t address, struct cfi_row *ret)
{
	struct machine_state state;
	struct cfi_entry entry;
	struct cfi_fde fde;
	if (!cfi_section_entry(section, address, &entry) || !begin(&state, section, &entry, &fde))
		return false;
	state.address = address;
	if (!run(&state, fde.program))
		return false;
	finish_row(&state, ret);
	return true;
}

bool cfi_section_rows(const struct cfi_section *section, const struct cfi_entry *entry, cfi_visitor visit, void *context)
{
	struct machine_state state;
	struct cfi_fde fde;
	if (!begin(&state, section, entry, &fde))
		return false;
	state.visit = visit;
	state.context = context;
	state.address = fde.end - 1;
	bool good = run(&state, fde.program);
	if (good)
		end_row(&state);
	return good;
}
