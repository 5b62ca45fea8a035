/* Samples of time off the CPU (off_cpu_samples.h). */
#include "capture/off_cpu_samples.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "bpf/off_cpu/off_cpu.h"
#include "capture/stack_chains.h"
#include "event/parse/parse.h"
#include "perfdata/records.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 1024 };	     /* user frames; a record has room for more */
enum { MANY_STACKS = 8192 }; /* of which those are forgotten that no wait began with for long */

/* A stack that the program has told of. */
struct wait_stack {
	struct stack_end end;
	bool in_kernel;
	bool once;     /* it was copied: no other wait has its number */
	uint32_t used; /* the last pass in which it was */
	size_t count;
	uint64_t words[]; /* the chain of a sample, markers included */
};

struct off_cpu_samples {
	struct recorder_source source;
	struct bpf_off_cpu *bpf;
	uint64_t id;
	size_t depth;
	bool walked;
	struct stack_chains *chains;	    /* while samples are taken */
	const struct python_frames *python; /* or NULL */
	struct python_teller teller;
	struct strbuf arrived; /* stacks of this pass, each behind its size */
	VEC(struct bpf_off_cpu_wait) waits;
	uint64_t every_ns, turned_ns; /* how often sums are taken, and when last */
	bool off;		      /* nothing is measured any more: all that there is comes */
	struct map64 stacks;	      /* by number */
	size_t many;		      /* of them; when there are more, some are forgotten */
	uint32_t pass, looked;	      /* this one; when was looked for some the last time */
};

struct error *off_cpu_samples_add_event(struct event_list *events, struct event_catalog *catalog)
{
	return event_parse(events, catalog, "bpf-output/name=" OFF_CPU_EVENT ",call-graph=fp,period=1/");
}

static struct event *find_event(const struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++)
		if (!strcmp(events->events.data[i]->name, OFF_CPU_EVENT))
			return events->events.data[i];
	return NULL;
}

void off_cpu_samples_configure(struct event_list *events, bool walked)
{
	struct event_attr *attr = &find_event(events)->attr;
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			    PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
	attr->branch_sample_type = 0;
	attr->sample_regs_user = attr->sample_regs_intr = 0;
	attr->sample_stack_user = 0;
	attr->exclude_callchain_user = walked;
}

/* ---- stacks ---- */

/* By frame pointers the chain is all that there is to it. */
static size_t find_user_part(const struct off_cpu_samples *samples, struct stack_chains *chains, const struct bpf_off_cpu_stack *from,
			     size_t behind, const uint64_t **ret_ips, struct stack_end *ret_end, struct strbuf *out)
{
	const struct sample whose = {.pid = from->pid, .tid = from->tid, .time = from->time, .cpumode = CPUMODE_KERNEL};
	struct walked_stack walked;

	*ret_end = (struct stack_end){0};
	if (!walked_stack_read(from->user, from + 1, behind, &walked))
		return 0;
	if (samples->walked && user_stacks_count(from->user))
		return stack_chains_resolve(chains, &whose, &walked, samples->depth, ret_ips, ret_end, out);
	*ret_ips = walked.ips;
	return walked.count;
}

static void add_stack(struct off_cpu_samples *samples, struct stack_chains *chains, const struct bpf_off_cpu_stack *from, size_t behind,
		      struct strbuf *out)
{
	size_t kernel = from->kernel < OFF_CPU_KERNEL_FRAMES ? from->kernel : OFF_CPU_KERNEL_FRAMES;
	const uint64_t *ips = NULL;
	struct stack_end end;
	bool is_new;

	uint64_t *at = map64_insert(&samples->stacks, from->number, &is_new);
	if (!is_new) {
		((struct wait_stack *)(uintptr_t)*at)->used = samples->pass;
		return;
	}
	size_t user = find_user_part(samples, chains, from, behind, &ips, &end, out);
	struct wait_stack *stack = mem_alloc(sizeof(*stack) + (kernel + user + 2) * sizeof(*stack->words));
	*stack = (struct wait_stack){
		.end = end, .used = samples->pass, .in_kernel = kernel > 0, .once = user_stacks_kind(from->user) == USER_STACKS_STACK};
	if (kernel) {
		stack->words[stack->count++] = PERF_CONTEXT_KERNEL;
		memcpy(stack->words + stack->count, from->kernel_stack, kernel * sizeof(*stack->words));
		stack->count += kernel;
	}
	if (user) {
		stack->words[stack->count++] = PERF_CONTEXT_USER;
		memcpy(stack->words + stack->count, ips, user * sizeof(*stack->words));
		stack->count += user;
	}
	*at = (uintptr_t)stack;
}

static void keep_stack(void *context, const struct bpf_off_cpu_stack *stack, size_t behind)
{
	struct strbuf *arrived = &((struct off_cpu_samples *)context)->arrived;
	const uint64_t size = (behind + 7) & ~(size_t)7; /* of the ring, whose records are padded */

	strbuf_add(arrived, &size, sizeof(size));
	strbuf_add(arrived, stack, sizeof(*stack) + size);
}

/* Before stacks are looked at: their order is kept. */
static void take_python(void *context, const struct bpf_off_cpu_python *python, size_t lines)
{
	struct off_cpu_samples *samples = context;

	if (samples->chains)
		stack_chains_add_python(samples->chains, &python->code, lines);
	samples->teller.codes++;
}

static void keep_wait(void *context, const struct bpf_off_cpu_wait *wait)
{
	vec_push(&((struct off_cpu_samples *)context)->waits, *wait);
}

/* ---- samples ---- */

/* The fields of off_cpu_samples_configure(), in the order that perf_event_open(2) gives. */
static void add_sample(struct off_cpu_samples *samples, struct stack_chains *chains, const struct bpf_off_cpu_wait *wait,
		       struct strbuf *out)
{
	static const struct wait_stack none;
	const uint64_t *known = map64_find(&samples->stacks, wait->stack);
	if (known)
		((struct wait_stack *)(uintptr_t)*known)->used = samples->pass;
	const struct wait_stack *stack = known ? (const void *)(uintptr_t)*known : &none;
	uint64_t words[8], *at = words;
	const uint32_t ids[] = {wait->pid, wait->tid}, cpu[] = {wait->cpu, 0};
	*at++ = samples->id;
	*at++ = stack->count ? stack->words[1] : 0;
	memcpy(at++, ids, sizeof(ids));
	*at++ = wait->last;
	memcpy(at++, cpu, sizeof(cpu));
	*at++ = wait->total;
	*at++ = stack->count;
	size_t fixed = (size_t)(at - words) * sizeof(*at), chain = stack->count * sizeof(*stack->words);
	const struct record_header header = {.type = RECORD_SAMPLE,
					     .misc = stack->in_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
					     .size = (uint16_t)(sizeof(header) + fixed + chain)};
	strbuf_add(out, &header, sizeof(header));
	strbuf_add(out, words, fixed);
	strbuf_add(out, stack->words, chain);
	if (samples->walked && !known)
		stack_ends_add(stack_chains_ends(chains), STACK_END_NOT_COPIED, NULL, 1);
	else if (stack->end.count)
		stack_ends_add(stack_chains_ends(chains), stack->end.reason, stack->end.dso, 1);
	if (stack->once && map64_remove(&samples->stacks, wait->stack))
		free((void *)stack);
}

static struct wait_stack *stack_of(const struct off_cpu_samples *samples, uint64_t number)
{
	const uint64_t *known = map64_find(&samples->stacks, number);
	return known ? (void *)(uintptr_t)*known : NULL;
}

static void note_use(void *context, const struct bpf_off_cpu_wait *wait)
{
	const struct off_cpu_samples *samples = context;
	struct wait_stack *stack = stack_of(samples, wait->stack);
	if (stack)
		stack->used = samples->pass;
}

/* Each process has stacks of its own, and who measures for months meets millions of them. The program is told, so that one which comes
 * again comes with its addresses. Then those of waits that go on are kept: nothing but their end tells of these. */
static void forget_stacks(struct off_cpu_samples *samples)
{
	VEC(uint64_t) unused = {0};
	if (samples->stacks.count < samples->many)
		return;
	for (const struct map64_slot *slot = NULL; (slot = map64_next(&samples->stacks, slot));)
		if (((const struct wait_stack *)map64_pointer(slot))->used <= samples->looked)
			vec_push(&unused, slot->key);
	for (size_t i = 0; i < unused.len; i++)
		bpf_off_cpu_forget(samples->bpf, unused.data[i]);
	if (unused.len)
		bpf_off_cpu_each_wait(samples->bpf, note_use, samples);
	for (size_t i = 0; i < unused.len; i++) {
		struct wait_stack *stack = stack_of(samples, unused.data[i]);
		if (stack->used > samples->looked)
			continue;
		map64_remove(&samples->stacks, unused.data[i]);
		free(stack);
	}
	vec_deinit(&unused);
	samples->looked = samples->pass;
	samples->many = samples->stacks.count < MANY_STACKS / 2 ? MANY_STACKS : 2 * samples->stacks.count;
}

/* ---- for the recorder ---- */

static void measure(void *context, bool on)
{
	struct off_cpu_samples *samples = context;
	samples->off = !on;
	bpf_off_cpu_switch(samples->bpf, on);
}

static void begin(void *context)
{
	struct off_cpu_samples *samples = context;
	uint64_t now = clock_now_ns(CLOCK_MONOTONIC);
	if (!samples->off && now < samples->turned_ns + samples->every_ns)
		return;
	samples->turned_ns = now;
	bpf_off_cpu_turn(samples->bpf);
}

/* Stacks that were copied can be unwound when all is known that their processes had mapped by then. */
static struct error *take(void *context, struct stack_chains *chains, struct strbuf *out)
{
	static const struct bpf_off_cpu_taker taker = {keep_stack, take_python, keep_wait};
	struct off_cpu_samples *samples = context;
	samples->chains = chains;
	samples->pass++;
	struct error *error = bpf_off_cpu_take(samples->bpf, &taker, samples);
	if (samples->python && python_teller_forgets(&samples->teller, samples->python))
		bpf_off_cpu_forget_codes(samples->bpf);
	if (samples->walked && samples->arrived.len)
		stack_chains_look(chains);
	for (size_t at = 0; at < samples->arrived.len;) {
		const uint64_t *size = (const void *)(samples->arrived.data + at);
		add_stack(samples, chains, (const void *)(size + 1), *size, out);
		at += sizeof(*size) + sizeof(struct bpf_off_cpu_stack) + *size;
	}
	for (size_t i = 0; i < samples->waits.len; i++)
		add_sample(samples, chains, &samples->waits.data[i], out);
	strbuf_clear(&samples->arrived);
	samples->waits.len = 0;
	forget_stacks(samples);
	return error;
}

/* ---- life ---- */

static struct error *add_targets(struct bpf_off_cpu *bpf, const struct off_cpu_samples_options *options)
{
	struct error *error = NULL;
	for (size_t i = 0; !options->by_cpu && i < options->target->thread_count && !error; i++)
		error = bpf_off_cpu_add_target(bpf, options->target->threads[i]);
	return error;
}

struct error *off_cpu_samples_open(const struct off_cpu_samples_options *options, struct off_cpu_samples **ret)
{
	const struct event *event = find_event(options->events);
	const struct bpf_off_cpu_options program = {
		.config = {.threshold_ns = options->threshold_ns,
			   .by_target = !options->by_cpu,
			   .inherit = options->inherit,
			   .inherit_late = options->inherit_late,
			   .on_cpus = options->cpus != NULL,
			   .kernel_stacks = options->kernel_stacks,
			   .user_stacks = options->user_stacks},
		.cpus = options->cpus,
		.cpu_count = options->cpu_count,
		.targets = options->by_cpu ? 0 : options->target->thread_count,
		.stacks = options->walker ? stack_walker_rows(options->walker) : NULL,
		.depth = options->depth ? (uint32_t)options->depth : DEPTH,
	};
	struct bpf_off_cpu *bpf;
	struct error *error = bpf_off_cpu_open(&program, &bpf);
	if (error)
		return error;
	error = add_targets(bpf, options);
	if (!error)
		error = bpf_off_cpu_start(bpf);
	if (error) {
		bpf_off_cpu_close(bpf);
		return error;
	}
	struct off_cpu_samples *samples = mem_zalloc(sizeof(*samples));
	samples->bpf = bpf;
	samples->every_ns = options->every_ns;
	samples->many = MANY_STACKS;
	samples->walked = options->walker != NULL;
	samples->python = options->walker ? stack_walker_python(options->walker) : NULL;
	samples->depth = options->depth && options->depth < DEPTH ? options->depth : DEPTH;
	samples->id = event->ids.len ? event->ids.data[0] : 0;
	samples->source = (struct recorder_source){bpf_off_cpu_fd(bpf), measure, begin, take, samples};
	*ret = samples;
	return NULL;
}

void off_cpu_samples_close(struct off_cpu_samples *samples)
{
	if (!samples)
		return;
	bpf_off_cpu_close(samples->bpf);
	log_debug("stacks: %zu of waits were kept to the end", samples->stacks.count);
	for (const struct map64_slot *slot = NULL; (slot = map64_next(&samples->stacks, slot));)
		free(map64_pointer(slot));
	map64_deinit(&samples->stacks);
	vec_deinit(&samples->waits);
	strbuf_deinit(&samples->arrived);
	free(samples);
}

const struct recorder_source *off_cpu_samples_source(const struct off_cpu_samples *samples)
{
	return &samples->source;
}

uint64_t off_cpu_samples_missed(const struct off_cpu_samples *samples)
{
	return bpf_off_cpu_missed(samples->bpf);
}

uint64_t off_cpu_samples_unseen(const struct off_cpu_samples *samples)
{
	return bpf_off_cpu_unseen(samples->bpf);
}
