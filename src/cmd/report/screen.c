/* perf report on a screen: the same tables as in text, to look around in.
 *
 *	fold ──► rows of the chosen events ──zoom──► table ──► browser ──► terminal
 *	                                                           ▲
 *	                                            keys ──────────┘
 */
#include "cmd/report/screen.h"
#include "cmd/report/screen_rest.h"

#include "app/config.h"
#include "base/text.h"
#include "event/event_set.h"

#include <stdlib.h>
#include <string.h>

static const struct key_help keys[] = {
	{"", "What is shown"},
	{"Enter, m", "the menu of the row: annotate, zoom, symbols, exit"},
	{"a", "the row's function by instructions, with what each costs"},
	{"d", "zoom into the row's file, or out of it"},
	{"t", "zoom into the row's thread, or out of it"},
	{"k", "zoom into the kernel and its modules, or out of them"},
	{"S", "zoom into the row's processor socket, or out of it (with --sort socket)"},
	{"/", "show only functions with a text in their names"},
	{"Esc, Left", "zoom out, one step; then the menu of events"},
	{"F", "percentages of what is shown, or of all samples"},
	{"L", "leave out rows below a percentage"},
	{"V", "more words: addresses, full names of files"},
	{"0-9", "sort by that event of the group"},
	{"Tab, Shift-Tab", "the next event of the recording, the one before"},
	{"", "Besides"},
	{"i", "what is known of the machine and the events"},
	{"P", "print the table to a file perf.hist.N"},
	{"x", "write what is shown as CSV, JSON, folded stacks or a flame graph"},
	{"?, h, F1", "this help"},
	{"q, Ctrl-C", "quit"},
	{0},
};

/* perf top has another key for it. */
static const struct key_help report_keys[] = {{"", "Other pictures"},
					      {"f", "the stacks of what is shown as a flame graph"},
					      {"r", "run a script on what is shown"},
					      {"s", "another recording of this folder"},
					      {0}};

struct error *report_screen_wanted(const struct report_options *options, bool *ret)
{
	const char *why = terminal_why_not();
	const char *other = options->format	    ? "--format is for programs"
			    : options->html	    ? "--html writes a page"
			    : options->separator    ? "-t is for programs"
			    : options->show_threads ? "-T is shown as text"
			    : options->header_only || options->dump || options->stats || options->tasks || options->mmaps
				    ? "there is no table to show"
				    : NULL;
	*ret = false;
	if (options->screen == SCREEN_NEVER)
		return NULL;
	*ret = !why && !other;
	if (options->screen == SCREEN_WANTED && !*ret)
		return error_new_kind(ERROR_USAGE, "--tui: %s; use --stdio", other ? other : why);
	return NULL;
}

/* ---- events ---- */

static void forget_sets(struct screen *screen)
{
	for (size_t i = 0; i < screen->sets.len; i++)
		free(screen->sets.data[i].list);
	screen->sets.len = screen->current = 0;
}

/* As report_show_events() goes through them. */
void screen_find_sets(struct screen *screen)
{
	const struct report *report = screen->report;
	const struct screen_owner *owner = screen->owner;
	struct event_set set = {0};
	bool *with_samples = report_events_with_samples(report), part = report->every || report->beginning;
	size_t current = screen->sets.len ? screen->sets.data[screen->current].list[0]->index : 0;
	forget_sets(screen);
	while (event_set_next(&report->session->reader->events, report->group, &set)) {
		bool any = !report->options->skip_empty || (owner && set.events.data[0]->index < owner->event_count);
		for (size_t i = 0; i < set.events.len && !owner; i++)
			any |= with_samples[set.events.data[i]->index] ||
			       (part && report->session->event_counts[set.events.data[i]->index].samples);
		if (!any)
			continue;
		struct screen_events found = {.list = mem_alloc_array(set.events.len, sizeof(*found.list)), .count = set.events.len};
		memcpy(found.list, set.events.data, found.count * sizeof(*found.list));
		if (found.list[0]->index == current)
			screen->current = screen->sets.len;
		vec_push(&screen->sets, found);
	}
	event_set_deinit(&set);
	free(with_samples);
}

struct error *screen_open_event(struct screen *screen)
{
	const struct screen_events *set = &screen->sets.data[screen->current];
	struct report_event *before = screen->event, *event;
	struct rows_table *table = screen->table;
	/* The fold's parts give one event's at a time. */
	browser_leave(screen->browser);
	rows_table_destroy(table);
	report_event_close(before);
	screen->table = NULL;
	screen->event = NULL;
	struct error *error = report_event_open(screen->report, screen->parts, set->list, set->count, &event);
	if (error)
		return error;
	screen->event = event;
	screen_note_rows(screen);
	screen_make_table(screen, false);
	return NULL;
}

void screen_note_rows(struct screen *screen)
{
	const struct rows *rows = screen->event->rows;
	size_t events = rows->options.event_count;
	free(screen->order);
	free(screen->totals);
	screen->order_count = rows->shown_count;
	screen->order = mem_alloc_array(screen->order_count + 1, sizeof(*screen->order));
	memcpy(screen->order, rows->order, screen->order_count * sizeof(*screen->order));
	screen->totals = mem_alloc_array(2 * events, sizeof(*screen->totals));
	memcpy(screen->totals, rows->total_shown, events * sizeof(*screen->totals));
	memcpy(screen->totals + events, rows->samples_shown, events * sizeof(*screen->totals));
}

void screen_make_table(struct screen *screen, bool stay)
{
	struct rows_table *before = screen->table;
	screen_filter(screen);
	screen->table = report_event_table(screen->report, screen->event, &screen->open);
	browser_set_table(screen->browser, rows_table_result(screen->table), stay);
	rows_table_destroy(before);
}

static struct error *next_events(struct screen *screen, size_t step)
{
	size_t count = screen->sets.len;
	if (count < 2)
		return NULL;
	screen->current = (screen->current + step) % count;
	screen_zoom_reset(screen);
	return screen_open_event(screen);
}

/* ---- words ---- */

void screen_add_header(const struct table *table, struct strbuf *out)
{
	for (size_t i = 0; i < table->header.len && i < 2; i++) {
		const char *line = table->header.data[i];
		strbuf_add_str(out, i ? ", " : "");
		text_add_safe(out, line, strcspn(line, "\n"));
	}
}

/* "Samples: 3K of event 'cycles', Event count (approx.): 813250000, DSO: libc.so.6" */
static void add_title(const struct screen *screen, struct strbuf *out)
{
	if (screen->owner) {
		screen->owner->add_title(screen->owner->context, screen, out);
		return;
	}
	screen_add_header(rows_table_result(screen->table), out);
	screen_zoom_text(screen, out);
}

static void add_status(const struct screen *screen, struct strbuf *out)
{
	const struct rows *rows = screen->event->rows;
	if (screen->note.len)
		strbuf_printf(out, "%s   ", strbuf_str(&screen->note));
	screen_rest_add_status(screen, out);
	if (screen->owner)
		screen->owner->add_status(screen->owner->context, out);
	if (screen->zooms.len && screen->owner) { /* the first line has no room for it */
		struct strbuf zooms = {0};
		screen_zoom_text(screen, &zooms);
		strbuf_printf(out, "%s: ", strbuf_str(&zooms) + strlen(", "));
		strbuf_deinit(&zooms);
	}
	if (screen->zooms.len)
		strbuf_printf(out, "%.2f%% of all is shown   Esc: zoom out   ", rows_percent(rows->total_shown[0], rows->total[0]));
	if (screen->report->options->relative)
		strbuf_add_str(out, "percentages of what is shown   ");
	if (screen->report->options->percent_limit > 0)
		strbuf_printf(out, "rows from %g%% on   ", screen->report->options->percent_limit);
	if (!screen->note.len && !screen->zooms.len)
		strbuf_printf(out, "?: help   q: quit   Enter: menu   %sa: instructions   /: find%s",
			      screen->report->options->hierarchy ? "+: open   "
			      : screen->report->chains		 ? "+: call chains   "
								 : "",
			      screen->sets.len > 1 ? "   Tab: next event" : "");
}

static void draw(struct screen *screen)
{
	struct strbuf title = {0}, status = {0};
	add_title(screen, &title);
	add_status(screen, &status);
	browser_draw(screen->browser, &(struct browser_words){.title = strbuf_str(&title), .status = strbuf_str(&status)});
	strbuf_deinit(&title);
	strbuf_deinit(&status);
}

/* ---- keys ---- */

/* Keys that need a row. False: it is none of them. */
static bool take_row_key(struct screen *screen, int key)
{
	static const struct {
		int key;
		enum zoom_kind zoom;
	} zooms[] = {{'d', ZOOM_DSO}, {'t', ZOOM_THREAD}, {'k', ZOOM_KERNEL}, {'S', ZOOM_SOCKET}};
	size_t line = browser_row(screen->browser);
	uint32_t row = line == BROWSER_NO_ROW ? SCREEN_NO_ROW : rows_table_row(screen->table, line);
	for (size_t i = 0; i < sizeof(zooms) / sizeof(zooms[0]); i++)
		if (zooms[i].key == key) {
			if (!screen_zoom_toggle(screen, zooms[i].zoom, row))
				strbuf_add_str(&screen->note, "the rows don't distinguish that: see --sort");
			return true;
		}
	if (key != KEY_RETURN && key != 'm' && key != 'a')
		return false;
	if (line != BROWSER_NO_ROW)
		(key == 'a' ? screen_annotate : screen_menu)(screen, row);
	return true;
}

/* What opens and closes levels of a hierarchy; call graphs below the last one are the browser's. False: it is no such key. */
static bool take_level_key(struct screen *screen, int key)
{
	size_t line = browser_row(screen->browser);
	if (key == 'E' || key == 'C') {
		map64_deinit(&screen->open.others);
		screen->open.all = key == 'E';
	} else if ((key == '+' || key == 'e' || key == 'c') && line != BROWSER_NO_ROW && rows_table_line_opens(screen->table, line)) {
		uint64_t id = rows_table_line_id(screen->table, line);
		bool open = !map64_find(&screen->open.others, id) == screen->open.all;
		if (key == 'c' && !open)
			return true;
		if (!map64_remove(&screen->open.others, id))
			map64_insert(&screen->open.others, id, NULL);
	} else {
		return false;
	}
	screen_make_table(screen, true);
	return true;
}

/* Out of the last zoom, else to the menu of events. */
static struct error *go_back(struct screen *screen)
{
	if (screen_zoom_out(screen))
		return NULL;
	if (screen->sets.len < 2) {
		strbuf_add_str(&screen->note, "q quits");
		return NULL;
	}
	return screen_choose_events(screen) ? screen_open_event(screen) : NULL;
}

static void show_help(struct screen *screen)
{
	const struct screen_owner *owner = screen->owner;
	const struct key_help *lists[] = {owner ? owner->keys : browser_keys, owner ? browser_keys : keys, owner ? keys : report_keys};
	help_show(screen->terminal, owner ? owner->title : "Keys of perf report", lists, 3);
}

/* What changes how rows are shown. False: it is none of these keys. */
static bool take_option_key(struct screen *screen, int key)
{
	struct report_options *options = screen->report->options;
	switch (key) {
	case 'F':
		options->relative = !options->relative;
		screen_make_table(screen, true);
		return true;
	case 'L':
		if (screen_ask_limit(screen))
			screen_make_table(screen, false);
		return true;
	case '/':
		screen_ask_symbol(screen);
		return true;
	case 'i':
		screen_show_header(screen);
		return true;
	case 'f':
		screen_show_flame(screen);
		return true;
	case 'P':
		screen_print(screen, rows_table_result(screen->table));
		return true;
	case 'x':
		screen_export(screen);
		return true;
	case 'r':
		screen_run_script(screen);
		return true;
	case 's':
		screen_switch_recording(screen);
		return true;
	case '?':
	case 'h':
	case KEY_HELP_F1:
		show_help(screen);
		return true;
	default:
		return false;
	}
}

/* Stacks are those of samples from all processor sockets: fold entries don't tell them apart where rows do. */
static bool needs_all_sockets(int key)
{
	return key == 'x' || key == 'f';
}

/* What is written or looked at in detail must be of all samples. */
static bool needs_all(int key)
{
	return key == 'a' || key == 'P' || key == 'x' || key == 'f' || key == KEY_RETURN || key == 'm';
}

static struct error *take_key(struct screen *screen, int key)
{
	struct report *report = screen->report;
	strbuf_clear(&screen->note);
	if (key == KEY_CLICK) {
		if (!browser_click(screen->browser))
			return NULL;
		key = '+';
	}
	if (needs_all(key) && !screen_rest_is_read(screen)) {
		strbuf_add_str(&screen->note, "the recording is still being read: try again when all of it has been");
		return NULL;
	}
	if (needs_all_sockets(key) && screen->zoom.by_socket) {
		strbuf_add_str(&screen->note, "stacks can't be shown of one processor socket: S zooms out");
		return NULL;
	}
	if (screen->owner && screen->owner->key(screen->owner->context, screen, key))
		return NULL;
	if (report->options->hierarchy && take_level_key(screen, key))
		return NULL;
	if (browser_key(screen->browser, key) || take_row_key(screen, key) || take_option_key(screen, key))
		return NULL;
	if (key >= '0' && key <= '9' && (size_t)(key - '0') < screen->sets.data[screen->current].count) {
		report->options->group_sort_index = key - '0';
		return screen_open_event(screen);
	}
	switch (key) {
	case 'V':
		report->context.verbose = !report->context.verbose;
		browser_set_verbose(screen->browser, report->context.verbose);
		return screen_open_event(screen);
	case KEY_TABULATOR:
		return next_events(screen, 1);
	case KEY_BACK_TABULATOR:
		return next_events(screen, screen->sets.len - 1);
	case KEY_ESCAPE:
	case KEY_GO_LEFT:
		return go_back(screen);
	case 'q':
	case KEY_CLOSED:
		screen->ended = true;
		return NULL;
	default:
		if (key < KEY_NOTHING || key == KEY_UNKNOWN)
			strbuf_add_str(&screen->note, "this key does nothing: ? lists those that do");
		return NULL;
	}
}

/* What has happened since the last time. */
static struct error *renew(struct screen *screen)
{
	const struct screen_owner *owner = screen->owner;
	struct fold *fold = owner->renew(owner->context);
	struct error *error = fold ? screen_renew(screen, fold) : NULL;
	if (fold)
		owner->release(owner->context, screen);
	return error;
}

/* Not before the first rows are painted: it takes all processors. */
static void begin_rest(struct screen *screen)
{
	if (!screen->rest && !screen_rest_is_read(screen))
		screen->rest = screen_rest_begin(screen);
}

static struct error *follow(struct screen *screen)
{
	const struct screen_owner *owner = screen->owner;
	if (!owner && screen->sets.len > 1) {
		begin_rest(screen);
		if (!screen_choose_events(screen))
			return NULL;
	}
	if (screen->report->options->total_cycles)
		return screen_show_blocks(screen);
	struct error *error = screen_open_event(screen);
	while (!error && !screen->ended) {
		draw(screen);
		begin_rest(screen);
		int key = terminal_key(screen->terminal, owner ? owner->wait_ms(owner->context) : screen_rest_wait_ms(screen));
		if (key != KEY_NOTHING)
			error = take_key(screen, key);
		if (owner && !error && !screen->ended)
			error = renew(screen);
		if (!error && !screen->ended)
			error = screen_rest_take(screen);
	}
	return error;
}

struct error *report_screen(struct report *report, const struct screen_tools *tools)
{
	return screen_show(report, tools, NULL);
}

struct error *screen_show(struct report *report, const struct screen_tools *tools, const struct screen_owner *owner)
{
	struct screen screen = {.report = report, .tools = *tools, .owner = owner};
	struct error *error = terminal_open(&screen.terminal);
	if (error)
		return error;
	if (report->options->mouse)
		terminal_set_mouse(screen.terminal, true);
	if (owner)
		terminal_set_work(screen.terminal, &owner->work);
	screen.parts = fold_parts_create(report->fold);
	screen.browser = browser_create(screen.terminal);
	screen_find_sets(&screen);
	if (owner)
		owner->begin(owner->context, &screen);
	error = follow(&screen);
	browser_destroy(screen.browser);
	rows_table_destroy(screen.table);
	report_event_close(screen.event);
	annotate_destroy(screen.annotate);
	screen_zoom_reset(&screen);
	vec_deinit(&screen.zooms);
	forget_sets(&screen);
	vec_deinit(&screen.sets);
	map64_deinit(&screen.open.others);
	free(screen.order);
	free(screen.totals);
	strbuf_deinit(&screen.note);
	fold_parts_destroy(screen.parts);
	terminal_close(screen.terminal);
	screen_rest_end(screen.rest, error);
	return error;
}
