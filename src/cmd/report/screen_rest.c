/* The rest of a large recording, while a part of it is shown (screen_rest.h). */
#include "cmd/report/screen_rest.h"

#include "base/log.h"
#include "base/mem.h"
#include "cmd/report/screen.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct screen_rest {
	struct report report; /* of all samples */
	struct fold_parts *parts;
	struct screen_events set; /* which `event` is about; the screen's */
	struct report_event *event;
	struct error *error;
	pthread_t thread;
	bool has_thread;	      /* else all was read at once */
	_Atomic unsigned int percent; /* of the recording that has been read */
	_Atomic bool done;
	bool taken;
};

unsigned int screen_rest_part(const struct report *report)
{
	enum { LARGE = 192 << 20, PIECES_SHOWN = 12 };
	const struct reader *reader = report->session->reader;
	size_t pieces = session_piece_count(report->session);
	if (reader->data_end - reader->data_offset < LARGE || report->stitcher || pieces < 4 * PIECES_SHOWN)
		return 0;
	return (unsigned int)(pieces / PIECES_SHOWN);
}

static void note_progress(void *context, uint64_t done, uint64_t total)
{
	struct screen_rest *rest = context;
	atomic_store(&rest->percent, total ? (unsigned int)(100.0 * (double)done / (double)total) : 0);
}

static void *read_all(void *context)
{
	struct screen_rest *rest = context;
	rest->error = report_make_fold(&rest->report);
	if (!rest->error) {
		rest->parts = fold_parts_create(rest->report.fold);
		rest->error = report_event_open(&rest->report, rest->parts, rest->set.list, rest->set.count, &rest->event);
	}
	atomic_store(&rest->done, true);
	return NULL;
}

struct screen_rest *screen_rest_begin(struct screen *screen)
{
	struct screen_rest *rest = mem_zalloc(sizeof(*rest));
	report_copy(screen->report, &rest->report);
	rest->set = screen->sets.data[screen->current];
	session_set_progress(rest->report.session, note_progress, rest);
	rest->has_thread = !pthread_create(&rest->thread, NULL, read_all, rest);
	if (!rest->has_thread)
		read_all(rest);
	return rest;
}

bool screen_rest_is_read(const struct screen *screen)
{
	return !screen->rest || screen->rest->taken;
}

int screen_rest_wait_ms(const struct screen *screen)
{
	enum { STEP_MS = 100 };
	return screen_rest_is_read(screen) ? -1 : STEP_MS;
}

struct error *screen_rest_take(struct screen *screen)
{
	struct screen_rest *rest = screen->rest;
	if (screen_rest_is_read(screen) || !atomic_load(&rest->done))
		return NULL;
	if (rest->has_thread)
		pthread_join(rest->thread, NULL);
	rest->taken = true;
	session_set_progress(rest->report.session, NULL, NULL);
	struct error *error = rest->error;
	rest->error = NULL;
	if (error)
		return error;
	struct report_event *event = rest->event;
	if (screen->sets.data[screen->current].list != rest->set.list) { /* the person looks at another one now */
		report_event_close(event);
		event = NULL;
	}
	rest->event = NULL;
	report_hints(&rest->report);
	struct fold_parts *parts = rest->parts;
	rest->parts = NULL;
	return screen_replace(screen, &rest->report, parts, event);
}

void screen_rest_add_status(const struct screen *screen, struct strbuf *out)
{
	if (screen_rest_is_read(screen))
		return;
	strbuf_printf(out, "1/%u of the recording is shown; reading all of it: %u%%   ", screen->report->every,
		      atomic_load(&screen->rest->percent));
}

void screen_rest_end(struct screen_rest *rest, const struct error *error)
{
	if (!rest)
		return;
	if (!rest->taken) {
		if (error)
			log_warning("%s", error_message(error));
		fflush(NULL);
		_exit(error ? 1 : 0);
	}
	report_event_close(rest->event);
	fold_parts_destroy(rest->parts);
	report_copy_deinit(&rest->report);
	free(rest);
}
