/* The critical path of a run: what its end had to wait for, followed backwards from the end of the main thread. Where that one waited for
 * another thread, the path goes on in the one that woke it up:
 *
 *	main   ──runs──┤ blocked: waits for its child ├──runs──┤ end
 *	                                     child ends ▲
 *	child            ├──runs──┤ blocked: disk ├─runs─┘
 *	path   ══main═══╪══child══╪══ disk ════════╪child╪═main═╡
 *
 * Each moment of the run belongs to one piece, so the pieces add up to its time. Without a workload there is no path: the pieces are what
 * each chosen thread did, and add up to the sum of their times. */
#pragma once

#include "analysis/where/timeline.h"

/* What waits for what a piece does; the nearest first. */
struct where_waiter {
	const struct where_thread *thread;
	const struct where_wait *wait;
	const struct where_waiter *next;
};

struct where_piece {
	uint64_t begin, end;
	const struct where_thread *thread;
	enum where_kind kind;		   /* WHERE_CPU: it ran; WHERE_QUEUE: it waited for a CPU */
	const struct where_wait *wait;	   /* NULL while it ran */
	const struct where_waiter *waiter; /* NULL: it is the main thread's own time */
};

/* The piece is valid during the call. */
typedef void (*where_piece_fn)(void *context, const struct where_piece *piece);

/* The timeline has a root. */
void where_path(const struct where_timeline *timeline, where_piece_fn handle, void *context);
/* What one thread did between two times, from the last piece to the first; nothing before it was born and after its end. */
void where_thread_pieces(const struct where_thread *thread, uint64_t begin, uint64_t end, where_piece_fn handle, void *context);
