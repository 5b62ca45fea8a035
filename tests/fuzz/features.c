/* The bytes of one header feature (number in the first byte, byte order in its highest bit), read, printed, and written again. */
#include "base/arena.h"
#include "perfdata/features/features_print.h"
#include "perfdata/features/features_read.h"
#include "perfdata/features/features_write.h"
#include "perfdata/reader_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader_private private = {0};
	struct reader reader = {.private = &private, .path = "fuzz"};
	struct strbuf out = {0};
	if (!size)
		return 0;
	reader.swapped = data[0] & 0x80;
	reader.features.cpus_available = 4;
	features_read(&reader.features, data[0] & 0x7f, data + 1, size - 1, reader.swapped);
	features_print(&reader, true, &out);
	features_write(&reader.features, data[0] & 0x7f, &reader.events, 128, &out);
	strbuf_deinit(&out);
	features_deinit(&reader.features);
	return 0;
}
