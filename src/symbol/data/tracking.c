/* What registers have, followed through a function. Its instructions are cut into blocks at jumps and where jumps lead to:
 *
 *	        ┌──────────────┐
 *	        │ before       │
 *	        └──────┬───────┘
 *	        ┌──────▼───────┐     what a block begins with is what all ways to it agree on;
 *	   ┌───►│ loop         │     it is gone through again whenever that gets less
 *	   │    └──┬────────┬──┘
 *	   └───────┘ ┌──────▼───────┐
 *	             │ behind       │
 *	             └──────────────┘
 *
 * Jumps whose target is computed (a switch) lead to the blocks that no other way leads to. A function that would take too many rounds isn't
 * followed: then only debug information tells what registers have. */
#include "symbol/data/tracking.h"

#include "base/search.h"
#include "base/text.h"
#include "symbol/data/data_type_internal.h"
#include "symbol/dwarf/debug_types.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCKS_MAX = 1 << 14, ROUNDS_MAX = 32 };

struct code_block {
	size_t first, after; /* steps */
	bool reached;	     /* `before` is set */
	bool waiting;	     /* to be gone through */
	bool lonely;	     /* no known way leads to it */
	struct tracked_registers before;
};

/* From an address on debug information has a variable in the register. */
struct arrival {
	uint64_t address;
	uint8_t reg;
};

struct flow {
	const struct type_tracking *tracking;
	VEC(struct arrival) arrivals; /* sorted by address */
	VEC(struct code_block) blocks;
	struct code_block computed; /* what all jumps whose target is computed agree on; it has no steps */
	size_t left;		    /* steps until it is given up */
};

/* ---- one instruction ---- */

/* Onwards, beyond the end: to another element of an array. Backwards it may be from a member to what is around it. */
static struct content moved(const struct type_tracking *tracking, struct content content, int64_t by)
{
	content.offset = data_sum(content.offset, by);
	uint64_t size = content.kind == CONTENT_POINTER && by > 0 ? debug_type_size(&content.type) : 0;
	if (!size || content.offset < 0 || (uint64_t)content.offset < size || data_is_open_ended(&content.type, tracking->effort))
		return content;
	/* Whole elements don't matter, so that it is the same in each round of a loop. */
	content.array |= (uint64_t)by % size != 0;
	content.offset %= (int64_t)size;
	return content;
}

/* A pointer with something unknown added is taken for one to another element; so it doesn't matter which of the two it is. */
static struct content sum_of(const struct type_tracking *tracking, const struct tracked_registers *before,
			     const struct code_operation *operation, uint64_t address)
{
	struct content content = register_content(tracking, before, operation->source, address);
	if (content.kind == CONTENT_UNKNOWN)
		content = register_content(tracking, before, operation->other, address);
	return content.kind == CONTENT_UNKNOWN ? content : moved(tracking, content, operation->constant);
}

static struct content address_of(const struct type_tracking *tracking, const struct tracked_registers *before,
				 const struct memory_operand *operand, uint64_t address)
{
	if (operand->segment)
		return (struct content){0};
	if (operand->base == OPERATION_NO_REGISTER)
		return (struct content){.kind = CONTENT_ADDRESS, .offset = operand->offset};
	struct content content = register_content(tracking, before, operand->base, address);
	if (content.kind == CONTENT_UNKNOWN && operand->scale == 1)
		content = register_content(tracking, before, operand->index, address);
	return content.kind == CONTENT_UNKNOWN ? content : moved(tracking, content, operand->offset);
}

/* The address of a variable that the loader writes into a slot of the global offset table: of another file's, one that is declared. */
static bool slot_variable(const struct type_tracking *tracking, const struct content *slot, Dwarf_Die *ret)
{
	struct code_name name;
	struct variable variable;
	if (slot->kind != CONTENT_ADDRESS || !tracking->unit ||
	    !code_file_name(tracking->code, &tracking->range, (uint64_t)slot->offset, &name) || !name.slot ||
	    !data_unit_variable(tracking->file, tracking->unit, name.name, &variable))
		return false;
	*ret = variable.type;
	return true;
}

static struct content loaded_from_slot(const struct type_tracking *tracking, const struct content *slot)
{
	struct content content = {0};
	uint64_t target;
	if (slot->kind == CONTENT_ADDRESS && code_file_slot(tracking->code, (uint64_t)slot->offset, &target))
		content = (struct content){.kind = CONTENT_ADDRESS, .offset = (int64_t)target};
	else if (slot_variable(tracking, slot, &content.type))
		content.kind = CONTENT_POINTER;
	return content;
}

static struct content loaded(const struct type_tracking *tracking, const struct tracked_registers *before,
			     const struct code_operation *operation, uint64_t address)
{
	struct typed_place place;
	struct content content = {0};
	if (operand_place(tracking, before, &operation->operand, address, &place) != DATA_FOUND) {
		content = address_of(tracking, before, &operation->operand, address);
		return loaded_from_slot(tracking, &content);
	}
	if (data_pointer_target(&place.type, place.offset, tracking->effort, &content.type))
		content.kind = CONTENT_POINTER;
	return content;
}

static struct content target_content(const struct type_tracking *tracking, const struct tracked_registers *before,
				     const struct code_step *step)
{
	const struct code_operation *operation = &step->operation;
	switch (operation->kind) {
	case OPERATION_SUM:
		return sum_of(tracking, before, operation, step->address);
	case OPERATION_CONSTANT:
		return (struct content){.kind = CONTENT_ADDRESS, .offset = operation->constant};
	case OPERATION_LOAD:
		return loaded(tracking, before, operation, step->address);
	case OPERATION_ADDRESS:
		return address_of(tracking, before, &operation->operand, step->address);
	default:
		return (struct content){0};
	}
}

static void forget(struct tracked_registers *registers, uint32_t which)
{
	for (unsigned int i = 0; i < OPERATION_REGISTERS; i++)
		if (which >> i & 1)
			registers->contents[i] = (struct content){0};
}

static void call(const struct type_tracking *tracking, const struct code_step *step, struct tracked_registers *registers)
{
	struct code_name name;
	Dwarf_Die result;
	forget(registers, ~tracking->calling->kept);
	if (!step->has_target || !tracking->unit || !code_file_name(tracking->code, &tracking->range, step->target, &name) || name.offset)
		return;
	const char *end = strchr(name.name, '@'); /* "malloc@plt" */
	char *plain = mem_strndup(name.name, end ? (size_t)(end - name.name) : strlen(name.name));
	if (data_unit_result(tracking->file, tracking->unit, plain, &result))
		registers->contents[tracking->calling->result] = (struct content){.kind = CONTENT_POINTER, .type = result};
	free(plain);
}

/* A variable may end where its register goes on to have it, or a place in it: in a loop over an array there is only the element's address.
 * So what its beginning says is kept. */
static void note_arrivals(const struct flow *flow, uint64_t address, struct tracked_registers *registers)
{
	size_t first = partition_point(i, flow->arrivals.len, flow->arrivals.data[i].address < address);
	for (size_t i = first; i < flow->arrivals.len && flow->arrivals.data[i].address == address; i++) {
		uint8_t reg = flow->arrivals.data[i].reg;
		registers->contents[reg] = register_content(flow->tracking, registers, reg, address);
	}
}

static void pass(const struct flow *flow, const struct code_step *step, struct tracked_registers *registers)
{
	const struct type_tracking *tracking = flow->tracking;
	const struct code_operation *operation = &step->operation;
	note_arrivals(flow, step->address, registers);
	if (step->kind == INSTRUCTION_CALL) {
		call(tracking, step, registers);
		return;
	}
	if (!step->known)
		return;
	struct content content = target_content(tracking, registers, step);
	struct content base = {0};
	if (operation->base_moved != OPERATION_NO_REGISTER) {
		base = register_content(tracking, registers, operation->base_moved, step->address);
		base = base.kind == CONTENT_UNKNOWN ? base : moved(tracking, base, operation->moved);
	}
	forget(registers, operation->written);
	if (operation->kind != OPERATION_OTHER)
		registers->contents[operation->target] = content;
	if (operation->base_moved != OPERATION_NO_REGISTER)
		registers->contents[operation->base_moved] = base;
}

/* ---- blocks ---- */

static size_t step_at(const struct type_tracking *tracking, uint64_t address)
{
	size_t at = partition_point(i, tracking->steps.len, tracking->steps.data[i].address < address);
	return at < tracking->steps.len && tracking->steps.data[at].address == address ? at : SIZE_MAX;
}

static bool goes_on(enum instruction_kind kind)
{
	return kind != INSTRUCTION_JUMP && kind != INSTRUCTION_RETURN && kind != INSTRUCTION_BAD;
}

static bool ends_block(enum instruction_kind kind)
{
	return kind == INSTRUCTION_BRANCH || !goes_on(kind);
}

static bool jumps(const struct code_step *step)
{
	return step->has_target && (step->kind == INSTRUCTION_JUMP || step->kind == INSTRUCTION_BRANCH);
}

/* *leads: where blocks begin: 1, and 2 where a known way leads to it. */
static uint8_t *find_beginnings(const struct type_tracking *tracking)
{
	size_t count = tracking->steps.len;
	uint8_t *begins = mem_zalloc_array(count + 1, sizeof(*begins));
	begins[0] = 2;
	for (size_t i = 0; i < count; i++) {
		const struct code_step *step = &tracking->steps.data[i];
		size_t target = jumps(step) ? step_at(tracking, step->target) : SIZE_MAX;
		if (target != SIZE_MAX)
			begins[target] = 2;
		if (ends_block(step->kind) && begins[i + 1] < 2)
			begins[i + 1] = goes_on(step->kind) ? 2 : 1;
	}
	return begins;
}

static void make_blocks(struct flow *flow)
{
	size_t count = flow->tracking->steps.len;
	uint8_t *begins = find_beginnings(flow->tracking);
	for (size_t i = 0; i < count && flow->blocks.len <= BLOCKS_MAX; i++) {
		if (begins[i])
			vec_push(&flow->blocks, (struct code_block){.first = i, .lonely = begins[i] == 1});
		flow->blocks.data[flow->blocks.len - 1].after = i + 1;
	}
	free(begins);
}

static struct code_block *block_at(struct flow *flow, uint64_t address)
{
	size_t step = step_at(flow->tracking, address);
	size_t after = partition_point(i, flow->blocks.len, flow->blocks.data[i].first <= step);
	return step == SIZE_MAX || !after ? NULL : &flow->blocks.data[after - 1];
}

static bool same(const struct content *a, const struct content *b)
{
	return a->kind == b->kind && a->offset == b->offset && a->array == b->array && a->type.addr == b->type.addr;
}

/* Another way to the block: what it doesn't agree on is unknown. */
static void arrive(struct code_block *block, const struct tracked_registers *registers)
{
	if (!block->reached) {
		block->before = *registers;
		block->reached = block->waiting = true;
		return;
	}
	for (unsigned int i = 0; i < OPERATION_REGISTERS; i++) {
		struct content *content = &block->before.contents[i];
		if (content->kind == CONTENT_UNKNOWN || same(content, &registers->contents[i]))
			continue;
		*content = (struct content){0};
		block->waiting = true;
	}
}

/* Only when they agree on less than before: there may be as many such jumps as blocks that they lead to. */
static void leave_computed(struct flow *flow)
{
	for (size_t i = 0; i < flow->blocks.len && flow->computed.waiting; i++)
		if (flow->blocks.data[i].lonely)
			arrive(&flow->blocks.data[i], &flow->computed.before);
	flow->computed.waiting = false;
}

static void leave(struct flow *flow, size_t number, const struct tracked_registers *registers)
{
	const struct code_step *last = &flow->tracking->steps.data[flow->blocks.data[number].after - 1];
	struct code_block *target = jumps(last) ? block_at(flow, last->target) : NULL;
	if (target)
		arrive(target, registers);
	if (goes_on(last->kind) && number + 1 < flow->blocks.len)
		arrive(&flow->blocks.data[number + 1], registers);
	if (last->kind == INSTRUCTION_JUMP && !last->has_target) {
		arrive(&flow->computed, registers);
		leave_computed(flow);
	}
}

static void take(struct flow *flow, size_t steps)
{
	effort_spend(flow->tracking->effort, steps);
	effort_spend(&flow->left, *flow->tracking->effort ? steps : flow->left);
}

static void go_through(struct flow *flow, size_t number)
{
	struct code_block *block = &flow->blocks.data[number];
	struct tracked_registers registers = block->before;
	block->waiting = false;
	for (size_t i = block->first; i < block->after; i++)
		pass(flow, &flow->tracking->steps.data[i], &registers);
	leave(flow, number, &registers);
	take(flow, block->after - block->first);
}

/* False when it was given up. */
static bool settle(struct flow *flow)
{
	bool any = true;
	while (any) {
		any = false;
		take(flow, flow->blocks.len / 16); /* to look which are waiting takes less than to go through them */
		for (size_t i = 0; i < flow->blocks.len; i++) {
			if (!flow->blocks.data[i].waiting)
				continue;
			any = true;
			if (!flow->left)
				return false;
			go_through(flow, i);
		}
	}
	return true;
}

static int compare_arrivals(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->reg - y->reg;
}

/* Each once, however many variables begin there. */
static void find_arrivals(struct flow *flow)
{
	const struct data_function *function = flow->tracking->function;
	size_t kept = 0;
	for (size_t i = 0; function && i < function->variables.len; i++) {
		const struct variable *variable = &function->variables.data[i];
		if (variable->kind == VARIABLE_VALUE && variable->reg < OPERATION_REGISTERS)
			vec_push(&flow->arrivals, (struct arrival){variable->low, (uint8_t)variable->reg});
	}
	struct arrival *list = flow->arrivals.data;
	if (flow->arrivals.len)
		qsort(list, flow->arrivals.len, sizeof(*list), compare_arrivals);
	for (size_t i = 0; i < flow->arrivals.len; i++)
		if (!kept || compare_arrivals(&list[kept - 1], &list[i]))
			list[kept++] = list[i];
	flow->arrivals.len = kept;
}

static void begin(struct flow *flow)
{
	const struct type_tracking *tracking = flow->tracking;
	struct tracked_registers first = {0};
	/* A part of a function that was moved elsewhere begins in the middle of it. */
	if (tracking->function && tracking->function->entry == tracking->range.address)
		first.contents[tracking->calling->stack] = (struct content){.kind = CONTENT_FRAME, .offset = tracking->calling->entry};
	arrive(&flow->blocks.data[0], &first);
}

void tracking_run(const struct type_tracking *tracking,
		  void (*visit)(void *context, const struct type_tracking *tracking, size_t step,
				const struct tracked_registers *registers),
		  void *context)
{
	struct flow flow = {.tracking = tracking, .left = tracking->steps.len * ROUNDS_MAX};
	if (!tracking->steps.len)
		return;
	make_blocks(&flow);
	bool follow = tracking->unit && flow.blocks.len <= BLOCKS_MAX;
	if (follow) {
		find_arrivals(&flow);
		begin(&flow);
		follow = settle(&flow);
	}
	struct tracked_registers registers = {0};
	for (size_t i = 0, block = 0; i < tracking->steps.len; i++) {
		if (follow && block < flow.blocks.len && flow.blocks.data[block].first == i)
			registers = flow.blocks.data[block++].before;
		visit(context, tracking, i, &registers);
		if (follow)
			pass(&flow, &tracking->steps.data[i], &registers);
	}
	vec_deinit(&flow.blocks);
	vec_deinit(&flow.arrivals);
}
