/* A function's rows, packed:
 *
 *	section->entries[i].function ──► count, row, row, row …    sorted by where they begin to hold
 *
 * Functions are packed one by one, since a recording touches few of a large library's; two threads that pack the same one at once make the
 * same rows, and the second throws its own away. */
#include "unwind/packed.h"

#include "base/mem.h"
#include "base/search.h"
#include "base/vec.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct cfi_function {
	size_t count;
	struct packed_row rows[];
};

struct packing {
	const struct cfi_section *section;
	uint64_t start; /* of the function */
	VEC(struct packed_row) rows;
	bool unordered;
};

static bool fits(int32_t offset)
{
	return offset % PACKED_UNIT == 0 && offset / PACKED_UNIT > PACKED_LOST && offset / PACKED_UNIT <= INT16_MAX;
}

/* Where a register is kept; false when 16 bits can't tell. */
static bool pack_place(const struct cfi_row *row, const struct cfi_rule *rule, int16_t *ret)
{
	if (rule->kind == CFI_UNDEFINED)
		*ret = PACKED_LOST;
	else if (rule->kind != CFI_AT_OFFSET || !fits(rule->value))
		return false;
	else
		*ret = row->popped >> rule->reg & 1 ? PACKED_SAME : (int16_t)(rule->value / PACKED_UNIT);
	return true;
}

struct packed_row packed_row_of(const struct frame_registers *numbers, const struct cfi_row *row)
{
	const struct packed_row other = {.base = PACKED_OTHER};
	struct packed_row packed = {.fp = PACKED_SAME, .ip = PACKED_SAME, .is_signed = row->return_signed};
	bool good = row->cfa_kind == CFI_IS_OFFSET && fits(row->cfa_value) && !row->signal_frame && row->return_register == numbers->ip &&
		    (row->cfa_register == numbers->sp || row->cfa_register == numbers->fp);
	packed.base = row->cfa_register == numbers->sp ? PACKED_SP : PACKED_FP;
	for (unsigned int i = 0; good && i < row->count; i++) {
		const struct cfi_rule *rule = &row->rules[i];
		if (rule->reg == numbers->sp) /* Go's on arm64: that it is the CFA, as it is without a rule */
			good = rule->kind == CFI_IS_OFFSET && !rule->value;
		else if (rule->reg == numbers->fp)
			good = pack_place(row, rule, &packed.fp);
		else if (rule->reg == numbers->ip)
			good = pack_place(row, rule, &packed.ip);
	}
	if (!good)
		return other;
	packed.cfa = (int16_t)(row->cfa_value / PACKED_UNIT);
	if (packed.ip == PACKED_LOST)
		packed.base = PACKED_END;
	return packed;
}

static void add_row(void *context, uint64_t start, const struct cfi_row *row)
{
	struct packing *packing = context;
	uint64_t offset = start - packing->start;
	struct packed_row packed = packed_row_of(&packing->section->numbers, row);
	packed.start = (uint32_t)offset;
	if (offset > UINT32_MAX || (packing->rows.len && vec_last(&packing->rows)->start > offset))
		packing->unordered = true;
	else if (packing->rows.len && vec_last(&packing->rows)->start == offset)
		*vec_last(&packing->rows) = packed;
	else
		vec_push(&packing->rows, packed);
}

static struct cfi_function *pack(const struct cfi_section *section, const struct cfi_entry *entry)
{
	struct packing packing = {.section = section, .start = entry->start};
	/* A program that is broken somewhere, or goes back and forth, is run each time. */
	if (!cfi_section_rows(section, entry, add_row, &packing) || packing.unordered) {
		packing.rows.len = 0;
		vec_push(&packing.rows, (struct packed_row){.base = PACKED_OTHER});
	}
	struct cfi_function *function = mem_alloc(sizeof(*function) + packing.rows.len * sizeof(function->rows[0]));
	function->count = packing.rows.len;
	memcpy(function->rows, packing.rows.data, packing.rows.len * sizeof(function->rows[0]));
	vec_deinit(&packing.rows);
	return function;
}

static const struct cfi_function *function_of(const struct cfi_section *section, struct cfi_entry *entry)
{
	struct cfi_function *function = atomic_load_explicit(&entry->function, memory_order_acquire), *nothing = NULL;
	if (function)
		return function;
	function = pack(section, entry);
	if (atomic_compare_exchange_strong(&entry->function, &nothing, function))
		return function;
	free(function);
	return nothing;
}

struct packed_row packed_row_at(const struct cfi_section *section, uint64_t address)
{
	struct cfi_entry *entry = cfi_section_entry(section, address);
	if (!entry)
		return (struct packed_row){.base = PACKED_NONE};
	const struct cfi_function *function = function_of(section, entry);
	size_t after = partition_point(i, function->count, function->rows[i].start <= address - entry->start);
	return after ? function->rows[after - 1] : (struct packed_row){.base = PACKED_NONE};
}

const struct packed_row *packed_rows_of(const struct cfi_section *section, uint64_t address, size_t *ret_count)
{
	struct cfi_entry *entry = cfi_section_entry(section, address);
	const struct cfi_function *function = entry ? function_of(section, entry) : NULL;
	*ret_count = function ? function->count : 0;
	return function ? function->rows : NULL;
}
