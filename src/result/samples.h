/* Result: a recording's samples one by one, or those that are alike added up, and all that they refer to: for formats of other tools.
 *
 *	row ──┬─ event
 *	      ├─ actor ── thread
 *	      └─ stack ── frame ──┬─ function ── file
 *	         │ parent         └─ mapping ─── file
 *	         ▼
 *	         0: no frames
 *
 * References are numbers in the arrays. Unsafe bytes are still in all texts: a view makes them what its format takes.
 */
#pragma once

#include "base/arena.h"
#include "base/buildid.h"
#include "base/vec.h"
#include "result/calltree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLES_NONE UINT32_MAX

/* What a format needs. */
enum samples_detail {
	SAMPLES_APART = 1 << 0,	 /* each sample is a row, in the order of time; else rows are samples that are alike but for time and CPU */
	SAMPLES_STACKS = 1 << 1, /* … and are alike in their stacks; else a stack is the innermost frame */
	SAMPLES_ADDRESSES = 1 << 2, /* two addresses of a function are two frames; else a frame is a function, without address and line */
	SAMPLES_NO_LINES = 1 << 3,  /* … but none has a source file and line: debug information is large, and isn't read */
	SAMPLES_BUILD_IDS = 1 << 4, /* those of files that the recording doesn't tell are looked for on this machine */
};

/* A field of a tracepoint. */
struct samples_field {
	const char *name;
	const char *text; /* not terminated; NULL = a number */
	size_t length;
	uint64_t number; /* sign-extended */
	bool is_signed;
};

struct samples_event {
	const char *name;
	uint64_t samples, period; /* of all rows */
	bool nanoseconds;	  /* the unit of periods; else what the event counts */
	bool tracepoint;
	const struct samples_field *fields; /* of a tracepoint: names, and whether they are texts */
	size_t field_count;
};

struct samples_thread {
	uint32_t pid, tid;
	const char *name;    /* the last one */
	uint64_t start, end; /* nanoseconds; 0 and UINT64_MAX = before and after the recording */
	const char *process; /* the name of the process's first thread, or of this one */
};

/* A thread under one of its names. */
struct samples_actor {
	uint32_t thread;
	const char *comm;
};

struct samples_file {
	const char *name, *short_name; /* the path, and what reports show */
	struct buildid build_id;
	bool kernel;
};

/* Where a file's bytes are mapped; of a function that several processes have at several places that of some of them. */
struct samples_mapping {
	uint32_t file;
	uint64_t start, end, offset;
};

struct samples_function {
	const char *name; /* without a symbol: "[file]" or "[unknown]" */
	uint32_t file;	  /* or SAMPLES_NONE */
	uint8_t kind;	  /* enum frame_kind */
	bool symbol;	  /* has one */
};

struct samples_frame {
	uint32_t function;
	uint32_t mapping;	 /* or SAMPLES_NONE */
	uint64_t address;	 /* in memory */
	uint64_t file_address;	 /* the virtual address in the file, as disassemblies have it; without a file = address */
	const char *source_file; /* where execution is, or NULL; interned */
	uint32_t line;
	bool inlined; /* into the function of the next frame outwards, at the same address */
};

struct samples_stack {
	uint32_t parent; /* a smaller number: the frames around */
	uint32_t frame;	 /* the innermost */
	uint32_t depth;	 /* frames; 0 of stack 0 */
};

struct samples_row {
	uint64_t time;	    /* nanoseconds; 0 = not known */
	uint64_t period;    /* their sum */
	const void *record; /* for `fields`; or NULL */
	uint32_t event, actor, stack;
	uint32_t frame; /* of the sampled address: what reports call its symbol. The stack may begin with what is inlined there */
	uint32_t cpu;	/* or SAMPLES_NONE */
	uint32_t count;
};

typedef VEC(struct samples_field) samples_fields;

struct samples {
	struct arena arena;				/* owns texts that nobody else keeps for as long */
	const char *title;				/* the command that was recorded, or the recording's name */
	const char *hostname, *os_release, *arch, *cpu; /* or NULL */
	uint64_t first_time, last_time;			/* nanoseconds; 0 = not known */
	uint64_t wall_offset_ns;			/* what makes a time one since 1970; 0 = not known */
	VEC(struct samples_event) events;
	VEC(struct samples_thread) threads;
	VEC(struct samples_actor) actors;
	VEC(struct samples_file) files;
	VEC(struct samples_mapping) mappings;
	VEC(struct samples_function) functions;
	VEC(struct samples_frame) frames;
	VEC(struct samples_stack) stacks; /* stacks.data[0] is the empty one */
	VEC(struct samples_row) rows;
	/* The fields of a row that has a record, valid until the next call; the texts with bytes of the recording. May be NULL. */
	void (*fields)(const void *context, const struct samples_row *row, samples_fields *ret);
	const void *fields_context;
};

struct samples *samples_create(void);
void samples_destroy(struct samples *samples);
/* Numbers of rows, those of one event after those of another, of one thread together, otherwise in their order. Freed by the caller.
 * *ret_ends: where each group ends; a group is never empty. */
struct samples_groups {
	uint32_t *rows;
	VEC(uint32_t) ends;
};
/* `by_event`: rows of different events are in different groups. */
void samples_group_by_thread(const struct samples *samples, bool by_event, struct samples_groups *ret);
void samples_groups_deinit(struct samples_groups *groups);

/* The frames of a stack, outermost first, into `ret` (emptied before). */
typedef VEC(uint32_t) samples_path;
void samples_stack_path(const struct samples *samples, uint32_t stack, samples_path *ret);

/* By function: the source file that it is in, where some frame tells it, else NULL. Freed by the caller. */
const char **samples_function_sources(const struct samples *samples);

static inline const struct samples_thread *samples_row_thread(const struct samples *samples, const struct samples_row *row)
{
	return &samples->threads.data[samples->actors.data[row->actor].thread];
}

static inline const struct samples_function *samples_stack_function(const struct samples *samples, uint32_t stack)
{
	return &samples->functions.data[samples->frames.data[samples->stacks.data[stack].frame].function];
}
