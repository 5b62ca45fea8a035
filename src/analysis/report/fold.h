/* Fold: the samples of a session added up by who ran and where, with their stacks. Report, flame graphs and other sums start from it.
 *
 * It is fed and then finished; only a finished one has entries to look at:
 *
 *	fold_create() ──► fold_add_session()                 all samples of a file, on as many threads as the session has
 *	              └─► fold_feed_open() ──► fold_add()    what a caller has, from as many threads as have a feed
 *	                        fold_swap(): what came so far is a fold of its own, the feeds go on with nothing (top, timeslices)
 *	                        fold_merge(): the entries of another one as well
 *	              ──► fold_finish()
 *
 * Every sample's addresses are turned into frames at once, so that what is the same code in many processes is one entry:
 *
 *	sample ──► entry ──┬─ actor (thread, name)
 *	                   ├─ leaf  (frame of the sampled address)
 *	                   ├─ inner piece: kernel part  ──► frame ids, innermost first
 *	                   └─ outer piece: user part    ──► frame ids, innermost first
 *
 * The stack, innermost first, is the inner piece's frames and then the outer piece's. Ids depend on the number of jobs and feeds: results
 * must be ordered by names and addresses, never by ids.
 */
#pragma once

#include "analysis/stack.h"
#include "base/error.h"
#include "base/untrusted.h"
#include "base/vec.h"
#include "result/calltree.h"
#include "session/session.h"
#include "symbol/resolve.h"

#include <stdbool.h>
#include <stdint.h>

#define FOLD_NONE UINT32_MAX
#define FOLD_MANY_SAMPLES (2 << 20)
#define FOLD_MUCH (1 << 20) /* entries whose memory is looked after */

struct stack_ends;

struct fold_sample {
	const struct event *event;
	const struct sample *sample;
	uint64_t model_time;
	const struct thread *thread; /* for fold_add() both may be NULL: the machine is asked, which makes the thread if it has none */
	const struct untrusted *comm;
};

/* Fills in both, as far as they are NULL. */
void fold_sample_complete(struct fold_sample *sample, struct machine *machine);

/* How long the records (sample->header) are valid that fold_add() gets. */
enum fold_records {
	FOLD_RECORDS_STABLE,  /* longer than the fold: a file. Entries of one time are in the order of the records in memory */
	FOLD_RECORDS_COPIED,  /* until fold_add() returns: entries have a copy */
	FOLD_RECORDS_DROPPED, /* the same, but nobody needs them: fold_entry.first is NULL */
};

struct fold_options {
	bool chains;		    /* stacks matter; false: only the sampled address */
	bool shared_frames;	    /* of many samples (FOLD_MANY_SAMPLES): what stacks have in common is kept once, which takes time */
	bool loose;		    /* for pictures, by fold_calltree(): there are no entries. Only for fold_of_session(), by_file, and with
				     * an `accept` for a single event; where that can't be, as of very large files, there are entries */
	bool branches;		    /* each branch record of a sample is an entry, its outer piece (from, to); chains aren't looked at */
	bool branch_history;	    /* stacks begin with the branches before the sample, the last one first: to, from, to, from, … */
	bool threads;		    /* threads of one name are told apart; else an entry's actor is whose sample was the first */
	bool by_address;	    /* two addresses in one symbol are two frames */
	bool by_line;		    /* the same, by addresses in memory; but call graphs don't tell them apart (fold->functions) */
	bool by_file;		    /* all addresses of a file without a symbol are one frame, as are all that aren't mapped */
	bool any_address;	    /* where a function is one frame, any address of it may stand for that, sampled or not, and any thread
				     * of a name for all; feeds and merges are one thread's. For live views: quicker, and less to keep */
	bool keep_outermost;	    /* a stack deeper than max_stack loses its innermost frames, else its outermost ones */
	enum stack_inlines inlines; /* which stacks have a frame for each inlined function */
	bool by_weight;		    /* a sample's period is its weight (what an access cost), at least 1 */
	bool hide_unresolved;	    /* frames without a symbol are left out of stacks, and samples whose address has none are not counted */
	bool apart;		    /* each sample is an entry, whose detail has its CPU; not with branches, and nothing is merged */
	unsigned int max_stack;	    /* frames; 0 = 127 */
	struct stitcher *stitcher;  /* of call graphs of branches, prepared; or NULL */
	enum fold_records records;
	unsigned int jobs;  /* 0 = the session's */
	unsigned int every; /* fold_add_session(): only the samples of one piece of the recording in so many; 0 = all */
	/* Further filter; may be NULL. Called on several threads. */
	bool (*accept)(void *context, const struct fold_sample *sample);
	/* Raw values by which entries are told apart as well (cpu, weight, …): fills `extra_words` words. May be NULL. Called on several
	 * threads. */
	unsigned int extra_words;
	void (*extra)(void *context, const struct fold_sample *sample, uint64_t *words);
	void *context; /* for accept and extra */
};

/* Who: a thread under one of its names, in one address space. */
struct fold_actor {
	const struct thread *thread;  /* never NULL */
	const struct untrusted *comm; /* interned by the machine: equal names, equal pointers */
};

/* A resolved place. */
struct fold_frame {
	uint64_t ip;		     /* without a symbol, or with by_address: the address; else the lowest one in the file */
	const struct map *map;	     /* NULL = not mapped; of the processes that have the file some one's */
	const struct symbol *symbol; /* NULL = none */
	uint8_t cpumode;
};

/* Part of a stack. Frames that it has in common with another piece, at their outer ends, are stored once:
 *
 *	outer        a b c d e f     innermost first
 *	this one         x y e f     two frames of its own, two shared
 */
struct fold_piece {
	uint32_t frames;	   /* the innermost of its own in fold->frame_ids */
	uint32_t frame_count : 31; /* of all */
	uint32_t kernel : 1;	   /* an inner piece */
	uint32_t shared;	   /* how many of them, the outermost, are those of the piece `outer`; 0 = none */
	uint32_t outer;
};

struct fold_entry {
	uint32_t leaf;	     /* frame of the sampled address */
	uint32_t actor;	     /* in fold->actors: the first sample's */
	uint32_t inner;	     /* piece or FOLD_NONE */
	uint32_t outer;	     /* piece or FOLD_NONE */
	uint32_t count;	     /* samples */
	uint32_t event : 23; /* index, below READER_EVENTS_MAX */
	uint32_t wide : 1;   /* private */
	uint8_t cpumode;
	uint64_t period; /* their sum */
};

/* What else is known of an entry, where somebody may ask: entries are millions. */
struct fold_detail {
	uint64_t time;			   /* of its first sample; 0 when it has none */
	const struct record_header *first; /* its first sample, by time; options.records */
	uint32_t extra; /* words at fold->extras + extra × extra_words; 0 when there are none. With options.apart the CPU */
};

struct fold_feed;

struct fold {
	struct session *session;
	struct fold_entry *entries;  /* in the order of their first samples; without details of any_address in any order */
	struct fold_detail *details; /* by entry; NULL when they have no `extra`, and fold_of_session() made the fold or it is of
					any_address without records */
	size_t entry_count;
	struct fold_piece *pieces;
	size_t piece_count;
	struct fold_actor *actors;
	size_t actor_count;
	uint32_t *frame_ids;
	struct fold_frame *frames; /* by id */
	size_t frame_count;
	uint32_t *functions; /* by_line: by frame, the one that stands for all of its function (by_address: of its place); else NULL */
	uint64_t *extras;
	unsigned int extra_words;
	struct stack_ends *ends; /* why stacks that were unwound here end; analysis/stack_ends.h */
	struct fold_private *private;
};

/* Nothing yet. Keeps the pointers; `options` are copied. Actors and frames point to threads, names and maps of the machine, which must stay
 * as long as the fold and all that was swapped out of it or merged from it: not for a session that forgets (session_options.forgets); with
 * session_forget() each of them must be carried over. */
struct fold *fold_create(struct session *session, struct resolver *resolver, const struct fold_options *options);
/* Also of one that isn't finished; its feeds must be closed. */
void fold_destroy(struct fold *fold);

/* Adds all samples of the session (session_reduce) that pass its filter and `options.accept`. Nothing may be swapped meanwhile. */
struct error *fold_add_session(struct fold *fold);

/* A door for one thread's samples, to be closed before the fold is finished. Opening, adding, closing and swapping are safe on any
 * threads, but for one feed at a time. */
struct fold_feed *fold_feed_open(struct fold *fold);
/* Resolves the samples that options.accept takes, and adds them. The machine may have grown since the last call, but not during it; if it
 * isn't finished, samples without a thread are for the thread that lets it grow. With FOLD_RECORDS_COPIED, a call for many samples is
 * cheaper than many calls. */
void fold_add(struct fold_feed *feed, const struct fold_sample *samples, size_t count);
void fold_feed_close(struct fold_feed *feed);

/* What was added to the feeds and merged since the beginning or the last swap: a fold without feeds, to be merged or finished, and
 * destroyed. The feeds stay open and go on with nothing. */
struct fold *fold_swap(struct fold *fold);
/* Adds the entries of `from`, which is finished by it and stays as it is. Both are of one session and have the same options. Not together
 * with another merge or swap of the same folds. */
void fold_merge(struct fold *into, struct fold *from);
/* While the machine forgets (struct machine_holder): renews all pointers into it, and keeps files. Between two calls of fold_add(), on its
 * thread. */
void fold_carry(struct fold *fold, struct carrying *carrying);
/* From now on the arrays can be read, and nothing added. Does nothing to a fold that is finished. */
void fold_finish(struct fold *fold);

/* All samples of a session, in one step. Not for fold_merge(). */
struct error *fold_of_session(struct session *session, struct resolver *resolver, const struct fold_options *options, struct fold **ret);

/* The place of an entry's extra values; 0 when there are none. */
static inline uint32_t fold_extra(const struct fold *fold, const struct fold_entry *entry)
{
	return fold->details ? fold->details[entry - fold->entries].extra : 0;
}

/* The entry `from` takes the place of the entry `to`, for those who leave entries out. */
static inline void fold_move_entry(struct fold *fold, size_t to, size_t from)
{
	fold->entries[to] = fold->entries[from];
	if (fold->details)
		fold->details[to] = fold->details[from];
}

/* Whether all samples of the event have the same period. */
bool fold_has_one_period(const struct fold *fold, unsigned int event);
/* How many samples are at kernel addresses without a symbol, and, as *ret_all, how many there are. */
uint64_t fold_count_hidden(const struct fold *fold, uint64_t *ret_all);

/* An order of frames that follows from the recording and its files alone: by file, address in it, name; like strcmp(). 0 for frames that
 * nothing tells apart that can be shown. */
int fold_frame_compare(const struct fold_frame *a, const struct fold_frame *b);
/* The same for stacks, and pairs of branches: frame by frame. */
int fold_piece_compare(const struct fold *fold, uint32_t a, uint32_t b);

/* Cuts stacks at functions that match: these become where it was sampled, what they called is left out. */
void fold_cut_callees(struct fold *fold, bool (*matches)(void *context, const struct symbol *symbol), void *context);

/* The frame of a piece at a depth below its frame_count; 0 = innermost. Where it is stored, in fold->frame_ids. */
static inline const uint32_t *fold_piece_frame(const struct fold *fold, const struct fold_piece *piece, uint32_t depth)
{
	while (depth >= piece->frame_count - piece->shared) {
		uint32_t from_outermost = piece->frame_count - depth;
		piece = &fold->pieces[piece->outer];
		depth = piece->frame_count - from_outermost;
	}
	return &fold->frame_ids[piece->frames + depth];
}

/* All frames of a piece, innermost first; returns how many. */
uint32_t fold_piece_copy(const struct fold *fold, const struct fold_piece *piece, uint32_t *to);

/* How many frames the stack of an entry has, and the frame at a depth (0 = innermost). Without a chain it is the leaf alone. */
static inline uint32_t fold_depth(const struct fold *fold, const struct fold_entry *entry)
{
	uint32_t depth = (entry->inner == FOLD_NONE ? 0 : fold->pieces[entry->inner].frame_count) +
			 (entry->outer == FOLD_NONE ? 0 : fold->pieces[entry->outer].frame_count);
	return depth || entry->inner != FOLD_NONE || entry->outer != FOLD_NONE ? depth : 1;
}

static inline uint32_t fold_frame_id(const struct fold *fold, const struct fold_entry *entry, uint32_t depth)
{
	if (entry->inner != FOLD_NONE) {
		const struct fold_piece *inner = &fold->pieces[entry->inner];
		if (depth < inner->frame_count)
			return *fold_piece_frame(fold, inner, depth);
		depth -= inner->frame_count;
	}
	return entry->outer == FOLD_NONE ? entry->leaf : *fold_piece_frame(fold, &fold->pieces[entry->outer], depth);
}

/* What a frame is called: the symbol, else "[file]" for mapped and "[unknown]" for other addresses. Unsafe bytes are still in it. Interned:
 * lives as long as the fold; equal names have equal pointers. Not thread-safe. */
const char *fold_frame_name(struct fold *fold, uint32_t frame);
enum frame_kind fold_frame_kind(const struct fold *fold, uint32_t frame);

/* Which node of the tree each stack ends in, or the last one on its way that wasn't left out. */
struct fold_calltree_places {
	VEC(const struct calltree_node *) nodes; /* all, each behind its parent; nodes.data[0] is the root */
	VEC(uint32_t) parents;			 /* of those: numbers in `nodes` */
	uint32_t *by_entry;			 /* numbers in `nodes`; FOLD_NONE = the entry isn't in the tree */
};

struct fold_calltree_options {
	int event;	/* index; -1 = all */
	bool by_comm;	/* the names of the threads are the root's children */
	bool by_thread; /* "comm-pid/tid" instead */
	bool reverse;	/* the innermost frame at the root */
	bool count;	/* weigh by samples, else by period */
	size_t most;	/* about so many nodes, of at most `deepest` levels below the root: the lightest are left out. 0 = all */
	unsigned int deepest;
	bool by_file;			     /* frames of one label but of several files, or kinds, are several nodes */
	bool raw_roots;			     /* names of threads with their spaces */
	struct fold_calltree_places *places; /* filled; or NULL. Freed with fold_calltree_places_deinit() */
};
void fold_calltree_places_deinit(struct fold_calltree_places *places);
/* The stacks as one tree, outermost frame at the root (the innermost with `reverse`), children sorted by label. Destroy with
 * calltree_destroy() before the fold. */
struct calltree *fold_calltree(struct fold *fold, const struct fold_calltree_options *options);
