/* Call frame information: an index of functions (FDEs), and the interpreter of their little programs.
 *
 * The index is made from the table that run-time unwinders search (.eh_frame_hdr), which is a twentieth of the section; where there is none
 * that is sorted, by a walk over the section. An entry that is not about the function that the table says is broken. A program is run when
 * rows are asked for: all of a function are then kept in a packed form (packed.c).
 */
#include "unwind/cfi.h"

#include "base/cursor.h"
#include "base/formats/leb128.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/vec.h"

#include <dwarf.h>
#include <elf.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register;
	uint8_t pointer_encoding; /* DW_EH_PE_* of the FDEs' addresses */
	uint8_t address_size;
	bool augmented; /* FDEs have augmentation data */
	bool signal_frame;
	struct cursor program;
};

static struct cursor section_cursor(const struct cfi_section *section, uint64_t offset)
{
	if (offset > section->size)
		return (struct cursor){.failed = true};
	return cursor_init(section->data + offset, section->size - offset, section->swap);
}

static uint64_t read_size(struct cursor *at, unsigned int size)
{
	switch (size) {
	case 2:
		return cursor_u16(at);
	case 4:
		return cursor_u32(at);
	case 8:
		return cursor_u64(at);
	default:
		at->failed = true;
		return 0;
	}
}

/* A pointer by its DW_EH_PE_ encoding. Indirect ones would need the running process's memory: the address of the pointer is not useful. */
static uint64_t read_pointer(const struct cfi_section *section, struct cursor *at, uint8_t encoding, unsigned int address_size)
{
	uint64_t place = section->address + (uint64_t)(at->at - section->data), value;
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
		value = read_size(at, address_size);
		break;
	case DW_EH_PE_uleb128:
		value = leb128_unsigned(at);
		break;
	case DW_EH_PE_sleb128:
		value = (uint64_t)leb128_signed(at);
		break;
	case DW_EH_PE_udata2:
		value = cursor_u16(at);
		break;
	case DW_EH_PE_udata4:
		value = cursor_u32(at);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)(int64_t)(int16_t)cursor_u16(at);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)(int64_t)(int32_t)cursor_u32(at);
		break;
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = cursor_u64(at);
		break;
	default:
		at->failed = true;
		return 0;
	}
	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		value += place;
	if (!section->is_64bit)
		value = (uint32_t)value;
	return value;
}

/* The contents of the entry at `offset`: a cursor over its bytes behind the length; false at the end of the section. */
static bool entry_at(const struct cfi_section *section, uint64_t offset, struct cursor *ret, uint64_t *ret_next, bool *ret_wide)
{
	struct cursor at = section_cursor(section, offset);
	uint64_t length = cursor_u32(&at);
	*ret_wide = length == 0xffffffff;
	if (*ret_wide)
		length = cursor_u64(&at);
	if (at.failed || !length || length > cursor_left(&at))
		return false;
	*ret = cursor_init(at.at, length, section->swap);
	*ret_next = (uint64_t)(at.at - section->data) + length;
	return true;
}

static void read_augmentation(const struct cfi_section *section, const char *letters, struct cursor *at, struct cie *cie)
{
	uint64_t size = leb128_unsigned(at);
	const uint8_t *data = cursor_bytes(at, size);
	if (!data)
		return;
	struct cursor inner = cursor_init(data, size, section->swap);
	cie->augmented = true;
	for (const char *letter = letters + 1; *letter; letter++) {
		if (*letter == 'R')
			cie->pointer_encoding = cursor_u8(&inner);
		else if (*letter == 'P')
			read_pointer(section, &inner, cursor_u8(&inner) & 0x0f, cie->address_size);
		else if (*letter == 'L')
			cursor_u8(&inner);
		else if (*letter == 'S')
			cie->signal_frame = true;
		else if (*letter != 'B' && *letter != 'G')
			break; /* what follows can't be known; the rest isn't needed */
	}
}

static bool read_cie(const struct cfi_section *section, uint64_t offset, struct cie *ret)
{
	struct cursor at;
	uint64_t next;
	bool wide;
	if (!entry_at(section, offset, &at, &next, &wide))
		return false;
	uint64_t id = wide && !section->eh_frame ? cursor_u64(&at) : cursor_u32(&at);
	bool right = section->eh_frame ? !id : id == (wide ? UINT64_MAX : UINT32_MAX);
	uint8_t version = cursor_u8(&at);
	const char *letters = cursor_string(&at);
	if (!right || !letters || (version != 1 && version != 3 && version != 4))
		return false;
	*ret = (struct cie){.address_size = section->is_64bit ? 8 : 4};
	if (!strncmp(letters, "eh", 2)) /* GCC 2: a pointer */
		cursor_bytes(&at, ret->address_size);
	if (version == 4) {
		ret->address_size = cursor_u8(&at);
		cursor_u8(&at);
	}
	ret->code_align = leb128_unsigned(&at);
	ret->data_align = leb128_signed(&at);
	ret->return_register = version == 1 ? cursor_u8(&at) : leb128_unsigned(&at);
	if (letters[0] == 'z')
		read_augmentation(section, letters, &at, ret);
	ret->program = at;
	return !at.failed;
}

struct fde {
	struct cie cie;
	uint64_t start, end;
	struct cursor program;
};

/* The CIE that an FDE points to: a distance back from the pointer in .eh_frame, an offset in .debug_frame. */
static uint64_t cie_offset(const struct cfi_section *section, struct cursor *at, bool wide)
{
	uint64_t place = (uint64_t)(at->at - section->data);
	uint64_t pointer = wide && !section->eh_frame ? cursor_u64(at) : cursor_u32(at);
	return section->eh_frame ? place - pointer : pointer;
}

static bool read_fde(const struct cfi_section *section, const struct cie *cie, struct cursor at, struct fde *ret)
{
	ret->cie = *cie;
	ret->start = read_pointer(section, &at, cie->pointer_encoding, cie->address_size);
	uint64_t length = read_pointer(section, &at, cie->pointer_encoding & 0x0f, cie->address_size);
	ret->end = ret->start + length;
	if (cie->augmented)
		cursor_bytes(&at, leb128_unsigned(&at));
	ret->program = at;
	return !at.failed && ret->end > ret->start;
}

/* No function has more than 4 GB. */
static uint32_t size_of(const struct fde *fde)
{
	uint64_t size = fde->end - fde->start;
	return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

static int compare_entries(const void *a, const void *b)
{
	const struct cfi_entry *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static struct frame_registers numbers_of(const struct elf_file *elf)
{
	const struct arch *arch = elf_arch(elf);
	if (arch && arch->frames.word)
		return arch->frames.numbers;
	return (struct frame_registers){ARCH_NO_REGISTER, ARCH_NO_REGISTER, ARCH_NO_REGISTER, ARCH_NO_REGISTER};
}

static bool is_sorted(const struct cfi_entry *entries, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (entries[i - 1].start > entries[i].start)
			return false;
	return true;
}

static struct cfi_section describe(const struct elf_file *elf, const uint8_t *data, size_t size, uint64_t address, bool eh_frame)
{
	return (struct cfi_section){.data = data,
				    .size = size < UINT32_MAX ? size : UINT32_MAX,
				    .address = address,
				    .eh_frame = eh_frame,
				    .is_64bit = elf->is_64bit,
				    .swap = elf->swap,
				    .numbers = numbers_of(elf)};
}

void cfi_section_init(struct cfi_section *section, const struct elf_file *elf, const uint8_t *data, size_t size, uint64_t address,
		      bool eh_frame)
{
	VEC(struct cfi_entry) entries = {0};
	struct cie cie = {0};
	uint64_t cie_at = UINT64_MAX, next;
	struct cursor at;
	struct fde fde;
	bool wide, cie_good = false;
	*section = describe(elf, data, size, address, eh_frame);
	for (uint64_t offset = 0; entry_at(section, offset, &at, &next, &wide); offset = next) {
		struct cursor peek = at;
		uint64_t id = wide && !eh_frame ? cursor_u64(&peek) : cursor_u32(&peek);
		if (eh_frame ? !id : id == (wide ? UINT64_MAX : UINT32_MAX))
			continue;
		uint64_t belongs = cie_offset(section, &at, wide);
		if (belongs != cie_at) {
			cie_good = read_cie(section, belongs, &cie);
			cie_at = belongs;
		}
		if (cie_good && read_fde(section, &cie, at, &fde) && fde.start)
			vec_push(&entries, (struct cfi_entry){.start = fde.start, .size = size_of(&fde), .offset = (uint32_t)offset});
	}
	if (!is_sorted(entries.data, entries.len))
		qsort(entries.data, entries.len, sizeof(*entries.data), compare_entries);
	section->entries = entries.data;
	section->count = entries.len;
}

/* LSB "The .eh_frame_hdr section": version, three encodings, a pointer to .eh_frame, the count, and pairs of a function's address and its
 * FDE's. All linkers write pairs of 32 bits, relative to the table. */
bool cfi_section_init_sorted(struct cfi_section *section, const struct elf_file *elf, const uint8_t *data, size_t size, uint64_t address,
			     const struct cfi_table *table)
{
	enum { PAIR = 8 };
	struct cursor at = cursor_init(table->data, table->size, elf->swap);
	VEC(struct cfi_entry) entries = {0};
	uint8_t version = cursor_u8(&at), pointer = cursor_u8(&at), count_encoding = cursor_u8(&at), pairs = cursor_u8(&at);
	*section = describe(elf, data, size, address, true);
	if (version != 1 || pointer != (DW_EH_PE_pcrel | DW_EH_PE_sdata4) || count_encoding != DW_EH_PE_udata4 ||
	    pairs != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return false;
	cursor_u32(&at);
	uint64_t count = cursor_u32(&at);
	if (at.failed || !count || count > cursor_left(&at) / PAIR)
		return false;
	vec_reserve(&entries, count);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t start = table->address + (uint64_t)(int64_t)(int32_t)cursor_u32(&at);
		uint64_t offset = table->address + (uint64_t)(int64_t)(int32_t)cursor_u32(&at) - address;
		if (start && offset < section->size)
			vec_push(&entries, (struct cfi_entry){.start = start, .offset = (uint32_t)offset});
	}
	section->entries = entries.data;
	section->count = entries.len;
	if (entries.len && is_sorted(entries.data, entries.len))
		return true;
	cfi_section_deinit(section);
	return false;
}

static bool fde_at(const struct cfi_section *section, uint64_t offset, struct fde *ret)
{
	struct cursor at;
	struct cie cie;
	uint64_t next;
	bool wide;
	return entry_at(section, offset, &at, &next, &wide) && read_cie(section, cie_offset(section, &at, wide), &cie) &&
	       read_fde(section, &cie, at, ret);
}

uint64_t cfi_entry_end(const struct cfi_section *section, struct cfi_entry *entry)
{
	uint32_t size = atomic_load_explicit(&entry->size, memory_order_relaxed);
	struct fde fde;
	if (size)
		return entry->start + size;
	if (fde_at(section, entry->offset, &fde) && fde.start == entry->start)
		size = size_of(&fde);
	atomic_store_explicit(&entry->size, size, memory_order_relaxed);
	return entry->start + size;
}

bool cfi_entry_cie(const struct cfi_section *section, const struct cfi_entry *entry, uint64_t *ret)
{
	struct cursor at;
	uint64_t next;
	bool wide;
	if (!entry_at(section, entry->offset, &at, &next, &wide))
		return false;
	*ret = cie_offset(section, &at, wide);
	return !at.failed;
}

void cfi_section_deinit(struct cfi_section *section)
{
	for (size_t i = 0; i < section->count; i++)
		free(section->entries[i].function);
	free(section->entries);
	*section = (struct cfi_section){0};
}

/* ---- programs ---- */

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
	const struct cie *cie;
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
		return advance_to(state, read_pointer(state->section, at, state->cie->pointer_encoding, state->cie->address_size));
	case DW_CFA_advance_loc1:
	case DW_CFA_advance_loc2:
	case DW_CFA_advance_loc4:
		return advance(state, read_delta(op, at));
	case DW_CFA_offset_extended:
		reg = leb128_unsigned(at);
		set_rule(state, reg, CFI_AT_OFFSET, scaled(state, leb128_unsigned(at)));
		return 1;
	case DW_CFA_offset_extended_sf:
		reg = leb128_unsigned(at);
		set_rule(state, reg, CFI_AT_OFFSET, scaled(state, (uint64_t)leb128_signed(at)));
		return 1;
	case DW_CFA_val_offset:
		reg = leb128_unsigned(at);
		set_rule(state, reg, CFI_IS_OFFSET, scaled(state, leb128_unsigned(at)));
		return 1;
	case DW_CFA_val_offset_sf:
		reg = leb128_unsigned(at);
		set_rule(state, reg, CFI_IS_OFFSET, scaled(state, (uint64_t)leb128_signed(at)));
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

struct cfi_entry *cfi_section_entry(const struct cfi_section *section, uint64_t address)
{
	size_t after = partition_point(i, section->count, section->entries[i].start <= address);
	return after && address < cfi_entry_end(section, &section->entries[after - 1]) ? &section->entries[after - 1] : NULL;
}

/* Reads the function's entry and runs what all functions of its CIE begin with. */
static bool begin(struct machine_state *state, const struct cfi_section *section, const struct cfi_entry *entry, struct fde *fde)
{
	if (!fde_at(section, entry->offset, fde))
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
	const struct cfi_entry *entry = cfi_section_entry(section, address);
	struct machine_state state;
	struct fde fde;
	if (!entry || !begin(&state, section, entry, &fde))
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
	struct fde fde;
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
