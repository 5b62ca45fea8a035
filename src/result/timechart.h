/* What ran when, for a picture: data only.
 *
 * Rows are threads under one of their names: a program that executes another one has a row for each. A row has spans: when it ran, waited
 * for a CPU or was blocked; in a chart of system calls that move data, when it was in them. */
#pragma once

#include "base/arena.h"
#include "base/untrusted.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum { TIMECHART_STACK_BITS = 28 };

enum timechart_kind {
	TIMECHART_RUNNING,
	TIMECHART_WAITING, /* for a CPU */
	TIMECHART_BLOCKED, /* asleep, and not to be interrupted */
	TIMECHART_READ,
	TIMECHART_WRITE,
	TIMECHART_SYNC,
	TIMECHART_SEND,
	TIMECHART_RECEIVE,
	TIMECHART_POLL,
	TIMECHART_KINDS,
};

/* Times are ns of the recording's clock. There are millions: 24 bytes each. */
struct timechart_span {
	uint64_t begin, end;
	uint32_t cpu; /* where it ran, or where it was woken or came back */
	enum timechart_kind kind : 4;
	uint32_t stack : TIMECHART_STACK_BITS; /* where it was at the end: of timechart.stacks */
};

/* What a system call did besides. */
struct timechart_call {
	int64_t fd, error;	/* errno as a negative number, or 0 */
	uint64_t bytes, merges; /* moved; calls that are in the span besides the last one */
};

struct timechart_row {
	uint32_t tid, parent;
	const struct untrusted *comm;
	uint64_t begin, end; /* 0 before the chart is finished: unknown */
	uint64_t times[TIMECHART_BLOCKED + 1];
	uint64_t bytes, most_bytes; /* of system calls: in all and in the largest span */
	VEC(struct timechart_span) spans;
	VEC(struct timechart_call) calls; /* of the spans, as far as there are any: timechart_call_of() */
	bool shown;
	size_t place; /* among the rows shown */
};

/* What a CPU did by its own account. */
struct timechart_power {
	uint64_t begin, end;
	uint32_t cpu;
	bool idle;	/* `state` is that of the idle CPU; else a frequency */
	uint64_t state; /* number of the idle state, 1 the lightest; kHz, 0 = unknown */
};

struct timechart_wakeup {
	uint64_t time;
	uint32_t waker, wakee;				   /* tids */
	const struct timechart_row *waker_row, *wakee_row; /* NULL = unknown */
	bool interrupt : 1;				   /* … did it, not what it interrupted */
	uint32_t stack : TIMECHART_STACK_BITS;		   /* as of spans */
};

struct timechart {
	struct arena arena;
	VEC(struct timechart_row *) rows; /* by parent and tid */
	VEC(struct timechart_power) power;
	VEC(struct timechart_wakeup) wakeups;
	VEC(const char *) stacks; /* texts: a line for each function, made safe; the first is NULL, none */
	uint64_t begin, end;	  /* of the recording */
	uint32_t cpu_count;
	uint32_t *cpu_places; /* where each CPU is drawn; NULL = by number */
	const char *cpu_name; /* as recorded, or NULL */
	uint64_t most_khz;    /* the highest frequency seen; 0 = none */
	bool io;	      /* system calls instead of the scheduler */
	size_t shown;	      /* rows */
};

/* Of a span of the row; all zero where it is no system call. */
static inline struct timechart_call timechart_call_of(const struct timechart_row *row, size_t span)
{
	return span < row->calls.len ? row->calls.data[span] : (struct timechart_call){0};
}
