/* Formats of tracepoints: TRACING_DATA as a recording holds it, or (first byte 'f') the text of one format, then printing a record by it.
 */
#include "event/tracepoint/tracepoint.h"

#include <string.h>

static void print(const struct tracepoint *tracepoint, const uint8_t *data, size_t size)
{
	struct strbuf out = {0};
	if (!tracepoint)
		return;
	tracepoint_print(tracepoint, data, size, &out);
	for (size_t i = 0; i < tracepoint->field_count; i++) {
		size_t length;
		tracepoint_read(&tracepoint->fields[i], data, size);
		tracepoint_read_string(&tracepoint->fields[i], data, size, &length);
	}
	strbuf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tracepoint_formats *formats = NULL;
	struct error *error;
	if (size && data[0] == 'f') {
		static const uint8_t record[64] = {1, 2, 3, 4, 5, 6, 7, 8, 40, 0, 8, 0, 40, 0, 200, 0};
		formats = tracepoint_formats_create();
		error = tracepoint_formats_add(formats, "fuzz", (const char *)data + 1, size - 1);
		for (int id = 0; id < 4; id++)
			print(tracepoint_by_id(formats, id), record, sizeof(record));
	} else {
		error = tracepoint_formats_load_data(data, size, &formats);
		for (int id = 0; id < 400; id++)
			print(formats ? tracepoint_by_id(formats, id) : NULL, data, size < 256 ? size : 256);
	}
	error_free(error);
	tracepoint_formats_destroy(formats);
	return 0;
}
