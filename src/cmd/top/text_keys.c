/* The keys of perf top as text: those of the kernel's tool on a plain terminal. */
#include "cmd/top/top.h"

#include "base/number.h"

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

/* Asks for a number in a line; false when what is typed isn't one. */
static bool ask(const char *question, uint64_t *value)
{
	char answer[64] = "";
	uint64_t number;
	restore();
	printf("\n%s: ", question);
	fflush(stdout);
	clearerr(stdin);
	bool fine = await_input() && fgets(answer, sizeof(answer), stdin) &&
		    (answer[strcspn(answer, "\n")] = '\0', number_parse_u64(answer, &number));
	take();
	if (fine)
		*value = number;
	return fine;
}

static void print_help(const struct top *top)
{
	const struct top_options *options = top->options;
	printf("\n\nKeys:\n"
	       "\td\tseconds between two screens             (%llu)\n"
	       "\te\trows                                     (%llu)\n"
	       "\tf\tonly rows with more samples than         (%llu)\n"
	       "\tK\thide the kernel's functions              (%s)\n"
	       "\tU\thide functions of programs               (%s)\n"
	       "\tz\tforget what was before the last screen   (%s)\n"
	       "\tq\tquit\n\nAny key goes on.",
	       (unsigned long long)options->delay_s, (unsigned long long)options->report.most_rows,
	       (unsigned long long)options->report.least_samples, options->hide_kernel ? "yes" : "no", options->hide_user ? "yes" : "no",
	       options->zero ? "yes" : "no");
	fflush(stdout);
	char key;
	if (await_input())
		(void)!read(STDIN_FILENO, &key, 1);
}

static void apply(struct top *top, char key)
{
	struct top_options *options = top->options;
	uint64_t number;
	switch (key) {
	case 'd':
		if (ask("Seconds between two screens", &number) && number && number <= UINT32_MAX)
			options->delay_s = number;
		break;
	case 'e':
		ask("Rows (0 = as many as there is room for)", &options->entries);
		break;
	case 'f':
		ask("Only rows with more samples than", &options->report.least_samples);
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
