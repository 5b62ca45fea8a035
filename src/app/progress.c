/* The progress bar (progress.h). */
#include "app/progress.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	PROGRESS_OFF,
	PROGRESS_WAITING, /* nothing is drawn yet */
	PROGRESS_DRAWN,
};

static const uint64_t first_after_ns = 500000000;
static const uint64_t every_ns = 100000000;

void progress_begin(struct progress *progress, const char *title, uint64_t total)
{
	*progress = (struct progress){.title = title, .total = total, .state = PROGRESS_OFF};
	if (log_level() > LOG_QUIET && isatty(STDERR_FILENO)) {
		progress->state = PROGRESS_WAITING;
		progress->started_ns = clock_now_ns(CLOCK_MONOTONIC_COARSE);
		progress->drawn_ns = progress->started_ns + first_after_ns - every_ns;
	}
}

static void draw(const struct progress *progress, uint64_t done)
{
	struct winsize size;
	int columns = !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
	double part = done < progress->total ? (double)done / (double)progress->total : 1;
	int width = columns - 40 < 10 ? 10 : columns - 40 > 60 ? 60 : columns - 40;
	int full = (int)(part * width);
	fprintf(stderr, "\r%-28.28s [", progress->title);
	for (int i = 0; i < width; i++)
		fputc(i < full ? '#' : ' ', stderr);
	fprintf(stderr, "] %3.0f%%", part * 100);
	fflush(stderr);
}

void progress_update(struct progress *progress, uint64_t done)
{
	if (progress->state == PROGRESS_OFF || !progress->total)
		return;
	uint64_t now = clock_now_ns(CLOCK_MONOTONIC_COARSE);
	if (now - progress->drawn_ns < every_ns || now < progress->drawn_ns)
		return;
	progress->drawn_ns = now;
	progress->state = PROGRESS_DRAWN;
	draw(progress, done);
}

void progress_end(struct progress *progress)
{
	if (progress->state == PROGRESS_DRAWN) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
	progress->state = PROGRESS_OFF;
}
