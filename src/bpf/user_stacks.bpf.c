// SPDX-License-Identifier: Dual MIT/GPL
/* Walks the user stack of a sample (user_walk.bpf.h). It runs when the sample is taken, just before the kernel writes it, and what it finds
 * is put into the same ring in front of it (bpf_perf_event_output()). */
#include "bpf/user_walk.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { NO_RING = 2 };

/* Tracepoints and probes run programs whoever comes by. When threads are measured, others have no counters. */
const volatile bool of_threads;

uint64_t unsent;    /* stacks for which there was no room in a ring */
uint32_t files_end; /* not 0: no more files can be entered, so those that aren't there are no news */
/* How many bytes of ours may lie in a ring when there is to be another copy: what fills rings takes the room of all other records. */
uint64_t room;

/* What the recorder has read of what was written. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* CPUs */
	__type(key, uint32_t);
	__type(value, uint64_t);
} taken SEC(".maps");

/* Where records go: counters of our own for each CPU, which write into its ring; `news` wakes the recorder up. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(uint32_t));
} chains SEC(".maps"), news SEC(".maps");

/* ---- what comes out ---- */

static __always_inline void count_sent(struct walk *walk, long failure)
{
	if (failure == -NO_RING) /* tracepoints on a CPU that isn't measured */
		return;
	if (failure)
		__sync_fetch_and_add(&unsent, 1);
	else
		walk->head.written += user_stacks_bytes(walk->head.word);
}

/* The word and the chain, as they lie in the walk. */
static __always_inline void send_chain(void *context, struct walk *walk, enum user_stacks_kind kind)
{
	uint64_t size = (walk->count & (2 * USER_STACKS_DEPTH - 1)) * sizeof(uint64_t) + sizeof(uint32_t);

	walk->head.word = USER_STACKS_HEAD(kind, walk->count);
	if (size <= sizeof(walk->chain) + sizeof(uint32_t))
		count_sent(walk, bpf_perf_event_output(context, &chains, BPF_F_CURRENT_CPU, &walk->head.word, size));
}

/* Whether what lies in the ring leaves room for another one. */
static __always_inline bool may_copy(const struct walk *walk, uint32_t cpu)
{
	const uint64_t *read = bpf_map_lookup_elem(&taken, &cpu);

	return read && walk->head.written - *(const volatile uint64_t *)read + USER_STACKS_COPY <= room;
}

static __always_inline void send_stack(void *context, struct walk *walk)
{
	uint64_t size = make_copy(walk);

	walk->head.word = USER_STACKS_HEAD(USER_STACKS_STACK, size);
	size += sizeof(uint32_t) + sizeof(walk->copy);
	if (size > sizeof(uint32_t) + sizeof(walk->copy) + sizeof(walk->stack))
		return;
	if (walk->file.inode && !files_end)
		count_sent(walk, bpf_perf_event_output(context, &news, BPF_F_CURRENT_CPU, &walk->head.word, size));
	else
		count_sent(walk, bpf_perf_event_output(context, &chains, BPF_F_CURRENT_CPU, &walk->head.word, size));
}

struct telling {
	void *context;
	struct walk *walk;
};

/* bpf_loop()'s: one code of Python. */
static long tell_of_code(uint32_t index, struct telling *telling)
{
	struct walk *walk = telling->walk;
	uint64_t size = describe_code(walk, index);

	if (!size || size > sizeof(walk->code_word) + sizeof(walk->code_record))
		return 0;
	if (bpf_perf_event_output(telling->context, &chains, BPF_F_CURRENT_CPU, &walk->code_word, size))
		forget_code(walk, index);
	else
		walk->head.written += user_stacks_bytes(walk->code_word);
	return 0;
}

static __always_inline int walk_stack(void *context, const struct seen_registers *interrupted)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	struct walk *walk = bpf_map_lookup_elem(&walks, &cpu);

	if (!walk || !walk_begin(walk, interrupted))
		return 1;
	enum user_stacks_kind kind = walk_go(walk);
	struct telling telling = {.context = context, .walk = walk};
	if (walk->codes)
		bpf_loop(walk->codes, tell_of_code, &telling, 0);
	if (kind != USER_STACKS_STACK)
		send_chain(context, walk, kind);
	else if (may_copy(walk, cpu))
		send_stack(context, walk);
	else
		send_chain(context, walk, USER_STACKS_LEFT);
	return 1;
}

SEC("perf_event")
int walk_at_sample(struct seen_registers *context)
{
	return walk_stack(context, context);
}

static __always_inline bool is_measured(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_struct___contexts *older = (void *)task;

	if (!of_threads)
		return true;
	if (bpf_core_field_exists(older->perf_event_ctxp))
		return BPF_CORE_READ(older, perf_event_ctxp[0]) || BPF_CORE_READ(older, perf_event_ctxp[1]);
	return BPF_CORE_READ(task, perf_event_ctxp) != NULL;
}

SEC("tracepoint")
int walk_at_tracepoint(void *context)
{
	return is_measured() ? walk_stack(context, NULL) : 1;
}

static long take_identity(struct task_struct *task, struct vm_area_struct *vma, struct user_stacks_file *ret)
{
	if (vma->vm_file)
		identify_file(vma->vm_file, ret);
	return 0;
}

/* Of the loader's own process: what a walk is going to know a file by that is mapped there. EBUSY: another thread maps something. */
SEC("syscall")
int identify_mapped(struct user_stacks_place *place)
{
	struct user_stacks_file file = {0};

	long failure = bpf_find_vma(bpf_get_current_task_btf(), place->address, take_identity, &file, 0);
	place->file = file;
	return (int)-failure;
}

SEC("kprobe")
int walk_at_probe(void *context)
{
	return is_measured() ? walk_stack(context, NULL) : 1;
}
