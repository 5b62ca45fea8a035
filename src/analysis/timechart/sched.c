/* Scheduler and power events of a timechart. */
#include "analysis/timechart/timechart_internal.h"

enum { INTERRUPT_FLAGS = 0x08 | 0x10 }; /* common_flags: in a hard or a soft interrupt (include/linux/trace_events.h) */

static void add_span(struct timechart_row *row, enum timechart_kind kind, uint32_t cpu, uint64_t begin, uint64_t end, uint32_t stack)
{
	if (end < begin)
		return;
	vec_push(&row->spans, (struct timechart_span){.begin = begin, .end = end, .kind = kind, .cpu = cpu, .stack = stack});
	row->times[kind] += end - begin;
	timechart_begin_row(row, begin);
}

static enum timechart_kind kind_of(enum timechart_state state)
{
	return state == STATE_BLOCKED ? TIMECHART_BLOCKED : state == STATE_RUNNING ? TIMECHART_RUNNING : TIMECHART_WAITING;
}

/* ---- the scheduler ---- */

void timechart_on_switch(void *context, const struct tracker_event *event)
{
	enum { UNINTERRUPTIBLE = 2 }; /* of prev_state */
	struct timechart_maker *maker = context;
	uint32_t stack = timechart_stack(maker, event);
	uint64_t time = event->record->time, state = event->values[2];
	uint32_t cpu = event->cpu;
	struct timechart_own_row *last = timechart_known_row(maker, (uint32_t)event->values[0]);
	struct timechart_own_row *next = timechart_known_row(maker, (uint32_t)event->values[1]);
	if (last && last->state != STATE_NONE)
		add_span(&last->row, TIMECHART_RUNNING, cpu, last->since, time, stack);
	if (next) {
		if (next->state != STATE_NONE)
			add_span(&next->row, kind_of(next->state), cpu, next->since, time, stack);
		next->since = time;
		next->state = STATE_RUNNING;
	}
	if (last) {
		last->since = time;
		last->state = state & UNINTERRUPTIBLE ? STATE_BLOCKED : state ? STATE_NONE : STATE_WAITING;
	}
}

static void wake(struct timechart_own_row *row, const struct tracker_event *event)
{
	if (row->state == STATE_BLOCKED)
		add_span(&row->row, TIMECHART_BLOCKED, event->cpu, row->since, event->record->time, 0);
	else if (row->state != STATE_NONE)
		return;
	row->since = event->record->time;
	row->state = STATE_WAITING;
}

void timechart_on_wakeup(void *context, const struct tracker_event *event)
{
	struct timechart_maker *maker = context;
	uint32_t wakee = (uint32_t)event->values[0], waker = (uint32_t)event->values[1];
	struct timechart_own_row *row = timechart_known_row(maker, wakee), *other = timechart_known_row(maker, waker);
	const struct timechart_wakeup wakeup = {
		.time = event->record->time,
		.waker = waker,
		.wakee = wakee,
		.waker_row = other ? &other->row : NULL,
		.wakee_row = row ? &row->row : NULL,
		.interrupt = event->values[2] & INTERRUPT_FLAGS,
		.stack = timechart_stack(maker, event),
	};
	vec_push(&maker->chart->wakeups, wakeup);
	if (row)
		wake(row, event);
}

/* ---- power ---- */

/* NULL for a CPU that can't be. */
static struct timechart_power_state *cpu_of(struct timechart_maker *maker, uint64_t cpu)
{
	if (cpu >= TIMECHART_CPUS)
		return NULL;
	while (maker->cpus.len <= cpu)
		vec_push(&maker->cpus, (struct timechart_power_state){0});
	return &maker->cpus.data[cpu];
}

void timechart_on_idle(void *context, const struct tracker_event *event)
{
	enum { AWAKE = UINT32_MAX };
	struct timechart_maker *maker = context;
	struct timechart_power_state *cpu = cpu_of(maker, event->values[1]);
	uint32_t state = (uint32_t)event->values[0];
	if (!cpu)
		return;
	if (state == AWAKE && cpu->idle_since)
		vec_push(&maker->chart->power, (struct timechart_power){.begin = cpu->idle_since,
									.end = event->record->time,
									.cpu = (uint32_t)event->values[1],
									.idle = true,
									.state = cpu->idle});
	cpu->idle_since = state == AWAKE ? 0 : event->record->time;
	cpu->idle = state;
}

static void end_frequency(struct timechart_maker *maker, uint32_t number, uint64_t time)
{
	const struct timechart_power_state *cpu = &maker->cpus.data[number];
	const struct timechart_power power = {
		.begin = cpu->khz_since ? cpu->khz_since : maker->chart->begin, .end = time, .cpu = number, .state = cpu->khz};
	vec_push(&maker->chart->power, power);
}

void timechart_on_frequency(void *context, const struct tracker_event *event)
{
	enum { MOST_KHZ = 100000000 }; /* more is no frequency */
	struct timechart_maker *maker = context;
	uint64_t khz = event->values[0];
	struct timechart_power_state *cpu = cpu_of(maker, event->values[1]);
	if (!cpu || khz > MOST_KHZ)
		return;
	end_frequency(maker, (uint32_t)event->values[1], event->record->time);
	cpu->khz = khz;
	cpu->khz_since = event->record->time;
	if (khz > maker->chart->most_khz)
		maker->chart->most_khz = khz;
}

void timechart_end_power(struct timechart_maker *maker)
{
	for (uint32_t cpu = 0; cpu < maker->cpus.len; cpu++)
		if (maker->cpus.data[cpu].khz)
			end_frequency(maker, cpu, maker->chart->end);
}
