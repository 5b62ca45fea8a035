/* The keys of perf top as text: those of the kernel's tool on a plain terminal. */
#include "cmd/top/top.h"

#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static struct termios normal;
static bool taken;

static void restore(void)
{
	if (taken)
		tcsetattr(STDIN_FILENO, TCSANOW, &normal);
}

static void take(void)
{
	struct termios raw = normal;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

void top_keys_begin(void)
{
	/* In the background the terminal isn't ours. */
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp() || tcgetattr(STDIN_FILENO, &normal))
		return;
	taken = true;
	atexit(restore);
	take();
}

void top_keys_end(void)
{
	restore();
	taken = false;
}

/* False when a signal is to end us: they are read from a descriptor, so they wait, too. */
static bool await_input(void)
{
	enum { STEP_MS = 100 };
	struct pollfd waits = {.fd = STDIN_FILENO, .events = POLLIN};
	sigset_t pending;
	while (poll(&waits, 1, STEP_MS) == 0) {
		sigpending(&pending);
		if (sigismember(&pending, SIGINT) > 0 || sigismember(&pending, SIGTERM) > 0 || sigismember(&pending, SIGHUP) > 0)
			return false;
	}
	return true;
}

/* Asks for a line, whose end is left out; false when there is none. */
static bool ask(const char *question, char *answer, int size)
{
	restore();
	printf("\n%s: ", question);
	fflush(stdout);
	clearerr(stdin);
	bool fine = await_input() && fgets(answer, size, stdin);
	if (fine)
		answer[strcspn(answer, "\n")] = '\0';
	take();
	return fine;
}

/* Nothing changes when what is typed isn't a number. */
static void ask_number(const char *question, uint64_t least, uint64_t most, uint64_t *value)
{
	char answer[64];
	uint64_t number;
	if (ask(question, answer, sizeof(answer)) && number_parse_u64(answer, &number) && number >= least && number <= most)
		*value = number;
}

static void ask_limit(struct report_options *options)
{
	char answer[64];
	double limit;
	if (ask("Only rows from this percentage on", answer, sizeof(answer)) && number_parse_double(answer, &limit) && limit >= 0 &&
	    limit <= 100)
		options->percent_limit = limit;
}

/* ---- instructions ---- */

static void show_rows(struct top *top)
{
	free(top->function);
	top->function = NULL;
	top->options->sym_annotate = NULL;
	top_history_close(&top->code);
}

static void ask_function(struct top *top)
{
	char answer[1024];
	if (!ask("Function whose instructions are shown (S: none)", answer, sizeof(answer)) || !*answer)
		return;
	show_rows(top);
	top->options->sym_annotate = top->function = mem_strdup(answer);
	top_open_code(top);
}

static void ask_event(struct top *top)
{
	const struct event_list *events = &top->report.session->reader->events;
	struct strbuf question = {0};
	uint64_t number = top->code_event;
	strbuf_add_str(&question, "Event whose share of the instructions is shown");
	for (size_t i = 0; i < top->event_count; i++) {
		strbuf_printf(&question, "%s%zu = ", i ? ", " : " (", i);
		text_add_safe(&question, events->events.data[i]->name, strlen(events->events.data[i]->name));
	}
	strbuf_add_char(&question, ')');
	ask_number(strbuf_str(&question), 0, top->event_count - 1, &number);
	top->code_event = (unsigned int)number;
	strbuf_deinit(&question);
}

/* ---- all keys ---- */

static void print_function(const char *function)
{
	struct strbuf text = {0};
	if (function)
		text_add_safe(&text, function, strlen(function));
	printf("\ts\tinstructions of a function (S: none)     (%s)\n", function ? strbuf_str(&text) : "none");
	strbuf_deinit(&text);
}

static void print_help(const struct top *top)
{
	const struct top_options *options = top->options;
	printf("\n\nKeys:\n"
	       "\td\tseconds between two screens             (%llu)\n"
	       "\te\trows                                     (%llu)\n"
	       "\tf\tonly rows with more samples than         (%llu)\n"
	       "\tF\tonly rows from this percentage on        (%g)\n",
	       (unsigned long long)options->delay_s, (unsigned long long)options->report.most_rows,
	       (unsigned long long)options->report.least_samples, options->report.percent_limit);
	print_function(options->sym_annotate);
	if (top->event_count > 1)
		printf("\tE\tinstructions: by the event               (%u)\n", top->code_event);
	printf("\tK\thide the kernel's functions              (%s)\n"
	       "\tU\thide functions of programs               (%s)\n"
	       "\tz\tforget what was before the last screen   (%s)\n"
	       "\tq\tquit\n\nAny key goes on.",
	       options->hide_kernel ? "yes" : "no", options->hide_user ? "yes" : "no", options->zero ? "yes" : "no");
	fflush(stdout);
	char key;
	if (await_input())
		(void)!read(STDIN_FILENO, &key, 1);
}

static void apply(struct top *top, char key)
{
	struct top_options *options = top->options;
	switch (key) {
	case 'd':
		ask_number("Seconds between two screens", 1, UINT32_MAX, &options->delay_s);
		break;
	case 'e':
		ask_number("Rows (0 = as many as there is room for)", 0, UINT64_MAX, &options->entries);
		break;
	case 'f':
		ask_number("Only rows with more samples than", 0, UINT64_MAX, &options->report.least_samples);
		break;
	case 'F':
		ask_limit(&options->report);
		break;
	case 's':
		ask_function(top);
		break;
	case 'S':
		show_rows(top);
		break;
	case 'K':
		options->hide_kernel = !options->hide_kernel;
		break;
	case 'U':
		options->hide_user = !options->hide_user;
		break;
	case 'z':
		options->zero = !options->zero;
		break;
	case 'q':
	case 'Q':
		top->ended = true;
		break;
	default:
		if (key == 'E' && top->event_count > 1)
			ask_event(top);
		else
			print_help(top);
	}
}

bool top_keys_apply(struct top *top)
{
	char key;
	bool any = false;
	while (taken && !top->ended && read(STDIN_FILENO, &key, 1) == 1) {
		apply(top, key);
		any = true;
	}
	return any;
}
