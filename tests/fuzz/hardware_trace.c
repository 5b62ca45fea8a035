/* Packets of Arm SPE: the input is a trace. All of it is read, and made to text. */
#include "analysis/itrace/spe_packet.h"
#include "base/strbuf.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf text = {0};
	size_t length;
	for (size_t offset = 0; offset < size; offset += length) {
		struct spe_packet packet;
		length = spe_packet_read(data, size, offset, &packet);
		if (!length || length > size - offset)
			abort();
		spe_packet_address(&packet);
		spe_packet_text(&packet, &text);
	}
	strbuf_deinit(&text);
	return 0;
}
