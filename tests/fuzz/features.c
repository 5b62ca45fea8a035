/* The bytes of one header feature (number in the first byte, 127 for ours; byte order in its highest bit), read, printed, and written
 * again. */
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
	unsigned int feature = data[0] & 0x7f;
	feature = feature == 0x7f ? FEATURE_SELF_CONTAINED : feature;
	features_read(&reader.features, feature, data + 1, size - 1, reader.swapped);
	features_print(&reader, true, &out);
	features_write(&reader.features, feature, &reader.events, 128, &out);
	strbuf_deinit(&out);
	features_deinit(&reader.features);
	return 0;
}
