/* Stacks of samples.
 *
 * A call chain is a list of addresses with markers between them that say which space the following ones are in; it begins in user space.
 * Addresses and their modes are collected first, from up to three sources:
 *  - the chain itself; a marker nobody knows makes the whole chain worthless (the kernel's perf drops it too);
 *  - with branch stacks in call-stack mode (LBR), the chain's user part is replaced by the branch stack: where the newest call went, then
 *    where each call came from, then the callers beyond them that earlier samples knew (stitch.h);
 *  - with user registers and stack bytes, the user part is unwound and put behind the chain; with the registers alone (arm64 records the
 *    link register), the caller of a leaf function is put where the chain lacks it.
 * Then each is looked up.
 */
#include "analysis/stack.h"

#include "base/hash.h"
#include "unwind/unwind.h"

#include <linux/perf_event.h>
#include <string.h>

enum { DEFAULT_DEPTH = 127, BRANCHES_MAX = 1024, STITCHED_MAX = 2048 };

void stack_deinit(struct stack *stack)
{
	vec_deinit(&stack->frames);
	vec_deinit(&stack->ips);
	unwind_cache_destroy(stack->unwind_cache);
	stack->unwind_cache = NULL;
}

static void add(struct stack *stack, uint64_t ip, uint8_t cpumode)
{
	vec_push(&stack->frames, (struct frame){.ip = ip, .dso_addr = ip, .cpumode = cpumode});
}

bool stack_marker_mode(uint64_t marker, uint8_t *ret)
{
	switch (marker) {
	case CALLCHAIN_HYPERVISOR:
		*ret = CPUMODE_HYPERVISOR;
		return true;
	case CALLCHAIN_KERNEL:
		*ret = CPUMODE_KERNEL;
		return true;
	case CALLCHAIN_USER:
		*ret = CPUMODE_USER;
		return true;
	case CALLCHAIN_GUEST_KERNEL:
		*ret = CPUMODE_GUEST_KERNEL;
		return true;
	case CALLCHAIN_GUEST:
	case CALLCHAIN_GUEST_USER:
		*ret = CPUMODE_GUEST_USER;
		return true;
	default:
		return false;
	}
}

/* False when the chain is worthless. */
static bool add_words(const uint64_t *words, uint64_t count, unsigned int depth, struct stack *stack)
{
	uint8_t mode = CPUMODE_USER;
	for (uint64_t i = 0; i < count && stack->frames.len < depth; i++) {
		if (words[i] < CALLCHAIN_CONTEXT_MAX) {
			add(stack, words[i], mode);
		} else if (!stack_marker_mode(words[i], &mode)) {
			stack->frames.len = 0;
			return false;
		}
	}
	return true;
}

/* A call graph of branches; false when the sample has none, or no user part to replace among its first `depth` words. */
static bool add_branches(const struct sample *sample, unsigned int depth, struct stack *stack)
{
	uint64_t limit = sample->chain_count < depth ? sample->chain_count : depth, user = 0;
	while (user < limit && sample->chain[user] != CALLCHAIN_USER)
		user++;
	if (user == limit || !sample->branch_count)
		return false;
	uint64_t branches = sample->branch_count < BRANCHES_MAX ? sample->branch_count : BRANCHES_MAX;
	add_words(sample->chain, user, UINT32_MAX, stack);
	stack->calls = true;
	add(stack, sample->branches[0].to, CPUMODE_USER);
	for (uint64_t i = 0; i < branches; i++)
		add(stack, sample->branches[i].from, CPUMODE_USER);
	return true;
}

static void add_stitched(const struct thread *thread, const struct event_attr *attr, const struct sample *sample, struct stitcher *stitcher,
			 struct stack *stack)
{
	uint32_t caller = stitcher_callers(stitcher, thread, attr, sample);
	for (unsigned int i = 0; i < STITCHED_MAX && caller != STITCH_NONE; i++)
		add(stack, stitcher_caller(stitcher, caller, &caller), CPUMODE_USER);
}

static struct unwind_input unwind_input_of(const struct machine *machine, const struct thread *thread, const struct sample *sample,
					   uint64_t time)
{
	return (struct unwind_input){
		.arch = machine->arch,
		.abi = sample->regs_user.abi,
		.mask = sample->regs_user.mask,
		.registers = sample->regs_user.values,
		.stack = sample->stack,
		.stack_size = sample->stack_valid < sample->stack_size ? sample->stack_valid : sample->stack_size,
		.maps = thread ? thread_maps(thread) : NULL,
		.time = time,
	};
}

/* Puts the caller of the innermost user function where the frame pointers have left it out. */
static void add_leaf_caller(struct resolver *resolver, const struct machine *machine, const struct thread *thread,
			    const struct sample *sample, uint64_t time, unsigned int depth, struct stack *stack)
{
	struct unwind_input input = unwind_input_of(machine, thread, sample, time);
	size_t user = 0, count = stack->frames.len;
	while (user < count && stack->frames.data[user].cpumode != CPUMODE_USER)
		user++;
	if (user == count || count >= depth)
		return;
	uint64_t caller = unwind_leaf_caller(resolver, &stack->unwind_cache, &input, stack->frames.data[user].ip);
	if (!caller || (user + 1 < count && stack->frames.data[user + 1].ip == caller + 1))
		return;
	add(stack, caller, CPUMODE_USER);
	struct frame frame = vec_last(&stack->frames)[0];
	memmove(stack->frames.data + user + 2, stack->frames.data + user + 1, (count - user - 1) * sizeof(frame));
	stack->frames.data[user + 1] = frame;
}

/* Into stack->ips. */
static void unwind(struct resolver *resolver, const struct machine *machine, const struct thread *thread, const struct sample *sample,
		   uint64_t time, unsigned int depth, struct stack *stack)
{
	struct unwind_input input = unwind_input_of(machine, thread, sample, time);
	vec_reserve(&stack->ips, depth);
	stack->ips.len = unwind_user(resolver, &stack->unwind_cache, &input, stack->ips.data, depth, &stack->end);
}

static bool is_branch_call_graph(const struct event_attr *attr)
{
	return (attr->sample_type & PERF_SAMPLE_BRANCH_STACK) && (attr->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK);
}

bool stack_is_unwound_chain(const struct event_attr *attr)
{
	return (attr->sample_type & PERF_SAMPLE_CALLCHAIN) && attr->exclude_callchain_user &&
	       !(attr->sample_type & (PERF_SAMPLE_STACK_USER | PERF_SAMPLE_BRANCH_STACK));
}

bool stack_exceeds_chain(const struct machine *machine, const struct event_attr *attr)
{
	if (is_branch_call_graph(attr))
		return true;
	return (attr->sample_type & PERF_SAMPLE_REGS_USER) &&
	       ((attr->sample_type & PERF_SAMPLE_STACK_USER) || unwind_has_leaf_callers(machine->arch, attr->sample_regs_user));
}

void stack_addresses(struct resolver *resolver, const struct machine *machine, const struct thread *thread, const struct event *event,
		     const struct sample *sample, uint64_t model_time, const struct stack_options *options, struct stack *stack)
{
	const struct event_attr *attr = &event->attr;
	unsigned int depth = options->max_depth ? options->max_depth : DEFAULT_DEPTH;
	stack->frames.len = 0;
	stack->ips.len = 0;
	stack->unwound = 0;
	stack->calls = false;
	if (!(attr->sample_type & PERF_SAMPLE_CALLCHAIN)) {
		add(stack, sample->ip, sample->cpumode);
		return;
	}
	if (is_branch_call_graph(attr) && add_branches(sample, depth, stack)) {
		if (options->stitcher)
			add_stitched(thread, attr, sample, options->stitcher, stack);
		return;
	}
	if (add_words(sample->chain, sample->chain_count, depth, stack))
		add_words(sample->deferred, sample->deferred_count, depth, stack);
	if (sample->regs_user.values && sample->stack && sample->stack_size) {
		stack->unwound = stack->frames.len + 1;
		stack->calls = true;
		unwind(resolver, machine, thread, sample, model_time, depth, stack);
		for (size_t i = 0; !options->unwound_apart && i < stack->ips.len; i++)
			add(stack, stack->ips.data[i], CPUMODE_USER);
	} else if (sample->regs_user.values) {
		add_leaf_caller(resolver, machine, thread, sample, model_time, depth, stack);
	}
}

static bool is_of_kernel(const struct sample *sample)
{
	bool is = sample->chain_count && sample->chain[0] == CALLCHAIN_KERNEL;
	for (uint64_t i = 1; is && i < sample->chain_count; i++)
		is = sample->chain[i] < CALLCHAIN_CONTEXT_MAX;
	return is;
}

uint64_t stack_chain_hash(const struct event *event, const struct sample *sample)
{
	enum { KERNEL_ONLY = 2 };
	if (!(event->attr.sample_type & PERF_SAMPLE_CALLCHAIN) || sample->regs_user.values || sample->deferred_count ||
	    sample->branch_count)
		return 0;
	struct hash128 hash = hash_words(sample->chain, sample->chain_count, 0);
	uint64_t key = hash_combine(hash.lo, hash.hi);
	return is_of_kernel(sample) ? (key & ~1ull) ?: KERNEL_ONLY : key | 1;
}

uint64_t stack_chain_key_of(const struct thread *thread, uint64_t hash, uint64_t model_time)
{
	return hash & 1 && thread ? hash_combine(hash, maps_epoch(thread_maps(thread), model_time)) : hash;
}

uint64_t stack_chain_key(const struct thread *thread, const struct event *event, const struct sample *sample, uint64_t model_time)
{
	return stack_chain_key_of(thread, stack_chain_hash(event, sample), model_time);
}

/* Adds the frame, or one for each function at its address. */
static void add_expanded(struct resolver *resolver, struct frame *frame, struct stack *stack)
{
	const struct code_function *functions;
	size_t count = resolver_functions(resolver, frame, &functions);
	for (size_t i = 0; i < count; i++) {
		frame->symbol = functions[i].symbol;
		frame->function = &functions[i];
		vec_push(&stack->frames, *frame);
	}
	if (!count)
		vec_push(&stack->frames, *frame);
}

static bool is_expanded(const struct stack_options *options, const struct stack *stack, size_t i, uint8_t cpumode)
{
	if (options->inlines == STACK_INLINES_ALL)
		return cpumode == CPUMODE_USER;
	return options->inlines && stack->unwound && i >= stack->unwound - 1;
}

void stack_resolve(struct resolver *resolver, const struct machine *machine, const struct thread *thread, const struct event *event,
		   const struct sample *sample, uint64_t model_time, const struct stack_options *options, struct stack *stack)
{
	stack_addresses(resolver, machine, thread, event, sample, model_time, options, stack);
	size_t count = stack->frames.len, first_user = 0;
	while (first_user < count && stack->frames.data[first_user].cpumode != CPUMODE_USER)
		first_user++;
	/* Resolved frames are put behind the addresses and then moved to the front, because one address can become many. */
	for (size_t i = 0; i < count; i++) {
		struct frame frame = stack->frames.data[i];
		const struct maps *maps = thread			    ? machine_maps(machine, thread, frame.cpumode)
					  : frame.cpumode == CPUMODE_KERNEL ? machine->kernel_maps
									    : NULL;
		resolver_frame(resolver, maps, frame.cpumode, frame.ip, model_time, &frame);
		if (!frame.symbol && options->hide_unresolved)
			continue;
		frame.returns_here = i > first_user && !stack->calls && options->inlines == STACK_INLINES_ALL;
		if (is_expanded(options, stack, i, frame.cpumode))
			add_expanded(resolver, &frame, stack);
		else
			vec_push(&stack->frames, frame);
	}
	stack->frames.len -= count;
	if (stack->frames.len)
		memmove(stack->frames.data, stack->frames.data + count, stack->frames.len * sizeof(*stack->frames.data));
}

bool stack_is_system_library(const struct dso *dso)
{
	static const char *const names[] = {"libc.so", "libc-", "ld-linux", "libpthread", "ld-2", "ld.so", "libm.so", "ld-musl"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(dso->short_name, names[i], strlen(names[i])))
			return true;
	return dso->kind == DSO_VDSO;
}
