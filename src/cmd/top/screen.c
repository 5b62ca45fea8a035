/* What perf top prints: a header as the kernel's tool has it, and the rows of `perf report`. */
#include "cmd/top/top.h"

#include "app/pager.h"
#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { HEADER_LINES = 5, DEFAULT_ENTRIES = 20, DEFAULT_COLUMNS = 80 };

static unsigned int window_lines(void)
{
	struct winsize size;
	return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? size.ws_row : 0;
}

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

/* "(target_pid: 4711)", "(all, CPUs: 0-3)", "(all, 8 CPUs)" */
static void add_target(const struct top *top, struct strbuf *out)
{
	const struct targets *targets = &top->options->targets;
	if (targets->pids)
		strbuf_printf(out, " (target_pid: %s", targets->pids);
	else if (targets->tids)
		strbuf_printf(out, " (target_tid: %s", targets->tids);
	else if (targets->user)
		strbuf_printf(out, " (uid: %s", targets->user);
	else
		strbuf_add_str(out, " (all");
	size_t cpus = top->place.measured ? top->place.measured_count : top->place.cpu_count;
	if (targets->cpus)
		strbuf_printf(out, ", CPU%s: %s", cpus > 1 ? "s" : "", targets->cpus);
	else if (!targets_are_tasks(targets))
		strbuf_printf(out, ", %zu CPU%s", cpus, cpus > 1 ? "s" : "");
	strbuf_add_char(out, ')');
}

static void add_event(const struct top *top, struct strbuf *out)
{
	const struct event *event = top->report.session->reader->events.events.data[0];
	strbuf_add_char(out, '[');
	if (top->event_count == 1)
		strbuf_printf(out, "%llu%s ", (unsigned long long)event->attr.sample_period, event->attr.freq ? "Hz" : "");
	text_add_safe(out, event->name, strlen(event->name));
	strbuf_add_str(out, "], ");
}

static uint64_t lost_until_now(const struct session *session)
{
	uint64_t lost_samples = 0;
	for (size_t i = 0; i < session->reader->events.events.len; i++)
		lost_samples += session->event_counts[i].lost_samples;
	return session->lost > lost_samples ? session->lost : lost_samples;
}

static void print_header(struct top *top)
{
	const struct top_interval *interval = &top->interval;
	double seconds = (double)(clock_now_ns(CLOCK_MONOTONIC) - interval->begin_ns) / 1e9;
	uint64_t lost = lost_until_now(top->report.session);
	unsigned int columns = output_columns();
	struct strbuf line = {0};
	strbuf_printf(&line, "   PerfTop:%8.0f irqs/sec  kernel:%4.1f%%  exact: %4.1f%% lost: %llu/%llu drop: 0/0 ",
		      seconds > 0 ? (double)interval->samples / seconds : 0, percent(interval->kernel_samples, interval->samples),
		      percent(interval->exact_samples, interval->samples), (unsigned long long)(lost - top->lost),
		      (unsigned long long)lost);
	add_event(top, &line);
	add_target(top, &line);
	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	printf("%s\n", strbuf_str(&line));
	strbuf_clear(&line);
	strbuf_add_chars(&line, '-', (columns ? columns : DEFAULT_COLUMNS) - 1);
	printf("%s\n\n", strbuf_str(&line));
	if (lost > top->lost)
		printf("WARNING: %llu samples were lost, the buffers were full: larger ones (-m 2M) or a lower rate (-F) help.\n\n",
		       (unsigned long long)(lost - top->lost));
	top->lost = lost;
	strbuf_deinit(&line);
}

struct error *top_show(struct top *top)
{
	struct top_options *options = top->options;
	unsigned int lines = window_lines();
	print_header(top);
	top->interval = (struct top_interval){.begin_ns = clock_now_ns(CLOCK_MONOTONIC)};
	options->report.most_rows = options->entries	       ? options->entries
				    : lines > HEADER_LINES + 1 ? lines - HEADER_LINES - 1
							       : DEFAULT_ENTRIES;
	if (!top->report.fold->entry_count)
		printf("No samples yet.\n\n");
	struct error *error = report_show_events(&top->report);
	if (error || !fflush(stdout))
		return error;
	int number = errno;
	clearerr(stdout);
	top->ended = true;
	top->nobody_reads = number == EPIPE;
	return top->nobody_reads ? NULL : error_system(number, "standard output");
}
