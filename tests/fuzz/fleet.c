/* What comes from disks and servers of a fleet, by the first byte: a file of a spool, an answer in protocol buffers, the URL of a sink.
 * A file that is taken for a batch lies within its bytes; one that was made here is taken. */
#include "base/formats/protobuf.h"
#include "fleet/sink_url.h"
#include "fleet/spool.h"

#include <stdlib.h>
#include <string.h>

static void decode_file(const uint8_t *data, size_t size)
{
	struct spool_batch batch = {0};
	const void *payload;
	size_t length;
	if (!spool_decode(data, size, &batch, &payload, &length))
		return;
	const uint8_t *at = payload;
	if (at < data || length > size || at + length > data + size || batch.bytes != size)
		abort();
}

static uint64_t read_message(struct cursor message, int depth)
{
	struct protobuf_field field;
	uint64_t sum = 0;
	while (protobuf_next(&message, &field)) {
		for (size_t i = 0; field.is_piece && i < cursor_left(&field.message); i++)
			sum += field.message.at[i];
		sum += field.value + (depth ? read_message(field.message, depth - 1) : 0);
	}
	return sum;
}

static void parse_url(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"keep", NULL};
	char *text = strndup((const char *)data, size);
	struct sink_url url;
	struct error *error = sink_url_parse(text, names, &url);
	if (!error) {
		if (!*url.scheme || (*url.path && *url.path != '/') || (url.user && strchr(text, '@') == NULL))
			abort();
		sink_url_deinit(&url);
	}
	error_free(error);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static volatile uint64_t sum; /* so that nothing is left out */
	(void)sum;
	if (!size)
		return 0;
	switch (data[0] % 3) {
	case 0:
		decode_file(data + 1, size - 1);
		break;
	case 1:
		sum += read_message(cursor_init(data + 1, size - 1, false), 3);
		break;
	default:
		parse_url(data + 1, size - 1);
	}
	return 0;
}
