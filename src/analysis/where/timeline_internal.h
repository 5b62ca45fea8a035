/* While the timelines are built: what events of all kinds tell of threads. */
#pragma once

#include "analysis/where/devices.h"
#include "analysis/where/runs.h"
#include "analysis/where/timeline.h"

/* Stacks that were told of by number. */
struct where_switches {
	struct map64 places;	   /* → place */
	struct map64 parts;	   /* → in `chains` */
	const struct event *whole; /* the event whose samples have stacks; NULL = none has come yet */
	VEC(uint64_t *) chains;	   /* of the kernel, as samples have them, each behind its count */
	VEC(uint64_t) chain;	   /* scratch */
};

struct where_build {
	struct session *session;
	struct where_timeline *timeline;
	const struct where_options *options;
	struct tracker *tracker;
	struct where_devices devices;
	struct where_runs runs;
	struct map64 by_part; /* with sampled stacks: thread and place without the program's part → in `wholes` */
	VEC(const struct where_place *) wholes;
	uint64_t first, last; /* times of events */
	struct where_switches switches;
	struct map64 raised; /* address of the kernel → 1: soft interrupts below it are of whoever is there, 2: of a hard one */
	bool is_root_sure;   /* the workload was found and is not another recorder's */
};

void where_note_time(struct where_build *build, uint64_t time);
struct where_thread *where_thread_at(struct where_build *build, uint32_t tid, uint64_t time);

/* The place with the program's part that a thread, or any of its process, was last seen at with this part of the kernel's. */
void where_learn_whole(struct where_build *build, const struct where_thread *thread, const struct where_place *part,
		       const struct where_place *whole);
/* … or the part itself. */
const struct where_place *where_likely_whole(struct where_build *build, const struct where_thread *thread, const struct where_place *part);

/* A thread leaves the CPU. */
struct where_leaving {
	uint64_t time, model_time;
	const struct where_place *place; /* NULL = not known */
	bool has_copy;			 /* … with the program's part of the stack */
	bool goes_on;			 /* it could have gone on */
	bool has_argument;
	uint64_t argument; /* of its system call */
};
void where_leave(struct where_build *build, struct where_thread *thread, const struct where_leaving *leaving);
/* It gets this CPU. */
void where_come_back(struct where_build *build, struct where_thread *thread, uint64_t time, uint64_t model_time, uint32_t cpu);

/* Somebody wakes a thread up: what ran then, and whether in an interrupt of it. */
void where_wake(struct where_build *build, uint32_t woken, const struct where_waking *waking, uint64_t model_time);

/* switches.c: with options->next_switch. All before `until` that wasn't taken yet. */
void where_switches_take(struct where_build *build, uint64_t until);
/* Whether a sample is one that tells of a stack, and what to do with it. */
bool where_switches_have(const struct event *event);
void where_switches_learn(struct where_build *build, const struct record *record);
void where_switches_deinit(struct where_switches *switches);
