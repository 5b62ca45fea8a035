/* perf top --from: the functions that cost most on all machines, of the newest windows that their agents have sent, asked for again and
 * again. What is measured isn't ours, and so are the options. */
#include "cmd/top/fleet.h"

#include "app/command.h"
#include "app/config.h"
#include "app/groups.h"
#include "app/options.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/text.h"
#include "cmd/fleet/costs.h"
#include "cmd/from.h"
#include "fleet/clickhouse/newest.h"
#include "tui/browser.h"
#include "view/view.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DELAY_S = 10, SPAN_S = 60, TEXT_ROWS = 20 };
static const uint64_t second_ns = 1000000000;

struct top_fleet_options {
	struct from_options from;
	struct output_options output;
	const char *event;
	uint64_t delay_s, span_s, entries;
	bool text, screen;
};

static struct error *parse_seconds(const struct option *option, const char *argument, bool negated, void *field)
{
	uint64_t ns;
	(void)option;
	(void)negated;
	/* -1m is how commands say when; 1m is as good. */
	if (!number_parse_duration(argument + (*argument == '-'), "s", &ns) || ns < second_ns || ns > 3600 * second_ns)
		return error_new_kind(ERROR_USAGE, "invalid time '%s': expected 1s to 1h, such as 1m", argument);
	*(uint64_t *)field = ns / second_ns;
	return NULL;
}

#define O struct top_fleet_options
static const struct option fleet_option_table[] = {
	OPTION_GROUP(from_option_group, O, from),
	OPTION_CUSTOM_FLAGS(0, "time", O, span_s, "SPAN", "how much, up to the newest window (default 1m)", parse_seconds,
			    OPTION_NO_NEGATION),
	OPTION_CUSTOM_FLAGS('d', "delay", O, delay_s, "SECONDS", "time between two screens (default 10)", parse_seconds,
			    OPTION_NO_NEGATION),
	OPTION_U64('E', "entries", O, entries, "N", "show at most N rows (default: all on a screen, 20 as text)"),
	OPTION_STRING(0, "show-event", O, event, "EVENT", "the event (default: the one with most samples)"),
	OPTION_FLAG(0, "tui", O, screen, "show rows on a screen with a cursor (default on terminals)"),
	OPTION_FLAG(0, "stdio", O, text, "show rows as text (default in pipes and files)"),
	OPTION_GROUP(output_option_group, O, output),
	OPTION_END,
};

struct top_fleet {
	const struct top_fleet_options *options;
	struct fleet_question question;
	struct table *table;   /* or NULL */
	struct strbuf title;   /* what it is of */
	struct strbuf trouble; /* why the last one couldn't be had; empty = it could */
	uint64_t asked_ns;     /* CLOCK_MONOTONIC; 0 = now */
	struct error *mistake; /* of the command line, which asking again does not mend: it ends; or NULL */
	bool frozen, ended;
};

/* ---- asking ---- */

static struct error *ask_costs(struct top_fleet *top, const struct fleet_newest *newest, struct table **ret)
{
	struct fleet_question question = top->question;
	struct imported imported = {0};
	struct fleet_profile profile;
	char time[64];
	fleet_newest_time(newest, top->options->span_s, time, sizeof(time));
	question.time = time;
	struct error *error = fleet_ask_profile(&question, &imported, &profile);
	if (!error)
		error = fleet_costs_table(&imported, &profile, top->options->event, (size_t)top->options->entries, ret);
	imported_deinit(&imported);
	return error;
}

static void set_title(struct top_fleet *top, const struct fleet_newest *newest, const struct table *table)
{
	const uint64_t now = clock_now_ns(CLOCK_REALTIME) / second_ns;
	const time_t begin = (time_t)newest->begin;
	struct tm parts;
	char text[16];
	localtime_r(&begin, &parts);
	strftime(text, sizeof(text), "%H:%M:%S", &parts);
	strbuf_clear(&top->title);
	strbuf_printf(&top->title, "hosts: %" PRIu64 "  ", newest->hosts);
	text_add_safe(&top->title, table->header.data[0], strlen(table->header.data[0]));
	strbuf_printf(&top->title, "  %" PRIu64 " s up to %s, %" PRIu64 " s ago", top->options->span_s, text,
		      now > newest->begin ? now - newest->begin : 0);
}

/* The new table, or NULL: there is nothing yet, or no answer, which is told where the table would be. */
static struct table *ask(struct top_fleet *top)
{
	struct fleet_newest newest = {0};
	struct table *table = NULL;
	top->asked_ns = clock_now_ns(CLOCK_MONOTONIC);
	strbuf_clear(&top->trouble);
	struct error *error = fleet_ask_newest(&top->question, top->options->span_s, &newest);
	if (!error && !newest.begin)
		strbuf_add_str(&top->trouble, "no agent has sent anything in the last hour");
	else if (!error && !newest.hosts)
		strbuf_add_str(&top->trouble, "no such samples in the newest windows");
	else if (!error)
		error = ask_costs(top, &newest, &table);
	if (error && error_kind(error) == ERROR_USAGE) {
		top->mistake = error;
		top->ended = true;
		return NULL;
	}
	if (error)
		text_add_safe(&top->trouble, error_message(error), strlen(error_message(error)));
	error_free(error);
	if (table)
		set_title(top, &newest, table);
	return table;
}

static bool is_due(const struct top_fleet *top)
{
	return !top->frozen && (!top->asked_ns || clock_now_ns(CLOCK_MONOTONIC) - top->asked_ns >= top->options->delay_s * second_ns);
}

/* ---- as text ---- */

static struct error *print(struct top_fleet *top)
{
	struct error *error = NULL;
	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	if (top->table) {
		const struct sink out = sink_to_file(stdout);
		top->table->header.len = 0;
		vec_push(&top->table->header, strbuf_str(&top->title));
		error = view_write_one(view_find("stdio"), (struct result){RESULT_TABLE, .table = top->table},
				       &(struct view_options){.header = true}, &out);
		printf("\n");
	}
	if (top->trouble.len)
		printf("# %s\n\n", strbuf_str(&top->trouble));
	return error;
}

static struct error *show_text(struct top_fleet *top, int *ret_status)
{
	struct error *error = NULL;
	while (!error) {
		table_destroy(top->table);
		top->table = ask(top);
		if (top->mistake)
			return top->mistake;
		error = print(top);
		if (!error && fflush(stdout)) {
			*ret_status = errno == EPIPE ? COMMAND_ENDS_BY_SIGNAL + SIGPIPE : 0;
			return errno == EPIPE ? NULL : error_system(errno, "standard output");
		}
		uint64_t passed = clock_now_ns(CLOCK_MONOTONIC) - top->asked_ns, delay = top->options->delay_s * second_ns;
		if (passed < delay)
			nanosleep(&(struct timespec){(time_t)((delay - passed) / second_ns), (long)((delay - passed) % second_ns)}, NULL);
	}
	return error;
}

/* ---- on a screen ---- */

static const char *text_of(const struct table *table, size_t row, size_t column)
{
	const char *text = table->rows.data[row].cells[column].text;
	return text ? text : "";
}

struct finding {
	const struct table *old, *new;
};

/* Where a function of the last table is now. */
static size_t find_row(void *context, size_t row)
{
	const struct finding *finding = context;
	for (size_t i = 0; i < finding->new->rows.len; i++)
		if (!strcmp(text_of(finding->old, row, FLEET_COSTS_FUNCTION), text_of(finding->new, i, FLEET_COSTS_FUNCTION)) &&
		    !strcmp(text_of(finding->old, row, FLEET_COSTS_FILE), text_of(finding->new, i, FLEET_COSTS_FILE)))
			return i;
	return BROWSER_NO_ROW;
}

/* What was shown stays when there is no answer. */
static void renew(struct top_fleet *top, struct browser *browser)
{
	struct table *old = top->table, *new = ask(top);
	if (!new)
		return;
	if (old)
		browser_renew(browser, new, find_row, &(struct finding){old, new});
	else
		browser_set_table(browser, new, false);
	top->table = new;
	table_destroy(old);
}

static const struct key_help fleet_keys[] = {
	{"f", "freeze the table, or let it go on"}, {"r", "ask now"}, {"q, Esc", "end"}, {"?, h, F1", "this help"}, {0},
};

static void take_key(struct top_fleet *top, struct terminal *terminal, struct browser *browser, int key)
{
	const struct key_help *lists[] = {fleet_keys, browser_keys};
	switch (key) {
	case 'q':
	case KEY_ESCAPE:
	case KEY_CLOSED:
		top->ended = true;
		break;
	case 'f':
		top->frozen = !top->frozen;
		break;
	case 'r':
		top->asked_ns = 0;
		top->frozen = false;
		break;
	case '?':
	case 'h':
	case KEY_HELP_F1:
		help_show(terminal, "Keys of perf top --from", lists, sizeof(lists) / sizeof(*lists));
		break;
	default:
		browser_key(browser, key);
	}
}

static void draw(const struct top_fleet *top, struct browser *browser)
{
	struct strbuf status = {0};
	if (top->frozen)
		strbuf_add_str(&status, "frozen: f goes on   ");
	if (top->trouble.len)
		strbuf_printf(&status, "%s   ", strbuf_str(&top->trouble));
	strbuf_add_str(&status, "? for help");
	browser_draw(browser, &(struct browser_words){.title = strbuf_str(&top->title), .status = strbuf_str(&status)});
	strbuf_deinit(&status);
}

static int wait_ms(const struct top_fleet *top)
{
	uint64_t due = top->asked_ns + top->options->delay_s * second_ns, now = clock_now_ns(CLOCK_MONOTONIC);
	if (top->frozen)
		return -1;
	return now < due ? (int)((due - now) / 1000000) + 1 : 0;
}

static struct error *show_screen(struct top_fleet *top)
{
	struct terminal *terminal;
	struct table *none = table_create_columns("functions", NULL, 0);
	struct error *error = terminal_open(&terminal);
	if (error) {
		table_destroy(none);
		return error;
	}
	struct browser *browser = browser_create(terminal);
	browser_set_table(browser, none, false);
	while (!top->ended) {
		if (is_due(top))
			renew(top, browser);
		draw(top, browser);
		take_key(top, terminal, browser, terminal_key(terminal, wait_ms(top)));
	}
	browser_destroy(browser);
	terminal_close(terminal);
	table_destroy(none);
	return top->mistake;
}

/* ---- */

static struct error *choose_screen(const struct top_fleet_options *options, bool *ret)
{
	const char *why = terminal_why_not();
	*ret = !why && !options->text;
	return options->screen && why ? error_new_kind(ERROR_USAGE, "--tui: %s; use --stdio", why) : NULL;
}

struct error *top_fleet(int argc, char **argv, int *ret_status)
{
	struct top_fleet_options options = {.delay_s = DELAY_S, .span_s = SPAN_S};
	struct top_fleet top = {.options = &options};
	struct config config = {0};
	struct http_options http;
	bool screen = false;
	struct error *error = options_parse_alone(fleet_option_table, argc, argv, &options, "");
	if (error)
		return error_wrap(error, "with --from");
	error = fleet_access_open(options.from.url, &config, &http);
	top.question = (struct fleet_question){options.from.url, &http, NULL, options.from.where, options.from.labels, 0};
	if (!error)
		error = choose_screen(&options, &screen);
	if (!error && !screen && !options.entries)
		options.entries = TEXT_ROWS;
	if (!error)
		error = screen ? show_screen(&top) : show_text(&top, ret_status);
	table_destroy(top.table);
	strbuf_deinit(&top.title);
	strbuf_deinit(&top.trouble);
	config_close(&config);
	return error;
}
