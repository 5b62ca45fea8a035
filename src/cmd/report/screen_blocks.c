/* perf report --total-cycles on a screen: the blocks of code between branches, those first that took most cycles. What they are is told in
 * blocks.c; functions are opened as from the table of functions. */
#include "cmd/report/screen.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const struct key_help keys[] = {
	{"", "The table"},
	{"Up, Down", "one line"},
	{"PgUp, PgDn, Space", "one page"},
	{"Home, End", "the first row, the last one"},
	{"Right", "scroll the columns to the left (Left: back)"},
	{"H", "show or hide the titles of the columns"},
	{"M", "the mouse: a click goes to a line, one more opens its function"},
	{"", "Blocks"},
	{"Enter, a", "the block's function by instructions, with what each costs"},
	{"/", "show only blocks of functions with a text in their names"},
	{"B", "what the letters of branch counters stand for (of branch records with counters)"},
	{"L", "leave out blocks below a percentage of the cycles"},
	{"Tab, Shift-Tab", "the next event of the recording, the one before"},
	{"", "Besides"},
	{"i", "what is known of the machine and the events"},
	{"P", "print the table to a file perf.hist.N"},
	{"?, h, F1", "this help"},
	{"q, Esc, Ctrl-C", "quit"},
	{0},
};

struct block_screen {
	struct screen *screen;
	struct report_event *event;
	struct report_blocks blocks;
	char *part; /* of functions' names; NULL = as the options say */
};

static void add_status(const struct block_screen *shown, struct strbuf *out)
{
	const struct screen *screen = shown->screen;
	const struct report_options *options = screen->report->options;
	if (screen->note.len)
		strbuf_printf(out, "%s   ", strbuf_str(&screen->note));
	if (options->symbol_filter && *options->symbol_filter) {
		strbuf_add_str(out, "functions with ");
		text_add_safe(out, options->symbol_filter, strlen(options->symbol_filter));
		strbuf_add_str(out, "   ");
	}
	if (options->percent_limit > 0)
		strbuf_printf(out, "blocks from %g%% on   ", options->percent_limit);
	if (!shown->blocks.blocks->cycles)
		strbuf_add_str(out, "the branch records contain no cycles   ");
	strbuf_printf(out, "?: help   q: quit   Enter: instructions   /: find%s", screen->sets.len > 1 ? "   Tab: next event" : "");
}

static void draw(const struct block_screen *shown)
{
	struct strbuf title = {0}, status = {0};
	screen_add_header(shown->blocks.table, &title);
	add_status(shown, &status);
	browser_draw(shown->screen->browser, &(struct browser_words){.title = strbuf_str(&title), .status = strbuf_str(&status)});
	strbuf_deinit(&title);
	strbuf_deinit(&status);
}

static void choose(struct block_screen *shown)
{
	browser_leave(shown->screen->browser);
	report_blocks_choose(shown->screen->report, shown->event, &shown->blocks);
	browser_set_table(shown->screen->browser, shown->blocks.table, false);
}

static void ask_function(struct block_screen *shown)
{
	struct report_options *options = shown->screen->report->options;
	char *part = screen_ask_part(shown->screen, options->symbol_filter);
	if (!part)
		return;
	free(shown->part);
	options->symbol_filter = shown->part = part;
	choose(shown);
}

static void annotate(const struct block_screen *shown)
{
	size_t line = browser_row(shown->screen->browser);
	if (line == BROWSER_NO_ROW)
		return;
	const struct frame *last = &shown->blocks.rows.data[line]->last;
	screen_annotate_symbol(shown->screen, last->map->dso, last->symbol);
}

static void take_key(struct block_screen *shown, int key)
{
	static const struct key_help *const lists[] = {keys};
	struct screen *screen = shown->screen;
	switch (key) {
	case KEY_RETURN:
	case 'a':
		annotate(shown);
		break;
	case '/':
		ask_function(shown);
		break;
	case 'L':
		if (screen_ask_limit(screen))
			choose(shown);
		break;
	case 'B':
		if (!counters_explain(screen->terminal, shown->blocks.blocks->counters, shown->blocks.blocks->counter_count))
			strbuf_add_str(&screen->note, COUNTERS_MISSING);
		break;
	case 'i':
		screen_show_header(screen);
		break;
	case 'P':
		screen_print(screen, shown->blocks.table);
		break;
	case '?':
	case 'h':
	case KEY_HELP_F1:
		help_show(screen->terminal, "Keys of perf report --total-cycles", lists, 1);
		break;
	default:
		if (key < KEY_NOTHING || key == KEY_UNKNOWN)
			strbuf_add_str(&screen->note, "this key does nothing: ? lists those that do");
	}
}

/* Until another event is to be shown, or none. */
static void follow(struct block_screen *shown)
{
	struct screen *screen = shown->screen;
	size_t count = screen->sets.len;
	while (!screen->ended) {
		draw(shown);
		int key = terminal_key(screen->terminal, -1);
		strbuf_clear(&screen->note);
		if (key == KEY_CLICK)
			key = browser_click(screen->browser) ? KEY_RETURN : KEY_NOTHING;
		if ((key == KEY_TABULATOR || key == KEY_BACK_TABULATOR) && count > 1) {
			screen->current = (screen->current + (key == KEY_TABULATOR ? 1 : count - 1)) % count;
			return;
		}
		screen->ended = key == 'q' || key == KEY_ESCAPE || key == KEY_CLOSED;
		if (!screen->ended && !browser_key(screen->browser, key))
			take_key(shown, key);
	}
}

static struct error *show_event(struct block_screen *shown)
{
	struct screen *screen = shown->screen;
	const struct screen_events *set = &screen->sets.data[screen->current];
	struct error *error = report_event_open(screen->report, screen->parts, set->list, set->count, &shown->event);
	if (error)
		return error;
	error = report_blocks_open(screen->report, shown->event, true, &shown->blocks);
	if (!error) {
		browser_set_table(screen->browser, shown->blocks.table, false);
		follow(shown);
		browser_leave(screen->browser);
	}
	report_blocks_close(&shown->blocks);
	report_event_close(shown->event);
	return error;
}

struct error *screen_show_blocks(struct screen *screen)
{
	struct block_screen shown = {.screen = screen};
	const char *filter = screen->report->options->symbol_filter;
	struct error *error = NULL;
	while (!error && !screen->ended)
		error = show_event(&shown);
	screen->report->options->symbol_filter = filter;
	free(shown.part);
	return error;
}
