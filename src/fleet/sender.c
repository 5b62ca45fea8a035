/* The sender: a thread that sends the oldest batch of a spool until the engine has it. Two locks: `disk` is held while files are read and
 * written, which may take as long as a disk hangs; `lock` never for longer than a few additions, so that counts can always be read. Neither
 * is held while something is sent; what is being sent is a copy. The oldest batch isn't dropped for others: whether the engine has it, or a
 * part of it, isn't known before it answers, nor what it had from whoever was killed. But one that the engine never takes, as if it is too
 * large for a proxy, would keep all others from it. */
#include "fleet/sender.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "fleet/spool.h"
#include "fleet/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { DELAY_MS = 1000, LONGEST = 60, WAIT_MAX_S = 3600, HOPELESS = 240 };
#define LIMIT_DEFAULT (UINT64_C(256) << 20)
#define NS_PER_MS UINT64_C(1000000)

struct sender {
	struct fleet_sink *sink;
	uint64_t limit;
	unsigned int delay_ms, hopeless;
	pthread_mutex_t disk; /* of the spool and `failed` */
	struct spool *spool;
	unsigned int failed;	/* attempts in a row; only the thread changes it */
	pthread_mutex_t lock;	/* of what follows; may be taken with `disk` held, not the other way round */
	pthread_cond_t changed; /* a batch was kept or is gone, or it is to end */
	bool ends;
	bool sending;		     /* the oldest batch */
	struct sender_counts counts; /* with the spool's, as they were after its last change */
	/* The thread's own: */
	pthread_t thread;
	uint64_t next_attempt; /* by the monotonic clock */
	struct strbuf in_flight;
};

/* ---- counts ---- */

static uint64_t waiting_samples(const struct spool *spool)
{
	uint64_t samples = 0;
	for (size_t i = 0; i < spool->batches.len; i++)
		samples += spool->batches.data[i].samples;
	return samples;
}

static void count_dropped(struct sender *sender, uint64_t samples)
{
	sender->counts.dropped_batches++;
	sender->counts.dropped_samples += samples;
}

/* With both locks held. */
static void count_spool(struct sender *sender)
{
	const struct spool *spool = sender->spool;
	struct sender_counts *counts = &sender->counts;
	counts->ever_dropped_batches = spool->dropped.batches;
	counts->ever_dropped_samples = spool->dropped.samples;
	counts->waiting_batches = spool->batches.len;
	counts->waiting_samples = waiting_samples(spool);
	counts->waiting_bytes = spool->bytes;
}

void sender_counts(struct sender *sender, struct sender_counts *ret)
{
	pthread_mutex_lock(&sender->lock);
	*ret = sender->counts;
	pthread_mutex_unlock(&sender->lock);
}

const char *sender_name(const struct sender *sender)
{
	return fleet_sink_options(sender->sink)->name;
}

/* ---- the thread ---- */

/* Between a half of the distance and all of it; an engine that says how long to wait means at least that. */
static uint64_t delay_ns(const struct sender *sender)
{
	uint64_t distance = sender->delay_ms, longest = (uint64_t)sender->delay_ms * LONGEST, wait_s = fleet_sink_wait_s(sender->sink);
	for (unsigned int i = 1; i < sender->failed && distance < longest; i++)
		distance *= 2;
	uint64_t ns = (distance < longest ? distance : longest) * NS_PER_MS, chance = 0;
	if (getrandom(&chance, sizeof(chance), 0) < 0)
		chance = clock_now_ns(CLOCK_MONOTONIC);
	wait_s = wait_s < WAIT_MAX_S ? wait_s : WAIT_MAX_S;
	return wait_s * 1000 * NS_PER_MS + ns / 2 + chance % (ns / 2 + 1);
}

static void note_failure(struct sender *sender, struct error *why)
{
	sender->counts.attempts_failed++;
	snprintf(sender->counts.why, sizeof(sender->counts.why), "%s", error_message(why));
	log_debug("%s", error_message(why));
	error_free(why);
}

static void count_outcome(struct sender *sender, enum sink_outcome outcome, uint64_t samples, struct error *why)
{
	if (outcome == SINK_TAKEN) {
		sender->counts.sent_batches++;
		sender->counts.sent_samples += samples;
		*sender->counts.why = '\0';
		return;
	}
	note_failure(sender, why);
	if (outcome == SINK_REFUSED)
		count_dropped(sender, samples);
}

/* With `disk` held. */
static void settle(struct sender *sender, enum sink_outcome outcome, struct error *why)
{
	struct spool *spool = sender->spool;
	uint64_t samples = spool->batches.data[0].samples;
	sender->failed = outcome == SINK_LATER ? sender->failed + 1 : 0;
	if (outcome == SINK_TAKEN)
		spool_remove_first(spool);
	else if (outcome == SINK_REFUSED)
		spool_drop(spool, 0);
	else
		sender->next_attempt = clock_now_ns(CLOCK_MONOTONIC) + delay_ns(sender);
	pthread_mutex_lock(&sender->lock);
	sender->sending = false;
	count_outcome(sender, outcome, samples, why);
	count_spool(sender);
	pthread_mutex_unlock(&sender->lock);
}

/* `disk` is held before and afterwards, not while it is sent. A batch that cannot be read now may be another time, as when there are no
 * descriptors left. */
static enum sink_outcome send_first(struct sender *sender, struct error **ret_why)
{
	uint8_t id[SPOOL_ID];
	memcpy(id, sender->spool->batches.data[0].id, sizeof(id));
	*ret_why = spool_read_first(sender->spool, &sender->in_flight);
	if (*ret_why)
		return error_kind(*ret_why) == ERROR_FORMAT ? SINK_REFUSED : SINK_LATER;
	pthread_mutex_unlock(&sender->disk);
	enum sink_outcome outcome = fleet_sink_send(sender->sink, id, strbuf_str(&sender->in_flight), sender->in_flight.len, ret_why);
	pthread_mutex_lock(&sender->disk);
	return outcome;
}

/* `sending` is set: from then on the oldest batch stays; what was the oldest one before may have gone. */
static void attempt(struct sender *sender)
{
	struct error *why = NULL;
	pthread_mutex_lock(&sender->disk);
	if (sender->spool->batches.len) {
		enum sink_outcome outcome = send_first(sender, &why);
		settle(sender, outcome, why);
	}
	pthread_mutex_unlock(&sender->disk);
}

static void wait_until(struct sender *sender, uint64_t time)
{
	const struct timespec until = {.tv_sec = (time_t)(time / 1000000000), .tv_nsec = (long)(time % 1000000000)};
	pthread_cond_timedwait(&sender->changed, &sender->lock, &until);
}

static void *run(void *context)
{
	struct sender *sender = context;
	pthread_mutex_lock(&sender->lock);
	while (!sender->ends) {
		if (!sender->counts.waiting_batches) {
			pthread_cond_wait(&sender->changed, &sender->lock);
			continue;
		}
		if (sender->failed && clock_now_ns(CLOCK_MONOTONIC) < sender->next_attempt) {
			wait_until(sender, sender->next_attempt);
			continue;
		}
		sender->sending = true;
		pthread_mutex_unlock(&sender->lock);
		attempt(sender);
		pthread_mutex_lock(&sender->lock);
		sender->sending = false;
		pthread_cond_broadcast(&sender->changed);
	}
	pthread_mutex_unlock(&sender->lock);
	return NULL;
}

/* ---- keeping: with `disk` held ---- */

static void drop(struct sender *sender, size_t place)
{
	uint64_t samples = sender->spool->batches.data[place].samples;
	spool_drop(sender->spool, place);
	pthread_mutex_lock(&sender->lock);
	count_dropped(sender, samples);
	count_spool(sender);
	pthread_mutex_unlock(&sender->lock);
}

static bool is_sending(struct sender *sender)
{
	pthread_mutex_lock(&sender->lock);
	bool sending = sender->sending;
	pthread_mutex_unlock(&sender->lock);
	return sending;
}

/* Drops the oldest batch of which the engine has nothing, or that it won't take; false: there is none. */
static bool make_room(struct sender *sender)
{
	size_t oldest = is_sending(sender) || sender->failed < sender->hopeless;
	if (sender->spool->batches.len <= oldest)
		return false;
	drop(sender, oldest);
	return true;
}

static bool is_full(const struct error *error)
{
	return error_errno(error) == ENOSPC || error_errno(error) == EDQUOT;
}

/* Where the disk has no room older batches give theirs. */
static struct error *add(struct sender *sender, const struct sender_batch *batch)
{
	struct spool *spool = sender->spool;
	size_t size = batch->bytes.len;
	if (size > sender->limit)
		return error_new("a window takes %zu KB, and the whole spool has %llu", size >> 10,
				 (unsigned long long)(sender->limit >> 10));
	while (spool->bytes + size > sender->limit && make_room(sender))
		;
	for (;;) {
		struct error *error = spool_add(spool, batch->id, batch->samples, strbuf_str(&batch->bytes), size);
		if (!error || !is_full(error) || !make_room(sender))
			return error;
		error_free(error);
	}
}

/* Of the batch that was put last. */
static void count_put(struct sender *sender, const struct sender_batch *batch, bool dropped)
{
	if (dropped)
		spool_count_dropped(sender->spool, batch->samples);
	pthread_mutex_lock(&sender->lock);
	sender->counts.batches++;
	sender->counts.samples += batch->samples;
	if (dropped)
		count_dropped(sender, batch->samples);
	count_spool(sender);
	pthread_cond_broadcast(&sender->changed);
	pthread_mutex_unlock(&sender->lock);
}

/* ---- batches ---- */

static uint64_t samples_of(const struct window *window)
{
	uint64_t samples = 0;
	for (size_t i = 0; i < window->samples->rows.len; i++)
		samples += window->samples->rows.data[i].count;
	return samples;
}

struct error *sender_encode(const struct sender *sender, const struct window *window, struct sender_batch *ret)
{
	*ret = (struct sender_batch){.samples = samples_of(window)};
	memcpy(ret->id, window->id, sizeof(ret->id));
	return fleet_sink_encode(sender->sink, window, &ret->bytes);
}

struct error *sender_keep(struct sender *sender, const struct sender_batch *batch)
{
	pthread_mutex_lock(&sender->disk);
	struct error *error = add(sender, batch);
	count_put(sender, batch, error);
	pthread_mutex_unlock(&sender->disk);
	return error;
}

void sender_drop(struct sender *sender, const struct sender_batch *batch)
{
	pthread_mutex_lock(&sender->disk);
	count_put(sender, batch, true);
	pthread_mutex_unlock(&sender->disk);
}

void sender_batch_deinit(struct sender_batch *batch)
{
	strbuf_deinit(&batch->bytes);
}

/* ---- life ---- */

static void release(struct sender *sender)
{
	spool_close(sender->spool);
	strbuf_deinit(&sender->in_flight);
	pthread_cond_destroy(&sender->changed);
	pthread_mutex_destroy(&sender->lock);
	pthread_mutex_destroy(&sender->disk);
	free(sender);
}

static void count_found(struct sender *sender, const struct spool_totals *damaged)
{
	struct sender_counts *counts = &sender->counts;
	counts->found_batches = sender->spool->batches.len + damaged->batches;
	counts->found_samples = waiting_samples(sender->spool) + damaged->samples;
	counts->dropped_batches = damaged->batches;
	counts->dropped_samples = damaged->samples;
	count_spool(sender);
	if (damaged->batches)
		snprintf(counts->why, sizeof(counts->why), "%llu files of the spool were damaged", (unsigned long long)damaged->batches);
}

struct error *sender_open(const struct sender_options *options, struct sender **ret)
{
	struct spool *spool;
	struct spool_totals damaged;
	pthread_condattr_t attributes;
	struct error *error = spool_open(options->folder, &spool, &damaged);
	if (error)
		return error_wrap(error, "spool");
	struct sender *sender = mem_zalloc(sizeof(*sender));
	sender->sink = options->sink;
	sender->limit = options->limit ? options->limit : LIMIT_DEFAULT;
	sender->delay_ms = options->delay_ms ? options->delay_ms : DELAY_MS;
	sender->hopeless = options->hopeless ? options->hopeless : HOPELESS;
	sender->spool = spool;
	count_found(sender, &damaged);
	pthread_mutex_init(&sender->disk, NULL);
	pthread_mutex_init(&sender->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&sender->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	error = thread_start(&sender->thread, run, sender, "a thread that sends");
	if (error)
		release(sender);
	else
		*ret = sender;
	return error;
}

void sender_close(struct sender *sender, unsigned int wait_ms)
{
	if (!sender)
		return;
	uint64_t until = clock_now_ns(CLOCK_MONOTONIC) + wait_ms * NS_PER_MS;
	pthread_mutex_lock(&sender->lock);
	while (sender->counts.waiting_batches && clock_now_ns(CLOCK_MONOTONIC) < until)
		wait_until(sender, until);
	sender->ends = true;
	bool sending = sender->sending;
	pthread_cond_broadcast(&sender->changed);
	pthread_mutex_unlock(&sender->lock);
	if (sending)
		fleet_sink_stop(sender->sink);
	pthread_join(sender->thread, NULL);
	release(sender);
}
