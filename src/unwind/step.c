/* One step by a whole row of call frame information, as DWARF has it: any register, any expression. Slow and rare: signal frames, linkage
 * stubs, functions whose frame hangs on an unusual register. */
#include "unwind/unwind_internal.h"

#include "unwind/expression.h"

#include <string.h>

/* Memory that was not recorded: constant data is in the mapped file; all else that is mapped reads as 0, as the kernel's perf has it. So a
 * stack that was cut off ends with the frame -1: the reader sees that there was more. */
bool walk_read_unrecorded(struct unwind_walk *walk, uint64_t address, unsigned int size, uint64_t *ret)
{
	const struct map *map = walk->input->maps ? maps_find(walk->input->maps, address, walk->input->time) : NULL;
	*ret = 0;
	if (map && map->dso->kind == DSO_FILE) {
		const struct unwind_tables *tables =
			resolver_attachment(walk->resolver, map->dso, unwind_tables_make, unwind_tables_destroy);
		uint64_t offset = map_to_dso(map, address);
		if (!tables->is_carried && offset < tables->runtime.size && size <= tables->runtime.size - offset) {
			memcpy(ret, tables->runtime.data + offset, size);
			return true;
		}
	}
	/* The place is above what was copied, and on the same stack as far as one can tell. */
	bool above = address >= walk->stack_start && (!map || map->start <= walk->stack_start);
	walk->missing = above && walk->input->stack_size ? UNWIND_SHORT : UNWIND_UNREADABLE;
	return map;
}

static bool read_for_expression(void *context, uint64_t address, unsigned int size, uint64_t *ret)
{
	uint64_t value;
	if (size > 8 || !walk_read(context, address, size <= 4 ? 4 : 8, &value))
		return false;
	*ret = size == 8 ? value : value & (((uint64_t)1 << size * 8) - 1);
	return true;
}

static bool evaluate(struct unwind_walk *walk, const struct cfi_row *row, int32_t place, uint16_t length, const uint64_t *first,
		     uint64_t *ret)
{
	struct expression_context context = {
		.registers = walk->regs.value,
		.known = walk->regs.known,
		.register_count = CFI_REGISTERS,
		.word = walk->arch->word,
		.read = read_for_expression,
		.context = walk,
	};
	return expression_evaluate(&context, row->section + place, length, first != NULL, first ? *first : 0, ret);
}

static uint64_t cut_to_word(const struct unwind_walk *walk, uint64_t value)
{
	return walk->arch->word == 4 ? (uint32_t)value : value;
}

static bool find_cfa(struct unwind_walk *walk, const struct cfi_row *row, uint64_t *ret)
{
	if (row->cfa_kind == CFI_IS_EXPRESSION)
		return evaluate(walk, row, row->cfa_value, row->cfa_length, NULL, ret);
	if (!register_get(&walk->regs, row->cfa_register, ret))
		return false;
	*ret += (uint64_t)(int64_t)row->cfa_value;
	return true;
}

/* Where the stack was aligned anew, the frame pointer says where it was itself saved. Behind the function's last pop it is the caller's
 * again, and so points out of this frame: the rules, which don't know, lead to a place where nothing of this function can be. */
static bool is_popped_again(const struct unwind_walk *walk, const struct cfi_row *row, uint64_t place, uint64_t cfa)
{
	return walk->exact && !row->signal_frame && (place < walk->regs.value[walk->arch->numbers.sp] || place >= cfa);
}

/* One register of the caller. */
static void apply_rule(struct unwind_walk *walk, const struct cfi_row *row, const struct cfi_rule *rule, uint64_t cfa,
		       struct registers *caller)
{
	uint64_t value = 0, place = cut_to_word(walk, cfa + (uint64_t)(int64_t)rule->value);
	unsigned int word = walk->arch->word;
	bool good = false;
	switch (rule->kind) {
	case CFI_AT_OFFSET:
		good = row->popped >> rule->reg & 1 ? register_get(&walk->regs, rule->reg, &value) : walk_read(walk, place, word, &value);
		break;
	case CFI_IS_OFFSET:
		value = place;
		good = true;
		break;
	case CFI_IN_REGISTER:
		good = register_get(&walk->regs, (unsigned int)rule->value, &value);
		break;
	case CFI_AT_EXPRESSION:
		good = evaluate(walk, row, rule->value, rule->length, &cfa, &place);
		place = cut_to_word(walk, place);
		if (good && is_popped_again(walk, row, place, cfa))
			good = register_get(&walk->regs, rule->reg, &value);
		else
			good = good && walk_read(walk, place, word, &value);
		break;
	case CFI_IS_EXPRESSION:
		good = evaluate(walk, row, rule->value, rule->length, &cfa, &value);
		break;
	default:
		break;
	}
	if (good)
		register_set(caller, rule->reg, cut_to_word(walk, value));
	else
		caller->known &= ~((uint64_t)1 << rule->reg);
}

bool walk_step_by_row(struct unwind_walk *walk, const struct cfi_row *row)
{
	const struct frame_registers *numbers = &walk->arch->numbers;
	uint64_t cfa, ip, sp = walk->regs.value[numbers->sp];
	if (!find_cfa(walk, row, &cfa))
		return false;
	cfa = cut_to_word(walk, cfa);
	struct registers caller = walk->regs;
	if (!walk->arch->link)
		caller.known &= ~((uint64_t)1 << numbers->ip);
	register_set(&caller, numbers->sp, cfa);
	for (unsigned int i = 0; i < row->count; i++)
		apply_rule(walk, row, &row->rules[i], cfa, &caller);
	if (!register_get(&caller, row->return_register, &ip))
		return false;
	if (row->return_signed)
		ip = unwind_without_signature(ip);
	if (ip == walk->ip && cfa == sp)
		return false;
	walk->regs = caller;
	walk->ip = ip;
	walk->exact = row->signal_frame;
	return true;
}
