/* The pump. One thread, one epoll_wait(): a ring's wake-up (the kernel gives it when the ring is half full), the workload's end, a signal,
 * a timer, a command. After each wake-up all rings are drained, and rounds are marked (rounds.h), so that readers can sort what came before. What
 * isn't done here: files (recorder_output.c), side-band (recorder_synth.c), deciding what to measure (cmd/record.c). */
#include "session/recorder_internal.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "kernel/cpus.h"
#include "kernel/limits.h"
#include "kernel/refusal.h"
#include "session/synth.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS_BEHIND = 3 };

/* 512 KB a ring is what everybody may lock. Where records come thick (copies of stacks, those of any size most of all) and fast, who isn't limited gets
 * rings that bear with a busy machine, as long as all together stay small. */
static size_t default_ring_bytes(const struct recorder *recorder)
{
	enum { SMALL = 512 << 10, LARGE = 2 << 20, LARGEST = 8 << 20, TOGETHER = 64 << 20 };
	const struct counter_target *target = &recorder->counters->target;
	size_t rings = target->cpus[0] < 0 ? target->thread_count : target->cpu_count;
	bool many = target->threads[0] < 0;

	for (size_t i = 0; i < recorder->events->events.len; i++) {
		const struct event_attr *attr = &recorder->events->events.data[i]->attr;
		many |= attr->type == PERF_TYPE_TRACEPOINT || attr->sample_type & PERF_SAMPLE_STACK_USER;
	}
	if (!many || !limits_has_perfmon())
		return SMALL;
	size_t wanted = recorder->sizes && rings * LARGEST <= TOGETHER ? LARGEST : LARGE;
	return rings * wanted <= TOGETHER ? wanted : SMALL;
}

bool recorder_overwrites_all(const struct recorder *recorder)
{
	return recorder->rings.overwritten == recorder->rings.count;
}

static struct error *open_rings(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;
	size_t count = recorder->every.len;
	cleanup_free struct ring_set_counter *list = mem_alloc_array(count, sizeof(*list));
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const struct counter_target *target = &recorder->counters->target;
	size_t wanted = default_ring_bytes(recorder);
	size_t pages = options->ring_pages ? options->ring_pages : wanted / page;
	int status;

	for (size_t i = 0; i < count; i++)
		list[i] = (struct ring_set_counter){.counter = recorder->every.data[i].counter,
						    .overwrite = recorder->events->events.data[recorder->every.data[i].event]->attr.write_backward};
	for (;;) {
		status = ring_set_open(&recorder->rings, list, count, target, pages);
		if (status != -EPERM || options->ring_pages || pages == 1)
			break;
		pages /= 2; /* more than this user may lock: a smaller ring is better than none */
	}
	if (status < 0)
		return refusal_explain_ring(-status, pages, target->cpu_count);
	log_info("%zu buffers of %zu KB", recorder->rings.count, pages * page / 1024);
	if (pages * page < wanted && !options->ring_pages)
		log_info("buffers of %zu KB for each CPU: kernel.perf_event_mlock_kb allows no more", pages * page / 1024);
	return NULL;
}

static struct error *open_counters(struct recorder *recorder)
{
	struct recorder_counter more;
	struct error *error = NULL;

	for (unsigned int i = 0; i < recorder->counters->count; i++)
		vec_push(&recorder->every, (struct recorder_counter){&recorder->counters->each[i], i});
	if (stack_sizes_wanted(recorder->events))
		error = stack_sizes_open(recorder->events, recorder->counters, &recorder->sizes);
	for (size_t i = 0; stack_sizes_counter(recorder->sizes, i, &more.counter, &more.event); i++)
		vec_push(&recorder->every, more);
	return error;
}

/* One descriptor of each ring is watched, and never more than one: asking the kernel about a descriptor takes back that there is something in its ring, so a
 * second one would not be told. It hangs up when its thread has ended; then the next one's turn comes. */
static void watch_rings(struct recorder *recorder)
{
	/* A target of threads is gone when nobody is left to write into any ring. */
	recorder->ends_with_target = recorder->counters->target.threads[0] >= 0 && !(recorder->workload && recorder->options->is_workload_target);
	recorder->alive = recorder->rings.count;
	for (size_t i = 0; i < recorder->rings.count && !recorder->tracks; i++)
		recorder_watch_next_member(&recorder->poller, &recorder->rings.rings[i], recorder_tag(SOURCE_RING, i));
}

struct error *recorder_create(const struct recorder_options *options, struct event_list *events, struct counters *counters,
			      struct workload *workload, struct recorder **ret)
{
	struct recorder *recorder = mem_zalloc(sizeof(*recorder));
	struct error *error = NULL;

	recorder->options = options;
	recorder->events = events;
	recorder->counters = counters;
	recorder->workload = workload;
	recorder->timer_edge = recorder->timer_switch = recorder->timer_drain = recorder->affinity_cpu = -1;
	recorder->trailer = synth_trailer_size(&events->events.data[0]->attr);
	control_init(&recorder->control);
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR2, SIGCHLD, 0};
	poller_open(&recorder->poller);
	poller_take_signals(&recorder->poller, signals, recorder_tag(SOURCE_SIGNAL, 0));
	error = open_counters(recorder);
	if (!error)
		error = open_rings(recorder);
	if (!error && recorder->sizes)
		recorder->shorter = mem_zalloc_array(recorder->rings.count, sizeof(*recorder->shorter));
	if (!error && options->control)
		error = control_open(&recorder->control, options->control);
	if (!error)
		error = recorder_open_trigger(recorder);
	if (!error)
		error = recorder_open_tracks(recorder);
	if (!error)
		error = recorder_open_output(recorder);
	if (!error)
		error = recorder_open_track_files(recorder);
	if (!error)
		error = recorder_open_async(recorder);
	if (error) {
		recorder_destroy(recorder);
		return error;
	}
	watch_rings(recorder);
	poller_watch(&recorder->poller, recorder->control.in, EPOLLIN, recorder_tag(SOURCE_CONTROL, 0));
	*ret = recorder;
	return NULL;
}

struct error *recorder_drain_ring(struct recorder *recorder, struct ring *ring, struct writer *writer, uint64_t *bytes)
{
	struct iovec pieces[2];
	int count;

	if (ring->overwrite)
		ring_pause(ring, true);
	count = ring_read(ring, pieces);
	if (count && recorder->sizes) {
		struct strbuf *shorter = &recorder->shorter[ring - recorder->rings.rings];
		strbuf_clear(shorter);
		stack_sizes_take(recorder->sizes, pieces, count, shorter);
		pieces[0] = (struct iovec){shorter->data, shorter->len};
		count = 1;
	}
	struct error *error = NULL;
	if (count)
		error = recorder->async ? recorder_async_append(recorder, pieces, count) : writer_append(writer, pieces, count);
	for (int i = 0; i < count; i++)
		*bytes += pieces[i].iov_len;
	if (!error)
		ring_consume(ring);
	if (ring->overwrite)
		ring_pause(ring, false);
	return error;
}

/* --affinity: near the ring's memory, which is where its CPU is. */
static void move_near(struct recorder *recorder, const struct ring *ring)
{
	cpu_set_t wanted;

	if (recorder->options->affinity == AFFINITY_FREE || ring->cpu < 0 || ring->cpu == recorder->affinity_cpu)
		return;
	if (recorder->affinity_cpu < 0)
		sched_getaffinity(0, sizeof(recorder->affinity), &recorder->affinity);
	recorder->affinity_cpu = ring->cpu;
	CPU_ZERO(&wanted);
	CPU_SET((size_t)ring->cpu, &wanted);
	if (recorder->options->affinity == AFFINITY_NODE)
		cpus_mates(ring->cpu, CPUS_OF_NODE, &wanted);
	sched_setaffinity(0, sizeof(wanted), &wanted);
}

/* A pass over the rings that took `bytes` has ended. */
static struct error *end_pass(struct recorder *recorder, uint64_t begun_ns, uint64_t bytes)
{
	/* What comes at the end from rings that are overwritten is older than the rounds of the others would allow. */
	bool rounds = !recorder->rings.overwritten || recorder_overwrites_all(recorder);
	/* Readers show a round when they have seen the next ones: who waits for the stream gets these though nothing happens. */
	bool waited_for = recorder->options->drain_every_ns && recorder->empty_rounds < ROUNDS_BEHIND;

	if (bytes)
		recorder->empty_rounds = 0;
	else if (!waited_for)
		return NULL;
	bool mark = rounds && rounds_end(&recorder->marks, begun_ns, clock_now_ns(CLOCK_MONOTONIC));
	if (!bytes) {
		recorder->empty_rounds += mark;
		struct error *error = mark ? recorder_async_settle(recorder) : NULL;
		return mark && !error ? writer_add_empty_round(recorder->writer) : error;
	}
	if (recorder->async)
		return recorder_async_finish(recorder, mark);
	return mark ? writer_finish_round(recorder->writer) : writer_flush(recorder->writer);
}

struct error *recorder_drain(struct recorder *recorder, bool all, uint64_t *ret_bytes)
{
	uint64_t bytes = 0, begun = clock_now_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < recorder->rings.count; i++) {
		struct ring *ring = &recorder->rings.rings[i];
		if (!all && (ring->overwrite || ring_pending(ring) < recorder->options->flush_bytes))
			continue;
		move_near(recorder, ring);
		struct error *error = recorder_drain_ring(recorder, ring, recorder->writer, &bytes);
		if (error)
			return error;
	}
	*ret_bytes = bytes;
	return end_pass(recorder, begun, bytes);
}

static void switch_counters(struct recorder *recorder, const char *name, bool on)
{
	if (recorder->sizes)
		stack_sizes_switch(recorder->sizes, name, on);
	else
		counters_switch(recorder->counters, recorder->events, name, on);
}

/* Sets the timer of the next edge. */
static void await_edge(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;

	if (recorder->timer_edge >= 0)
		close(recorder->timer_edge);
	recorder->timer_edge = -1;
	if (recorder->edge == options->edges_ms.len)
		return;
	uint64_t now = recorder->edge ? options->edges_ms.data[recorder->edge - 1] : 0;
	recorder->timer_edge = poller_timer(&recorder->poller, (options->edges_ms.data[recorder->edge] - now) * 1000000u, 0, recorder_tag(SOURCE_EDGE, 0));
}

static struct error *start(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;
	struct error *error = NULL;

	if (options->start_disabled) {
		if (!options->quiet)
			fprintf(stderr, "Events disabled\n");
	} else if (!options->is_workload_target) {
		switch_counters(recorder, "", true); /* no exec enables them */
	}
	if (options->trigger)
		counters_enable(options->trigger, options->trigger_events);
	if (recorder->workload)
		error = workload_release(recorder->workload);
	await_edge(recorder);
	if (options->switch_time_ns) {
		recorder->timer_switch = poller_timer(&recorder->poller, options->switch_time_ns, options->switch_time_ns, recorder_tag(SOURCE_SWITCH, 0));
	}
	if (options->drain_every_ns)
		recorder->timer_drain = poller_timer(&recorder->poller, options->drain_every_ns, options->drain_every_ns, recorder_tag(SOURCE_DRAIN, 0));
	return error;
}

/* It is left for whoever started it to wait for. */
static bool reader_ended(const struct recorder_options *options)
{
	siginfo_t info = {0};

	return options->reader && waitid(P_PID, (id_t)options->reader, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
}

static void take_signals(struct recorder *recorder)
{
	struct signalfd_siginfo info;

	while (poller_next_signal(&recorder->poller, &info)) {
		if (info.ssi_signo == SIGCHLD) {
			recorder->stop |= (recorder->workload && workload_ended(recorder->workload)) || reader_ended(recorder->options);
		} else if (info.ssi_signo != SIGUSR2) {
			recorder->stop = true;
			recorder->totals.signal = (int)info.ssi_signo;
		} else if (recorder->options->switch_output && !recorder->options->switch_size && !recorder->options->switch_time_ns) {
			recorder->switch_wanted = true;
		} else if (recorder->rings.overwritten) {
			recorder->snapshot_wanted = true;
		}
	}
}

/* "enable NAME": one event only. */
static void switch_events(void *context, const char *name, bool on)
{
	struct recorder *recorder = context;

	switch_counters(recorder, name, on);
	if (!recorder->options->quiet && !*name)
		fprintf(stderr, "Events %s\n", on ? "enabled" : "disabled");
}

static void want_snapshot(void *context)
{
	struct recorder *recorder = context;

	if (recorder->options->switch_output)
		recorder->switch_wanted = true;
	else
		recorder->snapshot_wanted = true;
}

static void stop(void *context)
{
	((struct recorder *)context)->stop = true;
}

static void list_events(void *context)
{
	const struct recorder *recorder = context;

	control_list_events(recorder->events);
}

static const struct control_actions control_actions = {switch_events, want_snapshot, stop, list_events};

bool recorder_watch_next_member(struct poller *poller, struct ring *ring, uint64_t tag)
{
	if (ring->member_watched)
		poller_unwatch(poller, ring->members[ring->member_watched - 1]);
	int next = ring_next_member(ring);
	poller_watch(poller, next, ring->overwrite ? EPOLLHUP : EPOLLIN, tag);
	return next >= 0;
}

static void take_event(struct recorder *recorder, const struct epoll_event *event)
{
	uint64_t ticks;
	size_t index = (uint32_t)event->data.u64;

	switch ((enum source)(event->data.u64 >> 32)) {
	case SOURCE_RING:
		if (event->events & (EPOLLHUP | EPOLLERR) &&
		    !recorder_watch_next_member(&recorder->poller, &recorder->rings.rings[index], event->data.u64))
			recorder->stop |= --recorder->alive == 0 && recorder->ends_with_target;
		break;
	case SOURCE_SIGNAL:
		take_signals(recorder);
		break;
	case SOURCE_EDGE:
		switch_events(recorder, "", recorder->edge++ % 2 == 0);
		await_edge(recorder);
		break;
	case SOURCE_SWITCH:
		recorder->switch_wanted |= read(recorder->timer_switch, &ticks, sizeof(ticks)) > 0;
		break;
	case SOURCE_DRAIN: /* what is done after any wake-up */
		while (read(recorder->timer_drain, &ticks, sizeof(ticks)) < 0 && errno == EINTR)
			;
		break;
	case SOURCE_CONTROL:
		control_obey(&recorder->control, &recorder->poller, &control_actions, recorder);
		break;
	case SOURCE_TRACKS:
		recorder_take_track_news(recorder);
		break;
	case SOURCE_TRIGGER:
		recorder_take_trigger(recorder, index, event->events & (EPOLLHUP | EPOLLERR));
		break;
	}
}

/* What the last round calls for. */
static struct error *after_round(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;
	uint64_t bytes, written = recorder_data_bytes(recorder);
	struct error *error = NULL;

	if (options->max_size && recorder->totals.written.data_bytes + written > options->max_size) {
		recorder->totals.reached_max_size = true;
		recorder->stop = true;
	}
	if (options->switch_output && options->switch_size && written > options->switch_size)
		recorder->switch_wanted = true;
	if (recorder->snapshot_wanted || (recorder->switch_wanted && recorder->rings.overwritten)) {
		error = recorder_overwrites_all(recorder) ? recorder_synthesize(recorder) : NULL;
		if (!error)
			error = recorder_drain(recorder, true, &bytes);
		recorder->snapshot_wanted = false;
	}
	if (!error && recorder->switch_wanted && !recorder->stop) {
		recorder->switch_wanted = false;
		error = recorder_switch_output(recorder);
	}
	return error;
}

static struct error *pump(struct recorder *recorder)
{
	struct epoll_event events[64];
	uint64_t bytes = 0;
	struct error *error = NULL;

	while (!recorder->stop && !error) {
		int count = poller_wait(&recorder->poller, events, 64);
		if (count < 0)
			return error_system(errno, "epoll_wait");
		recorder->totals.wakeups++;
		for (int i = 0; i < count; i++)
			take_event(recorder, &events[i]);
		if (!recorder->tracks)
			error = recorder_drain(recorder, false, &bytes);
		if (!error)
			error = after_round(recorder);
	}
	return error;
}

struct error *recorder_run(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;
	uint64_t bytes;
	bool late = recorder_overwrites_all(recorder) || options->tail_synthesize;
	struct error *error = late ? NULL : recorder_synthesize(recorder);

	if (!error)
		error = recorder_start_tracks(recorder);
	if (!error)
		error = start(recorder);
	if (!error)
		error = pump(recorder);
	switch_counters(recorder, "", false);
	if (recorder->affinity_cpu >= 0)
		sched_setaffinity(0, sizeof(recorder->affinity), &recorder->affinity);
	if (!error && late)
		error = recorder_synthesize(recorder);
	if (!error && !recorder->tracks)
		error = recorder_drain(recorder, true, &bytes);
	struct error *track_error = recorder_stop_tracks(recorder);
	if (error)
		error_free(track_error);
	return error ? error : track_error;
}

static void take_stack_totals(struct recorder *recorder)
{
	if (!recorder->sizes)
		return;
	const struct stack_sizes_totals *from = stack_sizes_totals(recorder->sizes);
	struct recorder_totals *totals = &recorder->totals;

	totals->stack_copies = from->copies;
	totals->stack_bytes = from->bytes;
	totals->stacks_cut = from->cut;
	totals->largest_stack = from->largest;
}

struct error *recorder_finish(struct recorder *recorder)
{
	struct error *errors[] = {
		recorder_async_settle(recorder),
		recorder->writer ? recorder_write_lost(recorder) : NULL,
		recorder_close_output(recorder),
	};
	struct error *first = NULL;

	take_stack_totals(recorder);
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (first)
			error_free(errors[i]);
		else
			first = errors[i];
	return first;
}

const struct recorder_totals *recorder_totals(const struct recorder *recorder)
{
	return &recorder->totals;
}

void recorder_destroy(struct recorder *recorder)
{
	if (!recorder)
		return;
	recorder_close_tracks(recorder);
	recorder_close_async(recorder);
	writer_close(recorder->writer);
	size_t ring_count = recorder->rings.count;
	ring_set_close(&recorder->rings);
	ring_set_close(&recorder->trigger_rings);
	for (size_t i = 0; recorder->shorter && i < ring_count; i++)
		strbuf_deinit(&recorder->shorter[i]);
	free(recorder->shorter);
	vec_deinit(&recorder->every);
	stack_sizes_close(recorder->sizes);
	control_close(&recorder->control);
	if (recorder->timer_edge >= 0)
		close(recorder->timer_edge);
	if (recorder->timer_switch >= 0)
		close(recorder->timer_switch);
	if (recorder->timer_drain >= 0)
		close(recorder->timer_drain);
	poller_close(&recorder->poller);
	for (size_t i = 0; i < recorder->old_file_count; i++)
		free(recorder->old_files[i]);
	free(recorder->old_files);
	free(recorder->totals.lost_by_event);
	free(recorder->lost_written);
	free(recorder->totals.last_path);
	free(recorder);
}
