/* A function's rows, packed:
 *
 *	section->functions[i / 64][i % 64] ──► size, count, row, row, row …    sorted by where they begin to hold
 *
 * Functions are packed one by one, since a recording touches few of a large library's, and none of most 64; two threads that
 * pack the same one at once make the same rows, and the second throws its own away. */
#include "unwind/packed.h"

#include "base/mem.h"
#include "base/search.h"
#include "base/vec.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct cfi_function {
	uint64_t size; /* bytes of code */
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
	function->size = cfi_entry_end(section, entry) - entry->start;
	function->count = packing.rows.len;
	memcpy(function->rows, packing.rows.data, packing.rows.len * sizeof(function->rows[0]));
	vec_deinit(&packing.rows);
	return function;
}

/* The last one may be shorter. */
static size_t length_of(const struct cfi_section *section, size_t group)
{
	size_t left = section->count - group * CFI_FUNCTIONS;
	return left < CFI_FUNCTIONS ? left : CFI_FUNCTIONS;
}

static struct cfi_function *_Atomic *place_of(const struct cfi_section *section, size_t number)
{
	size_t group = number / CFI_FUNCTIONS;
	struct cfi_function *_Atomic *functions = atomic_load_explicit(&section->functions[group], memory_order_acquire),
				     *_Atomic *nothing = NULL;
	if (functions)
		return &functions[number % CFI_FUNCTIONS];
	functions = mem_zalloc_array(length_of(section, group), sizeof(*functions));
	if (!atomic_compare_exchange_strong(&section->functions[group], &nothing, functions)) {
		free(functions);
		functions = nothing;
	}
	return &functions[number % CFI_FUNCTIONS];
}

/* That may cover the address, with where it begins; NULL = none. */
static const struct cfi_function *find(const struct cfi_section *section, uint64_t address, uint64_t *ret_offset)
{
	size_t after = cfi_section_until(section, address);
	if (!after)
		return NULL;
	const struct cfi_entry entry = cfi_section_at(section, after - 1);
	struct cfi_function *_Atomic *place = place_of(section, entry.number);
	struct cfi_function *function = atomic_load_explicit(place, memory_order_acquire), *nothing = NULL;
	*ret_offset = address - entry.start;
	if (!function) {
		function = pack(section, &entry);
		if (!atomic_compare_exchange_strong(place, &nothing, function)) {
			free(function);
			function = nothing;
		}
	}
	return *ret_offset < function->size ? function : NULL;
}

void packed_forget(struct cfi_section *section)
{
	for (size_t group = 0; section->functions && group * CFI_FUNCTIONS < section->count; group++) {
		struct cfi_function *_Atomic *functions = section->functions[group];
		for (size_t i = 0; functions && i < length_of(section, group); i++)
			free(functions[i]);
		free(functions);
	}
	free(section->functions);
}

struct packed_row packed_row_at(const struct cfi_section *section, uint64_t address)
{
	uint64_t offset;
	const struct cfi_function *function = find(section, address, &offset);
	if (!function)
		return (struct packed_row){.base = PACKED_NONE};
	size_t after = partition_point(i, function->count, function->rows[i].start <= offset);
	return after ? function->rows[after - 1] : (struct packed_row){.base = PACKED_NONE};
}

const struct packed_row *packed_rows_of(const struct cfi_section *section, uint64_t address, size_t *ret_count)
{
	uint64_t offset;
	const struct cfi_function *function = find(section, address, &offset);
	*ret_count = function ? function->count : 0;
	return function ? function->rows : NULL;
}
