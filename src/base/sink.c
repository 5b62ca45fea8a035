/* Outputs that are a file or a text. */
#include "base/sink.h"

#include "base/files/output.h"

static void write_file(void *file, const void *data, size_t size)
{
	if (size)
		fwrite(data, 1, size, file);
}

static int flush_file(void *file)
{
	return output_failure(file);
}

struct sink sink_to_file(FILE *file)
{
	return (struct sink){.write = write_file, .flush = flush_file, .context = file};
}

static void write_text(void *text, const void *data, size_t size)
{
	strbuf_add(text, data, size);
}

struct sink sink_to_text(struct strbuf *text)
{
	return (struct sink){.write = write_text, .context = text};
}

void sink_move(const struct sink *sink, struct strbuf *text)
{
	sink_write(sink, strbuf_str(text), text->len);
	strbuf_clear(text);
}
