/* Copies of the memory that arguments point to. */
#pragma once

#include "bpf/syscalls/syscalls_state.bpf.h"

enum { AT_MOST_STRINGS = 64, AT_ONCE = 32, AT_MOST_VECTORS = 32, SMALL_NUMBERS = 4096, SCRATCH_MASK = (1 << 14) - 1 };

struct scratch {
	struct syscall_record record;
	uint8_t data[SCRATCH_MASK + 1]; /* more than SYSCALLS_DATA + SYSCALLS_PIECE */
	uint32_t counted;
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
	struct syscall_piece *piece;
	long length = 0;

	if (!scratch)
		return at;
	if (at > SYSCALLS_DATA) {
		scratch->record.flags |= SYSCALL_CUT;
		return at;
	}
	piece = (struct syscall_piece *)(scratch->data + at);
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
		piece->kind = SYSCALL_PIECE_FAULT;
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

/* One string of a list. Of one that cannot be read its address is told. */
__noinline uint32_t add_listed_string(uint32_t at, uint32_t argument, uint64_t pointer)
{
	struct scratch *scratch = get_scratch();
	struct syscall_piece *piece;
	uint32_t next;

	if (!scratch || at > SYSCALLS_DATA)
		return add_piece(at, argument | SYSCALL_PIECE_STRING << 8 | PIECE_IS_STRING, pointer, 0, 0);
	next = add_piece(at, argument | SYSCALL_PIECE_STRING << 8 | PIECE_IS_STRING, pointer, config.string_size + 2, 0);
	piece = (struct syscall_piece *)(scratch->data + at);
	if (next == at || piece->kind != SYSCALL_PIECE_FAULT)
		return next;
	piece->size = sizeof(pointer);
	*(uint64_t *)(void *)piece->data = pointer;
	return next + sizeof(pointer);
}

/* Strings of a list of pointers: one piece each. */
__noinline uint32_t add_strings(uint32_t at, uint32_t argument, uint64_t address, uint32_t pointer_size)
{
	if (!address)
		return at;
	argument &= 0xff; /* without the kind */
	for (uint32_t i = 0; i < AT_MOST_STRINGS; i++) {
		uint64_t pointer = 0;
		if (bpf_probe_read_user(&pointer, pointer_size == 4 ? 4 : 8, (const void *)(address + i * pointer_size)))
			return add_piece(at, argument | SYSCALL_PIECE_FAULT << 8, 0, 0, i);
		if (!pointer)
			return add_piece(at, argument | SYSCALL_PIECE_COUNT << 8, 0, 0, i);
		at = add_listed_string(at, argument, pointer);
	}
	return at;
}

/* Long loops are cut into pieces that the verifier looks at once: each goes on where the one before ended, and adds to scratch->counted. */
__noinline int count_some_pointers(uint64_t address, uint32_t pointer_size)
{
	struct scratch *scratch = get_scratch();

	if (!scratch)
		return 1;
	for (uint32_t i = 0; i < AT_ONCE; i++) {
		uint64_t pointer = 0;
		if (bpf_probe_read_user(&pointer, pointer_size == 4 ? 4 : 8, (const void *)(address + i * pointer_size)))
			return -1;
		if (!pointer)
			return 1;
		scratch->counted++;
	}
	return 0;
}

__noinline uint32_t count_pointers(uint32_t at, uint32_t argument, uint64_t address, uint32_t pointer_size)
{
	struct scratch *scratch = get_scratch();
	int done = 0;

	if (!address || !scratch)
		return at;
	scratch->counted = 0;
	for (uint32_t i = 0; i < AT_ONCE && !done; i++)
		done = count_some_pointers(address + i * AT_ONCE * pointer_size, pointer_size);
	return add_piece(at, (argument & 0xff) | (done < 0 ? SYSCALL_PIECE_FAULT : SYSCALL_PIECE_COUNT) << 8, 0, 0, scratch->counted);
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
		at = add_piece(at, (argument & 0xff) | SYSCALL_PIECE_BUFFER << 8, vector[0], limited(size, config.string_size), size);
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
		at = add_piece(at, argument | SYSCALL_PIECE_ADDRESS << 8, message.name, limited(message.name_size, 128), message.name_size);
	if (message.control)
		at = add_piece(at, argument | SYSCALL_PIECE_CONTROL << 8, message.control, limited(message.control_size, 512),
			       message.control_size);
	return add_vector(at, argument | SYSCALL_PIECE_VECTOR << 8, message.vector, message.vector_count, bytes);
}

/* Directory entries: their size is at byte 16 in struct linux_dirent and in struct linux_dirent64. Returns where to go on, 0 = at the end.
 */
__noinline uint64_t count_some_dirents(uint64_t address, uint64_t end)
{
	struct scratch *scratch = get_scratch();

	if (!scratch)
		return 0;
	for (uint32_t i = 0; i < AT_ONCE; i++) {
		uint16_t size = 0;
		if (address >= end || bpf_probe_read_user(&size, sizeof(size), (const void *)(address + 16)) || !size)
			return 0;
		address += size;
		scratch->counted++;
	}
	return address;
}

__noinline uint32_t count_dirents(uint32_t at, uint32_t argument, uint64_t address, uint64_t bytes)
{
	struct scratch *scratch = get_scratch();
	uint64_t end = address + bytes;

	if (!scratch)
		return at;
	scratch->counted = 0;
	for (uint32_t i = 0; i < 2 * AT_ONCE && address; i++)
		address = count_some_dirents(address, end);
	return add_piece(at, (argument & 0xff) | SYSCALL_PIECE_COUNT << 8, 0, 0, scratch->counted);
}

/* How much a request of ioctl() reads or fills: it says so itself (include/uapi/asm-generic/ioctl.h), but for those that are older than
 * that: terminals and sockets. */
static __always_inline uint32_t request_size(uint32_t request)
{
	enum { TERMINAL = 'T', SOCKET = 0x89, TERMIOS_SIZE = 44, IFREQ_SIZE = 40 };
	uint32_t size = request >> 16 & 0x3fff, type = request >> 8 & 0xff;

	if (request >> 30)
		return limited(size, 256);
	if (request == 0x5421 || request == 0x541b || request == 0x5452) /* FIONBIO, FIONREAD, FIOASYNC */
		return 4;
	if (request >= 0x5401 && request <= 0x5404) /* TCGETS, TCSETS, TCSETSW, TCSETSF */
		return TERMIOS_SIZE;
	return type == TERMINAL ? 8 : type == SOCKET ? IFREQ_SIZE : 0;
}

/* What one argument of the call in the scratch record points to. `result` is what the call returned (INT64_MAX: not yet known, take all of
 * it). */
__noinline uint32_t add_argument(uint32_t at, uint32_t i, uint32_t kind, int64_t result)
{
	struct scratch *scratch = get_scratch();
	uint32_t number;

	if (!scratch || i >= SYSCALLS_ARGS)
		return at;
	number = scratch->record.number;
	const struct syscall_plan *plan = bpf_map_lookup_elem(&calls, &number);
	if (!plan)
		return at;
	const struct syscall_argument *argument = &plan->argument[i];
	uint32_t what = i | kind << 8, pointer_size = scratch->record.flags & SYSCALL_COMPAT ? 4 : 8, length = argument->length;
	uint64_t address = scratch->record.arguments[i], count = length < SYSCALLS_ARGS ? scratch->record.arguments[length] : 0;
	uint64_t returned = result < 0 ? 0 : result;
	bool filled = argument->when == SYSCALL_AT_EXIT_GOOD;
	int32_t value = 0;

	if (address < SMALL_NUMBERS) /* NULL, or not a pointer this time */
		return at;
	switch (argument->copy) {
	case SYSCALL_COPY_PATH:
		return add_piece(at, what | PIECE_IS_STRING, address, SYSCALLS_PIECE, 0);
	case SYSCALL_COPY_STRING:
		return add_piece(at, what | PIECE_IS_STRING, address, config.string_size + 2, 0);
	case SYSCALL_COPY_BYTES:
		return add_piece(at, what, address, limited(count, config.string_size), count);
	case SYSCALL_COPY_RETURNED:
		return add_piece(at, what, address, limited(returned, config.string_size), returned);
	case SYSCALL_COPY_FIXED:
		return add_piece(at, what, address, argument->size, argument->size);
	case SYSCALL_COPY_ARRAY:
		return add_piece(at, what, address, limited(count * argument->size, SYSCALLS_PIECE), count * argument->size);
	case SYSCALL_COPY_COUNTED:
		return add_piece(at, what, address, limited(returned * argument->size, SYSCALLS_PIECE), returned * argument->size);
	case SYSCALL_COPY_SIZED:
		bpf_probe_read_user(&value, sizeof(value), (const void *)count);
		return add_piece(at, what, address, limited(value < 0 ? 0 : value, 512), value);
	case SYSCALL_COPY_BITS:
		return add_piece(at, what, address, limited((count + 63) / 64 * 8, 128), (count + 63) / 64 * 8);
	case SYSCALL_COPY_STRINGS:
		return add_strings(at, what, address, pointer_size);
	case SYSCALL_COPY_POINTERS:
		return count_pointers(at, what, address, pointer_size);
	case SYSCALL_COPY_VECTOR:
		return pointer_size == 4 ? at : add_vector(at, what, address, count, filled ? returned : INT64_MAX);
	case SYSCALL_COPY_MESSAGE:
		return pointer_size == 4 ? at : add_message(at, what, address, filled ? returned : INT64_MAX);
	case SYSCALL_COPY_DIRENTS:
		return count_dirents(at, what, address, returned);
	case SYSCALL_COPY_REQUEST:
		value = request_size(count);
		return value ? add_piece(at, what, address, value, value) : at;
	}
	return at;
}
