/* The rest of a large recording, while a part of it is shown (screen_rest.h). */
#include "cmd/report/screen_rest.h"

#include "base/log.h"
#include "base/mem.h"
#include "cmd/report/screen.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGE = 192 << 20 };

/* What takes the place of what is shown; `parts` are NULL when there is nothing. */
struct stage {
	struct report report;
	struct fold_parts *parts;
	struct report_event *event;
};

enum { STAGE_PIECES, STAGE_ALL, STAGES };

struct screen_rest {
	struct stage stages[STAGES];
	struct report_options options; /* as they were at the beginning: the screen's change */
	struct screen_events set;      /* which `event` is about; by the indexes of its events */
	bool opens;		       /* else stages are of the screen's session */
	struct error *error;
	pthread_t thread;
	bool has_thread;		    /* else all was read at once */
	unsigned int pass_from, pass_share; /* of the 100 % that all passes over the recording make, the one that runs now */
	_Atomic unsigned int percent;
	_Atomic unsigned int ready; /* stages; all, too, after an error */
	unsigned int taken;
};

/* The first row that is shown is made of all. */
static bool needs_all(const struct report_options *options)
{
	return options->stitch_lbr || options->total_cycles;
}

bool screen_rest_has_beginning(const struct report_options *options)
{
	struct stat status;
	const char *path = options->input.input;
	return path && !stat(path, &status) && S_ISREG(status.st_mode) && status.st_size >= LARGE && !options->time && !needs_all(options);
}

unsigned int screen_rest_part(const struct report *report)
{
	enum { PIECES_SHOWN = 12 };
	const struct reader *reader = report->session->reader;
	size_t pieces = session_piece_count(report->session);
	if (reader->data_end - reader->data_offset < LARGE || needs_all(report->options) || pieces < 4 * PIECES_SHOWN)
		return 0;
	return (unsigned int)(pieces / PIECES_SHOWN);
}

/* ---- the thread ---- */

static void begin_pass(struct screen_rest *rest, unsigned int until_percent)
{
	rest->pass_from += rest->pass_share;
	rest->pass_share = until_percent - rest->pass_from;
}

static void note_progress(void *context, uint64_t done, uint64_t total)
{
	struct screen_rest *rest = context;
	double part = total ? (double)done / (double)total : 0;
	atomic_store(&rest->percent, rest->pass_from + (unsigned int)(part * rest->pass_share));
}

static struct error *fold_stage(struct screen_rest *rest, struct stage *stage)
{
	struct report *report = &stage->report;
	struct error *error = report_make_fold(report);
	if (error || (report->every && !report->fold->entry_count))
		return error;
	const struct event_list *list = &report->session->reader->events;
	const struct event **events = mem_alloc_array(rest->set.count, sizeof(*events));
	for (size_t i = 0; i < rest->set.count; i++)
		events[i] = list->events.data[rest->set.list[i]->index];
	stage->parts = fold_parts_create(report->fold);
	error = report_event_open(report, stage->parts, events, rest->set.count, &stage->event);
	free(events);
	return error;
}

/* The recording as a whole, whose beginning is shown. */
static struct error *open_whole(struct screen_rest *rest, struct report *report)
{
	const struct opening_options opening = {
		.input = &rest->options.input, .cpus = rest->options.cpus, .progress = note_progress, .progress_context = rest};
	report->options = &rest->options;
	struct error *error = opening_begin(&report->opening, &opening);
	if (error)
		return error;
	report->session = report->opening.session;
	return report_prepare(report);
}

static struct error *make_stages(struct screen_rest *rest)
{
	struct stage *pieces = &rest->stages[STAGE_PIECES], *all = &rest->stages[STAGE_ALL];
	struct error *error = NULL;
	if (rest->opens) {
		begin_pass(rest, 15);
		if ((error = open_whole(rest, &pieces->report)))
			return error;
		report_copy(&pieces->report, &all->report); /* before the screen changes it */
		pieces->report.every = screen_rest_part(&pieces->report);
		begin_pass(rest, 20);
		if (pieces->report.every && (error = fold_stage(rest, pieces)))
			return error;
		atomic_store(&rest->ready, STAGE_PIECES + 1);
	}
	begin_pass(rest, 100);
	return fold_stage(rest, all);
}

static void *read_all(void *context)
{
	struct screen_rest *rest = context;
	rest->error = make_stages(rest);
	atomic_store(&rest->ready, STAGES);
	return NULL;
}

struct screen_rest *screen_rest_begin(struct screen *screen)
{
	struct screen_rest *rest = mem_zalloc(sizeof(*rest));
	const struct screen_events *set = &screen->sets.data[screen->current];
	rest->options = *screen->report->options;
	rest->opens = screen->report->beginning;
	rest->set = (struct screen_events){.list = mem_alloc_array(set->count, sizeof(*set->list)), .count = set->count};
	for (size_t i = 0; i < set->count; i++)
		rest->set.list[i] = set->list[i];
	if (!rest->opens) {
		rest->ready = STAGE_ALL;
		rest->taken = STAGE_ALL;
		report_copy(screen->report, &rest->stages[STAGE_ALL].report);
		rest->stages[STAGE_ALL].report.options = &rest->options;
		session_set_progress(screen->report->session, note_progress, rest);
	}
	rest->has_thread = !pthread_create(&rest->thread, NULL, read_all, rest);
	if (!rest->has_thread)
		read_all(rest);
	return rest;
}

/* ---- the screen ---- */

bool screen_rest_is_read(const struct screen *screen)
{
	return screen->rest ? screen->rest->taken == STAGES : !screen->report->every && !screen->report->beginning;
}

int screen_rest_wait_ms(const struct screen *screen)
{
	enum { STEP_MS = 100 };
	return screen_rest_is_read(screen) ? -1 : STEP_MS;
}

/* Whether the person looks at the events that the thread took, with the options that it had. */
static bool is_as_begun(const struct screen *screen)
{
	const struct screen_rest *rest = screen->rest;
	const struct report_options *now = screen->report->options, *then = &rest->options;
	return screen->sets.data[screen->current].list[0]->index == rest->set.list[0]->index && now->relative == then->relative &&
	       now->percent_limit == then->percent_limit && now->group_sort_index == then->group_sort_index;
}

static struct error *take_stage(struct screen *screen, struct stage *stage)
{
	struct report_event *event = stage->event;
	struct fold_parts *parts = stage->parts;
	stage->event = NULL;
	stage->parts = NULL;
	if (!parts)
		return NULL;
	if (!is_as_begun(screen)) {
		report_event_close(event);
		event = NULL;
	}
	stage->report.options = screen->report->options;
	stage->report.context.verbose = screen->report->context.verbose;
	return screen_replace(screen, &stage->report, parts, event);
}

struct error *screen_rest_take(struct screen *screen)
{
	struct screen_rest *rest = screen->rest;
	struct error *error = NULL;
	if (screen_rest_is_read(screen))
		return NULL;
	while (!error && rest->taken < atomic_load(&rest->ready)) {
		struct stage *stage = &rest->stages[rest->taken++];
		if (rest->taken == STAGES) {
			if (rest->has_thread)
				pthread_join(rest->thread, NULL);
			if (stage->report.session)
				session_set_progress(stage->report.session, NULL, NULL);
			error = rest->error;
			rest->error = NULL;
			if (!error)
				report_hints(&stage->report);
		}
		if (!error)
			error = take_stage(screen, stage);
	}
	return error;
}

void screen_rest_add_status(const struct screen *screen, struct strbuf *out)
{
	if (screen_rest_is_read(screen))
		return;
	strbuf_printf(out, "reading all: %u%%   ", screen->rest ? atomic_load(&screen->rest->percent) : 0);
	if (screen->report->beginning)
		strbuf_printf(out, "the first %d MB of the recording are shown   ", SCREEN_REST_BEGINNING >> 20);
	else
		strbuf_printf(out, "1/%u of the recording is shown   ", screen->report->every);
}

void screen_rest_end(struct screen_rest *rest, const struct error *error)
{
	if (!rest)
		return;
	if (rest->taken < STAGES) {
		if (error)
			log_warning("%s", error_message(error));
		fflush(NULL);
		_exit(error ? 1 : 0);
	}
	for (size_t i = STAGES; i-- > 0;) {
		struct stage *stage = &rest->stages[i];
		report_event_close(stage->event);
		fold_parts_destroy(stage->parts);
		if (i == STAGE_PIECES && rest->opens)
			report_deinit(&stage->report);
		else if (i == STAGE_ALL && stage->report.session)
			report_copy_deinit(&stage->report);
	}
	free(rest->set.list);
	free(rest);
}
