/* Facts: Go's src/debug/gosym/pclntab.go, src/runtime/symtab.go and src/internal/abi/symtab.go. The table begins with a header:
 *
 *	magic, 0, 0, quantum, size of addresses │ functions, files, [address of the text,] places of: names, …, numbers, functions
 *
 * The text's address is there since 1.18; functions are then distances from it, in 4 bytes, not addresses. In programs that may lie
 * anywhere it is put there by a relocation, and since 1.26 it is no longer there: then it is where the section .text is.
 *
 *	functions:	address, place of what is said of the function │ address, place │ … │ address of the end
 *	of a function:	address, name, size of arguments, place of deferred calls, numbers: how far the stack pointer has moved, … flags */
#include "symbol/elf/go_table.h"

#include <elf.h>
#include <string.h>

enum { MAGIC_116 = 0xfffffffa, MAGIC_118 = 0xfffffff0, MAGIC_120 = 0xfffffff1 };
enum { FIRST_WORD = 8, ALIGNED = 8 };
enum { NAME = 0, STACK = 12, FLAGS = 33, FLAGS_SINCE_120 = 37 }; /* places behind a function's address */
enum { NOBODY_CALLS = 1 };

/* Of 4 or 8 bytes. */
static bool read_number(const struct go_table *table, uint64_t at, uint8_t size, uint64_t *ret)
{
	uint32_t half;

	if (at > table->size || table->size - at < size)
		return false;
	if (size == sizeof(*ret)) {
		memcpy(ret, table->data + at, sizeof(*ret));
	} else {
		memcpy(&half, table->data + at, sizeof(half));
		*ret = half;
	}
	return true;
}

/* ---- finding it ---- */

static bool is_header(const uint8_t *bytes)
{
	uint32_t magic;

	memcpy(&magic, bytes, sizeof(magic));
	return (magic == MAGIC_116 || magic == MAGIC_118 || magic == MAGIC_120) && !bytes[4] && !bytes[5] &&
	       (bytes[6] == 1 || bytes[6] == 4) && bytes[7] == sizeof(uint64_t);
}

/* In a program that may lie anywhere it is in a section with other data that is relocated: of its own, or somewhere in that of a foreign
 * linker. */
static bool find_table(const struct elf_file *elf, struct go_table *ret, uint64_t *ret_address)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro"};

	if (!elf_section(elf, names[0]) && !elf_section(elf, ".go.buildinfo")) /* others have much to look through */
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct elf_section *section = elf_section(elf, names[i]);
		const uint8_t *data = section ? elf_section_data(elf, section) : NULL;
		for (uint64_t at = 0; data && at + FIRST_WORD <= section->size; at += ALIGNED) {
			if (!is_header(data + at))
				continue;
			ret->data = data + at;
			ret->size = section->size - at;
			*ret_address = section->addr + at;
			return true;
		}
	}
	return false;
}

/* What a relocation puts at an address; 0 = none does. */
static uint64_t relocated(const struct elf_file *elf, uint64_t address)
{
	const struct elf_section *section = elf_section(elf, ".rela.dyn");
	struct elf_relocation relocation;

	if (!section)
		section = elf_section(elf, ".rela");
	for (uint64_t i = 0; section && elf_relocation_at(elf, section, i, &relocation); i++)
		if (relocation.offset == address)
			return relocation.addend;
	return 0;
}

/* The text is word number 2, and moves those behind it. */
static bool find_text(const struct elf_file *elf, uint64_t address, struct go_table *table)
{
	const uint64_t at = FIRST_WORD + 2 * sizeof(uint64_t);
	const struct elf_section *text = elf_section(elf, ".text");

	if (!read_number(table, at, sizeof(uint64_t), &table->text))
		return false;
	if (!table->text)
		table->text = relocated(elf, address + at);
	if (!table->text && text)
		table->text = text->addr;
	return table->text != 0;
}

bool go_table_open(const struct elf_file *elf, struct go_table *ret)
{
	struct go_table table = {0};
	uint64_t address, word = 2, magic;

	if (!elf->is_64bit || elf->swap || !elf->data || !find_table(elf, &table, &address) || !read_number(&table, 0, 4, &magic))
		return false;
	table.quantum = table.data[6];
	table.flags = magic == MAGIC_120 ? FLAGS_SINCE_120 : FLAGS; /* 1.16 has none, but 0 */
	table.entry_size = sizeof(uint64_t);
	if (magic != MAGIC_116) {
		if (!find_text(elf, address, &table))
			return false;
		table.entry_size = sizeof(uint32_t);
		word++;
	}
	uint64_t *const parts[] = {&table.names, NULL, NULL, &table.numbers, &table.functions};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i] && !read_number(&table, FIRST_WORD + (word + i) * sizeof(uint64_t), sizeof(uint64_t), parts[i]))
			return false;
	if (!read_number(&table, FIRST_WORD, sizeof(uint64_t), &table.count) || table.functions > table.size || table.names >= table.size ||
	    table.numbers > table.size || table.count > (table.size - table.functions) / (2 * table.entry_size))
		return false;
	for (table.names_end = table.size - 1; table.names_end > table.names && table.data[table.names_end]; table.names_end--)
		;
	*ret = table;
	return true;
}

/* ---- functions ---- */

bool go_table_function(const struct go_table *table, uint64_t index, struct go_function *ret)
{
	uint64_t size = table->entry_size, at = table->functions + index * 2 * size, place, name;

	if (index >= table->count || !read_number(table, at, (uint8_t)size, &ret->start) ||
	    !read_number(table, at + size, (uint8_t)size, &place) || !read_number(table, at + 2 * size, (uint8_t)size, &ret->end) ||
	    place > table->size - table->functions)
		return false;
	ret->start += table->text;
	ret->end += table->text;
	ret->place = table->functions + place + size;
	if (!read_number(table, ret->place + NAME, sizeof(uint32_t), &name) || name >= table->names_end - table->names ||
	    table->size - ret->place <= table->flags)
		return false;
	ret->outermost = table->data[ret->place + table->flags] & NOBODY_CALLS;
	ret->name = (const char *)table->data + table->names + name;
	return ret->end > ret->start;
}

/* Seven bits in each byte, the lowest ones first. */
static bool read_varint(const struct go_table *table, uint64_t *at, uint32_t *ret)
{
	enum { MOST_BITS = 32 };

	*ret = 0;
	for (unsigned int shift = 0; shift < MOST_BITS && *at < table->size; shift += 7) {
		uint8_t byte = table->data[(*at)++];
		*ret |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* Numbers are pairs: how much the value changes, with its sign in the lowest bit, and for how many instructions it holds. No change ends
 * them; the first value is counted from -1. */
bool go_table_stack(const struct go_table *table, const struct go_function *function,
		    bool (*visit)(void *context, const struct go_stack *stack), void *context)
{
	struct go_stack stack = {.end = function->start, .moved = -1};
	uint64_t numbers, at;
	uint32_t change, length;

	if (!read_number(table, function->place + STACK, sizeof(uint32_t), &numbers) || !numbers)
		return false;
	for (at = table->numbers + numbers; stack.end < function->end;) {
		bool first = stack.end == function->start;
		if (!read_varint(table, &at, &change) || (!change && !first) || !read_varint(table, &at, &length) || !length)
			return !first;
		stack.moved = (int32_t)((uint32_t)stack.moved + (change & 1 ? ~(change >> 1) : change >> 1));
		stack.start = stack.end;
		stack.end += (uint64_t)length * table->quantum;
		if (!visit(context, &stack))
			return false;
	}
	return true;
}
