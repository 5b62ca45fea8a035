/* The pump. One thread, one epoll_wait(): a ring's wake-up (the kernel gives it when the ring is half full), the workload's end, a signal,
 * a timer, a command. After each wake-up all rings are drained, and rounds are marked (rounds.h), so that readers can sort what came
 * before. What isn't done here: files (recorder_output.c), side-band (recorder_synth.c), deciding what to measure (cmd/record/record.c). */
#include "capture/recorder_internal.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "capture/ring_records.h"
#include "capture/synth/synth.h"
#include "kernel/hardware/cpus.h"
#include "kernel/limits.h"
#include "kernel/refusal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS_BEHIND = 3 };

/* 512 KB a ring is what everybody may lock. Where records come thick (copies of stacks, those of any size most of all) and fast, who isn't
 * limited gets rings that bear with a busy machine, as long as all together stay small. Where copies are unwound, lost side-band spoils the
 * stacks behind it; where a BPF program walks stacks, copies come only until it knows a file. */
static size_t default_ring_bytes(const struct recorder *recorder)
{
	enum { SMALL = 512 << 10, LARGE = 2 << 20, LARGEST = 8 << 20, LONG = 16 << 20, LONGEST = 32 << 20, TOGETHER = 64 << 20 };
	const struct counter_target *target = &recorder->counters->target;
	size_t rings = target->cpus[0] < 0 ? target->thread_count : target->cpu_count;
	bool many = target->threads[0] < 0 || stack_chains_wanted(recorder->events);

	for (size_t i = 0; i < recorder->events->events.len; i++) {
		const struct event_attr *attr = &recorder->events->events.data[i]->attr;
		many |= attr->type == PERF_TYPE_TRACEPOINT || attr->sample_type & PERF_SAMPLE_STACK_USER;
	}
	if (!limits_has_perfmon())
		return recorder->options->traces ? SMALL / 2 : SMALL; /* their areas count as well */
	if (!many)
		return SMALL;
	size_t wanted = recorder->sizes && rings * LARGEST <= TOGETHER ? LARGEST : LARGE;
	size_t most = recorder->options->walker ? LONG : LONGEST;
	while (stack_chains_wanted(recorder->events) && wanted < most && rings * wanted * 2 <= TOGETHER)
		wanted *= 2;
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
		list[i] = (struct ring_set_counter){
			.counter = recorder->every.data[i].counter,
			.overwrite = recorder->events->events.data[recorder->every.data[i].event]->attr.write_backward,
			.traces = trace_plan_traces(recorder->events->events.data[recorder->every.data[i].event])};
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
		log_info("using buffers of %zu KB per CPU, the maximum allowed by kernel.perf_event_mlock_kb", pages * page / 1024);
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

static struct error *open_chains(struct recorder *recorder)
{
	if (recorder->rings.overwritten)
		return error_new_kind(ERROR_USAGE, "--call-graph auto cannot be combined with --overwrite: samples are unwound as they "
						   "come; use --call-graph dwarf");
	if (recorder->options->places.len)
		return error_new_kind(ERROR_USAGE,
				      "--call-graph auto cannot be combined with --threads: it reads all buffers in one thread");
	struct stack_walker *walker = recorder->options->walker;
	struct error *error = walker ? stack_walker_start(walker, recorder->events, recorder->counters, &recorder->rings) : NULL;
	if (!error)
		error = stack_chains_open(recorder->events, recorder->sizes, walker, recorder->options->python, &recorder->rings,
					  &recorder->chains);
	if (!error && recorder->options->drops_files)
		stack_chains_drop_files(recorder->chains);
	return error;
}

/* One descriptor of each ring is watched, and never more than one: asking the kernel about a descriptor takes back that there is something
 * in its ring, so a second one would not be told. It hangs up when its thread has ended; then the next one's turn comes. */
static void watch_rings(struct recorder *recorder)
{
	/* A target of threads is gone when nobody is left to write into any ring. */
	recorder->ends_with_target =
		recorder->counters->target.threads[0] >= 0 && !(recorder->workload && recorder->options->is_workload_target);
	recorder->alive = recorder->rings.count;
	for (size_t i = 0; i < recorder->rings.count && !recorder->workers; i++)
		recorder_watch_next_member(&recorder->poller, &recorder->rings.rings[i], recorder_tag(WAKEUP_RING, i));
}

struct error *recorder_create(const struct recorder_options *options, struct event_list *events, struct counter_set *counters,
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
	for (size_t i = 0; i < events->events.len; i++) {
		const struct event_attr *attr = &events->events.data[i]->attr;
		recorder->may_be_long |= attr->ksymbol || attr->bpf_event || attr->text_poke;
	}
	control_init(&recorder->control);
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR2, SIGCHLD, 0};
	poller_open(&recorder->poller);
	poller_take_signals(&recorder->poller, signals, recorder_tag(WAKEUP_SIGNAL, 0));
	error = open_counters(recorder);
	if (!error)
		error = open_rings(recorder);
	if (!error)
		error = recorder_open_traces(recorder);
	if (!error && (stack_chains_wanted(events) || options->walker))
		error = open_chains(recorder);
	if (!error)
		recorder->rewritten = mem_zalloc_array(recorder->rings.count, sizeof(*recorder->rewritten));
	if (!error && options->control)
		error = control_open(&recorder->control, options->control);
	if (!error)
		error = recorder_open_trigger(recorder);
	if (!error)
		error = recorder_open_workers(recorder);
	if (!error && !options->sink)
		error = recorder_open_output(recorder);
	if (!error)
		error = recorder_open_worker_files(recorder);
	if (!error)
		error = recorder_open_async(recorder);
	if (error) {
		recorder_destroy(recorder);
		return error;
	}
	watch_rings(recorder);
	poller_watch(&recorder->poller, recorder->control.in, EPOLLIN, recorder_tag(WAKEUP_CONTROL, 0));
	if (options->source)
		poller_watch(&recorder->poller, options->source->fd, EPOLLIN, recorder_tag(WAKEUP_SOURCE, 0));
	*ret = recorder;
	return NULL;
}

static struct error *append(struct recorder *recorder, struct writer *writer, const struct iovec *pieces, int count, uint64_t *bytes)
{
	const struct recorder_sink *sink = recorder->options->sink;
	struct error *error = NULL;

	if (count && sink)
		sink->append(sink->context, pieces, count);
	else if (count)
		error = recorder->async ? recorder_async_append(recorder, pieces, count) : writer_append(writer, pieces, count);
	for (int i = 0; i < count; i++)
		*bytes += pieces[i].iov_len;
	return error;
}

static struct error *take_from_source(struct recorder *recorder, uint64_t *bytes)
{
	const struct recorder_source *source = recorder->options->source;

	if (!source)
		return NULL;
	strbuf_clear(&recorder->source);
	struct error *error = source->take(source->context, recorder->chains, &recorder->source);
	const struct iovec piece = {recorder->source.data, recorder->source.len};
	return error ? error : append(recorder, recorder->writer, &piece, recorder->source.len > 0, bytes);
}

/* False: a ring's records are written as they are. */
static bool rewrite(struct recorder *recorder, size_t ring, const struct iovec *pieces, int count, struct strbuf *out)
{
	strbuf_clear(out);
	if (recorder->chains)
		stack_chains_take(recorder->chains, ring, pieces, count, out);
	else if (recorder->sizes)
		stack_sizes_take(recorder->sizes, pieces, count, out);
	bool taken = recorder->chains || recorder->sizes;
	const struct iovec piece = {out->data, out->len};
	if (!recorder->may_be_long || !ring_records_too_long(taken ? &piece : pieces, taken ? 1 : count, recorder->trailer))
		return taken;
	struct strbuf cut = {0};
	ring_records_cut(taken ? &piece : pieces, taken ? 1 : count, recorder->trailer, &cut);
	strbuf_deinit(out);
	*out = cut;
	return true;
}

struct error *recorder_drain_ring(struct recorder *recorder, struct ring *ring, struct writer *writer, uint64_t *bytes)
{
	struct iovec pieces[2];
	int count;

	if (ring->overwrite)
		ring_pause(ring, true);
	count = recorder->chains ? ring_read_again(ring, pieces) : ring_read(ring, pieces);
	struct strbuf *rewritten = &recorder->rewritten[ring - recorder->rings.rings];
	if (count && rewrite(recorder, (size_t)(ring - recorder->rings.rings), pieces, count, rewritten)) {
		pieces[0] = (struct iovec){rewritten->data, rewritten->len};
		count = 1;
	}
	struct error *error = append(recorder, writer, pieces, count, bytes);
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

/* Also when nothing happens: whoever fetches waits no longer than that. */
static void give_round(const struct recorder_sink *sink, uint64_t ended_ns)
{
	struct record_timed_round round = {.header = {.type = RECORD_FINISHED_ROUND, .size = sizeof(round)}, .ended_ns = ended_ns};
	const struct iovec piece = {&round, sizeof(round)};

	sink->append(sink->context, &piece, 1);
}

/* A pass over the rings that took `bytes` has ended. */
static struct error *end_pass(struct recorder *recorder, uint64_t begun_ns, uint64_t bytes)
{
	/* What comes at the end from rings that are overwritten is older than the rounds of the others would allow. */
	bool rounds = !recorder->rings.overwritten || recorder_overwrites_all(recorder) || recorder->options->reads_overwritten;
	/* Readers show a round when they have seen the next ones: who waits for the stream gets these though nothing happens. */
	bool waited_for = recorder->options->drain_every_ns && recorder->empty_rounds < ROUNDS_BEHIND;

	if (bytes)
		recorder->empty_rounds = 0;
	else if (!waited_for && !recorder->options->sink)
		return NULL;
	uint64_t ended_ns = clock_now_ns(CLOCK_MONOTONIC);
	bool mark = rounds && rounds_end(&recorder->marks, begun_ns, ended_ns);
	if (recorder->options->sink) {
		if (mark)
			give_round(recorder->options->sink, ended_ns);
		return NULL;
	}
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

	if (recorder->chains)
		stack_chains_look(recorder->chains);
	if (recorder->options->source)
		recorder->options->source->begin(recorder->options->source->context);
	for (size_t i = 0; i < recorder->rings.count; i++) {
		struct ring *ring = &recorder->rings.rings[i];
		bool keeps = ring->overwrite ? !recorder->options->reads_overwritten : ring_pending(ring) < recorder->options->flush_bytes;
		bool waits = !all && keeps;
		if (waits && !recorder->traces)
			continue;
		move_near(recorder, ring);
		struct error *error = waits ? NULL : recorder_drain_ring(recorder, ring, recorder->writer, &bytes);
		if (!error)
			error = recorder_take_trace(recorder, i, &bytes);
		if (error)
			return error;
	}
	struct error *error = take_from_source(recorder, &bytes);
	if (error)
		return error;
	*ret_bytes = bytes;
	return end_pass(recorder, begun, bytes);
}

static void switch_counters(struct recorder *recorder, const char *name, bool on)
{
	if (recorder->sizes)
		stack_sizes_switch(recorder->sizes, name, on);
	else
		counters_switch(recorder->counters, recorder->events, name, on);
	recorder_switched_traces(recorder, name, on);
	if (recorder->options->source && !*name)
		recorder->options->source->measure(recorder->options->source->context, on);
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
	recorder->timer_edge =
		poller_timer(&recorder->poller, (options->edges_ms.data[recorder->edge] - now) * 1000000u, 0, recorder_tag(WAKEUP_EDGE, 0));
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
	} else if (options->source) {
		options->source->measure(options->source->context, true);
	}
	if (options->begun && !options->start_disabled)
		options->begun(options->context);
	if (options->trigger)
		counter_set_enable(options->trigger, options->trigger_events);
	if (recorder->workload)
		error = workload_release(recorder->workload);
	recorder->started = true;
	await_edge(recorder);
	if (recorder->sizes && recorder->chains)
		stack_sizes_await(recorder->sizes, &recorder->poller, recorder_tag(WAKEUP_SIZES, 0));
	if (options->switch_time_ns) {
		recorder->timer_switch =
			poller_timer(&recorder->poller, options->switch_time_ns, options->switch_time_ns, recorder_tag(WAKEUP_SWITCH, 0));
	}
	if (options->drain_every_ns)
		recorder->timer_drain =
			poller_timer(&recorder->poller, options->drain_every_ns, options->drain_every_ns, recorder_tag(WAKEUP_DRAIN, 0));
	return error;
}

static void take_signals(struct recorder *recorder)
{
	struct signalfd_siginfo info;

	while (poller_next_signal(&recorder->poller, &info)) {
		bool (*meant_otherwise)(void *, int, pid_t) = info.ssi_signo == SIGCHLD ? NULL : recorder->options->signal;
		if (meant_otherwise && meant_otherwise(recorder->options->context, (int)info.ssi_signo, (pid_t)info.ssi_pid))
			continue;
		if (info.ssi_signo == SIGCHLD) {
			recorder->stop |= recorder->workload && workload_ended(recorder->workload);
		} else if (info.ssi_signo != SIGUSR2) {
			recorder->stop = true;
			recorder->totals.signal = (int)info.ssi_signo;
		} else if (recorder->options->switch_output && !recorder->options->switch_size && !recorder->options->switch_time_ns) {
			recorder->switch_wanted = true;
		} else if (recorder->rings.overwritten || recorder_has_snapshots(recorder)) {
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

	switch ((enum wakeup)(event->data.u64 >> 32)) {
	case WAKEUP_RING:
		if (event->events & (EPOLLHUP | EPOLLERR) &&
		    !recorder_watch_next_member(&recorder->poller, &recorder->rings.rings[index], event->data.u64))
			recorder->stop |= --recorder->alive == 0 && recorder->ends_with_target;
		break;
	case WAKEUP_SIGNAL:
		take_signals(recorder);
		break;
	case WAKEUP_EDGE:
		switch_events(recorder, "", recorder->edge++ % 2 == 0);
		await_edge(recorder);
		break;
	case WAKEUP_SWITCH:
		recorder->switch_wanted |= read(recorder->timer_switch, &ticks, sizeof(ticks)) > 0;
		break;
	case WAKEUP_SOURCE:
		break;
	case WAKEUP_DRAIN: /* what is done after any wake-up */
		while (read(recorder->timer_drain, &ticks, sizeof(ticks)) < 0 && errno == EINTR)
			;
		break;
	case WAKEUP_SIZES:
		stack_sizes_await(recorder->sizes, &recorder->poller, event->data.u64);
		break;
	case WAKEUP_CONTROL:
		control_obey(&recorder->control, &recorder->poller, &control_actions, recorder);
		break;
	case WAKEUP_WORKERS:
		recorder_take_worker_news(recorder);
		break;
	case WAKEUP_TRIGGER:
		recorder_take_trigger(recorder, index, event->events & (EPOLLHUP | EPOLLERR));
		break;
	}
}

/* What the last round calls for. */
static struct error *after_round(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;
	uint64_t bytes, written = recorder->writer ? recorder_data_bytes(recorder) : 0;
	struct error *error = NULL;

	if (options->max_size && recorder->totals.written.data_bytes + written > options->max_size) {
		recorder->totals.reached_max_size = true;
		recorder->stop = true;
	}
	if (options->switch_output && options->switch_size && written > options->switch_size)
		recorder->switch_wanted = true;
	bool overwritten = recorder->rings.overwritten || recorder_has_snapshots(recorder);
	if (recorder->snapshot_wanted || (recorder->switch_wanted && overwritten)) {
		error = recorder_overwrites_all(recorder) ? recorder_synthesize(recorder) : NULL;
		if (!error)
			error = recorder_has_snapshots(recorder) ? recorder_take_snapshot(recorder)
								 : recorder_drain(recorder, true, &bytes);
		recorder->snapshot_wanted = false;
	}
	if (!error && recorder->switch_wanted && !recorder->stop) {
		recorder->switch_wanted = false;
		error = recorder_switch_output(recorder);
	}
	return error;
}

static bool looks_late(const struct recorder *recorder)
{
	return recorder_overwrites_all(recorder) || recorder->options->tail_synthesize;
}

static void read_ahead(struct recorder *recorder)
{
	const struct workload *workload = recorder->workload;
	const struct stack_ahead_target target = {.command = workload ? workload->program : NULL,
						  .command_pid = workload ? (uint32_t)workload->pid : 0,
						  .all = recorder->options->all_tasks,
						  .others = !workload || !recorder->options->is_workload_target};

	stack_chains_read_ahead(recorder->chains, &target);
}

struct error *recorder_begin(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;

	if (recorder->chains && (looks_late(recorder) || !options->synthesize_tasks))
		recorder_learn_tasks(recorder);
	struct error *error = looks_late(recorder) ? NULL : recorder_synthesize(recorder);

	if (!error && recorder->chains)
		read_ahead(recorder);
	if (!error)
		error = recorder_start_workers(recorder);
	return error ? error : start(recorder);
}

bool recorder_goes_on(const struct recorder *recorder)
{
	return !recorder->stop;
}

void recorder_stop(struct recorder *recorder)
{
	recorder->stop = true;
}

struct error *recorder_step(struct recorder *recorder)
{
	struct epoll_event events[64];
	uint64_t bytes = 0;
	int count = poller_wait(&recorder->poller, events, 64);

	if (count < 0)
		return error_system(errno, "epoll_wait");
	recorder->totals.wakeups++;
	for (int i = 0; i < count; i++)
		take_event(recorder, &events[i]);
	struct error *error = recorder->workers ? NULL : recorder_drain(recorder, false, &bytes);
	while (!error && recorder->chains && recorder_goes_on(recorder) && stack_chains_learn(recorder->chains))
		error = recorder_drain(recorder, false, &bytes);
	return error ? error : after_round(recorder);
}

int recorder_fd(const struct recorder *recorder)
{
	return recorder->poller.epoll;
}

/* Its end, after an error (which it takes) as well. */
static struct error *end(struct recorder *recorder, struct error *error)
{
	uint64_t bytes;

	switch_counters(recorder, "", false);
	if (recorder->affinity_cpu >= 0)
		sched_setaffinity(0, sizeof(recorder->affinity), &recorder->affinity);
	if (!error && looks_late(recorder))
		error = recorder_synthesize(recorder);
	if (!error && !recorder->workers)
		error = recorder_drain(recorder, true, &bytes);
	if (!error && recorder_has_snapshots(recorder) && recorder->options->traces->snapshot_at_end)
		error = recorder_take_snapshot(recorder);
	struct error *worker_error = recorder_stop_workers(recorder);
	if (error)
		error_free(worker_error);
	return error ? error : worker_error;
}

struct error *recorder_end(struct recorder *recorder)
{
	return end(recorder, NULL);
}

struct error *recorder_run(struct recorder *recorder)
{
	struct error *error = recorder_begin(recorder);

	while (!error && recorder_goes_on(recorder))
		error = recorder_step(recorder);
	return end(recorder, error);
}

static void take_stack_totals(struct recorder *recorder)
{
	if (!recorder->sizes || recorder->chains)
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
		recorder->writer || recorder->options->sink ? recorder_write_lost(recorder) : NULL,
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

struct stack_chains *recorder_stack_chains(const struct recorder *recorder)
{
	return recorder->chains;
}

void recorder_destroy(struct recorder *recorder)
{
	if (!recorder)
		return;
	recorder_close_workers(recorder);
	recorder_close_async(recorder);
	writer_close(recorder->writer);
	size_t ring_count = recorder->rings.count;
	trace_areas_close(recorder->traces);
	ring_set_close(&recorder->rings);
	ring_set_close(&recorder->trigger_rings);
	for (size_t i = 0; recorder->rewritten && i < ring_count; i++)
		strbuf_deinit(&recorder->rewritten[i]);
	free(recorder->rewritten);
	vec_deinit(&recorder->every);
	stack_chains_close(recorder->chains);
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
	strbuf_deinit(&recorder->source);
	free(recorder->lost_written);
	free(recorder->totals.last_path);
	free(recorder);
}
