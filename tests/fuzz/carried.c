/* What a recording carries: whatever the bytes say, every number in what is read leads to something, and what is written of it is read as
 * the same again. */
#include "symbol/carried/carried.h"

#include <stdlib.h>
#include <string.h>

static void look_up(const struct carried *carried)
{
	for (size_t i = 0; i < carried->file_count; i++) {
		const struct carried_file *file = &carried->files[i];
		const struct dso dso = {
			.kind = file->kind, .name = file->name, .major = file->major, .minor = file->minor, .inode = file->inode};
		carried_find(carried, &dso);
		for (size_t k = 0; k < file->place_count; k++) {
			const struct carried_answer *answer = carried_functions(file, file->places[k].vaddr);
			for (size_t n = 0; answer && n < answer->count; n++)
				if (answer->functions[n].file && strlen(answer->functions[n].file) > (size_t)1 << 30)
					abort();
		}
		for (size_t k = 0; k < file->code_count; k++) {
			const struct carried_code *code = carried_code_at(file, file->codes[k].dso_addr);
			if (code && code->size && code->bytes[code->size - 1] == 1)
				carried_code_name(code, code->address);
			if (code)
				carried_code_relocation(code, code->address, 8);
		}
	}
	for (size_t i = 0; i < carried->source_count; i++)
		for (size_t k = 0; k < carried->sources[i].line_count; k++)
			carried_source_line(carried, carried->sources[i].path, carried->sources[i].lines[k].number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf once = {0}, twice = {0};
	struct carried *carried = carried_decode(data, size);
	if (!carried)
		return 0;
	look_up(carried);
	carried_encode(carried, &once);
	struct carried *again = carried_decode(once.data, once.len);
	if (!again)
		abort();
	carried_encode(again, &twice);
	if (once.len != twice.len || memcmp(once.data, twice.data, once.len) != 0)
		abort();
	carried_destroy(again);
	carried_destroy(carried);
	strbuf_deinit(&once);
	strbuf_deinit(&twice);
	return 0;
}
