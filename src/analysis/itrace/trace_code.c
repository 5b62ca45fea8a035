/* The code that a trace went through: of files as they were mapped, and of the kernel. */
#include "analysis/itrace/decoder.h"
#include "symbol/code/code_file.h"

#include <string.h>

static const char NO_CODE;

static struct code_file *file_of(struct itrace *itrace, struct dso *dso)
{
	uint64_t *slot = map64_insert(&itrace->code, (uintptr_t)dso, NULL);
	if (!*slot) {
		struct code_file *file = NULL;
		error_free(code_file_open(itrace->resolver, dso, &file));
		*slot = file ? (uintptr_t)file : (uintptr_t)&NO_CODE;
	}
	return *slot == (uintptr_t)&NO_CODE ? NULL : (struct code_file *)(uintptr_t)*slot;
}

size_t trace_read_code(struct itrace *itrace, uint32_t tid, uint64_t ip, void *buffer, size_t size, struct dso **ret_missing)
{
	struct machine *machine = itrace->session->machine;
	const bool is_kernel = ip >> 63;
	const struct thread *thread = tid == (uint32_t)-1 ? NULL : machine_thread(machine, tid, itrace->model_time);
	const struct maps *maps = is_kernel ? machine->kernel_maps : thread ? thread_maps(thread) : NULL;
	struct frame frame = {0};
	struct code_range range;
	if (maps)
		resolver_frame(itrace->resolver, maps, is_kernel ? CPUMODE_KERNEL : CPUMODE_USER, ip, itrace->model_time, &frame);
	struct code_file *file = frame.map ? file_of(itrace, frame.map->dso) : NULL;
	*ret_missing = frame.map && !file ? frame.map->dso : NULL;
	if (frame.map && size > frame.map->end - ip)
		size = frame.map->end - ip;
	if (!file || !code_file_read(file, frame.dso_addr, size, &range))
		return 0;
	size = range.size < size ? range.size : size;
	memcpy(buffer, range.bytes, size);
	return size;
}

void trace_code_deinit(struct itrace *itrace)
{
	map64_each (slot, &itrace->code)
		if (map64_pointer(slot) != &NO_CODE)
			code_file_close(map64_pointer(slot));
	map64_deinit(&itrace->code);
}
