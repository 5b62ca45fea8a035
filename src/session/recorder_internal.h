/* The recorder's parts: within session/recorder*.c. */
#pragma once

#include "base/strbuf.h"
#include "kernel/poller.h"
#include "kernel/ring_set.h"
#include "session/control.h"
#include "session/recorder.h"

struct recorder {
	const struct recorder_options *options;
	struct event_list *events;
	struct counters *counters;
	struct workload *workload;
	struct ring_set rings;
	struct writer *writer;
	struct control control;
	struct poller poller;
	int timer_delay, timer_switch;
	size_t trailer;		/* sample_id bytes of our own records */
	uint64_t *lost_written; /* by event × slot: what was noted in earlier outputs */
	size_t alive;		/* threads of the target that still run; only where that matters */
	struct recorder_totals totals;
	char **old_files; /* of --switch-output, oldest first */
	size_t old_file_count;
	bool stop;
	bool switch_wanted;
	bool snapshot_wanted;
};

/* recorder_output.c: files */
struct error *recorder_open_output(struct recorder *recorder);
struct error *recorder_close_output(struct recorder *recorder);
struct error *recorder_switch_output(struct recorder *recorder);
/* recorder_synth.c */
struct error *recorder_synthesize(struct recorder *recorder);
/* The same in two steps: look now, write to an output that is opened later. */
void recorder_take_tasks(struct recorder *recorder, struct strbuf *records);
struct error *recorder_write_init(struct recorder *recorder, const struct strbuf *tasks);
struct error *recorder_write_lost(struct recorder *recorder);
/* recorder.c: nothing is written before the end or a snapshot, so what runs already is looked at then. */
bool recorder_overwrites_all(const struct recorder *recorder);
/* recorder.c: takes what is in the rings. *ret_bytes: how much it was. */
struct error *recorder_drain(struct recorder *recorder, bool all, uint64_t *ret_bytes);
