/* libopencsd in a process of its own. Within analysis/itrace.
 *
 * Damaged traces make the library read and write where it must not: two packets suffice. So it works in a process that has nothing but
 * the trace, and tells what it finds; where that process ends early, another one begins behind the block of trace that did it.
 *
 *	perf ◄── elements, "which code is there?", where it is ── process with libopencsd
 *	     ── code ──► */
#pragma once

#include "analysis/itrace/coresight_library.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct strbuf;
struct trace_piece;

enum { CORESIGHT_MESSAGES = 256, CORESIGHT_CODE_MAX = 4096 };

struct coresight_message {
	enum {
		CORESIGHT_ELEMENT,
		CORESIGHT_CODE,	 /* is to be answered */
		CORESIGHT_ERROR, /* bytes that make no sense */
		CORESIGHT_LOSS,	 /* the process has ended early: what comes next has nothing to do with what was before */
		CORESIGHT_PLACE, /* for this module alone */
	} kind;
	uint8_t id; /* of the stream; not of errors */
	union {
		ocsd_generic_trace_elem element;
		struct {
			uint64_t address;
			uint32_t size;
		};
		struct coresight_place {
			size_t piece;
			uint64_t offset;
			uint64_t index; /* of the whole trace */
		} place;
	};
};

struct coresight_code {
	uint32_t size;
	uint8_t bytes[CORESIGHT_CODE_MAX];
};

struct coresight_process {
	dcd_tree_handle_t tree; /* the caller's, with decoders; deinit() destroys it */
	const struct trace_piece *pieces;
	size_t piece_count;
	struct coresight_place place; /* all before is decoded */
	uint64_t errors;
	pid_t pid;     /* 0 = none runs */
	int from, to;  /* pipes, of whoever looks */
	size_t filled; /* bytes of messages */
	struct coresight_message messages[CORESIGHT_MESSAGES];
	/* Of code: the last that was read, and how much without a gap before it. */
	uint64_t read_at, read_size, walked;
};

/* The tree is there. */
void coresight_process_init(struct coresight_process *process, const struct trace_piece *pieces, size_t piece_count);
void coresight_process_deinit(struct coresight_process *process);
/* Waits for messages. 0: all is decoded, or too little of it makes sense. */
size_t coresight_process_next(struct coresight_process *process, const struct coresight_message **ret);
void coresight_process_answer(struct coresight_process *process, const struct coresight_code *code);

/* Has `work` done in such a process, which writes text with coresight_write(): the whole lines of the first `most` bytes that it wrote, and
 * how many bytes were left out. False: it gave up, or died. */
bool coresight_process_collect(bool (*work)(void *context, int to), void *context, size_t most, struct strbuf *out, size_t *ret_left_out);
/* False: the other end is gone. */
bool coresight_write(int fd, const void *data, size_t size);
