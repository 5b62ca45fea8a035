/* A whole recording: header, features, records, samples, byte orders, pipes. */
#include "examine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	examine_recording(data, size);
	return 0;
}
