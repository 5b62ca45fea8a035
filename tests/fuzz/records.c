/* One event's attribute and records of it: the first 136 bytes are the attribute (as if native), a byte says whether to swap, the rest is
 * the data of a pipe. */
#include "base/mem.h"
#include "examine.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { ATTR = 136, PIPE_HEAD = 16, RECORD_HEAD = 8 };
	if (size < ATTR + 1)
		return 0;
	int swap = data[ATTR] & 1;
	size_t head = PIPE_HEAD + RECORD_HEAD + ATTR;
	uint8_t *file = mem_zalloc(head + size);
	static const char magic[2][PIPE_HEAD + 1] = {"PERFILE2\x10\0\0\0\0\0\0", "2ELIFREP\0\0\0\0\0\0\0\x10"};
	static const uint8_t record[2][RECORD_HEAD] = {{64, 0, 0, 0, 0, 0, 144, 0}, {0, 0, 0, 64, 0, 0, 0, 144}};
	static const uint8_t attr_size[2][4] = {{136, 0, 0, 0}, {0, 0, 0, 136}};
	memcpy(file, magic[swap], PIPE_HEAD);
	memcpy(file + PIPE_HEAD, record[swap], RECORD_HEAD);
	memcpy(file + PIPE_HEAD + RECORD_HEAD, data, ATTR);
	memcpy(file + PIPE_HEAD + RECORD_HEAD + 4, attr_size[swap], 4);
	memcpy(file + head, data + ATTR + 1, size - ATTR - 1);
	examine_recording(file, head + size - ATTR - 1);
	free(file);
	return 0;
}
