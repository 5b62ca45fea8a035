/* perf top on a screen: that of perf report, with a fold that is replaced by a newer one every few seconds.
 *
 *	keys ◄── terminal ──waits──► rings: a round is read, whichever window is open
 *	              │ every few seconds
 *	              ▼
 *	         a newer fold ──► table; the cursor stays on its row
 */
#include "cmd/report/screen.h"
#include "base/clock.h"
#include "base/log.h"
#include "cmd/top/top.h"

#include <limits.h>
#include <stdio.h>

enum { FIRST_NS = 300000000 }; /* whoever has just started it needn't wait for the first rows */

/* ---- what happens meanwhile ---- */

static void carry(void *screen, struct carrying *carrying)
{
	screen_carry(screen, carrying);
}

static void begin(void *context, struct screen *screen)
{
	const struct top_screen *shown = context;
	shown->top->viewer = (struct machine_holder){carry, screen};
}

static enum terminal_work_state take_round(void *context)
{
	struct top_screen *shown = context;
	if (top_take_round(shown->top, &shown->error))
		return WORK_GOES_ON;
	shown->over = shown->asked = true;
	return shown->error || live_signal(shown->top->live) ? WORK_CLOSES : WORK_DONE;
}

static bool is_due(const struct top_screen *shown)
{
	const struct top *top = shown->top;
	if (top->frozen || shown->over)
		return false;
	bool first = !top->rows.before && !shown->rates.samples_per_s && top->interval.samples;
	return top_is_due(top) || (first && clock_now_ns(CLOCK_MONOTONIC) - top->interval.begin_ns >= FIRST_NS);
}

static int wait_ms(void *context)
{
	enum { STEP_MS = 100 };
	const struct top_screen *shown = context;
	const struct top *top = shown->top;
	if (shown->asked || is_due(shown))
		return 0;
	if (top->frozen || shown->over)
		return -1;
	if (!shown->rates.samples_per_s)
		return STEP_MS;
	uint64_t now = clock_now_ns(CLOCK_MONOTONIC), due = top->interval.begin_ns + top->options->delay_s * 1000000000;
	uint64_t left_ms = now < due ? (due - now) / 1000000 + 1 : 0;
	return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

static struct fold *renew(void *context)
{
	struct top_screen *shown = context;
	struct top *top = shown->top;
	bool due = is_due(shown);
	if (!due && !shown->asked)
		return NULL;
	if (due)
		shown->rates = top_rates_take(top);
	shown->asked = false;
	shown->strings = top->report.strings;
	top->report.strings = (struct intern){0};
	top_history_next(top, &top->code, due);
	top_history_release(&top->code);
	struct fold *next = top_history_next(top, &top->rows, due);
	top->restarts = false;
	return next;
}

static void release(void *context, struct screen *screen)
{
	struct top_screen *shown = context;
	const struct top *top = shown->top;
	top_history_release(&shown->top->rows);
	intern_deinit(&shown->strings);
	top_let_go(shown->top);
	if (top->options->sym_annotate && !shown->opened && top->rows.shown->entry_count) {
		shown->opened = true;
		screen_annotate_named(screen, top->options->sym_annotate);
	}
}

/* ---- words ---- */

static void add_title(void *context, const struct screen *screen, struct strbuf *out)
{
	const struct top_screen *shown = context;
	const struct top *top = shown->top;
	const struct top_rates *rates = &shown->rates;
	strbuf_printf(out, "%.0f samples/s  kernel: %.1f%%  exact: %.1f%%  lost: %lu/%lu  ", rates->samples_per_s, rates->kernel_percent,
		      rates->exact_percent, rates->lost_now, rates->lost);
	top_add_event(screen->sets.data[screen->current].list[0], true, out);
	top_add_target(top, out);
}

static void add_status(void *context, struct strbuf *out)
{
	const struct top_screen *shown = context;
	const struct top *top = shown->top;
	const struct top_options *options = top->options;
	if (shown->over)
		strbuf_add_str(out, "what was measured has ended   ");
	struct strbuf told = {0};
	if (top_record_goes_on(shown->top, &told))
		strbuf_printf(out, "recording into %s: W ends it   ", top->recording.name);
	else if (told.len)
		strbuf_printf(out, "%s   ", strbuf_str(&told));
	strbuf_deinit(&told);
	if (top->frozen)
		strbuf_add_str(out, "frozen: f goes on   ");
	if (top->pid)
		strbuf_printf(out, "process %u   ", top->pid);
	if (top->tid)
		strbuf_printf(out, "thread %u   ", top->tid);
	if (options->hide_kernel)
		strbuf_add_str(out, "kernel hidden   ");
	if (options->hide_user)
		strbuf_add_str(out, "programs hidden   ");
	if (options->zero)
		strbuf_add_str(out, "each time from zero   ");
	if (options->report.least_samples)
		strbuf_printf(out, "rows of more than %lu samples   ", options->report.least_samples);
	if (shown->rates.lost_now)
		strbuf_add_str(out, "samples are lost: -m 2M helps   ");
	if (!shown->rates.samples_per_s && !shown->over && !top->rows.shown->entry_count)
		strbuf_add_str(out, "no samples yet   ");
}

/* ---- */

static struct annotate *annotate(void *context, const struct annotate_options *options)
{
	const struct top *top = ((struct top_screen *)context)->top;
	return annotate_of_fold(top->report.session, top->report.opening.resolver, options, top->code.shown);
}

static bool take_key(void *context, struct screen *screen, int key)
{
	return top_screen_key(context, screen, key);
}

struct error *top_screen(struct top *top, const struct screen_tools *tools)
{
	struct top_screen shown = {.top = top};
	const struct screen_owner owner = {.title = "Keys of perf top",
					   .event_count = top->event_count,
					   .keys = top_screen_keys,
					   .work = {.fd = live_fd(top->live), .step = take_round, .context = &shown},
					   .begin = begin,
					   .add_title = add_title,
					   .add_status = add_status,
					   .key = take_key,
					   .wait_ms = wait_ms,
					   .renew = renew,
					   .release = release,
					   .annotate = annotate,
					   .context = &shown};
	top->rows.keeps_before = true;
	/* What runs already, before the screen: it may take a moment, or fail. */
	bool begun = top_take_round(top, &shown.error);
	top->interval = (struct top_interval){.begin_ns = clock_now_ns(CLOCK_MONOTONIC)};
	top->options->report.most_rows = top->options->entries;
	top->report.fold = top->report.context.fold = top_history_next(top, &top->rows, false);
	top_history_next(top, &top->code, false);
	struct error *error = begun ? screen_show(&top->report, tools, &owner) : NULL;
	top->viewer = (struct machine_holder){0};
	struct strbuf told = {0};
	top_record_end(top, &told);
	if (told.len && log_level() >= LOG_WARNING)
		fprintf(stderr, "[ perf top: %s ]\n", strbuf_str(&told));
	strbuf_deinit(&told);
	intern_deinit(&shown.strings);
	if (!shown.error)
		return error;
	error_free(error);
	return shown.error;
}
