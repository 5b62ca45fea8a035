/* Compressed data: the input is the content of COMPRESSED records of up to 4 KB each in a pipe. */
#include "base/mem.h"
#include "examine.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { HEAD = 16, PIECE = 4096 };
	uint8_t *file = mem_zalloc(HEAD + size + (size / PIECE + 1) * 8);
	uint8_t *at = file;
	memcpy(at, "PERFILE2\x10\0\0\0\0\0\0", HEAD);
	at += HEAD;
	while (size) {
		uint16_t piece = size < PIECE ? (uint16_t)size : PIECE;
		uint16_t head[4] = {81, 0, 0, piece + 8};
		memcpy(at, head, sizeof(head));
		memcpy(at + sizeof(head), data, piece);
		at += sizeof(head) + piece;
		data += piece;
		size -= piece;
	}
	examine_recording(file, (size_t)(at - file));
	free(file);
	return 0;
}
