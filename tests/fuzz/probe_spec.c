/* Probe definitions and ranges of lines: any bytes give a definition or an error. */
#include "event/probe_spec.h"

#include "base/mem.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_strndup((const char *)data, size);
	struct probe_spec spec;
	struct probe_lines lines;
	struct error *error = probe_spec_parse(text, &spec);

	if (!error) {
		if (!spec.function && !spec.file && !spec.is_address)
			abort();
		probe_spec_deinit(&spec);
	}
	error_free(error);
	error = probe_lines_parse(text, &lines);
	if (!error)
		arena_deinit(&lines.arena);
	error_free(error);
	char *name = probe_name_of(text);
	if (!probe_name_is_valid(name))
		abort();
	free(name);
	free(text);
	return 0;
}
