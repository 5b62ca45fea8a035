/* Unwinding with any registers and stack bytes, through the C library's call frame information. */
#include "unwind/unwind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REGISTERS = 24, FRAMES = 200 };

static struct machine *make_machine(void)
{
	struct machine *machine = machine_create();
	char line[1024], path[512];
	unsigned long start, end, offset;
	FILE *maps = fopen("/proc/self/maps", "r");
	machine_add_comm(machine, 1, 1, "fuzz", false, 1);
	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %511s", &start, &end, &offset, path) != 4)
			continue;
		struct map_description map = {.pid = 1, .tid = 1, .start = start, .end = end, .pgoff = offset, .name = path, .prot = 5};
		machine_add_map(machine, &map, 2);
	}
	if (maps)
		fclose(maps);
	return machine;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct machine *machine;
	static struct resolver *resolver;
	static struct unwind_cache *cache;
	static const struct symbol_options options;
	uint64_t registers[REGISTERS], ips[FRAMES];
	if (!machine) {
		machine = make_machine();
		resolver = resolver_create(machine, &options);
	}
	if (size < sizeof(registers))
		return 0;
	memcpy(registers, data, sizeof(registers));
	/* Near code of the C library, and near the recorded stack, something happens. */
	if (registers[0] & 1)
		registers[8] = (uintptr_t)&printf + (registers[8] & 0xfffff) - 0x80000;
	struct unwind_input input = {
		.arch = registers[1] & 1 ? "x86_64" : "aarch64",
		.abi = registers[1] & 2 ? 1 : 2,
		.mask = registers[0] & 1 ? 0xff01ff : registers[2],
		.registers = registers,
		.maps = thread_maps(machine_thread(machine, 1, 3)),
		.time = 3,
		.stack_size = size - sizeof(registers),
	};
	if (__builtin_popcountll(input.mask) > REGISTERS)
		return 0;
	void *stack = malloc(input.stack_size + 1);
	memcpy(stack, data + sizeof(registers), input.stack_size);
	input.stack = stack;
	struct unwind_end end;
	size_t count = unwind_user(resolver, &cache, &input, ips, FRAMES, &end);
	if (count > FRAMES)
		abort();
	free(stack);
	return 0;
}
