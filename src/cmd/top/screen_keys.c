/* The keys that the screen of perf top has beside those of perf report's. Where the kernel's tool has a key on its screen, it is that one;
 * what it has as text only (d, e, f) has other keys here, for these are taken. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "cmd/report/screen.h"
#include "cmd/top/top.h"

#include <stdlib.h>
#include <string.h>

const struct key_help top_screen_keys[] = {
	{"", "What is measured"},
	{"f", "freeze: samples aren't taken until f is pressed again"},
	{"z", "show only samples since the last table, or older ones as well, which fade"},
	{"D", "seconds between two tables"},
	{"p", "only samples of one process"},
	{"T", "only samples of one thread"},
	{"K", "hide the kernel's functions, or show them"},
	{"U", "hide the functions of programs, or show them"},
	{"n", "only rows of more samples than a number (L: than a percentage)"},
	{"N", "show at most this many rows"},
	{"s", "a function by its name, by instructions (a: that of the row)"},
	{"W", "write a recording of what is measured from now on, perf.data.N; once more: it is complete"},
	{"G", "all stacks of the event as a flame graph"},
	{0},
};

/* What is typed becomes the value; nothing is 0. False: the person gave up, or it is no such number. */
static bool ask(struct screen *screen, const char *title, const char *explanation, uint64_t least, uint64_t most, uint64_t *value)
{
	char before[24] = "", wrong[100];
	uint64_t number = 0;
	if (*value)
		snprintf(before, sizeof(before), "%lu", *value);
	cleanup_free char *text = question_ask(screen->terminal, title, explanation, before);
	if (!text)
		return false;
	if ((*text && !number_parse_u64(text, &number)) || number < least || number > most) {
		snprintf(wrong, sizeof(wrong), "A number from %lu to %lu is needed.", least, most);
		message_show(screen->terminal, title, wrong);
		return false;
	}
	*value = number;
	return true;
}

/* A process or a thread: what came from others is forgotten. */
static void ask_task(struct top_screen *shown, struct screen *screen, const char *title, const char *explanation, uint32_t *id)
{
	uint64_t number = *id;
	if (!ask(screen, title, explanation, 0, INT32_MAX, &number))
		return;
	*id = (uint32_t)number;
	shown->top->restarts = true;
}

static void freeze(struct top *top)
{
	top->frozen = !top->frozen;
	top->interval = (struct top_interval){.begin_ns = clock_now_ns(CLOCK_MONOTONIC)};
}

static void ask_function(struct screen *screen)
{
	cleanup_free char *name = question_ask(screen->terminal, "Function to show", "Its name", NULL);
	if (name && *name)
		screen_annotate_named(screen, name);
}

bool top_screen_key(struct top_screen *shown, struct screen *screen, int key)
{
	struct top *top = shown->top;
	struct top_options *options = top->options;
	shown->asked = true;
	switch (key) {
	case 'f':
		freeze(top);
		break;
	case 'z':
		options->zero = !options->zero;
		break;
	case 'D':
		ask(screen, "Delay", "Seconds between two tables", 1, UINT32_MAX, &options->delay_s);
		break;
	case 'p':
		ask_task(shown, screen, "Process", "Its number (PID); nothing shows all again", &top->pid);
		break;
	case 'T':
		ask_task(shown, screen, "Thread", "Its number (TID); nothing shows all again", &top->tid);
		break;
	case 'K':
		options->hide_kernel = !options->hide_kernel;
		break;
	case 'U':
		options->hide_user = !options->hide_user;
		break;
	case 'n':
		ask(screen, "Least samples", "Rows of more samples than this are shown; nothing shows all again", 0, UINT32_MAX,
		    &options->report.least_samples);
		break;
	case 'N':
		ask(screen, "Rows", "Show at most this many; empty shows all again", 0, UINT32_MAX, &options->entries);
		options->report.most_rows = options->entries;
		break;
	case 's':
		ask_function(screen);
		break;
	case 'W':
		top_record_toggle(top, &screen->note);
		break;
	case 'G':
		screen_show_flame(screen);
		break;
	default:
		shown->asked = false;
		return false;
	}
	return true;
}
