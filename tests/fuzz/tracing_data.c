/* A recording's formats and records of them: the input is the TRACING_DATA section; each tracepoint then prints bytes from the input's end.
 */
#include "event/tracepoint.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tracepoint_formats *formats;
	struct strbuf text = {0};
	size_t raw_size = size < 256 ? size : 256;

	error_free(tracepoint_formats_load_data(data, size, &formats));
	for (size_t i = 0; i < tracepoint_formats_count(formats); i++) {
		const struct tracepoint *tracepoint = tracepoint_by_index(formats, i);
		uint8_t *raw = malloc(raw_size);
		memcpy(raw, data + size - raw_size, raw_size);
		for (size_t j = 0; j < tracepoint->field_count; j++) {
			size_t len;
			tracepoint_read(&tracepoint->fields[j], raw, raw_size);
			tracepoint_read_string(&tracepoint->fields[j], raw, raw_size, &len);
		}
		tracepoint_print(tracepoint, raw, raw_size, &text);
		strbuf_clear(&text);
		free(raw);
	}
	strbuf_deinit(&text);
	tracepoint_formats_destroy(formats);
	return 0;
}
