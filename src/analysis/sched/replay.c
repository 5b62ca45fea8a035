/* Makes a pattern of scheduler events (replay.h). A wake-up gets a number when it comes, and the sleep that it ends the same one: so sleeps
 * that nobody ended are no steps, and no thread waits for ever. */
#include "analysis/sched/replay.h"

#include "analysis/tracker.h"
#include "base/mem.h"

#include <stdlib.h>

enum { MOST_CPUS = 1 << 12 };

static struct sched_actor *idle_of(struct sched_replay *replay, uint32_t cpu)
{
	if (cpu >= MOST_CPUS)
		return NULL;
	while (replay->idle.len <= cpu)
		vec_push(&replay->idle, NULL);
	struct sched_actor **idle = &replay->idle.data[cpu];
	if (!*idle) {
		*idle = mem_zalloc(sizeof(**idle));
		**idle = (struct sched_actor){.head.tid = cpu, .comm = untrusted("swapper"), .idle = true};
	}
	return *idle;
}

/* A task, by the number that events have: 0 is the idle task of their CPU. NULL for broken ones. */
static struct sched_actor *actor_of(struct sched_replay *replay, uint32_t tid, const struct tracker_event *event)
{
	if (!tid)
		return idle_of(replay, event->cpu);
	struct sched_actor *actor = sched_tasks_get(&replay->tasks, tid, event->record->model_time, NULL);
	actor->comm = thread_comm(actor->head.thread, event->record->model_time);
	return actor;
}

static void add_step(struct sched_actor *actor, struct sched_step step)
{
	vec_push(&actor->steps, step);
}

/* It has run until now. */
static void note_run(struct sched_replay *replay, struct sched_actor *actor, uint64_t now)
{
	if (actor->since && now > actor->since) {
		add_step(actor, (struct sched_step){SCHED_STEP_RUN, {.ns = now - actor->since}});
		replay->runs++;
	}
	actor->since = now;
}

static void on_switch(void *context, const struct tracker_event *event)
{
	struct sched_replay *replay = context;
	struct sched_actor *prev = actor_of(replay, (uint32_t)event->values[0], event);
	struct sched_actor *next = actor_of(replay, (uint32_t)event->values[2], event);
	if (!prev || !next)
		return;
	replay->switches++;
	note_run(replay, prev, event->time);
	prev->since = 0;
	prev->asleep = !prev->idle && sched_state_letter(event->values[1]) != 'R';
	next->since = event->time;
	next->asleep = false;
}

static void on_wakeup(void *context, const struct tracker_event *event)
{
	struct sched_replay *replay = context;
	struct sched_actor *woken = event->values[0] ? actor_of(replay, (uint32_t)event->values[0], event) : NULL;
	struct sched_actor *waker = actor_of(replay, event->tid, event);
	if (!woken || !waker || waker == woken || !woken->asleep || replay->wakeups == UINT32_MAX)
		return;
	woken->asleep = false;
	if (waker->since)
		note_run(replay, waker, event->time);
	add_step(waker, (struct sched_step){SCHED_STEP_WAKE, {.wakeup = replay->wakeups}});
	add_step(woken, (struct sched_step){SCHED_STEP_SLEEP, {.wakeup = replay->wakeups++}});
	replay->sleeps++;
}

static void list_actors(struct sched_replay *replay)
{
	for (size_t i = 0; i < replay->idle.len; i++)
		if (replay->idle.data[i] && replay->idle.data[i]->steps.len)
			vec_push(&replay->all, replay->idle.data[i]);
	for (size_t i = 0; i < replay->tasks.all.len; i++) {
		struct sched_actor *actor = (struct sched_actor *)replay->tasks.all.data[i];
		if (actor->steps.len)
			vec_push(&replay->all, actor);
	}
}

struct error *sched_replay_create(struct session *session, struct sched_replay **ret)
{
	static const struct tracker_handler handlers[] = {
		{"sched:sched_switch", {"prev_pid", "prev_state", "next_pid"}, on_switch},
		{"sched:sched_waking", {"pid"}, on_wakeup},
		{"sched:sched_wakeup", {"pid"}, on_wakeup, .unless = "sched:sched_waking"},
		{0},
	};
	struct sched_replay *replay = mem_zalloc(sizeof(*replay));
	struct tracker *events = tracker_create(session, handlers, replay);
	sched_tasks_init(&replay->tasks, session->machine, sizeof(struct sched_actor));
	struct error *error = tracker_require(events, "sched:sched_switch", "perf sched record");
	if (!error)
		error = tracker_run(events);
	tracker_destroy(events);
	if (error) {
		sched_replay_destroy(replay);
		return error;
	}
	list_actors(replay);
	*ret = replay;
	return NULL;
}

void sched_replay_destroy(struct sched_replay *replay)
{
	if (!replay)
		return;
	for (size_t i = 0; i < replay->idle.len; i++) {
		if (replay->idle.data[i])
			vec_deinit(&replay->idle.data[i]->steps);
		free(replay->idle.data[i]);
	}
	for (size_t i = 0; i < replay->tasks.all.len; i++)
		vec_deinit(&((struct sched_actor *)replay->tasks.all.data[i])->steps);
	vec_deinit(&replay->idle);
	vec_deinit(&replay->all);
	sched_tasks_deinit(&replay->tasks);
	free(replay);
}
