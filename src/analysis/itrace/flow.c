/* Depths of calls in traces, and names of branches. Not done here: how they come into samples (made_events.c). */
#include "analysis/itrace/flow.h"

#include "base/mem.h"
#include "base/vec.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* Deeper calls aren't followed, nor returns to far below: no stack has room for as many, but a trace may say so. */
enum { DEPTH_MAX = 1 << 16, SEARCH_MAX = 1 << 12 };

struct flow_call {
	uint64_t back;
	bool ended; /* tracing ended with it */
};

struct flow_stack {
	uint32_t trace;
	VEC(struct flow_call) calls;
};

struct sample_flow sample_flow_of(const struct event *event, const struct sample *sample)
{
	struct sample_flow flow = {0};
	if (event->has_flow && sample->raw && sample->raw_size >= sizeof(flow))
		memcpy(&flow, (const char *)sample->raw + sample->raw_size - sizeof(flow), sizeof(flow));
	return flow;
}

static const char *name_of(uint32_t flags)
{
	static const struct {
		uint32_t flags;
		const char *name;
	} NAMES[] = {
		{TRACED_BRANCH | TRACED_CALL, "call"},
		{TRACED_BRANCH | TRACED_RETURN, "return"},
		{TRACED_BRANCH | TRACED_CONDITIONAL, "jcc"},
		{TRACED_BRANCH, "jmp"},
		{TRACED_BRANCH | TRACED_CALL | TRACED_INTERRUPT, "int"},
		{TRACED_BRANCH | TRACED_RETURN | TRACED_INTERRUPT, "iret"},
		{TRACED_BRANCH | TRACED_CALL | TRACED_SYSCALL, "syscall"},
		{TRACED_BRANCH | TRACED_RETURN | TRACED_SYSCALL, "sysret"},
		{TRACED_BRANCH | TRACED_ASYNC, "async"},
		{TRACED_BRANCH | TRACED_CALL | TRACED_ASYNC | TRACED_INTERRUPT, "hw int"},
		{TRACED_BRANCH | TRACED_ABORT, "tx abrt"},
		{TRACED_BRANCH | TRACED_BEGIN, "tr strt"},
		{TRACED_BRANCH | TRACED_END, "tr end"},
		{TRACED_BRANCH | TRACED_CALL | TRACED_VM_ENTRY, "vmentry"},
		{TRACED_BRANCH | TRACED_CALL | TRACED_VM_EXIT, "vmexit"},
	};
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		if (NAMES[i].flags == flags)
			return NAMES[i].name;
	return NULL;
}

/* What has no name is a letter for each flag. */
static void add_letters(uint32_t flags, struct strbuf *out)
{
	static const char LETTERS[] = "bcrosyiABExgh";
	for (size_t i = 0; i < sizeof(LETTERS) - 1; i++)
		if (flags >> i & 1)
			strbuf_add_char(out, LETTERS[i]);
}

void flow_flags_text(uint32_t flags, struct strbuf *out)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} MARKS[] = {{0, ""}, {TRACED_BEGIN, "tr strt "}, {TRACED_END, "tr end  "}};
	const char *name = NULL;
	const uint32_t plain = flags & ~(uint32_t)TRACED_TRANSACTION;
	for (size_t i = 0; i < sizeof(MARKS) / sizeof(MARKS[0]) && !name; i++)
		if ((plain & MARKS[i].flag) == MARKS[i].flag && (name = name_of(plain & ~MARKS[i].flag)))
			strbuf_printf(out, flags == plain ? "%s%s" : *MARKS[i].name ? "%s%-10s(x)" : "%s%-18s(x)", MARKS[i].name, name);
	if (!name)
		add_letters(flags, out);
}

void flow_stacks_deinit(struct flow_stacks *stacks)
{
	map64_each (slot, &stacks->stacks) {
		struct flow_stack *stack = map64_pointer(slot);
		vec_deinit(&stack->calls);
		free(stack);
	}
	map64_deinit(&stacks->stacks);
}

static struct flow_stack *stack_of(struct flow_stacks *stacks, uint64_t key)
{
	uint64_t *slot = map64_insert(&stacks->stacks, key, NULL);
	if (!*slot)
		*slot = (uintptr_t)mem_zalloc(sizeof(struct flow_stack));
	return (struct flow_stack *)(uintptr_t)*slot;
}

uint32_t flow_depth(const struct flow_stacks *stacks, uint64_t key)
{
	const uint64_t *slot = map64_find(&stacks->stacks, key);
	return slot ? (uint32_t)((const struct flow_stack *)(uintptr_t)*slot)->calls.len : 0;
}

void flow_begin_trace(struct flow_stacks *stacks, uint64_t key, uint32_t trace)
{
	struct flow_stack *stack = stack_of(stacks, key);
	if (stack->trace != trace)
		stack->calls.len = 0;
	stack->trace = trace;
}

const struct flow_stack *flow_stack_of(const struct flow_stacks *stacks, uint64_t key)
{
	const uint64_t *slot = map64_find(&stacks->stacks, key);
	return slot ? (const void *)(uintptr_t)*slot : NULL;
}

bool flow_caller(const struct flow_stack *stack, uint32_t depth, uint64_t *ret)
{
	if (!stack || depth >= stack->calls.len)
		return false;
	*ret = stack->calls.data[stack->calls.len - 1 - depth].back;
	return true;
}

static void return_to(struct flow_stack *stack, uint64_t address)
{
	const size_t least = stack->calls.len > SEARCH_MAX ? stack->calls.len - SEARCH_MAX : 0;
	for (size_t i = stack->calls.len; i-- > least;)
		if (stack->calls.data[i].back == address) {
			stack->calls.len = i;
			return;
		}
}

void flow_take_branch(struct flow_stacks *stacks, uint64_t key, uint32_t flags, uint64_t from, uint64_t to, uint64_t back)
{
	struct flow_stack *stack = stack_of(stacks, key);
	if (flags & TRACED_CALL) {
		/* Calls of what comes next are there to get its address. */
		if (to && to != back && stack->calls.len < DEPTH_MAX)
			vec_push(&stack->calls, (struct flow_call){back, flags & TRACED_END});
	} else if (flags & TRACED_BEGIN) {
		return_to(stack, to);
		while (stack->calls.len && stack->calls.data[stack->calls.len - 1].ended)
			stack->calls.len--;
	} else if (flags & TRACED_RETURN && from && to) {
		return_to(stack, to);
	}
}
