/* perf top as text: a header as the kernel's tool has it, and the rows of `perf report`. */
#include "cmd/top/top.h"

#include "app/pager.h"
#include "base/clock.h"
#include "cmd/code/code_screen.h"
#include "view/view.h"

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

static void print_header(const struct top *top, const struct top_rates *rates)
{
	unsigned int columns = output_columns();
	struct strbuf line = {0};
	strbuf_printf(&line, "   PerfTop:%8.0f irqs/sec  kernel:%4.1f%%  exact: %4.1f%% lost: %lu/%lu drop: 0/0 ", rates->samples_per_s,
		      rates->kernel_percent, rates->exact_percent, rates->lost_now, rates->lost);
	top_add_event(top->report.session->reader->events.events.data[0], top->event_count == 1, &line);
	strbuf_add_str(&line, ", ");
	top_add_target(top, &line);
	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	printf("%s\n", strbuf_str(&line));
	strbuf_clear(&line);
	strbuf_add_chars(&line, '-', (columns ? columns : DEFAULT_COLUMNS) - 1);
	printf("%s\n\n", strbuf_str(&line));
	if (rates->lost_now)
		printf("WARNING: %lu samples were lost, the buffers were full: larger ones (-m 2M) or a lower rate (-F) help.\n\n",
		       rates->lost_now);
	strbuf_deinit(&line);
}

/* --sym-annotate: the function with this name that has the most samples of an event, as long as there is one. */
static struct error *print_code(struct top *top)
{
	const struct report_options *options = &top->options->report;
	const struct annotate_options code = code_options_annotate(&options->code, options->input.symfs);
	struct annotation_style style = code_options_style(&options->code);
	const struct event *event = top->report.session->reader->events.events.data[top->code_event];
	struct annotate *annotate = annotate_of_fold(top->report.session, top->report.opening.resolver, &code, top->code.shown);
	const struct annotate_function *function = code_function_named(annotate, top->options->sym_annotate, event->index);
	struct annotation *annotation;
	struct error *error = NULL;
	style.compact = false;
	if (!function) {
		printf("No samples in a function called %s yet.\n\n", top->options->sym_annotate);
	} else if (!(error = code_annotation(annotate, function, &event, 1, &style, &annotation))) {
		struct sink out = sink_to_file(stdout);
		const struct view_options view = {.color = color_wanted(options->color)};
		error = view_write_one(view_find("stdio"), (struct result){RESULT_ANNOTATION, .annotation = annotation}, &view, &out);
		annotation_destroy(annotation);
	}
	annotate_destroy(annotate);
	return error;
}

static struct error *print_screen(struct top *top)
{
	struct top_options *options = top->options;
	unsigned int lines = window_lines();
	const struct top_rates rates = top_rates_take(top);
	print_header(top, &rates);
	options->report.most_rows = options->entries	       ? options->entries
				    : lines > HEADER_LINES + 1 ? lines - HEADER_LINES - 1
							       : DEFAULT_ENTRIES;
	if (!top->report.fold->entry_count)
		printf("No samples yet.\n\n");
	struct error *error = options->sym_annotate ? print_code(top) : report_show_events(&top->report);
	intern_deinit(&top->report.strings); /* of rows, which are gone */
	top_let_go(top);
	if (error || !fflush(stdout))
		return error;
	int number = errno;
	clearerr(stdout);
	top->ended = true;
	top->nobody_reads = number == EPIPE;
	return top->nobody_reads ? NULL : error_system(number, "standard output");
}

/* A new screen, where it is time for one. */
static struct error *take_round(struct top *top)
{
	struct report *report = &top->report;
	bool asked = top_keys_apply(top), due = top_is_due(top);
	if (top->ended || (!asked && !due))
		return NULL;
	report->fold = report->context.fold = top_history_next(top, &top->rows, due);
	top_history_release(&top->rows);
	if (top->code.feed)
		top_history_next(top, &top->code, due);
	top_history_release(&top->code);
	return print_screen(top);
}

struct error *top_text(struct top *top)
{
	struct error *error = NULL;
	top_keys_begin();
	while (!error && !top->ended && top_take_round(top, &error))
		error = take_round(top);
	top_keys_end();
	return error;
}
