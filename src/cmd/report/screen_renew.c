/* perf report on a screen, for who has newer samples now and then: the same table of another fold.
 *
 * Where both folds are of one session, what rows are told apart by are the same pointers and numbers in both, but for strings, of which
 * each table may have its own: by these the row that the cursor was on is found again. Of two sessions the texts of the rows are
 * compared. */
#include "cmd/report/screen.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* What was shown before, and is found again in the screen's report. */
struct renewal {
	struct screen *screen;
	struct report *old_report;
	struct fold *old_fold;
	struct report_event *old_event;
	struct rows_table *old_table;
	struct fold_parts *old_parts;
	bool by_text;
};

/* What a key tells rows apart by: equal words, same value. Zeros behind them. */
static void identify(struct report *report, const struct report_event *event, uint32_t row, const struct key *key, uint64_t *words)
{
	struct key_source source;
	rows_source(event->rows, row, key, &source);
	memset(words, 0, KEY_WORDS_MAX * sizeof(*words));
	if (key->domain == KEY_EXTRA && key->string)
		words[0] = source.string ? hash_bytes(source.string, strlen(source.string)) : 0;
	else if (key->domain == KEY_EXTRA)
		memcpy(words, source.words, (key->words < KEY_WORDS_MAX ? key->words : KEY_WORDS_MAX) * sizeof(*words));
	else if (key->identify)
		key->identify(&report->context, &source, words);
}

/* The same by what the row is called. */
static void identify_by_text(struct report *report, const struct report_event *event, uint32_t row, const struct key *key, uint64_t *words)
{
	struct key_source source;
	struct strbuf text = {0};
	const char *string;
	rows_source(event->rows, row, key, &source);
	if (key->text)
		key->text(&report->context, key, &source, &text);
	else if (key->string && (string = key->string(&report->context, key, &source)))
		strbuf_add_str(&text, string);
	else if (key->number)
		strbuf_printf(&text, "%ld", key->number(&report->context, key, &source));
	memset(words, 0, KEY_WORDS_MAX * sizeof(*words));
	words[0] = hash_bytes(strbuf_str(&text), text.len);
	strbuf_deinit(&text);
}

static bool is_same(struct screen *screen, bool by_text, uint32_t row, const uint64_t (*wanted)[KEY_WORDS_MAX])
{
	const struct report_event *event = screen->event;
	uint64_t words[KEY_WORDS_MAX];
	for (size_t i = 0; i < event->keys.identity_count; i++) {
		(by_text ? identify_by_text : identify)(screen->report, event, row, event->keys.identity[i], words);
		if (memcmp(words, wanted[i], sizeof(words)))
			return false;
	}
	return true;
}

/* The same of a hierarchy. */
static size_t find_line(const struct renewal *renewal, size_t line, size_t count)
{
	uint64_t (*identify_line)(const struct rows_table *, size_t) = renewal->by_text ? rows_table_line_name : rows_table_line_id;
	uint64_t wanted = identify_line(renewal->old_table, line);
	for (size_t i = 0; i < count; i++)
		if (identify_line(renewal->screen->table, i) == wanted)
			return i;
	return BROWSER_NO_ROW;
}

static size_t find_row(void *context, size_t line)
{
	const struct renewal *renewal = context;
	struct screen *screen = renewal->screen;
	const struct report_event *old_event = renewal->old_event;
	uint64_t wanted[ROWS_KEYS_MAX][KEY_WORDS_MAX];
	size_t count = table_row_count(rows_table_result(screen->table));
	if (screen->report->options->hierarchy)
		return find_line(renewal, line, count);
	uint32_t row = rows_table_row(renewal->old_table, line);
	struct fold *now = screen->report->fold;
	if (old_event->keys.identity_count != screen->event->keys.identity_count)
		return BROWSER_NO_ROW;
	renewal->old_report->context.fold = renewal->old_fold;
	for (size_t i = 0; i < old_event->keys.identity_count; i++)
		(renewal->by_text ? identify_by_text : identify)(renewal->old_report, old_event, row, old_event->keys.identity[i],
								 wanted[i]);
	screen->report->context.fold = now;
	for (size_t i = 0; i < count; i++)
		if (is_same(screen, renewal->by_text, rows_table_row(screen->table, i), wanted))
			return i;
	return BROWSER_NO_ROW;
}

void screen_carry(struct screen *screen, struct carrying *carrying)
{
	struct screen_zoom *zoom = &screen->zoom;
	if (screen->parts)
		fold_parts_renew(screen->parts);
	if (zoom->thread)
		zoom->thread = machine_carry_thread(carrying, zoom->thread);
	if (zoom->comm)
		zoom->comm = machine_carry_name(carrying, zoom->comm);
	machine_carry_file(carrying, zoom->dso);
}

static struct renewal begin(struct screen *screen)
{
	struct renewal old = {.screen = screen,
			      .old_report = screen->report,
			      .old_fold = screen->report->fold,
			      .old_event = screen->event,
			      .old_table = screen->table,
			      .old_parts = screen->parts};
	screen->event = NULL;
	screen->table = NULL;
	return old;
}

/* The screen has a new report or fold, with its parts; and maybe the event. */
static struct error *finish(struct screen *screen, struct renewal *old)
{
	struct report *report = screen->report;
	const struct screen_events *set = &screen->sets.data[screen->current];
	struct error *error = screen->event ? NULL : report_event_open(report, screen->parts, set->list, set->count, &screen->event);
	if (!error) {
		screen_note_rows(screen);
		screen_filter(screen);
		screen->table = report_event_table(report, screen->event, &screen->open);
		if (old->by_text && screen->open.others.count && old->old_table) {
			rows_table_carry_open(old->old_table, screen->table, &screen->open);
			rows_table_destroy(screen->table);
			screen->table = report_event_table(report, screen->event, &screen->open);
		}
		browser_renew(screen->browser, rows_table_result(screen->table), find_row, old);
	} else {
		browser_leave(screen->browser);
	}
	rows_table_destroy(old->old_table);
	report_event_close(old->old_event);
	fold_parts_destroy(old->old_parts);
	return error;
}

struct error *screen_renew(struct screen *screen, struct fold *fold)
{
	struct renewal old = begin(screen);
	screen->report->fold = screen->report->context.fold = fold;
	screen->parts = fold_parts_create(fold);
	return finish(screen, &old);
}

struct error *screen_replace(struct screen *screen, struct report *report, struct fold_parts *parts, struct report_event *event)
{
	struct renewal old = begin(screen);
	screen->report = report;
	if (report->session != old.old_report->session) {
		old.by_text = true;
		screen_find_sets(screen);
		screen_zoom_move(screen, report->session->machine);
	}
	screen->parts = parts;
	screen->event = event;
	return finish(screen, &old);
}
