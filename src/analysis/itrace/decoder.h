/* A kind of hardware trace. Within analysis/itrace.
 *
 * A queue is the trace of one CPU, or of one thread, in the buffers in which it was recorded. Its decoder goes from one thing that has a
 * time to the next. */
#pragma once

#include "analysis/itrace/flow.h"
#include "analysis/itrace/itrace.h"
#include "analysis/itrace/last_branches.h"
#include "analysis/trace_clock.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "event/trace_pmus.h"
#include "session/session.h"

struct trace_piece {
	const uint8_t *data;
	uint64_t size;
};

struct trace_queue {
	struct itrace *itrace;
	uint32_t index;
	uint32_t cpu, tid; /* whose trace it is; -1 = any */
	uint32_t owner;	   /* the thread that was recorded, also where it has a queue for each CPU; -1 = all */
	VEC(struct trace_piece) pieces;
	uint64_t time; /* how far it is: nanoseconds of the recording; 0 without times */
	bool ended;
	uint32_t trace; /* its number, no other queue's: those before didn't go on in it; 0 = all queues go on in each other */
	void *decoder;	/* its state, by ops->open() */
	uint32_t place; /* in itrace->heap, until it has ended */
};

/* A record of the trace that is to be shown. */
struct trace_dump {
	const struct record_auxtrace_info *info;
	uint32_t cpu; /* -1 = any */
	const uint8_t *data;
	size_t size;
};

struct trace_decoder {
	enum trace_kind type;
	const char *name;	     /* for messages: "Arm SPE" */
	const char *letters;	     /* of --itrace that mean something, beside 'g', 'l', 'G' and 'L' */
	bool has_instructions;	     /* whose samples can have a call chain and the last branches */
	struct error *(*load)(void); /* the library that it needs; or NULL */
	/* The trace's own description, and the events that are made. On an error none are, and the trace isn't decoded. */
	struct error *(*begin)(struct itrace *itrace, const struct record_auxtrace_info *info);
	void (*end)(struct itrace *itrace);
	void *(*open)(struct trace_queue *queue);
	void (*close)(void *decoder);
	/* Hands on what was found by the step before, and goes to the next: sets queue->time, which never goes back, or queue->ended. */
	void (*step)(struct trace_queue *queue);
	/* For dumps; or NULL. */
	void (*describe)(const struct record_auxtrace_info *info, struct strbuf *out);
	void (*dump)(const struct trace_dump *trace, struct strbuf *out);
};
extern const struct trace_decoder trace_decoder_spe, trace_decoder_pt, trace_decoder_coresight, trace_decoder_bts, trace_decoder_ptt;

/* Who runs on a CPU, as records of switches tell it. */
struct trace_runner {
	uint32_t pid, tid;
};

struct trace_counts {
	uint64_t lost_bytes; /* that make no packets */
	uint64_t errors;     /* the code and the trace didn't fit together, or … */
	uint64_t no_code;    /* … there is no code */
	uint64_t truncated;  /* AUX records of a buffer that was full */
};

struct itrace {
	struct itrace_options options;
	const struct trace_decoder *decoder;
	struct session *session;    /* of the recording */
	const struct event *source; /* the event that the trace is of */
	struct event_list events;   /* the recording's and those made; the reader takes them over */
	VEC(struct trace_queue) queues;
	VEC(uint32_t) heap;		  /* places of those that haven't ended, the one that comes next first */
	VEC(uint32_t) by_thread;	  /* timeless: places of queues, by thread, in the order in which they are decoded */
	struct map64 next_of_thread;	  /* by thread: where in by_thread its next one is, + 1 */
	VEC(struct trace_runner) runners; /* by CPU */
	const struct record_auxtrace_info *info;
	uint64_t aux_flags;	   /* of all its AUX records (PERF_AUX_FLAG_*) */
	bool in_samples;	   /* pieces are what samples bring (PERF_SAMPLE_AUX) */
	struct trace_clock clock;  /* multiplier 0 = unknown */
	struct resolver *resolver; /* of the session's machine: for code */
	void *state;		   /* the decoder's */
	bool timeless;		   /* samples have no times */
	bool adds_parts;	   /* recorded samples get what options.added_… ask for */
	uint64_t model_time;	   /* what to ask the machine with */
	struct strbuf out;	   /* records that wait to be fetched */
	struct record pending;
	bool has_pending, at_end, ended;
	uint64_t skipped; /* of options.skipped */
	uint64_t next_id;
	struct error *obstacle; /* why a trace of a known kind isn't decoded; or NULL */
	struct trace_counts counts;
	struct flow_stacks flow;   /* with options.flow */
	struct last_branches last; /* with options.last_branches */
	struct map64 code;	   /* by dso: struct code_file *, or a mark that there is none */
};

/* From the trace's clock; 0 where the recording doesn't tell how. */
uint64_t trace_time(const struct itrace *itrace, uint64_t ticks);

/* How many ticks a span of time is. */
uint64_t trace_ticks(const struct itrace *itrace, uint64_t nanoseconds);

/* The recording's events. */
void trace_events_copy(struct itrace *itrace);
/* Finds the recorded event of the PMU, of whose type the description tells: itrace->source. An error where there is none. */
struct error *trace_find_source(struct itrace *itrace, uint64_t pmu);
/* An event that is made: a copy of the attributes that matter of the one that the trace is of, with these parts of samples beside the usual
 * ones (IP, TID, TIME, CPU, PERIOD). Lives as long as the reader. */
struct event *trace_event_add(struct itrace *itrace, const char *name, uint32_t type, uint64_t config, uint64_t sample_type,
			      uint64_t period);

/* The same of "branches" and "instructions", whose names tell of which modes they are, as the kernel's tool has it. */
struct event *trace_event_add_hardware(struct itrace *itrace, const char *name, uint64_t config, uint64_t sample_type, uint64_t period);
/* "branches", where branches, calls or returns are asked for; else NULL. *ret_filter: which of them, of enum traced_flag (flow.h);
 * 0 = all. */
struct event *trace_event_add_branches(struct itrace *itrace, uint32_t *ret_filter);

/* Code at an address of a thread, or of the kernel; tid -1 = unknown. Returns how many bytes there are, at most `size`. *ret_missing: the
 * file that isn't at hand; NULL = there is none, or it has nothing there. */
size_t trace_read_code(struct itrace *itrace, uint32_t tid, uint64_t ip, void *buffer, size_t size, struct dso **ret_missing);
void trace_code_deinit(struct itrace *itrace);

struct trace_sample {
	uint64_t ip, addr, time, period, weight, data_src, phys_addr;
	uint32_t pid, tid, cpu;
	const void *raw; /* of events with PERF_SAMPLE_RAW: 4 bytes less than a multiple of 8 */
	uint32_t raw_size;
	struct sample_flow flow;
	const struct trace_queue *queue; /* of events with PERF_SAMPLE_CALLCHAIN or PERF_SAMPLE_BRANCH_STACK */
};
/* Puts it down, unless it is one of those that are skipped; `event` may be NULL, when it isn't wanted. */
bool trace_put(struct itrace *itrace, const struct event *event, const struct trace_sample *sample);
/* Takes note of a branch, for depths of calls. `back`: where a call returns to. */
void trace_take_branch(const struct trace_queue *queue, uint32_t flags, uint64_t from, uint64_t to, uint64_t back);
/* For the sample of such a branch, or of what isn't one (no flags). */
struct sample_flow trace_flow(const struct trace_queue *queue, uint32_t flags);
/* What is asked for beside them in samples of instructions and the like: PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_BRANCH_STACK. */
uint64_t trace_extra_parts(const struct itrace *itrace);
/* The recorded events get what is added to their samples (trace_put_recorded()): for decoders that follow calls in the order of time. */
void trace_add_parts(struct itrace *itrace);
/* Hands on a sample that was recorded, with call chain and branches of the trace where they are to be added. */
void trace_put_recorded(struct itrace *itrace, const struct record *record);
/* The words of a sample. */
void trace_add_chain(const struct trace_queue *queue, uint64_t ip, struct strbuf *out);
void trace_add_branches(const struct trace_queue *queue, struct strbuf *out);
bool trace_is_kernel(const struct itrace *itrace, uint64_t address);
/* What went wrong at an address, as a record; numbers and words are the kernel tool's. */
void trace_put_error(struct trace_queue *queue, uint32_t code, uint64_t ip, const char *message);
/* … where the trace itself tells who ran. */
void trace_put_error_of(struct itrace *itrace, const struct sample_id *where, uint32_t code, uint64_t ip, const char *message);
/* The same of what the recorder couldn't keep. */
void trace_put_lost(struct itrace *itrace, const struct sample_id *where);
/* Begins a packet's line in a dump: where it is, and its bytes. */
void trace_dump_bytes(const uint8_t *trace, size_t offset, size_t length, struct strbuf *out);
/* Who runs on the queue's CPU, or whose trace it is. */
struct trace_runner trace_runner_of(const struct trace_queue *queue);
/* The process of a thread; -1 = unknown. */
uint32_t trace_process_of(const struct itrace *itrace, uint32_t tid);
