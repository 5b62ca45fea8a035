/* Pieces are added up by kind, name of the thread, device, and what others waited for meanwhile. Where in the program it was, and who had
 * the CPU or woke it up, are parts of the sum. */
#include "analysis/where/reasons.h"

#include "base/search.h"

#include <stdlib.h>
#include <string.h>

struct adding {
	const struct where_timeline *timeline;
	struct where_reasons *reasons;
	struct map64 by_key;  /* → index in reasons->all */
	struct map64 counted; /* reason and thread, reason and process */
};

static uint64_t key_of(const struct where_reason *reason)
{
	uint64_t hash = hash_combine((uint64_t)reason->kind << 8 | (uint64_t)reason->waited, (uintptr_t)reason->comm);
	hash = hash_combine(hash, (uint64_t)reason->device << 32 | reason->below);
	hash = hash_combine(hash_combine(hash, reason->lock), reason->waited_lock);
	return hash_combine(hash, (uintptr_t)reason->waiter_comm ^ reason->of_same_process);
}

static struct where_detail *detail_of(where_details *details, const struct where_detail *wanted)
{
	for (size_t i = 0; i < details->len; i++) {
		struct where_detail *detail = &details->data[i];
		if (detail->syscall == wanted->syscall && detail->function == wanted->function && detail->comm == wanted->comm &&
		    detail->object == wanted->object && detail->lock == wanted->lock)
			return detail;
	}
	/* What comes after so many different ones is small. */
	enum { DETAILS_MOST = 200 };
	if (details->len == DETAILS_MOST)
		return vec_last(details);
	vec_push(details, *wanted);
	return vec_last(details);
}

static void add_detail(where_details *details, const struct where_detail *detail)
{
	struct where_detail wanted = *detail;
	wanted.ns = wanted.count = 0;
	struct where_detail *sum = detail_of(details, &wanted);
	sum->ns += detail->ns;
	sum->count += detail->count;
}

/* Its last name: what a command was before its exec, it was only to become the command. */
static const struct untrusted *comm_of(const struct where_thread *thread)
{
	return thread_comm_settled(thread->task.thread, UINT64_MAX);
}

static bool has_own_name(const struct where_timeline *timeline, const struct where_thread *thread)
{
	const struct thread *main = machine_thread(timeline->tasks.machine, thread->task.thread->pid, UINT64_MAX);
	return main && thread_comm_settled(main, UINT64_MAX) != comm_of(thread);
}

/* What ran in a piece, by the samples of the clock in it. */
static void add_samples(struct where_reason *reason, const struct where_piece *piece)
{
	const struct where_thread *thread = piece->thread;
	size_t from = partition_point(i, thread->samples.len, thread->samples.data[i].time < piece->begin);
	size_t to = partition_point(i, thread->samples.len, thread->samples.data[i].time < piece->end);
	for (size_t i = from; i < to; i++) {
		const struct where_place *place = thread->samples.data[i].place;
		bool in_kernel = place->kernel_count;
		/* Of page faults who has caused them is of interest. */
		const char *function = place->function && (!in_kernel || place->of_fault) ? place->function : place->innermost;
		uint64_t ns = (piece->end - piece->begin) / (to - from);
		reason->kernel_samples += in_kernel;
		reason->fault_samples += place->of_fault;
		add_detail(&reason->places, &(struct where_detail){in_kernel ? place->syscall : NULL, function, .ns = ns, .count = 1});
	}
	reason->samples += to - from;
}

static void add_wait(struct where_reason *reason, const struct where_piece *piece)
{
	const struct where_wait *wait = piece->wait;
	const struct where_place *place = wait->place;
	const struct where_thread *other = piece->kind == WHERE_QUEUE ? wait->taker : wait->waker;
	uint64_t ns = piece->end - piece->begin;
	if (place)
		add_detail(&reason->places, &(struct where_detail){place->syscall, place->function, .ns = ns, .count = 1});
	if (wait->is_held && piece->kind != WHERE_QUEUE)
		reason->held_ns += ns;
	if (wait->object && piece->kind != WHERE_QUEUE)
		add_detail(&reason->objects, &(struct where_detail){.object = wait->object, .ns = ns, .count = 1});
	if (other && other != piece->thread)
		add_detail(&reason->who, &(struct where_detail){.comm = comm_of(other), .ns = ns, .count = 1});
}

static void add(void *context, const struct where_piece *piece)
{
	struct adding *adding = context;
	const struct where_waiter *waiter = piece->waiter;
	bool on_disk = piece->kind == WHERE_DISK || piece->kind == WHERE_FAULT;
	struct where_reason wanted = {
		.kind = piece->kind,
		.comm = comm_of(piece->thread),
		.device = on_disk ? piece->wait->device : 0,
		.below = on_disk ? piece->wait->below : 0,
		.waited = waiter ? waiter->wait->place->kind : WHERE_CPU,
		.waited_lock = waiter && waiter->wait->place->kind == WHERE_LOCK ? waiter->wait->place->lock : 0,
		.lock = piece->kind == WHERE_LOCK ? piece->wait->place->lock : 0,
		.waiter_comm = waiter ? comm_of(waiter->thread) : NULL,
		.of_same_process = waiter && waiter->thread->task.thread->pid == piece->thread->task.thread->pid,
	};
	bool is_new;
	uint64_t *index = map64_insert(&adding->by_key, key_of(&wanted), &is_new);
	if (is_new) {
		*index = adding->reasons->all.len;
		wanted.are_named = has_own_name(adding->timeline, piece->thread);
		vec_push(&adding->reasons->all, wanted);
	}
	struct where_reason *reason = &adding->reasons->all.data[*index];
	uint64_t ns = piece->end - piece->begin;
	map64_insert(&adding->counted, hash_combine(*index, (uintptr_t)piece->thread), &is_new);
	reason->threads += is_new;
	map64_insert(&adding->counted, hash_combine(*index, (uintptr_t)piece->thread->task.thread->process), &is_new);
	reason->processes += is_new;
	if (is_new && piece->kind == WHERE_QUEUE)
		vec_push(&reason->queued, piece->thread);
	reason->ns += ns;
	reason->count++;
	if (ns > reason->longest)
		reason->longest = ns;
	adding->reasons->total_ns += ns;
	if (waiter)
		add_detail(&reason->waited_objects,
			   &(struct where_detail){.object = waiter->wait->object, .lock = waiter->wait->place->lock, .ns = ns, .count = 1});
	if (piece->kind == WHERE_CPU)
		add_samples(reason, piece);
	else
		add_wait(reason, piece);
}

static int by_ns(uint64_t a, uint64_t b)
{
	return a != b ? a < b ? 1 : -1 : 0;
}

static int compare_names(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_details(const void *a, const void *b)
{
	const struct where_detail *x = a, *y = b;
	int order = by_ns(x->ns, y->ns);
	if (!order)
		order = compare_names(x->function, y->function);
	if (!order)
		order = compare_names(x->syscall, y->syscall);
	if (!order)
		order = compare_names(x->object, y->object);
	return order ? order : compare_names(untrusted_raw(x->comm), untrusted_raw(y->comm));
}

static int compare_reasons(const void *a, const void *b)
{
	const struct where_reason *x = a, *y = b;
	int order = by_ns(x->ns, y->ns);
	if (!order)
		order = compare_names(untrusted_raw(x->comm), untrusted_raw(y->comm));
	if (!order)
		order = (int)x->kind - (int)y->kind;
	if (!order)
		order = (int)x->waited - (int)y->waited;
	if (!order && x->waited_lock != y->waited_lock)
		order = x->waited_lock < y->waited_lock ? -1 : 1;
	if (!order && x->lock != y->lock)
		order = x->lock < y->lock ? -1 : 1;
	return order ? order : (int)x->below - (int)y->below;
}

/* Waits of whose stacks only the kernel's part is known were where most others with the same system call were. */
static void complete(where_details *details)
{
	where_details whole = {0};
	for (size_t i = 0; i < details->len; i++)
		if (details->data[i].function)
			vec_push(&whole, details->data[i]);
	for (size_t i = 0; i < details->len; i++) {
		const struct where_detail *detail = &details->data[i];
		size_t like = 0;
		while (like < whole.len && whole.data[like].syscall != detail->syscall)
			like++;
		if (detail->function)
			continue;
		if (like == whole.len) {
			vec_push(&whole, *detail);
			continue;
		}
		whole.data[like].ns += detail->ns;
		whole.data[like].count += detail->count;
	}
	vec_deinit(details);
	*details = whole;
}

static void sort_details(where_details *details)
{
	if (details->len)
		qsort(details->data, details->len, sizeof(*details->data), compare_details);
}

static void sort(struct where_reasons *reasons)
{
	for (size_t i = 0; i < reasons->all.len; i++) {
		struct where_reason *reason = &reasons->all.data[i];
		sort_details(&reason->places);
		if (reason->kind != WHERE_CPU) {
			complete(&reason->places);
			sort_details(&reason->places);
		}
		sort_details(&reason->objects);
		sort_details(&reason->waited_objects);
		sort_details(&reason->who);
	}
	if (reasons->all.len)
		qsort(reasons->all.data, reasons->all.len, sizeof(*reasons->all.data), compare_reasons);
}

void where_reasons_find(const struct where_timeline *timeline, const struct where_sums *sums, struct where_reasons *ret)
{
	struct adding adding = {.timeline = timeline, .reasons = ret};
	*ret = (struct where_reasons){0};
	if (timeline->root)
		where_path(timeline, add, &adding);
	for (size_t i = 0; !timeline->root && i < sums->threads.len; i++)
		if (!sums->threads.data[i].is_idle)
			where_thread_pieces(sums->threads.data[i].thread, timeline->begin, timeline->end, add, &adding);
	map64_deinit(&adding.by_key);
	map64_deinit(&adding.counted);
	sort(ret);
}

void where_reasons_deinit(struct where_reasons *reasons)
{
	for (size_t i = 0; i < reasons->all.len; i++) {
		vec_deinit(&reasons->all.data[i].places);
		vec_deinit(&reasons->all.data[i].objects);
		vec_deinit(&reasons->all.data[i].waited_objects);
		vec_deinit(&reasons->all.data[i].who);
		vec_deinit(&reasons->all.data[i].queued);
	}
	vec_deinit(&reasons->all);
}
