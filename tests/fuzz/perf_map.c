/* perf-PID.map files: whatever the lines say, the table has no overlaps, and what it finds is where it says. */
#include "symbol/perf_map.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct symbol_builder builder = {0};
	memcpy(text, data, size);
	text[size] = '\0';
	perf_map_parse(text, size, &builder);
	struct symtab *symtab = symtab_build(&builder, 0, "fuzz");
	for (size_t i = 0; i < symtab->count; i++) {
		const struct symbol *symbol = symtab_at(symtab, i);
		const struct symbol *found = symtab_find(symtab, symbol->start);
		if (symbol->end < symbol->start || !found || found->start != symbol->start)
			abort();
		if (i && symtab_at(symtab, i - 1)->start >= symbol->start)
			abort();
	}
	symtab_destroy(symtab);
	free(text);
	return 0;
}
