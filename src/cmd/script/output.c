/* Large writes. The first ones are small, so that `perf script | head` has its lines at once; then they grow to a megabyte. */
#include "cmd/script/output.h"

#include "base/files/output.h"

#include <unistd.h>

enum { FIRST_LIMIT = 4 << 10, LARGEST_LIMIT = 1 << 20 };

void script_output_init(struct script_output *output, int fd, bool prompt)
{
	*output = (struct script_output){.fd = fd, .limit = FIRST_LIMIT, .prompt = prompt};
	if (isatty(fd)) {
		output->prompt = true;
		output->limit = 1; /* a person is looking: each line at once */
	}
}

void script_output_deinit(struct script_output *output)
{
	strbuf_deinit(&output->text);
}

struct error *script_output_write(struct script_output *output, const char *data, size_t size)
{
	if (output->closed)
		return NULL;
	output->written += size;
	return output_write(output->fd, data, size, "the output", &output->closed);
}

struct error *script_output_flush(struct script_output *output)
{
	struct error *error = script_output_write(output, output->text.data, output->text.len);
	strbuf_clear(&output->text);
	return error;
}

struct error *script_output_flush_full(struct script_output *output)
{
	if (output->text.len < output->limit)
		return NULL;
	if (!output->prompt && output->limit < LARGEST_LIMIT)
		output->limit *= 2;
	return script_output_flush(output);
}
