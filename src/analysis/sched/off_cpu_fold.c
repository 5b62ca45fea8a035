/* Waits added up by stack (off_cpu_fold.h): each wait goes into the fold as the sample with which its thread left the CPU, with the wait's
 * length for a period. */
#include "analysis/sched/off_cpu_fold.h"

struct folding {
	struct fold *fold;
	struct fold_feed *feed;
	bool wakers; /* their stacks are added */
	struct off_cpu_sums sums;
};

static void add_wait(void *context, const struct off_cpu_wait *wait)
{
	struct folding *folding = context;
	struct sample sample;
	const struct record *record = folding->wakers ? wait->woken : wait->left;
	const struct thread *thread = folding->wakers ? wait->waker : wait->thread;
	folding->sums.waits++;
	folding->sums.total_ns += wait->duration_ns;
	if (!record) {
		folding->sums.unwoken++;
		folding->sums.unwoken_ns += wait->duration_ns;
		return;
	}
	if (!session_decode(folding->fold->session, record, &sample))
		return;
	sample.period = wait->duration_ns;
	const struct fold_sample added = {
		.event = record->event,
		.sample = &sample,
		.model_time = record->model_time,
		.thread = thread,
		.comm = thread_comm(thread, record->model_time),
	};
	fold_add(folding->feed, &added, 1);
}

struct error *off_cpu_fold(const struct off_cpu_options *options, struct fold *fold, struct off_cpu_sums *ret_sums)
{
	struct folding folding = {.fold = fold, .feed = fold_feed_open(fold), .wakers = options->wakers};
	struct off_cpu *waits = off_cpu_create(fold->session, options, add_wait, &folding);
	struct record record;
	struct error *error = NULL;
	while (session_next(fold->session, &record, &error) > 0)
		off_cpu_take(waits, &record);
	if (!error)
		error = off_cpu_require(waits);
	folding.sums.losses = off_cpu_losses(waits);
	off_cpu_destroy(waits);
	fold_feed_close(folding.feed);
	fold_finish(fold);
	if (!error)
		*ret_sums = folding.sums;
	return error;
}
