/* What the parts of fold share:
 *
 *	fold_feed.c     what a caller feeds and takes out
 *	fold.c          samples: who, which addresses, in batches
 *	fold_place.c    addresses → frames                        each feed's
 *	fold_counts.c   samples without stacks, by address        each feed's
 *	fold_recent.c   parts of chains that came before          each feed's
 *	fold_pieces.c   frames → pieces                           each feed's
 *	fold_set.c      pieces → entries                          each feed's
 *	fold_loose.c    the same, for pictures: nothing is told apart for certain
 *	fold_tables.c   distinct frames, actors, extra values     all feeds'
 *	fold_pack.c     the feeds' sets → one, as arrays
 *	tree            call trees of the result
 */
#pragma once

#include "analysis/report/fold.h"
#include "analysis/stack.h"
#include "analysis/stack_ends.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/id_table.h"
#include "base/intern.h"
#include "base/vec.h"
#include "model/maps_cache.h"

#include <pthread.h>

/* Our own marker in chains: what follows is user or kernel by its address. */
#define FOLD_BY_ADDRESS ((uint64_t)-3)

/* Elements are in shards by hash: workers rarely meet at the lock of one, and sets are merged shard by shard, in parallel. Until
 * fold_pack() an id is: number in its shard × FOLD_SHARDS + shard. */
enum { FOLD_SHARDS = 64 };

static inline unsigned int fold_shard(uint64_t hash)
{
	return (unsigned int)(hash >> 32) % FOLD_SHARDS;
}

/* What feeds ask, none of which changes while they live. */
struct fold_context {
	const struct fold_options *options;
	struct machine *machine;
	struct resolver *resolver;
};

struct fold_private {
	struct fold_options options;
	struct intern names;
	const char **frame_names; /* by frame, NULL = not made yet */
	struct arena records;	  /* FOLD_RECORDS_COPIED: what entries' `first` point to */
	/* Until fold_finish(). */
	struct fold_context context;
	pthread_mutex_t lock;	       /* of the rest, and of fold->ends; taken before a feed's */
	VEC(struct fold_feed *) feeds; /* open ones */
	struct fold_tables *tables;    /* of what was added since the last swap; NULL = finished */
	struct fold_set *merged;       /* of those, what came from other folds; or NULL */
	uint64_t samples_before;       /* of the session, at the last swap */
	uint64_t swaps;
	unsigned int kept;   /* how many swaps in a row numbers were kept */
	size_t frames_first; /* frames when they were kept first */
	/* After fold_finish(): of whose numbers the frames' are, where each shard's begin, and how many of them have those. */
	uint64_t lineage;
	uint32_t firsts[FOLD_SHARDS], kept_frames[FOLD_SHARDS];
	/* With options.loose, after fold_finish(). */
	VEC(struct fold_loose *) loose;
	uint32_t *packed_frames; /* by the number of a frame in loose stacks */
	size_t frame_numbers;
};

/* Are places without a symbol told apart by their addresses in memory? They are shown with those in stacks and as ends of branches. */
static inline bool fold_by_memory(const struct fold_options *options)
{
	return options->chains || options->branches;
}

/* Whether more of a sample is looked at than its fixed part. */
static inline bool fold_needs_whole_samples(const struct fold_options *options)
{
	return options->chains || options->branches || options->branch_history || options->extra || options->apart || options->accept ||
	       options->by_weight;
}

/* ---- what all feeds share ---- */

struct frame_shard {
	pthread_mutex_t lock;
	VEC(struct fold_frame) frames;
	struct id_table ids;
	uint32_t first; /* packed id of its first element */
	uint32_t kept;	/* so many, the first ones, have the numbers of the lineage */
};

struct fold_tables {
	struct frame_shard frames[FOLD_SHARDS];
	pthread_mutex_t lock; /* of the rest */
	VEC(struct fold_actor) actors;
	VEC(uint64_t) extras;
	uint32_t extra_count;
	struct id_table actor_ids, extra_ids;
	VEC(struct fold_set *) sets;	/* of the feeds */
	VEC(struct fold_loose *) loose; /* the same, with options.loose; fold_loose_pack() hands them over */
	const struct fold_options *options;
	const uint8_t *records; /* entries are kept small, struct entry_shard; or NULL */
	uint64_t lineage;	/* equal: a frame that both have has one number in both, as has an actor; 0 = of no others */
};

struct fold_tables *fold_tables_create(const struct fold_options *options);
void fold_tables_destroy(struct fold_tables *tables);
/* Frames and actors of `from` get the same numbers in tables that are empty. While nobody else uses either of both. `lineage`: for tables
 * that have none so far. */
void fold_tables_keep(struct fold_tables *tables, struct fold_tables *from, uint64_t lineage);
size_t fold_tables_frame_count(const struct fold_tables *tables);
/* The ids of what is equal to the argument, which is copied when it is new. Safe on many threads. */
uint32_t fold_tables_frame(struct fold_tables *tables, const struct fold_frame *frame);
uint32_t fold_tables_extra(struct fold_tables *tables, const uint64_t *words);
/* Of `actor` and, as *ret_who, of the first one that options->threads doesn't tell it apart from. */
uint32_t fold_tables_actor(struct fold_tables *tables, const struct fold_actor *actor, uint32_t *ret_who);
/* Their threads and names have other addresses now. */
void fold_tables_index_actors(struct fold_tables *tables);
/* A new set, which the tables own. Safe on many threads. */
struct fold_set *fold_tables_add_set(struct fold_tables *tables);

/* ---- addresses to frames ---- */

/* A look-up of one address, in two steps with others between them: the memory that the second one needs is on its way by then. */
struct fold_lookup {
	const struct map *map; /* NULL = not mapped */
	uint64_t ip;
	uint64_t address; /* in the file; = ip when it isn't mapped */
	uint32_t key;	  /* private: file and mode; 0 = `frame` is set already */
	uint32_t frame;	  /* FOLD_NONE: unresolved, and those are hidden */
	uint8_t cpumode;
};

typedef VEC(uint32_t) fold_frame_list;

/* A part of a chain: addresses of one space, the outermost one last. */
struct fold_part {
	struct maps_state space;
	uint32_t count;
	uint8_t cpumode;
	bool inlines;	   /* with frames of inlined functions */
	bool returns_here; /* addresses are where calls return to, all of them; fold_places_functions() */
};

enum { FOLD_LAST_MAPS = 4, FOLD_CPUMODES = 8 };

struct fold_places {
	struct fold_tables *tables;
	struct resolver *resolver;
	const struct fold_options *options;
	const struct machine *machine;
	struct near_place *near;     /* (address space, address in memory) → frame */
	VEC(uint8_t) with_functions; /* by file: what debug information tells of inlined functions, has_functions() */
	VEC(bool) by_memory;	     /* by file: addresses in memory tell places without a symbol apart, some of which were seen */
	size_t by_memory_count;	     /* files of which that is true */
	VEC(uint64_t) addresses;     /* of a part */
	struct maps_cache maps;
	/* In `maps`: where the last addresses were, in the kernel and elsewhere, newest first; the slots may have changed. */
	const struct maps_piece *last[2][FOLD_LAST_MAPS];
	struct place_frame *frames; /* (file, address in it) → frame */
	uint64_t frame_mask;
	uint64_t symbol_mask;
	bool ranges;			 /* some of which are of all addresses around it */
	bool one_nowhere;		 /* what isn't mapped is one frame */
	uint32_t nowhere[FOLD_CPUMODES]; /* frame of what isn't mapped, where that is one */
	struct place_symbol *symbols;	 /* symbol → frame */
	struct id_table expansion_ids;
	VEC(struct place_expansion) expansions;
	VEC(uint32_t) expanded; /* frames of functions and of those inlined in them */
};

/* `samples`: how many there are in all, for the size of the tables. */
void fold_places_init(struct fold_places *places, struct fold_tables *tables, struct resolver *resolver, const struct machine *machine,
		      uint64_t samples);
void fold_places_deinit(struct fold_places *places);
/* Step 1. `state` NULL: nothing is mapped. Of locate() the memory that step 2 reads isn't on its way. */
struct fold_lookup fold_places_locate(struct fold_places *places, const struct maps_state *state, uint8_t cpumode, uint64_t ip);
struct fold_lookup fold_places_begin(struct fold_places *places, const struct maps_state *state, uint8_t cpumode, uint64_t ip);
/* Step 2: sets lookup->frame. */
void fold_places_finish(struct fold_places *places, struct fold_lookup *lookup);
/* Both steps for a part of a chain: appends the frames that aren't FOLD_NONE to `frames`. How many each address has goes to `counts`, if it
 * isn't NULL. */
void fold_places_part(struct fold_places *places, const struct fold_part *part, const uint64_t *ips, fold_frame_list *frames,
		      uint32_t *counts);
/* Equal for parts of chains that are the same frames: of addresses in their files, so that processes share it, and of those in memory
 * where they matter. Which may turn out later: when by_memory_count has grown, keys from before are worthless. */
struct hash128 fold_places_key(struct fold_places *places, const struct fold_part *part, const uint64_t *ips);
/* Both steps for addresses in user space, for stacks that pass through the same few calls over and over: the answer is next to the
 * question. Writes the frames that aren't FOLD_NONE to `to`, which has room for `count`, and returns how many. */
size_t fold_places_frames(struct fold_places *places, const struct maps_state *state, const uint64_t *ips, size_t count, uint32_t *to);
/* The frames of an address in a user stack by debug information, innermost first: one for each function that was inlined there and the one
 * around them. `returns_here`: the address is where a call returns to, and the frames' addresses are in the call, a byte before. Returns
 * their number, 0 where it says nothing; valid until the next call. */
size_t fold_places_functions(struct fold_places *places, const struct fold_lookup *lookup, bool returns_here, const uint32_t **ret);

/* ---- frames to entries ---- */

/* Stays where it is. */
struct set_piece {
	uint32_t frame_count : 31; /* of all; below INT32_MAX */
	uint32_t kernel : 1;
	uint32_t hash;	 /* of its frames; when its set was merged into another one, its id there. fold_pack.c: its number in the fold */
	uint32_t shared; /* 0 = none */
	uint32_t outer; /* id of the piece that has the outermost `shared` frames of this one, too, and the innermost of those is its own */
	uint32_t own[]; /* ids of the other frames, innermost first */
};

/* What pieces may share is found by the hashes of their outermost frames: of FOLD_PREFIX, twice as many and so on. */
enum { FOLD_PREFIX = 8 };

enum { FOLD_CHUNK_BITS = 13, FOLD_CHUNKS_MOST = 1 << (26 - FOLD_CHUNK_BITS) };

struct piece_shard {
	VEC(uint32_t *) chunks;
	uint32_t end;		     /* place behind the last piece */
	uint32_t limit;		     /* while another set is merged: place behind those that were here before */
	uint32_t count;		     /* pieces */
	size_t frame_count;	     /* of all pieces, each one's own */
	struct id_table ids;	     /* by the pieces' hashes: places */
	struct id_table prefixes;    /* by the hashes of their outermost frames: ids in the set */
	uint32_t first, first_frame; /* fold_pack.c */
};

/* An entry on its way. */
struct set_entry {
	struct fold_entry entry;
	uint64_t time;
	const struct record_header *first;
	uint32_t extra;
};

/* Entries are in blocks that stay where they are: none are copied when there are more, and they can go one after the other. They are kept
 * without what isn't needed of their last members. Of a whole file they are small: what `first` says, as a number of eight bytes from the
 * first record on, and the period share a word.
 *
 *	entry.period     where `first` is, 32 bits | period, 32 bits; entry.wide: the number of a period in `wide`, which is longer
 */
enum { FOLD_BLOCK = 256 };

/* Larger files have records that such a number doesn't reach. */
#define FOLD_SMALL_FILE ((uint64_t)8 << 32)

struct entry_shard {
	VEC(uint8_t *) blocks;
	VEC(uint64_t) wide;
	uint32_t count;
	struct id_table ids;
	struct arena records; /* copies, if the set makes them */
};

/* So many samples or entries are looked up together; FOLD_BLOCK is a multiple. */
enum { FOLD_BATCH = 32 };

/* A feed's distinct pieces and entries. */
struct fold_set {
	bool copies_records; /* FOLD_RECORDS_COPIED */
	bool shares_frames;  /* pieces keep what they have in common with others once */
	bool has_extra;
	bool apart;		/* options.apart: entries aren't looked for */
	uint32_t added;		/* so many entries, of those that are apart */
	const uint8_t *records; /* entries are kept small: the first record; or NULL */
	size_t entry_size;	/* of those that are kept */
	VEC(uint32_t) whos;	/* by actor: the one that stands for all that entries don't tell apart; of actors that the set knows */
	VEC(uint64_t) hashes;	/* while a piece is added: of its outermost frames */
	struct piece_shard pieces[FOLD_SHARDS];
	struct entry_shard entries[FOLD_SHARDS];
};

/* The frames of a piece, on their way: some, innermost first, and their callers, which may be known as part of a piece already. */
struct fold_stretch {
	bool present; /* it may be there and have no frames: hidden ones */
	const uint32_t *frames;
	uint32_t count;
	uint32_t caller_count;
	uint32_t callers;      /* the piece whose outermost frames they are; FOLD_NONE = they are behind `frames` */
	uint32_t callers_hash; /* fold_pieces_callers_hash()'s */
	uint64_t hash;	       /* fold_pieces_hash()'s, set with the item; 0 = not present */
};

/* A sample whose frames are known. */
struct fold_item {
	struct set_entry entry; /* inner and outer are set here */
	struct fold_stretch inner, outer;
	uint64_t hash; /* private */
};

/* Adds the items in stages, each for all of them, so that what one stage reads was asked for in the one before. */
void fold_set_add(struct fold_set *set, struct fold_item *items, size_t count);
void fold_set_init(struct fold_set *set, const struct fold_options *options, const uint8_t *records);
void fold_set_deinit(struct fold_set *set);
/* Adds to the entry that is the same but for count, period, actor and first sample. `hash` is fold_set_hash()'s. */
void fold_set_entry(struct fold_set *set, const struct set_entry *entry, uint64_t hash);
/* Adds an entry to a shard, as it is, to a set whose entries are apart. */
void fold_set_push(struct fold_set *set, unsigned int shard, const struct set_entry *entry);
/* Asks for the memory of the entry that probably has this hash. */
void fold_set_prefetch_entry(const struct fold_set *set, uint64_t hash);
/* To be told before the first entry of an actor. */
void fold_set_actor(struct fold_set *set, uint32_t actor, uint32_t who);
/* No sample will be added. `finds_nothing`: nor anything else, so that what is in it needn't be found. */
void fold_set_end(struct fold_set *set, bool finds_nothing);
/* By contents, not by numbers that only this set knows. */
uint64_t fold_set_hash(const struct fold_set *set, const struct set_entry *entry, uint32_t inner_hash, uint32_t outer_hash);
/* The entries of a shard are gone; their records stay. */
void fold_set_drop_entries(struct entry_shard *shard);

/* As it is kept: of its members from the period on, only the time means what it says. */
static inline struct set_entry *fold_set_at(const struct fold_set *set, const struct entry_shard *shard, uint32_t id)
{
	return (struct set_entry *)(void *)(shard->blocks.data[id / FOLD_BLOCK] + id % FOLD_BLOCK * set->entry_size);
}

static inline uint32_t fold_set_extra(const struct fold_set *set, const struct set_entry *entry)
{
	return set->has_extra ? entry->extra : 0;
}

static inline const struct record_header *fold_set_first(const struct fold_set *set, const struct set_entry *kept)
{
	return set->records ? (const void *)(set->records + (kept->entry.period >> 32) * 8) : kept->first;
}

static inline uint64_t fold_set_period(const struct fold_set *set, const struct entry_shard *shard, const struct set_entry *kept)
{
	return !set->records	  ? kept->entry.period
	       : kept->entry.wide ? shard->wide.data[(uint32_t)kept->entry.period]
				  : (uint32_t)kept->entry.period;
}

/* All of an entry that is kept. */
static inline struct set_entry fold_set_get(const struct fold_set *set, const struct entry_shard *shard, uint32_t id)
{
	const struct set_entry *kept = fold_set_at(set, shard, id);
	struct set_entry entry = {
		.entry = kept->entry, .time = kept->time, .first = fold_set_first(set, kept), .extra = fold_set_extra(set, kept)};
	entry.entry.period = fold_set_period(set, shard, kept);
	entry.entry.wide = 0;
	return entry;
}

static inline struct set_piece *fold_pieces_at(const struct piece_shard *shard, uint32_t place)
{
	return (struct set_piece *)&shard->chunks.data[place >> FOLD_CHUNK_BITS][place % (1 << FOLD_CHUNK_BITS)];
}

static inline struct set_piece *fold_pieces_of(const struct fold_set *set, uint32_t id)
{
	return fold_pieces_at(&set->pieces[id % FOLD_SHARDS], id / FOLD_SHARDS);
}

/* As far as entries need it: fold_pieces_hash()'s, of which less is kept. */
static inline uint32_t fold_set_piece_hash(const struct fold_set *set, uint32_t id)
{
	return id == FOLD_NONE ? 0 : fold_pieces_of(set, id)->hash;
}

/* Of no frame, when a piece begins from its outermost end; of frames that `callers_hash` was made of the callers of. */
uint32_t fold_pieces_hash_begin(bool kernel);
uint32_t fold_pieces_callers_hash(uint32_t callers_hash, const uint32_t *frames, uint32_t count);
/* Of all frames. */
uint64_t fold_pieces_hash(const struct fold_stretch *stretch);
/* The id of the piece with these frames, which are copied when it is new. */
uint32_t fold_pieces_add(struct fold_set *set, const struct fold_stretch *stretch, bool kernel);
/* The place of the first piece from `place` on, where one ends; of the one behind that at `place`. FOLD_NONE = there is none. */
uint32_t fold_pieces_next(const struct piece_shard *shard, uint32_t place);
uint32_t fold_pieces_after(const struct piece_shard *shard, uint32_t place);
void fold_pieces_drop(struct piece_shard *shard);
/* Merging, in three steps: room for all of another set's pieces; then, shard by shard on any threads, each piece of that gets the id of the
 * same one here, or of its copy, as its `hash`; then, shard by shard as well, copies share with pieces of this set. */
void fold_pieces_reserve(struct fold_set *into, const struct fold_set *from);
void fold_pieces_copy(struct fold_set *into, struct fold_set *from, unsigned int shard);
void fold_pieces_join(struct fold_set *into, const struct fold_set *from, unsigned int shard);

/* ---- stacks for pictures ---- */

/* Callers that many stacks have in common, or what else is more than a frame; innermost first. The outermost ones may be those of another
 * piece. */
struct loose_piece {
	const uint32_t *own, *outer;
	uint32_t own_count, outer_count;
};

/* A part of a stack is a piece's number or, when it is one frame, that frame's with this bit. Frames' numbers are below. */
#define LOOSE_FRAME ((uint32_t)1 << 31)

/* Innermost first: in the kernel; in the program, where it was; its callers there. */
enum { LOOSE_KERNEL, LOOSE_USER, LOOSE_CALLERS, LOOSE_PARTS };

/* Samples of one stack. There may be more of them elsewhere. */
struct loose_stack {
	uint32_t parts[LOOSE_PARTS]; /* or FOLD_NONE */
	uint32_t actor;
	uint32_t count;
	uint32_t place; /* of the first sample's record, in units of eight bytes; FOLD_NONE = it lay there askew. Of an entry its number */
	uint64_t period;
};

/* Stacks are in blocks that stay where they are, each as large as a large page. */
enum { LOOSE_BLOCK = (2 << 20) / sizeof(struct loose_stack) };

/* A stack that came a short time ago. */
struct loose_recent {
	uint32_t stack; /* its number + 1, 0 = none */
	uint64_t time;	/* of its first sample */
};

/* The last long part of an address space. */
struct loose_last {
	VEC(uint64_t) ips;
	VEC(uint32_t) counts; /* of each address's frames */
	uint64_t kind;	      /* of its space and of what its frames are; 0 = none */
	uint32_t piece;
};

enum { LOOSE_LASTS = 64 };

/* Those of a feed. */
struct fold_loose {
	VEC(struct loose_stack *) blocks;
	uint32_t stack_count;
	VEC(struct loose_piece) pieces;
	VEC(uint32_t *) rooms; /* for frames of pieces */
	uint32_t *room;	       /* of the last one, what is left */
	uint32_t room_left;
	struct loose_recent *recent; /* by hash */
	uint32_t recent_mask;
	struct loose_last lasts[LOOSE_LASTS];
	VEC(uint32_t) counts; /* of a part on its way there */
	VEC(uint64_t) words;
	VEC(uint64_t) in_kernel; /* by frame: samples of the kernel there */
	uint64_t samples;
	uint64_t period; /* of the first sample */
	bool periods_differ;
	bool has_times; /* else records are in the order of their places */
};

/* `samples`: how many there are in all. */
struct fold_loose *fold_loose_create(bool has_times, uint64_t samples);
void fold_loose_destroy(struct fold_loose *loose);
/* Finds the callers in a part that isn't among those that came before: as what it has in common with the last one of its address space and
 * others. False when it has too little. */
bool fold_loose_callers(struct fold_feed *feed, const struct fold_part *part, const uint64_t *ips, struct fold_stretch *ret);
/* Also sets the entries' inner and outer: the parts that stand for the callers of those stretches. */
void fold_loose_add(struct fold_feed *feed, struct fold_item *items, size_t count);
/* When a stack's first sample was; 0 where places tell all. */
uint64_t fold_loose_time(const struct fold *fold, const struct loose_stack *stack);
/* All feeds' stacks become the fold's. */
void fold_loose_pack(struct fold_tables *tables, struct fold *fold);

static inline struct loose_stack *fold_loose_stack(struct loose_stack *const *blocks, uint32_t number)
{
	return &blocks[number / LOOSE_BLOCK][number % LOOSE_BLOCK];
}

/* ---- parts of chains that came before ---- */

struct recent_part {
	uint64_t check; /* half of its key, but for the low bits: how many frames it is */
	uint32_t hash;	/* fold_pieces_callers_hash()'s */
	uint32_t piece; /* whose outermost frames the part is; FOLD_NONE = an empty place */
};

struct fold_recent {
	struct recent_part *parts;
	uint64_t mask;
	uint64_t added;
	uint32_t asked, found; /* since it was last looked at whether it pays */
	uint32_t rest;	       /* so many parts aren't looked for: it didn't */
};

void fold_recent_init(struct fold_recent *recent);
void fold_recent_deinit(struct fold_recent *recent);
/* Whether the next part shall be looked for. */
bool fold_recent_pays(struct fold_recent *recent);
void fold_recent_prefetch(const struct fold_recent *recent, const struct hash128 *key);
/* Sets the stretch's callers; false when the part isn't there. */
bool fold_recent_find(struct fold_recent *recent, const struct hash128 *key, struct fold_stretch *stretch);
/* The stretch is a piece of the set now. */
void fold_recent_add(struct fold_recent *recent, const struct hash128 *key, const struct fold_stretch *stretch, uint32_t piece);

/* ---- samples to look-ups ---- */

enum { FOLD_RECENT_ACTORS = 1024, FOLD_RECENT_EXTRAS = 1024 };

/* Who ran, and where its files were: the same threads come again and again. */
struct recent_actor {
	const struct thread *thread;
	const struct untrusted *comm;
	struct maps_state space; /* as it was in that turn of the feed */
	uint32_t actor, who;	 /* as fold_tables_actor() says */
	uint32_t turn;
};

/* ---- samples without stacks ---- */

struct fold_counts;

/* Whether samples are told apart by who, where and which event alone. */
bool fold_counts_may(const struct fold_options *options);
/* Where they may. `samples`: how many there are in all. Both pointers are kept. */
struct fold_counts *fold_counts_create(struct fold_places *places, struct fold_set *set, uint64_t samples);
/* Adds one. `state` is fold_places_locate()'s. */
void fold_counts_add(struct fold_counts *counts, const struct fold_sample *in, const struct recent_actor *actor,
		     const struct maps_state *state);
/* After it nothing waits that points into the machine. NULL is fine. */
void fold_counts_flush(struct fold_counts *counts);
/* What was counted into the set, and the end. NULL is fine. */
void fold_counts_destroy(struct fold_counts *counts);

/* Extra values come again, too: their ids, without the lock that all feeds share. */
struct recent_extra {
	struct hash128 hash;
	uint32_t id;
	bool used;
};

/* What stands behind look-ups in a piece of a stack: addresses that may have come by before, all together. */
struct pending_part {
	struct fold_part part; /* of no address: there is none */
	uint32_t ips;	       /* where its addresses are in feed->ips */
	uint32_t frames;       /* where the frames of all of the piece are in feed->frames */
	bool sought;	       /* among those that came before, under this key */
	struct hash128 key;
};

/* A sample of the batch: its own address, the kernel's part and the user's part of its stack are look-ups in a row. The latter two may have
 * more addresses behind their look-ups. */
struct pending {
	struct set_entry entry;
	uint32_t first, inner_count, outer_count;
	struct pending_part inner, outer;
	uint32_t unwound; /* where those begin */
	bool has_leaf, has_inner, has_outer;
	bool is_unwound; /* the outer part is frames already, of feed->unwound */
	bool pair;	 /* the outer part is a branch's two ends: none without the other */
};

struct fold_feed {
	struct fold *fold;
	const struct fold_context *context; /* the fold's */
	pthread_mutex_t lock;		    /* of all that follows, in fold_add() and fold_swap() */
	struct fold_places places;
	struct fold_recent parts;
	struct fold_set *set;
	bool counted;
	struct fold_counts *counts; /* NULL: samples go through the batch */
	struct fold_loose *loose;   /* options.loose: what is added goes there instead */
	struct recent_actor *recent;
	struct maps_state kernel, guest;
	bool in_guest;	/* the sample is of a guest's own recording */
	uint64_t drops; /* the machine's when what is remembered by numbers of files was looked up */
	uint32_t turn;	/* states of address spaces of another turn may be outdated: the machine has grown */
	struct stack stack;
	struct stack_ends ends;
	VEC(uint64_t) words;
	VEC(uint32_t) unwound; /* frames */
	uint64_t *extra;
	struct recent_extra *recent_extras; /* NULL without extra values */
	size_t count;			    /* of the batch */
	struct pending pending[FOLD_BATCH];
	struct fold_item items[FOLD_BATCH];
	VEC(struct fold_lookup) lookups;
	VEC(uint64_t) ips; /* of pending parts */
	fold_frame_list frames;
};

/* Takes the sample into the batch. Its thread and name are set. */
void fold_feed_sample(struct fold_feed *feed, const struct fold_sample *sample);
/* Adds the batch to the feed's set. */
void fold_feed_flush(struct fold_feed *feed);

/* Moves all into the fold's arrays, with ids that are indexes; the entries in the order of their first samples, but those of any_address
 * without details in any. The tables are empty afterwards. */
void fold_pack(struct fold_tables *tables, struct fold *fold, bool with_details);
