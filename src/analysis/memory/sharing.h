/* Cache lines that several cores share, and which places of the code access them: perf c2c.
 *
 *	sample ──► line (by where its data is) ──► place (by offset in the line, code address, thread, …)
 *	                │ counts, nodes                │ counts, costs, CPUs
 *
 * Samples come in the order of time, one by one. What is kept grows with the number of lines and places, not with that of samples. */
#pragma once

#include "analysis/memory/access_counts.h"
#include "analysis/stack.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/vec.h"
#include "result/calltree.h"
#include "session/session.h"
#include "symbol/resolve.h"

#include <stdbool.h>
#include <stdint.h>

/* What makes places of one line differ, besides the offset. */
enum sharing_key { SHARING_PID, SHARING_TID, SHARING_CODE, SHARING_FILE, SHARING_KEYS };

/* Which accesses rank lines. */
enum sharing_rank { SHARING_TOTAL, SHARING_LOCAL, SHARING_REMOTE, SHARING_PEER };

struct sharing_options {
	enum sharing_key keys[SHARING_KEYS];
	size_t key_count;
	enum sharing_rank rank;
	unsigned int line_size; /* bytes, a power of two */
	bool all;		/* also lines that nothing was snooped of */
	enum sharing_calls { SHARING_NO_CALLS, SHARING_CALLERS_FIRST, SHARING_CODE_FIRST } calls; /* trees of stacks below places */
	struct stitcher *stitcher;								  /* for these; or NULL */
};

/* A mean that is kept up to date as values come. */
struct sharing_mean {
	double mean;
	uint64_t count;
};

/* CPUs, or nodes of memory, that were seen. */
struct sharing_set {
	uint64_t *words;
	size_t count;
};

/* Places in memory, by node; what PA counts say. */
struct sharing_memory {
	struct sharing_set nodes;
	uint64_t physical, changes; /* the last address, and how often it was another one than before; of those whose node is known */
	bool unknown;		    /* some sample had no physical address */
};

enum sharing_cost {
	SHARING_COST_REMOTE_HITM,
	SHARING_COST_LOCAL_HITM,
	SHARING_COST_REMOTE_PEER,
	SHARING_COST_LOCAL_PEER,
	SHARING_COST_LOAD,
	SHARING_COSTS
};

/* Of one node of CPUs: what ranks, and stores; nothing else is counted. */
struct sharing_node {
	struct sharing_node *next; /* by number */
	size_t node;
	struct access_counts counts;
};

struct sharing_place {
	struct sharing_place *next_same_hash;
	uint64_t offset;
	struct frame code;	     /* of its first sample */
	const struct thread *thread; /* of its first sample */
	uint64_t thread_time;
	struct access_counts counts;
	struct sharing_mean costs[SHARING_COSTS];
	struct sharing_set cpus;
	struct sharing_memory memory;
	struct sharing_node *nodes; /* of CPUs */
	uint64_t order;		    /* of its first sample */
	uint64_t period;	    /* of all samples */
	struct calltree *calls;	    /* their stacks, weighed by periods; NULL = they weren't asked for */
};

struct sharing_line {
	struct sharing_line *next_same_hash;
	uint64_t address;	/* as the process of its first sample has it */
	uint64_t place_address; /* by which processes agree: in the file, where there is one */
	const struct map *map;	/* NULL = nothing was mapped there */
	uint32_t pid;		/* whose private memory it is; 0 = anybody's */
	uint8_t cpumode;
	struct access_counts counts;
	uint64_t period; /* of all samples */
	struct sharing_memory memory;
	VEC(struct sharing_place *) places;
	struct map64 index;
};

struct shared_lines {
	struct sharing_options options;
	struct resolver *resolver;
	const struct session *session;
	struct arena arena;
	struct map64 index;
	VEC(struct sharing_line *) lines; /* after sharing_finish(): those that are shown, the most expensive first */
	struct access_counts total;	  /* of all samples */
	struct access_counts shared;	  /* of lines that something was snooped of */
	uint64_t shared_lines;
	uint32_t *cpu_nodes; /* by CPU: its node */
	size_t cpu_count;
	uint64_t samples;
	/* Of the trees: */
	struct stack stack;
	struct intern labels;
	VEC(struct calltree *) trees;
};

/* Keeps the pointers. */
void sharing_init(struct shared_lines *sharing, const struct sharing_options *options, const struct session *session,
		  struct resolver *resolver);
void sharing_deinit(struct shared_lines *sharing);
void sharing_add(struct shared_lines *sharing, const struct event *event, const struct sample *sample, uint64_t model_time);
/* Puts lines and their places in order and leaves out lines that don't matter. */
void sharing_finish(struct shared_lines *sharing);

/* sharing_calls.c: with options.calls. Adds the stack of a sample to its place; and, when all are added, leaves out branches below a
 * percentage of `total`, or of their parents, and sorts the others, the heaviest first. */
void sharing_calls_add(struct shared_lines *sharing, struct sharing_place *place, const struct event *event, const struct sample *sample,
		       uint64_t model_time);
void sharing_calls_finish(struct calltree *calls, uint64_t total, double percent, bool of_parent);

/* What ranks, of counts: HITMs or peers' answers. */
uint32_t sharing_ranked(enum sharing_rank rank, const struct access_counts *counts);
/* "pid,tid,iaddr,dso" in any choice and order. */
struct error *sharing_parse_keys(const char *text, struct sharing_options *options);
const char *sharing_key_name(enum sharing_key key);
bool sharing_has_key(const struct sharing_options *options, enum sharing_key key);

static inline bool sharing_set_has(const struct sharing_set *set, size_t index)
{
	return index / 64 < set->count && (set->words[index / 64] >> index % 64 & 1);
}
/* The node of a CPU; 0 when it isn't known. */
size_t sharing_node_of_cpu(const struct shared_lines *sharing, size_t cpu);
/* How many are in it; of a node's CPUs where `sharing` isn't NULL. */
unsigned int sharing_set_size(const struct sharing_set *set, const struct shared_lines *sharing, size_t node);
