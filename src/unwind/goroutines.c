/* By their names. Facts: Go's runtime/asm_amd64.s, from 1.17 on: where systemstack() and asmcgocall() leave, the goroutine is noted to be
 * in systemstack_switch(), a function that only stands for that; mcall() and morestack() note where they were called from. On a new
 * thread's stack clone() calls the first function, and what lies above is no stack. rt0_go() is jumped to, and aligns its stack without a
 * rule that says so. */
#include "unwind/goroutines.h"

#include "symbol/elf/go_table.h"

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
	struct go_function function;
	struct go_table table;
	size_t count = 0;
	uint8_t kind;

	if (!go_table_open(elf, &table))
		return 0;
	for (uint64_t i = 0; i < table.count && count < GOROUTINE_SWITCHES; i++)
		if (go_table_function(&table, i, &function) && is_switch(function.name, &kind))
			ret[count++] = (struct goroutine_switch){.start = function.start, .kind = kind};
	return count;
}
