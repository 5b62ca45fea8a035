/* --threads: several threads read rings, each ring's records go to a file of its own.
 *
 *	ring 0 ─┐                ┌─ perf.data/data.0
 *	ring 1 ─┴─ track thread ─┴─ perf.data/data.1
 *	ring 2 ─── track thread ─── perf.data/data.2
 *	side-band, counts ───────── perf.data/data        by the recorder itself
 *
 * A track is a thread with the rings of some CPUs. It owns these rings and their writers until it has ended; the recorder only tells it to stop, and is told
 * how much was written. */
#include "session/recorder_internal.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct track {
	struct recorder *recorder;
	const struct recorder_place *place;
	size_t *rings; /* numbers of those in recorder->rings */
	size_t ring_count;
	pthread_t thread;
	bool running;
	struct error *error;
};

struct tracks {
	struct track *each;
	size_t count;
	struct writer **writers; /* by ring */
	int stop;		 /* an eventfd that all tracks watch */
	int news;		 /* an eventfd: a track has written something or failed */
	atomic_bool failed; /* one of them; its error is read after it has ended */
	atomic_uint_fast64_t written;
};

/* The data of one ring is a plain row of records. */
struct error *recorder_open_track_files(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;

	for (size_t i = 0; recorder->tracks && i < recorder->rings.count; i++) {
		cleanup_free char *path = mem_printf("%s/data.%zu", writer_path(recorder->writer), i);
		struct writer_options writer = {.path = path,
						.compression_level = options->compression_level,
						.bare = true,
						.ring_size = recorder->rings.pages * (size_t)sysconf(_SC_PAGESIZE)};
		struct error *error = writer_open(&writer, recorder->events, NULL, &recorder->tracks->writers[i]);
		if (error)
			return error;
	}
	return NULL;
}

static struct error *assign_rings(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;
	struct tracks *tracks = recorder->tracks;

	for (size_t r = 0; r < recorder->rings.count; r++) {
		int cpu = recorder->rings.rings[r].cpu;
		size_t t = 0;
		while (t < tracks->count && cpu >= 0 && !CPU_ISSET((size_t)cpu, &options->places.data[t].cpus))
			t++;
		if (t == tracks->count && !counter_target_measures(&recorder->counters->target, cpu))
			t = 0; /* a little side-band */
		if (t == tracks->count)
			return error_new_kind(ERROR_USAGE, "--threads: no thread reads the buffer of CPU %d; add it to one of the sets of CPUs", cpu);
		tracks->each[t].rings[tracks->each[t].ring_count++] = r;
	}
	return NULL;
}

struct error *recorder_open_tracks(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;

	if (!options->places.len)
		return NULL;
	if (recorder->rings.overwritten)
		return error_new_kind(ERROR_USAGE, "--threads reads buffers all the time: leave it out where events overwrite their oldest samples");
	struct tracks *tracks = mem_zalloc(sizeof(*tracks));
	recorder->tracks = tracks;
	tracks->count = options->places.len;
	tracks->each = mem_zalloc_array(tracks->count, sizeof(*tracks->each));
	tracks->writers = mem_zalloc_array(recorder->rings.count, sizeof(*tracks->writers));
	tracks->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	tracks->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	poller_watch(&recorder->poller, tracks->news, EPOLLIN, recorder_tag(SOURCE_TRACKS, 0));
	for (size_t i = 0; i < tracks->count; i++) {
		struct track *track = &tracks->each[i];
		*track = (struct track){.recorder = recorder, .place = &options->places.data[i]};
		track->rings = mem_alloc_array(recorder->rings.count, sizeof(*track->rings));
	}
	return assign_rings(recorder);
}

static struct error *drain(struct track *track, bool all)
{
	struct recorder *recorder = track->recorder;
	struct tracks *tracks = recorder->tracks;
	uint64_t bytes = 0;

	for (size_t i = 0; i < track->ring_count; i++) {
		struct ring *ring = &recorder->rings.rings[track->rings[i]];
		struct writer *writer = tracks->writers[track->rings[i]];
		if (!all && ring_pending(ring) < recorder->options->flush_bytes)
			continue;
		struct error *error = recorder_drain_ring(recorder, ring, writer, &bytes);
		if (!error)
			error = writer_flush(writer);
		if (error)
			return error;
	}
	atomic_fetch_add(&tracks->written, bytes);
	if (recorder->options->max_size)
		eventfd_write(tracks->news, 1);
	return NULL;
}

static void watch_next(struct track *track, struct poller *poller, const struct epoll_event *event)
{
	struct recorder *recorder = track->recorder;
	struct ring *ring = &recorder->rings.rings[track->rings[(uint32_t)event->data.u64]];

	if (!recorder_watch_next_member(poller, ring, event->data.u64) && atomic_fetch_sub(&recorder->alive, 1) == 1)
		eventfd_write(recorder->tracks->news, 1);
}

static struct error *run(struct track *track, struct poller *poller)
{
	const struct recorder *recorder = track->recorder;
	struct epoll_event events[64];
	bool stop = false;

	poller_watch(poller, recorder->tracks->stop, EPOLLIN, recorder_tag(SOURCE_TRACKS, 0));
	for (size_t i = 0; i < track->ring_count; i++)
		recorder_watch_next_member(poller, &recorder->rings.rings[track->rings[i]], recorder_tag(SOURCE_RING, i));
	for (;;) {
		/* Also before the first waiting, and after a new descriptor: watching one takes note of what its ring has, and epoll doesn't tell. */
		struct error *error = drain(track, stop);
		if (error || stop)
			return error;
		int count = poller_wait(poller, events, 64);
		if (count < 0)
			return error_system(errno, "epoll_wait");
		for (int i = 0; i < count; i++) {
			stop |= events[i].data.u64 >> 32 == SOURCE_TRACKS;
			if (events[i].data.u64 >> 32 == SOURCE_RING && events[i].events & (EPOLLHUP | EPOLLERR))
				watch_next(track, poller, &events[i]);
		}
	}
}

static void *track_run(void *argument)
{
	struct track *track = argument;
	struct poller poller;

	sched_setaffinity(0, sizeof(track->place->affinity), &track->place->affinity);
	poller_open(&poller);
	track->error = run(track, &poller);
	poller_close(&poller);
	if (track->error) {
		atomic_store(&track->recorder->tracks->failed, true);
		eventfd_write(track->recorder->tracks->news, 1);
	}
	return NULL;
}

struct error *recorder_start_tracks(struct recorder *recorder)
{
	struct tracks *tracks = recorder->tracks;

	for (size_t i = 0; tracks && i < tracks->count; i++) {
		int status = tracks->each[i].ring_count ? pthread_create(&tracks->each[i].thread, NULL, track_run, &tracks->each[i]) : 0;
		if (status)
			return error_system(status, "--threads");
		tracks->each[i].running = tracks->each[i].ring_count > 0;
	}
	return NULL;
}

void recorder_take_track_news(struct recorder *recorder)
{
	eventfd_t count;

	eventfd_read(recorder->tracks->news, &count);
	recorder->stop |= (recorder->alive == 0 && recorder->ends_with_target) || atomic_load(&recorder->tracks->failed);
}

uint64_t recorder_tracks_written(const struct recorder *recorder)
{
	return recorder->tracks ? atomic_load(&recorder->tracks->written) : 0;
}

struct error *recorder_stop_tracks(struct recorder *recorder)
{
	struct tracks *tracks = recorder->tracks;
	struct error *first = NULL;

	if (!tracks)
		return NULL;
	eventfd_write(tracks->stop, 1);
	for (size_t i = 0; i < tracks->count; i++) {
		struct track *track = &tracks->each[i];
		if (track->running)
			pthread_join(track->thread, NULL);
		track->running = false;
		if (first)
			error_free(track->error);
		else
			first = track->error;
		track->error = NULL;
	}
	for (size_t i = 0; i < recorder->rings.count; i++) {
		struct error *error = tracks->writers[i] ? writer_finish(tracks->writers[i], NULL) : NULL;
		if (first)
			error_free(error);
		else
			first = error;
		if (tracks->writers[i])
			recorder_add_totals(recorder, tracks->writers[i]);
		writer_close(tracks->writers[i]);
		tracks->writers[i] = NULL;
	}
	return first;
}

void recorder_close_tracks(struct recorder *recorder)
{
	struct tracks *tracks = recorder->tracks;

	if (!tracks)
		return;
	error_free(recorder_stop_tracks(recorder));
	for (size_t i = 0; i < tracks->count; i++)
		free(tracks->each[i].rings);
	close(tracks->stop);
	close(tracks->news);
	free(tracks->each);
	free(tracks->writers);
	free(tracks);
	recorder->tracks = NULL;
}
