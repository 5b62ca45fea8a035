/* Mangled names: whatever they say, the work is bounded (libFuzzer's -timeout), and what comes out is not longer than asked for. */
#include "symbol/demangle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { LIMIT = 4096 };
	char *name = malloc(size + 1);
	memcpy(name, data, size);
	name[size] = '\0';
	if (demangle_candidate(name)) {
		char *readable = demangle(name, LIMIT);
		/* OCaml's become no longer than they are. */
		if (readable && name[0] != 'c' && strlen(readable) > LIMIT + strlen(DEMANGLE_REFUSED) + strlen("@plt"))
			abort();
		free(readable);
	}
	free(name);
	return 0;
}
