/* The walk back. A wait whose waker is known is explained by what the waker did meanwhile, and so on; what that one did before it was born
 * its parent did. Time only gets less on the way down, so it ends. */
#include "analysis/where/path.h"

/* Wakers of wakers of …: beyond it a wait is told as it is. */
enum { DEEPEST = 64 };

struct walk {
	where_piece_fn handle;
	void *context;
	bool follows; /* wakers */
};

static void walk_thread(const struct walk *walk, const struct where_thread *thread, uint64_t begin, uint64_t end,
			const struct where_waiter *waiter, unsigned int depth);

static void tell(const struct walk *walk, const struct where_piece *piece)
{
	if (piece->end > piece->begin)
		walk->handle(walk->context, piece);
}

/* Threads that wait for one another's locks: the path has come by already. */
static bool is_circle(const struct where_wait *wait, const struct where_waiter *waiter)
{
	while (wait->is_held && waiter && waiter->wait != wait)
		waiter = waiter->next;
	return wait->is_held && waiter;
}

static bool has_waker(const struct walk *walk, const struct where_thread *thread, const struct where_wait *wait, unsigned int depth)
{
	return walk->follows && depth < DEEPEST && wait->waker && wait->waker != thread && !wait->waker->is_kernel && wait->place &&
	       where_kind_has_cause(wait->place->kind);
}

/* Why `thread` was blocked from `begin` to `end`, a part of its wait. */
static void explain(const struct walk *walk, const struct where_thread *thread, const struct where_wait *wait, uint64_t begin, uint64_t end,
		    const struct where_waiter *waiter, unsigned int depth)
{
	if (end > begin && has_waker(walk, thread, wait, depth) && !is_circle(wait, waiter)) {
		const struct where_waiter own = {thread, wait, waiter};
		walk_thread(walk, wait->waker, begin, end, &own, depth + 1);
		return;
	}
	enum where_kind kind = wait->place ? wait->place->kind : WHERE_UNKNOWN;
	tell(walk, &(struct where_piece){begin, end, thread, kind, wait, waiter});
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void walk_thread(const struct walk *walk, const struct where_thread *thread, uint64_t begin, uint64_t end,
			const struct where_waiter *waiter, unsigned int depth)
{
	uint64_t first = larger(begin, thread->born), at = end;
	for (size_t i = where_waits_before(thread, at); i > 0 && at > first; i--) {
		const struct where_wait *wait = &thread->waits.data[i - 1];
		uint64_t back = smaller(wait->end, at), left = larger(wait->begin, first);
		if (back <= first)
			break;
		tell(walk, &(struct where_piece){back, at, thread, WHERE_CPU, NULL, waiter});
		uint64_t woken = smaller(larger(wait->woken, left), back);
		tell(walk, &(struct where_piece){woken, back, thread, WHERE_QUEUE, wait, waiter});
		explain(walk, thread, wait, left, woken, waiter, depth);
		at = left;
	}
	tell(walk, &(struct where_piece){first, at, thread, WHERE_CPU, NULL, waiter});
	if (walk->follows && first > begin && thread->parent)
		walk_thread(walk, thread->parent, begin, smaller(first, end), waiter, depth);
}

/* What starts the main thread's time is that it gets a CPU after its exec; it may still be away then. */
void where_path(const struct where_timeline *timeline, where_piece_fn handle, void *context)
{
	const struct walk walk = {handle, context, .follows = true};
	walk_thread(&walk, timeline->root, timeline->begin, timeline->end, NULL, 0);
}

void where_thread_pieces(const struct where_thread *thread, uint64_t begin, uint64_t end, where_piece_fn handle, void *context)
{
	const struct walk walk = {handle, context, .follows = false};
	walk_thread(&walk, thread, begin, smaller(end, thread->ended), NULL, 0);
}

const struct where_wait *where_held_wait(const struct where_thread *thread)
{
	for (size_t i = thread->waits.len; i > 0; i--)
		if (thread->waits.data[i - 1].is_held && thread->waits.data[i - 1].object)
			return &thread->waits.data[i - 1];
	return NULL;
}

const struct where_thread *where_find_deadlock(const struct where_timeline *timeline)
{
	for (size_t i = 0; i < timeline->tasks.all.len; i++) {
		const struct where_thread *first = where_thread(timeline, i), *thread = first;
		for (unsigned int depth = 0; thread && depth < DEEPEST; depth++) {
			const struct where_wait *wait = where_held_wait(thread);
			thread = wait ? wait->waker : NULL;
			if (thread == first)
				return first;
		}
	}
	return NULL;
}
