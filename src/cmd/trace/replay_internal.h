/* What the parts of replaying share: replay.c has the records, replay_program.c what the BPF program tells beside them. */
#pragma once

#include "analysis/script/filter.h"
#include "analysis/syscalls/open_calls.h"
#include "analysis/syscalls/thread_ends.h"
#include "analysis/tracker.h"
#include "cmd/opening.h"
#include "cmd/trace/replay.h"
#include "cmd/trace/stack.h"

enum { ROUNDS_BEHIND = 3 };

struct replay {
	struct trace *trace;
	struct opening opening;
	struct script_filter filter;
	bool filtered;
	struct open_calls calls;
	struct tracker *tracker;
	VEC(uint64_t) shown; /* by event: how often it was */
	bool shows_ends;     /* signals and ends of threads by tracepoints, as lines of their own */
	struct thread_ends ends;
	struct trace_stacks *stacks; /* NULL = not wanted */
	struct strbuf text, detail;
	uint64_t generation;		/* of the machine, when names were taken */
	uint64_t rounds[ROUNDS_BEHIND]; /* when the last ones ended */
	uint64_t round_count;
};

/* The thread of the ids, with its name at `time`. */
struct calling_thread *replay_get_thread(struct replay *replay, uint32_t pid, uint32_t tid, const struct thread *thread, uint64_t time);
/* Shows that the thread's call goes on, once. */
void replay_tell_waiting(struct replay *replay, struct calling_thread *thread);
/* The same of all that last, before a line of `thread` at `time`; NULL = of none. */
void replay_tell_all_waiting(struct replay *replay, const struct calling_thread *thread, uint64_t time);
/* A call whose arguments are there. */
void replay_begin_call(struct replay *replay, struct calling_thread *thread, unsigned int number, uint64_t time);
/* A call that is wanted has ended; `owner`: whose sums it belongs to. */
void replay_end_call(struct replay *replay, const struct syscall *call, const struct calling_thread *thread, uint64_t owner, uint64_t now);
/* --duration and --failure leave it out. */
bool replay_is_short(const struct trace_options *options, const struct syscall *call);

/* replay_program.c: what the program told up to this time. */
void replay_take_moments(struct replay *replay, uint64_t until);
/* The same up to where all records have been delivered when this FINISHED_ROUND comes. */
void replay_take_round(struct replay *replay, const struct record_header *header);
