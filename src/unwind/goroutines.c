/* By their symbols. Facts: Go's runtime/asm_amd64.s, from 1.17 on: where systemstack() and asmcgocall() leave, the goroutine is noted to be
 * in systemstack_switch(), a function that only stands for that; mcall() and morestack() note where they were called from. On a new
 * thread's stack clone() calls the first function, and what lies above is no stack. rt0_go() is jumped to, and aligns its stack without a
 * rule that says so. */
#include "unwind/goroutines.h"

#include <elf.h>
#include <string.h>

static bool is_switch(const char *name, uint8_t *ret_kind)
{
	static const struct {
		const char *name;
		enum walk_switch kind;
	} known[] = {{"systemstack", WALK_GOES_ON_AT_PLACE}, {"asmcgocall", WALK_GOES_ON_AT_PLACE}, {"mcall", WALK_GOES_ON_AT_CALL},
		     {"morestack", WALK_GOES_ON_AT_CALL},    {"clone", WALK_BEGINS_THREAD},	    {"rt0_go", WALK_BEGINS_PROGRAM}};
	static const char prefix[] = "runtime.";

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return false;
	name += sizeof(prefix) - 1;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t length = strlen(known[i].name);
		*ret_kind = known[i].kind;
		if (!strncmp(name, known[i].name, length) && (!name[length] || !strcmp(name + length, ".abi0")))
			return true;
	}
	return false;
}

size_t goroutine_switches(const struct elf_file *elf, struct goroutine_switch ret[GOROUTINE_SWITCHES])
{
	const struct elf_section *table = elf_section(elf, ".note.go.buildid") ? elf_section(elf, ".symtab") : NULL;
	uint64_t symbols = table ? elf_symbol_count(elf, table) : 0;
	struct elf_symbol symbol;
	size_t count = 0;
	uint8_t kind;

	for (uint64_t i = 0; i < symbols && count < GOROUTINE_SWITCHES; i++)
		if (elf_symbol_at(elf, table, i, &symbol) && symbol.section != SHN_UNDEF && is_switch(symbol.name, &kind))
			ret[count++] = (struct goroutine_switch){.start = symbol.value, .kind = kind};
	return count;
}
