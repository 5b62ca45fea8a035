/* Code for scripts: asked for rarely, so that files are opened anew each time. */
#include "language/sampled_code.h"

#include "symbol/code/code_file.h"
#include "symbol/code/disasm.h"

#include <string.h>

/* Fewer bytes than asked for where the code ends. */
static size_t read_from(struct code_file *file, const struct frame *frame, size_t size, uint8_t *ret)
{
	struct code_range range;
	if (!code_file_read(file, frame->dso_addr, size, &range))
		return 0;
	if (range.size < size)
		size = range.size;
	memcpy(ret, range.bytes, size);
	return size;
}

size_t sampled_code_read(struct resolver *resolver, const struct frame *frame, size_t size, uint8_t *ret)
{
	struct code_file *file = NULL;
	if (!frame->map)
		return 0;
	error_free(code_file_open(resolver, frame->map->dso, &file));
	size = file ? read_from(file, frame, size, ret) : 0;
	code_file_close(file);
	return size;
}

/* As many bytes as the disassembler takes for one; where it can't read them, none. */
size_t sampled_code_instruction(struct resolver *resolver, const struct frame *frame, uint8_t *ret)
{
	struct code_file *file = NULL;
	struct disasm *disasm = NULL;
	struct instruction instruction;
	size_t size = 0;
	struct error *error = frame->map ? code_file_open(resolver, frame->map->dso, &file) : NULL;
	if (file)
		size = read_from(file, frame, SAMPLED_INSTRUCTION_MAX, ret);
	if (size)
		error = disasm_open(code_file_arch(file), DISASM_ATT, &disasm);
	struct code code = {.bytes = ret, .size = size, .address = frame->ip};
	size = disasm && disasm_next(disasm, &code, &instruction) && instruction.kind != INSTRUCTION_BAD ? instruction.size : 0;
	error_free(error);
	disasm_close(disasm);
	code_file_close(file);
	return size;
}
