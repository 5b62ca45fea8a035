/* Parts of the making of a timechart. */
#pragma once

#include "analysis/stack.h"
#include "analysis/timechart/timechart.h"
#include "analysis/tracker.h"
#include "base/hash.h"
#include "base/intern.h"

/* A thread; its id may be used again by another one, which then is the same. */
struct timechart_task {
	uint32_t tid, parent;
	uint64_t begin, end;	   /* 0 = unknown */
	struct timechart_row *row; /* of its present name, or NULL */
	const char *name;	   /* … which is interned */
};

/* What a thread does, kept by row: a row that comes back later goes on with it. */
enum timechart_state { STATE_NONE, STATE_RUNNING, STATE_WAITING, STATE_BLOCKED };

struct timechart_own_row {
	struct timechart_row row;
	enum timechart_state state;
	uint64_t since;
	bool in_call; /* the last span hasn't ended */
};

/* What timechart_create() gives, with what its rows point to. */
struct timechart_own {
	struct timechart chart;
	struct intern names, stacks;
};

/* Of a CPU. */
struct timechart_power_state {
	uint64_t idle_since, idle; /* 0 = not idle */
	uint64_t khz_since, khz;   /* 0 = since the beginning; unknown */
};

struct timechart_maker {
	struct session *session;
	struct resolver *resolver;
	const struct timechart_options *options;
	struct timechart *chart;
	struct map64 tasks; /* by tid → struct timechart_task * */
	struct map64 rows;  /* by tid and name → struct timechart_own_row * */
	struct intern *names, *stacks;
	struct map64 by_chain; /* stack_chain_key() → what timechart_stack() gives */
	struct map64 numbers;  /* text of a stack, which is interned → the same */
	VEC(struct timechart_power_state) cpus;
	VEC(uint8_t) calls; /* by event index: what kind of system call, plus 2; 1 = none; 0 = not looked for */
	struct stack stack;
	uint64_t call_count; /* system calls that have ended */
};

/* CPUs of a recording may have any number: those from here on are left out. */
enum { TIMECHART_CPUS = 4096 };

/* tasks.c */
struct timechart_task *timechart_task(struct timechart_maker *maker, uint32_t tid);
/* The row of the thread's present name, or NULL while that is unknown; timechart_row() makes one without a name then. */
struct timechart_own_row *timechart_known_row(struct timechart_maker *maker, uint32_t tid);
struct timechart_own_row *timechart_row(struct timechart_maker *maker, uint32_t tid);
/* COMM, FORK and EXIT records. */
void timechart_take_task_record(struct timechart_maker *maker, const struct record *record);
/* A thread that is first seen at `time`. */
void timechart_begin_row(struct timechart_row *row, uint64_t time);

/* sched.c */
void timechart_on_switch(void *context, const struct tracker_event *event);
void timechart_on_wakeup(void *context, const struct tracker_event *event);
void timechart_on_idle(void *context, const struct tracker_event *event);
void timechart_on_frequency(void *context, const struct tracker_event *event);
/* Frequencies last until the end. */
void timechart_end_power(struct timechart_maker *maker);
/* io.c */
void timechart_on_enter(void *context, const struct tracker_event *event);
void timechart_on_exit(void *context, const struct tracker_event *event);
/* The last span, a call that hasn't come back. */
void timechart_drop_call(struct timechart_row *row);
/* timechart.c: the sample's stack, a number of chart->stacks. */
uint32_t timechart_stack(struct timechart_maker *maker, const struct tracker_event *event);

/* choose.c: the order of rows, their ends, and which are shown. */
void timechart_choose(struct timechart *chart, const struct timechart_options *options);
/* Where each CPU is drawn, by the recording's topology. */
void timechart_place_cpus(struct timechart *chart, const struct features *features);
