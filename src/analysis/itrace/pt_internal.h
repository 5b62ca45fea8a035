/* What the files of Intel PT share. Within analysis/itrace.
 *
 *	pt.c            what there is: events, code, where the trace lies
 *	pt_steps.c      from one instruction, or one event, to the next
 *	pt_sync.c       where it begins, and goes on behind an error
 *	pt_samples.c    what is told of it */
#pragma once

#include "analysis/itrace/decoder.h"
#include "analysis/itrace/pt_walk.h"
#include "base/hash.h"

/* Numbers of errors (tools/perf/util/intel-pt-decoder). */
enum pt_error { PT_NO_ERROR, PT_BAD_PACKET = 3, PT_NO_CODE = 5, PT_MISMATCH = 6, PT_OVERFLOW = 7, PT_LOOP = 10 };

/* Samples whose raw data analysis/script/synth.c shows. */
enum made_raw { RAW_PTWRITE, RAW_MWAIT, RAW_PWRE, RAW_EXSTOP, RAW_PWRX, RAW_CBR, RAW_PSB, RAW_KINDS };

/* As many calls as processors and libipt remember. */
enum { PT_CALLS_MAX = 64 };

struct pt_state {
	const struct event *branches, *instructions, *transactions;
	const struct event *raw[RAW_KINDS]; /* NULL = not wanted */
	uint32_t branch_filter;		    /* of enum traced_flag; 0 = all */
	uint64_t period_ticks;		    /* of instructions, where it is a time */
	struct pt_config config;
	struct map64 told; /* dsos that are known to have none */
	uint64_t nominal_ratio;
	bool snapshots;	 /* pieces don't follow one another */
	uint32_t traces; /* that don't: how many were begun, of all queues */
};

/* Offsets are those of the trace; libipt's are `shift` more. */
struct pt_queue {
	struct pt_insn_decoder *decoder;
	const uint8_t *trace; /* what it decodes */
	uint64_t size;
	uint8_t *joined; /* all pieces in a row, or NULL */
	uint8_t *copy;	 /* the trace in memory that can be written, behind `shift` bytes, once there was an error; or NULL */
	uint64_t shift;
	size_t piece; /* snapshots: which one is decoded */
	int status;   /* of the last call, enum pt_status_flag */
	bool synced, has_last;
	bool owes;	/* the sample of the instruction before */
	bool aborts;	/* a transaction, with the branch that comes */
	bool has_event; /* its time has been looked at */
	struct pt_event event;
	struct pt_insn last;
	uint64_t ip; /* where it runs */

	/* Time. */
	uint64_t ticks;			    /* of what runs, and as far as libipt has read ahead */
	uint64_t count_at_ticks;	    /* instructions when `ticks` was told */
	uint64_t position, position_before; /* of the trace, as far as it is read, and where that was before it moved last */
	uint64_t used;			    /* the packet that told where it went last */
	bool is_quiet;			    /* what is read tells of the state only */
	bool looped;			    /* some time */
	uint64_t since_position;	    /* instructions since then */
	uint64_t next_point;		    /* the next PSB of which nothing was told; UINT64_MAX = none */
	struct pt_point next;		    /* … what stands behind it … */
	uint64_t next_end;		    /* … up to there */
	uint32_t ratio, ratio_told;	    /* core to bus */

	/* Samples of instructions. */
	uint64_t count, sampled_count; /* instructions, and as many were there at the last sample */
	uint64_t next_ticks;	       /* when the next one is due, or … */
	uint64_t next_count;	       /* … at which instruction */

	/* Behind an error. */
	struct pt_walk walk;
	enum pt_error error; /* of which nothing was told yet */
	bool error_passed;   /* so is the packet with which it was found out */
	struct dso *missing; /* the file without code that was asked for last; NULL = there is a file */
	uint64_t kept_ip;    /* where it runs if nothing else is told; 0 = unknown */
	bool told_damage;
	uint8_t mode;		      /* payload of a MODE.Exec packet: which kind of code */
	uint64_t calls[PT_CALLS_MAX]; /* return addresses, innermost last */
	unsigned int call_count;
	unsigned int prelude; /* calls of which libipt is still to be told: the last ones */
	bool prelude_stops;   /* with a pause behind it */
};

/* ── pt_samples.c ── */

/* `size`: of the instruction at `from`. */
void pt_put_branch(struct trace_queue *queue, uint64_t from, uint64_t to, uint32_t flags, unsigned int size);
void pt_put_raw(struct trace_queue *queue, enum made_raw kind, uint64_t ip, uint32_t flags, uint64_t payload, size_t payload_size);
void pt_put_power(struct trace_queue *queue, const struct pt_event *event, uint64_t ip);
/* The ratio of the core's clock to the bus, if it has changed. */
void pt_put_ratio(struct trace_queue *queue, uint64_t ip, uint32_t ratio);
/* At `ip` one began, ended or was given up. */
void pt_put_transaction(struct trace_queue *queue, const struct pt_event *event, uint64_t ip);
void pt_put_instruction(struct trace_queue *queue, const struct pt_insn *insn);
void pt_put_point(struct trace_queue *queue, uint64_t offset, const struct pt_point *point);
/* Of enum traced_flag. */
uint32_t pt_flags_of(const struct pt_insn *insn);

/* ── pt_sync.c ── */

/* Takes the trace from its beginning. */
void pt_begin_trace(struct trace_queue *queue, const uint8_t *trace, uint64_t size);
void pt_end_trace(struct pt_queue *own);
/* What runs from now on does so at this time. */
void pt_take_ticks(struct pt_queue *own, uint64_t ticks);
/* Counts and tells an error. */
void pt_tell_error(struct trace_queue *queue, enum pt_error error, uint64_t ip);
/* It can't be followed any further from the instruction at `ip` on. */
void pt_lose_track(struct trace_queue *queue, enum pt_error error, uint64_t ip);
/* A part of the way to where it can be followed: own->synced, or the status -pte_eos. */
void pt_synchronize(struct trace_queue *queue);
/* libipt has come to `now`: tells of points of synchronization that are passed. */
void pt_tell_points(struct trace_queue *queue);
/* Code of the prelude (pt_sync.c) at `ip`; 0 = there is none. */
size_t pt_prelude_code(const struct pt_queue *own, uint64_t ip, uint8_t *ret);

/* ── pt_steps.c ── */

void pt_step(struct trace_queue *queue);

/* ── pt.c ── */

int pt_read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context);
/* The next piece of a snapshot; false: there is none. */
bool pt_next_piece(struct trace_queue *queue);
