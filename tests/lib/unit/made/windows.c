#include "made/windows.h"

#include "base/mem.h"

#include <string.h>

#define BEGIN_NS UINT64_C(1795808006000000000)
#define LENGTH_NS UINT64_C(10000000000)
enum { FUNCTION_SIZE = 0x100, TEXT = 0x401000 };

struct window *made_window(uint8_t number)
{
	struct window *window = window_create();
	struct samples *samples = window->samples;
	memset(window->id, 0, sizeof(window->id));
	window->id[0] = number;
	window->host = "web1";
	window->host_id = "00112233445566778899aabbccddeeff";
	window->begin_ns = BEGIN_NS + number * LENGTH_NS;
	window->end_ns = window->begin_ns + LENGTH_NS;
	vec_push(&window->labels.list, (struct window_label){"region", "north"});
	vec_push(&window->sets, (struct window_labels){0});
	vec_push(&window->sets.data[1].list, (struct window_label){"unit", "a.service"});
	vec_push(&samples->events, (struct samples_event){.name = "cpu-clock", .nanoseconds = true});
	vec_push(&samples->events, (struct samples_event){.name = "page-faults"});
	vec_push(&samples->files, (struct samples_file){.name = "/usr/bin/prog", .short_name = "prog", .build_id = {{0xab, 0xcd}, 2}});
	vec_push(&samples->mappings, (struct samples_mapping){.start = 0x400000, .end = 0x500000, .offset = 0});
	return window;
}

static uint32_t find_thread(struct window *window, uint32_t tid, uint32_t set)
{
	struct samples *samples = window->samples;
	for (uint32_t i = 0; i < samples->threads.len; i++)
		if (samples->threads.data[i].tid == tid)
			return i;
	vec_push(&samples->threads, (struct samples_thread){.pid = tid, .tid = tid, .name = "prog", .process = "prog", .end = UINT64_MAX});
	vec_push(&samples->actors, (struct samples_actor){(uint32_t)samples->threads.len - 1, "prog"});
	vec_push(&window->thread_sets, set);
	return (uint32_t)samples->threads.len - 1;
}

static uint32_t find_frame(struct samples *samples, const char *name, size_t length)
{
	for (uint32_t i = 0; i < samples->functions.len; i++)
		if (strlen(samples->functions.data[i].name) == length && !memcmp(samples->functions.data[i].name, name, length))
			return i;
	vec_push(&samples->functions, (struct samples_function){.name = arena_strndup(&samples->arena, name, length), .symbol = true});
	uint64_t address = TEXT + (samples->functions.len - 1) * FUNCTION_SIZE;
	vec_push(&samples->frames,
		 (struct samples_frame){.function = (uint32_t)samples->functions.len - 1, .address = address, .file_address = address});
	return (uint32_t)samples->frames.len - 1;
}

static uint32_t find_stack(struct samples *samples, uint32_t parent, uint32_t frame)
{
	for (uint32_t i = 1; i < samples->stacks.len; i++)
		if (samples->stacks.data[i].parent == parent && samples->stacks.data[i].frame == frame)
			return i;
	vec_push(&samples->stacks, (struct samples_stack){parent, frame, samples->stacks.data[parent].depth + 1});
	return (uint32_t)samples->stacks.len - 1;
}

void made_window_add(struct window *window, uint32_t event, uint32_t thread, uint32_t set, const char *stack, uint32_t count,
		     uint64_t period)
{
	struct samples *samples = window->samples;
	struct samples_row row = {.event = event, .period = period, .count = count, .cpu = SAMPLES_NONE, .frame = SAMPLES_NONE};
	row.actor = find_thread(window, thread, set);
	while (*stack) {
		size_t length = strcspn(stack, ";");
		row.frame = find_frame(samples, stack, length);
		row.stack = find_stack(samples, row.stack, row.frame);
		stack += length + (stack[length] == ';');
	}
	samples->events.data[event].samples += count;
	samples->events.data[event].period += period;
	window->taken += count;
	vec_push(&samples->rows, row);
}
