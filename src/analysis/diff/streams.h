/* Hot streams: how code went on its way to where it was sampled, by branch records.
 *
 *	sample 1    … a → b   c → d   e → f ●        the newest branch is the same: one stream …
 *	sample 2    … x → y   c → d   e → f ●
 *	                     └─ what they have in common, newest first: f e d c
 *
 * Samples whose newest branch is the same are a stream, which has the branches that all of them have in common. So each stream needs room
 * for one sequence, however many samples there are. */
#pragma once

#include "analysis/report/fold.h"
#include "base/error.h"
#include "base/intern.h"
#include "session/session.h"
#include "symbol/resolve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STREAM_BRANCHES = 64 };

struct hot_stream {
	const char *places[2 * STREAM_BRANCHES]; /* "sum loops.c:12", interned in `names`: where a branch led to, then where from */
	size_t count;				 /* of those */
	uint64_t hits, cycles;			 /* samples; cycles of all branches of the stream, added up over the samples */
	uint64_t sums[STREAM_BRANCHES];		 /* private: cycles by branch */
};

struct streams {
	struct hot_stream *list; /* most hits first */
	size_t count;
	uint64_t hits; /* of all samples with branch records */
};

struct streams_options {
	const struct event *event;
	bool (*accept)(void *context, const struct fold_sample *sample); /* on several threads; or NULL */
	void *context;
	size_t most; /* only so many */
	bool full_path;
	struct intern *names; /* the same for what is to be compared: equal places have equal pointers */
};

struct error *streams_create(struct session *session, struct resolver *resolver, const struct streams_options *options,
			     struct streams **ret);
void streams_destroy(struct streams *streams);
bool hot_stream_is_same(const struct hot_stream *a, const struct hot_stream *b);
