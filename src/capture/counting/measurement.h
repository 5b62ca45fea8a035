/* The time of one measurement with counters: a workload is let go, and then its end is waited for, or that of the last of the threads that
 * are watched, a timer, a signal, or somebody who says stop. Meanwhile intervals end, and events are switched on and off.
 *
 *	measurement_open(&options, &measurement);	from here on signals wait
 *	…						counters are opened
 *	measurement_run(&measurement);
 *	…						counters are read for the last time
 *	measurement_close(&measurement);
 *
 * Where nothing happens in between, measurement_take() is all of that.
 */
#pragma once

#include "base/error.h"
#include "capture/control.h"
#include "event/event.h"
#include "kernel/poller.h"
#include "kernel/proc.h"
#include "kernel/workload.h"

#include <stdbool.h>
#include <stdint.h>

struct measurement_options {
	struct workload *workload;	  /* started and held; NULL = none */
	const struct pid_list *threads;	  /* the measurement ends with the last of them; NULL = none is watched */
	const struct event_list *events;  /* what control's evlist lists */
	const char *control;		  /* as --control says; NULL = none */
	uint64_t interval_ns, timeout_ns; /* 0 = none */
	uint64_t delay_ns;		  /* until events are switched on; 0 = that isn't left to this */
	/* Right before the workload is let go: counters that its exec does not enable are enabled here. */
	void (*begin)(void *context);
	/* One event by its name, or all of them (""): after the delay, and by control. */
	void (*switch_events)(void *context, const char *name, bool on);
	/* An interval is over. *ret_enough: it was the last one, the measurement is to end. An error ends it as well. */
	struct error *(*end_interval)(void *context, bool *ret_enough);
	void *context;
};

enum { MEASUREMENT_TIMERS = 3 };

struct measurement {
	const struct measurement_options *options; /* the caller's */
	/* How it ended. */
	int signal;	/* that ended it, or 0 */
	bool stopped;	/* by a signal or by control: no other one should follow */
	bool cut;	/* we ended it, not the workload's end or a signal */
	bool timed_out; /* … after timeout_ns */
	/* Private. */
	struct poller poller;
	struct control control;
	int timers[MEASUREMENT_TIMERS];
	int thread;	  /* the one whose end is waited for; < 0 = none */
	size_t watched;	  /* threads that had their turn */
	bool unwatchable; /* among them are some whose end cannot be seen */
	bool done, interrupted;
	struct error *error;
};

/* After an error measurement_close() is needed all the same. */
struct error *measurement_open(const struct measurement_options *options, struct measurement *measurement);
struct error *measurement_run(struct measurement *measurement);
void measurement_close(struct measurement *measurement);
/* A whole one. *ret_signal: the signal that ended it, or 0; set after an error, too. */
struct error *measurement_take(const struct measurement_options *options, int *ret_signal);
