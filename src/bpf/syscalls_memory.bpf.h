/* Copies of the memory that arguments point to. */
#pragma once

#include "bpf/syscalls_state.bpf.h"

enum { AT_MOST_STRINGS = 64, AT_MOST_POINTERS = 1024, AT_MOST_VECTORS = 16 };

struct scratch {
	struct call_record record;
	uint8_t data[SYSCALLS_DATA + SYSCALLS_PIECE + 64];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct scratch *get_scratch(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&scratches, &zero);
}

enum { PIECE_IS_STRING = 1 << 16 };

/* Adds a piece to the scratch record at `at`; returns where the next one goes. `what`: argument | kind << 8 | PIECE_IS_STRING. */
__noinline uint32_t add_piece(uint32_t at, uint32_t what, uint64_t address, uint32_t size, uint32_t wanted)
{
	struct scratch *scratch = get_scratch();
	struct call_piece *piece;
	long length = 0;

	if (!scratch)
		return at;
	if (at > SYSCALLS_DATA) {
		scratch->record.flags |= CALL_CUT;
		return at;
	}
	piece = (struct call_piece *)(scratch->data + at);
	piece->argument = what;
	piece->kind = what >> 8;
	piece->wanted = wanted;
	if (size > SYSCALLS_PIECE)
		size = SYSCALLS_PIECE;
	if (what & PIECE_IS_STRING) {
		length = bpf_probe_read_user_str(piece->data, size, (const void *)address);
		piece->wanted = length == (long)size;
	} else if (size) {
		length = bpf_probe_read_user(piece->data, size, (const void *)address);
		if (!length)
			length = size;
	}
	if (length < 0) {
		piece->kind = CALL_PIECE_FAULT;
		length = 0;
	}
	if (length > SYSCALLS_PIECE)
		length = SYSCALLS_PIECE;
	piece->size = length;
	return at + sizeof(*piece) + (((uint32_t)length + 7) & ~7u);
}

static __always_inline uint32_t limited(uint64_t size, uint32_t limit)
{
	return size > limit ? limit : size;
}

/* Strings of a list of pointers: one piece each. */
__noinline uint32_t add_strings(uint32_t at, uint32_t argument, uint64_t address, uint32_t pointer_size)
{
	if (!address)
		return at;
	for (uint32_t i = 0; i < AT_MOST_STRINGS; i++) {
		uint64_t pointer = 0;
		if (bpf_probe_read_user(&pointer, pointer_size == 4 ? 4 : 8, (const void *)(address + i * pointer_size)))
			return add_piece(at, argument | CALL_PIECE_FAULT << 8, 0, 0, i);
		if (!pointer)
			return add_piece(at, argument | CALL_PIECE_COUNT << 8, 0, 0, i);
		at = add_piece(at, argument | CALL_PIECE_STRING << 8 | PIECE_IS_STRING, pointer, config.string_size + 2, 0);
	}
	return at;
}

__noinline uint32_t count_pointers(uint32_t at, uint32_t argument, uint64_t address, uint32_t pointer_size)
{
	uint32_t i;

	if (!address)
		return at;
	for (i = 0; i < AT_MOST_POINTERS; i++) {
		uint64_t pointer = 0;
		if (bpf_probe_read_user(&pointer, pointer_size == 4 ? 4 : 8, (const void *)(address + i * pointer_size)))
			return add_piece(at, argument | CALL_PIECE_FAULT << 8, 0, 0, i);
		if (!pointer)
			break;
	}
	return add_piece(at, argument | CALL_PIECE_COUNT << 8, 0, 0, i);
}

/* A vector and its buffers, of which the first `bytes` bytes are of interest. */
__noinline uint32_t add_vector(uint32_t at, uint32_t argument, uint64_t address, uint64_t count, uint64_t bytes)
{
	uint64_t vector[2];

	at = add_piece(at, argument, address, limited(count * sizeof(vector), AT_MOST_VECTORS * sizeof(vector)), count * sizeof(vector));
	for (uint32_t i = 0; i < AT_MOST_VECTORS && i < count && bytes; i++) {
		if (bpf_probe_read_user(vector, sizeof(vector), (const void *)(address + i * sizeof(vector))))
			break;
		uint64_t size = vector[1] > bytes ? bytes : vector[1];
		bytes -= size;
		at = add_piece(at, (argument & 0xff) | CALL_PIECE_BUFFER << 8, vector[0], limited(size, config.string_size), size);
	}
	return at;
}

/* struct msghdr of 64-bit programs: include/linux/socket.h */
struct message {
	uint64_t name;
	uint32_t name_size, unused;
	uint64_t vector, vector_count;
	uint64_t control, control_size;
	uint32_t flags, unused_2;
};

__noinline uint32_t add_message(uint32_t at, uint32_t argument, uint64_t address, uint64_t bytes)
{
	struct message message;

	at = add_piece(at, argument, address, sizeof(message), sizeof(message));
	if (bpf_probe_read_user(&message, sizeof(message), (const void *)address))
		return at;
	argument &= 0xff;
	if (message.name)
		at = add_piece(at, argument | CALL_PIECE_ADDRESS << 8, message.name, limited(message.name_size, 128), message.name_size);
	if (message.control)
		at = add_piece(at, argument | CALL_PIECE_CONTROL << 8, message.control, limited(message.control_size, 512),
			       message.control_size);
	return add_vector(at, argument | CALL_PIECE_BUFFER << 8, message.vector, message.vector_count, bytes);
}

/* What one argument points to. `result` is what the call returned (INT64_MAX: not yet known, take all of it). */
static __always_inline uint32_t add_argument(uint32_t at, const struct call_plan *plan, const struct thread *thread, uint32_t i,
					     uint32_t kind, int64_t result)
{
	const struct call_argument *argument = &plan->argument[i];
	uint64_t address = thread->arguments[i], count = thread->arguments[argument->length & ARGUMENT_MASK];
	uint32_t what = i | kind << 8, pointer_size = thread->compat ? 4 : 8;
	uint64_t returned = result < 0 ? 0 : result;
	int32_t value = 0;

	if (!address)
		return at;
	switch (argument->copy) {
	case CALL_COPY_PATH:
		return add_piece(at, what | PIECE_IS_STRING, address, SYSCALLS_PIECE, 0);
	case CALL_COPY_STRING:
		return add_piece(at, what | PIECE_IS_STRING, address, config.string_size + 2, 0);
	case CALL_COPY_BYTES:
		return add_piece(at, what, address, limited(count, config.string_size), count);
	case CALL_COPY_RETURNED:
		return add_piece(at, what, address, limited(returned, config.string_size), returned);
	case CALL_COPY_FIXED:
		return add_piece(at, what, address, argument->size, argument->size);
	case CALL_COPY_ARRAY:
		return add_piece(at, what, address, limited(count * argument->size, SYSCALLS_PIECE), count * argument->size);
	case CALL_COPY_COUNTED:
		return add_piece(at, what, address, limited(returned * argument->size, SYSCALLS_PIECE), returned * argument->size);
	case CALL_COPY_SIZED:
		bpf_probe_read_user(&value, sizeof(value), (const void *)count);
		return add_piece(at, what, address, limited(value < 0 ? 0 : value, 512), value);
	case CALL_COPY_BITS:
		return add_piece(at, what, address, limited((count + 63) / 64 * 8, 128), (count + 63) / 64 * 8);
	case CALL_COPY_STRINGS:
		return add_strings(at, what, address, pointer_size);
	case CALL_COPY_POINTERS:
		return count_pointers(at, what, address, pointer_size);
	case CALL_COPY_VECTOR:
		return pointer_size == 4 ? at : add_vector(at, what, address, count, returned);
	case CALL_COPY_MESSAGE:
		return pointer_size == 4 ? at : add_message(at, what, address, returned);
	}
	return at;
}
