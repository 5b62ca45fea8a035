/* Values of a print format's expressions in a record. Every access is checked against the record's end: what isn't inside reads as 0. */
#include "event/tracepoint/print_format.h"
#include "event/tracepoint/tracepoint_internal.h"
#include "event/tracepoint/tracepoint_program.h"

#include <string.h>

uint64_t run_read(const struct print_run *run, uint64_t offset, uint32_t size)
{
	bool swap = run->formats->swap;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	if (offset > run->size || size > run->size - offset)
		return 0;
	const uint8_t *at = run->raw + offset;
	switch (size) {
	case 1:
		return *at;
	case 2:
		memcpy(&u16, at, 2);
		return swap ? __builtin_bswap16(u16) : u16;
	case 4:
		memcpy(&u32, at, 4);
		return swap ? __builtin_bswap32(u32) : u32;
	case 8:
		memcpy(&u64, at, 8);
		return swap ? __builtin_bswap64(u64) : u64;
	default:
		return 0;
	}
}

uint64_t run_locate(const struct print_run *run, uint32_t field, bool relative, uint64_t *ret_len)
{
	uint64_t location = run_read(run, field, 4), offset = location & 0xffff, len = location >> 16;

	if (relative)
		offset += field + 4;
	*ret_len = offset > run->size || len > run->size - offset ? 0 : len;
	return offset > run->size ? 0 : offset;
}

static uint64_t calculate(uint16_t operation, uint64_t left, uint64_t right)
{
	switch (operation) {
	case NODE_OPERATION('!', '='):
		return left != right;
	case NODE_OPERATION('=', '='):
		return left == right;
	case NODE_OPERATION('|', 0):
		return left | right;
	case NODE_OPERATION('|', '|'):
		return left || right;
	case NODE_OPERATION('&', 0):
		return left & right;
	case NODE_OPERATION('&', '&'):
		return left && right;
	case NODE_OPERATION('<', 0):
		return left < right;
	case NODE_OPERATION('<', '='):
		return left <= right;
	case NODE_OPERATION('<', '<'):
		return left << (right & 63);
	case NODE_OPERATION('>', 0):
		return left > right;
	case NODE_OPERATION('>', '='):
		return left >= right;
	case NODE_OPERATION('>', '>'):
		return left >> (right & 63);
	case NODE_OPERATION('-', 0):
		return left - right;
	case NODE_OPERATION('+', 0):
		return left + right;
	case NODE_OPERATION('*', 0):
		return left * right;
	case NODE_OPERATION('/', 0):
		return right ? left / right : 0;
	case NODE_OPERATION('%', 0):
		return right ? left % right : 0;
	}
	return 0;
}

uint64_t run_evaluate(const struct print_run *run, const struct print_node *node)
{
	uint64_t len;

	switch (node->kind) {
	case NODE_VALUE:
		return node->value;
	case NODE_FIELD:
		return run_read(run, node->offset, node->size);
	case NODE_ELEMENT:
		return run_read(run, node->offset + (uint32_t)(run_evaluate(run, node->left) * node->size), node->size);
	case NODE_DYNAMIC_ELEMENT:
		return run_read(run, run_locate(run, node->offset, node->relative, &len) + (uint32_t)run_evaluate(run, node->left),
				node->size);
	case NODE_DYNAMIC_LENGTH:
		run_locate(run, node->offset, node->relative, &len);
		return len;
	case NODE_MASK:
		return run_evaluate(run, node->left) & node->value;
	case NODE_NOT:
		return !run_evaluate(run, node->left);
	case NODE_INVERT:
		return ~run_evaluate(run, node->left);
	case NODE_BINARY:
		return calculate(node->operation, run_evaluate(run, node->left), run_evaluate(run, node->right));
	case NODE_CHOICE:
		return run_evaluate(run, run_evaluate(run, node->left) ? node->right : node->third);
	}
	return 0;
}

const uint8_t *run_bytes(const struct print_run *run, const struct text_source *source, size_t *ret_left, size_t *ret_len)
{
	uint64_t len = source->size, offset = source->dynamic ? run_locate(run, source->offset, source->relative, &len) : source->offset;

	if (offset > run->size)
		offset = run->size;
	*ret_left = run->size - offset;
	*ret_len = (size_t)len;
	return run->raw + offset;
}

uint64_t tracepoint_constant(const struct print_node *node)
{
	static const struct tracepoint_formats none;
	struct print_run run = {.formats = &none};

	return run_evaluate(&run, node);
}
