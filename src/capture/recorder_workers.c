/* --threads: several threads read rings, each ring's records go to a file of its own.
 *
 *	ring 0 ─┐                ┌─ perf.data/data.0
 *	ring 1 ─┴─ worker thread ─┴─ perf.data/data.1
 *	ring 2 ─── worker thread ─── perf.data/data.2
 *	side-band, counts ───────── perf.data/data        by the recorder itself
 *
 * A worker is a thread with the rings of some CPUs. It owns these rings and their writers until it has ended; the recorder only tells it to
 * stop, and is told how much was written. */
#include "capture/recorder_internal.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct worker {
	struct recorder *recorder;
	const struct recorder_place *place;
	size_t *rings; /* numbers of those in recorder->rings */
	size_t ring_count;
	pthread_t thread;
	bool running;
	struct error *error;
};

struct workers {
	struct worker *each;
	size_t count;
	struct writer **writers; /* by ring */
	int stop;		 /* an eventfd that all workers watch */
	int news;		 /* an eventfd: a worker has written something or failed */
	atomic_bool failed;	 /* one of them; its error is read after it has ended */
	atomic_uint_fast64_t written;
};

/* The data of one ring is a plain row of records. */
struct error *recorder_open_worker_files(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;

	for (size_t i = 0; recorder->workers && i < recorder->rings.count; i++) {
		cleanup_free char *path = mem_printf("%s/data.%zu", writer_path(recorder->writer), i);
		struct writer_options writer = {.path = path,
						.compression_level = options->compression_level,
						.bare = true,
						.ring_size = recorder->rings.pages * (size_t)sysconf(_SC_PAGESIZE)};
		struct error *error = writer_open(&writer, recorder->events, NULL, &recorder->workers->writers[i]);
		if (error)
			return error;
	}
	return NULL;
}

static struct error *assign_rings(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;
	struct workers *workers = recorder->workers;

	for (size_t r = 0; r < recorder->rings.count; r++) {
		int cpu = recorder->rings.rings[r].cpu;
		size_t t = 0;
		while (t < workers->count && cpu >= 0 && !CPU_ISSET((size_t)cpu, &options->places.data[t].cpus))
			t++;
		if (t == workers->count && !counter_target_measures(&recorder->counters->target, cpu))
			t = 0; /* a little side-band */
		if (t == workers->count)
			return error_new_kind(ERROR_USAGE,
					      "--threads: no thread reads the buffer of CPU %d; add the CPU to one of the sets", cpu);
		workers->each[t].rings[workers->each[t].ring_count++] = r;
	}
	return NULL;
}

struct error *recorder_open_workers(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;

	if (!options->places.len)
		return NULL;
	if (recorder->rings.overwritten)
		return error_new_kind(ERROR_USAGE, "--threads cannot be combined with events that overwrite their oldest samples");
	struct workers *workers = mem_zalloc(sizeof(*workers));
	recorder->workers = workers;
	workers->count = options->places.len;
	workers->each = mem_zalloc_array(workers->count, sizeof(*workers->each));
	workers->writers = mem_zalloc_array(recorder->rings.count, sizeof(*workers->writers));
	workers->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	workers->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	poller_watch(&recorder->poller, workers->news, EPOLLIN, recorder_tag(WAKEUP_WORKERS, 0));
	for (size_t i = 0; i < workers->count; i++) {
		struct worker *worker = &workers->each[i];
		*worker = (struct worker){.recorder = recorder, .place = &options->places.data[i]};
		worker->rings = mem_alloc_array(recorder->rings.count, sizeof(*worker->rings));
	}
	return assign_rings(recorder);
}

static struct error *drain(struct worker *worker, bool all)
{
	struct recorder *recorder = worker->recorder;
	struct workers *workers = recorder->workers;
	uint64_t bytes = 0;

	for (size_t i = 0; i < worker->ring_count; i++) {
		struct ring *ring = &recorder->rings.rings[worker->rings[i]];
		struct writer *writer = workers->writers[worker->rings[i]];
		if (!all && ring_pending(ring) < recorder->options->flush_bytes)
			continue;
		struct error *error = recorder_drain_ring(recorder, ring, writer, &bytes);
		if (!error)
			error = writer_flush(writer);
		if (error)
			return error;
	}
	atomic_fetch_add(&workers->written, bytes);
	if (recorder->options->max_size)
		eventfd_write(workers->news, 1);
	return NULL;
}

static void watch_next(struct worker *worker, struct poller *poller, const struct epoll_event *event)
{
	struct recorder *recorder = worker->recorder;
	struct ring *ring = &recorder->rings.rings[worker->rings[(uint32_t)event->data.u64]];

	if (!recorder_watch_next_member(poller, ring, event->data.u64) && atomic_fetch_sub(&recorder->alive, 1) == 1)
		eventfd_write(recorder->workers->news, 1);
}

static struct error *run(struct worker *worker, struct poller *poller)
{
	const struct recorder *recorder = worker->recorder;
	struct epoll_event events[64];
	bool stop = false;

	poller_watch(poller, recorder->workers->stop, EPOLLIN, recorder_tag(WAKEUP_WORKERS, 0));
	for (size_t i = 0; i < worker->ring_count; i++)
		recorder_watch_next_member(poller, &recorder->rings.rings[worker->rings[i]], recorder_tag(WAKEUP_RING, i));
	for (;;) {
		/* Also before the first waiting, and after a new descriptor: watching one takes note of what its ring has, and epoll
		 * doesn't tell. */
		struct error *error = drain(worker, stop);
		if (error || stop)
			return error;
		int count = poller_wait(poller, events, 64);
		if (count < 0)
			return error_system(errno, "epoll_wait");
		for (int i = 0; i < count; i++) {
			stop |= events[i].data.u64 >> 32 == WAKEUP_WORKERS;
			if (events[i].data.u64 >> 32 == WAKEUP_RING && events[i].events & (EPOLLHUP | EPOLLERR))
				watch_next(worker, poller, &events[i]);
		}
	}
}

static void *worker_run(void *argument)
{
	struct worker *worker = argument;
	struct poller poller;

	sched_setaffinity(0, sizeof(worker->place->affinity), &worker->place->affinity);
	poller_open(&poller);
	worker->error = run(worker, &poller);
	poller_close(&poller);
	if (worker->error) {
		atomic_store(&worker->recorder->workers->failed, true);
		eventfd_write(worker->recorder->workers->news, 1);
	}
	return NULL;
}

struct error *recorder_start_workers(struct recorder *recorder)
{
	struct workers *workers = recorder->workers;

	for (size_t i = 0; workers && i < workers->count; i++) {
		int status =
			workers->each[i].ring_count ? pthread_create(&workers->each[i].thread, NULL, worker_run, &workers->each[i]) : 0;
		if (status)
			return error_system(status, "--threads");
		workers->each[i].running = workers->each[i].ring_count > 0;
	}
	return NULL;
}

void recorder_take_worker_news(struct recorder *recorder)
{
	eventfd_t count;

	eventfd_read(recorder->workers->news, &count);
	recorder->stop |= (recorder->alive == 0 && recorder->ends_with_target) || atomic_load(&recorder->workers->failed);
}

uint64_t recorder_workers_written(const struct recorder *recorder)
{
	return recorder->workers ? atomic_load(&recorder->workers->written) : 0;
}

struct error *recorder_stop_workers(struct recorder *recorder)
{
	struct workers *workers = recorder->workers;
	struct error *first = NULL;

	if (!workers)
		return NULL;
	eventfd_write(workers->stop, 1);
	for (size_t i = 0; i < workers->count; i++) {
		struct worker *worker = &workers->each[i];
		if (worker->running)
			pthread_join(worker->thread, NULL);
		worker->running = false;
		if (first)
			error_free(worker->error);
		else
			first = worker->error;
		worker->error = NULL;
	}
	for (size_t i = 0; i < recorder->rings.count; i++) {
		struct error *error = workers->writers[i] ? writer_finish(workers->writers[i], NULL) : NULL;
		if (first)
			error_free(error);
		else
			first = error;
		if (workers->writers[i])
			recorder_add_totals(recorder, workers->writers[i]);
		writer_close(workers->writers[i]);
		workers->writers[i] = NULL;
	}
	return first;
}

void recorder_close_workers(struct recorder *recorder)
{
	struct workers *workers = recorder->workers;

	if (!workers)
		return;
	error_free(recorder_stop_workers(recorder));
	for (size_t i = 0; i < workers->count; i++)
		free(workers->each[i].rings);
	close(workers->stop);
	close(workers->news);
	free(workers->each);
	free(workers->writers);
	free(workers);
	recorder->workers = NULL;
}
