/* perf report on a screen: what keys and the menu of a row open. */
#include "cmd/report/screen.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"
#include "cmd/code/code_screen.h"
#include "cmd/report/screen_switch.h"
#include "perfdata/features/features_print.h"
#include "tui/flame.h"
#include "view/view.h"

#include <stdlib.h>
#include <string.h>

void screen_show_header(struct screen *screen)
{
	struct strbuf text = {0};
	features_print(screen->report->session->reader, true, &text);
	text_show(screen->terminal, "The recording's header", strbuf_str(&text));
	strbuf_deinit(&text);
}

void screen_print(struct screen *screen, const struct table *table)
{
	const struct view_options view = {.header = true};
	struct strbuf text = {0};
	struct sink out = sink_to_text(&text);
	struct result result = {RESULT_TABLE, .table = table};
	struct error *error = view_write_one(view_find("stdio"), result, &view, &out);
	print_file_tell(screen->tools.prints, PRINT_TEXT, strbuf_str(&text), text.len, &screen->note);
	error_free(error);
	strbuf_deinit(&text);
}

void screen_show_symbols(struct screen *screen, uint32_t row)
{
	const struct fold_frame *place = screen_place(screen, row);
	struct strbuf text = {0};
	if (!place || !place->map) {
		message_show(screen->terminal, "Symbols", "The row is in no file.");
		return;
	}
	const struct symtab *symtab = resolver_symtab(screen->report->opening.resolver, place->map->dso);
	strbuf_add_char(&text, '\001');
	strbuf_printf(&text, "%16s %16s  %s\n", "Start", "End", "Symbol");
	for (size_t i = 0; i < symtab->count; i++) {
		const struct symbol *symbol = symtab_at(symtab, i);
		strbuf_printf(&text, "%16lx %16lx  ", symbol->start, symbol->end);
		text_add_safe(&text, symbol->name, strlen(symbol->name));
		strbuf_add_char(&text, '\n');
	}
	struct strbuf title = {0};
	strbuf_printf(&title, "%zu symbols of ", symtab->count);
	text_add_safe(&title, place->map->dso->name, strlen(place->map->dso->name));
	text_show(screen->terminal, strbuf_str(&title), strbuf_str(&text));
	strbuf_deinit(&title);
	strbuf_deinit(&text);
}

void screen_show_flame(struct screen *screen)
{
	enum { MOST = 50000, DEEPEST = 500 };
	const struct event *event = screen->sets.data[screen->current].list[0];
	struct calltree *tree = screen_calltree(screen, MOST, DEEPEST);
	struct strbuf title = {0};
	strbuf_add_str(&title, screen->zooms.len ? "Flame graph of " : "Flame graph of all samples of ");
	text_add_safe(&title, event->name, strlen(event->name));
	screen_zoom_text(screen, &title);
	flame_show(screen->terminal, strbuf_str(&title), tree);
	strbuf_deinit(&title);
	calltree_destroy(tree);
}

/* ---- other recordings ---- */

void screen_switch_recording(struct screen *screen)
{
	const struct screen_switch *choice = screen->tools.choice;
	struct screen_recordings recordings = {0};
	if (choice && choice->wish >= 0)
		screen_switch_look(choice, &recordings);
	if (recordings.paths.len < 2) {
		strbuf_add_str(&screen->note, "there is no other recording in this folder");
	} else {
		size_t number = menu_choose(screen->terminal, "Recordings of this folder", (const char *const *)recordings.paths.data,
					    recordings.paths.len, recordings.current);
		screen->ended |= number != MENU_NONE && number != recordings.current;
		if (screen->ended)
			screen_switch_wish(choice, recordings.paths.data[number]);
	}
	screen_recordings_deinit(&recordings);
}

/* ---- instructions ---- */

static struct error *prepare_annotate(struct screen *screen)
{
	const struct report_options *report = screen->report->options;
	const struct annotate_options options = code_options_annotate(&report->code, report->input.symfs);
	const struct screen_owner *owner = screen->owner;
	if (owner) { /* what there was a while ago isn't what there is now */
		annotate_destroy(screen->annotate);
		screen->annotate = owner->annotate(owner->context, &options);
	}
	if (screen->annotate)
		return NULL;
	return annotate_create(screen->report->session, screen->report->opening.resolver, &options, &screen->annotate);
}

/* The function of a symbol, which is in a file; or, where that is NULL, one by its name. */
static const struct annotate_function *find_function(const struct screen *screen, const struct dso *dso, const struct symbol *symbol,
						     const char *name)
{
	const struct annotate *annotate = screen->annotate;
	if (!symbol)
		return code_function_named(annotate, name, screen->sets.data[screen->current].list[0]->index);
	for (size_t i = 0; i < annotate->function_count; i++)
		if (annotate->functions[i].dso == dso && annotate->functions[i].symbol == symbol)
			return &annotate->functions[i];
	return NULL;
}

/* What it has to say stands in the window that is open. */
static void run_script(void *context, struct strbuf *note)
{
	struct screen *screen = context;
	screen_run_script(screen);
	strbuf_add_str(note, strbuf_str(&screen->note));
	strbuf_clear(&screen->note);
}

static struct error *show_annotation(struct screen *screen, const struct dso *dso, const struct symbol *symbol, const char *name)
{
	struct error *error = prepare_annotate(screen);
	if (error)
		return error;
	const struct annotate_function *function = find_function(screen, dso, symbol, name);
	if (!function)
		return symbol ? error_new("the function itself has no samples, only what it calls has")
			      : error_new("no function that is called %s has samples", name);
	const struct screen_events *set = &screen->sets.data[screen->current];
	cleanup_free uint32_t *order = NULL;
	size_t order_count = code_order(screen->annotate, set->list, set->count, &order);
	struct annotation_style style = code_options_style(&screen->report->options->code);
	style.counts = screen->report->context.verbose;
	const struct code_screen code = {.order = order,
					 .order_count = order_count,
					 .terminal = screen->terminal,
					 .annotate = screen->annotate,
					 .events = set->list,
					 .event_count = set->count,
					 .style = style,
					 .prints = screen->tools.prints,
					 .run_script = screen->owner ? NULL : run_script,
					 .script_context = screen};
	return code_screen_show(&code, function);
}

/* Takes the error over. */
static void tell(struct screen *screen, struct error *error)
{
	if (!error)
		return;
	struct strbuf text = {0};
	text_add_safe(&text, error_message(error), strlen(error_message(error)));
	message_show(screen->terminal, "No instructions can be shown", strbuf_str(&text));
	strbuf_deinit(&text);
	error_free(error);
}

void screen_annotate(struct screen *screen, uint32_t row)
{
	const struct fold_frame *place = screen_function(screen, row);
	if (place)
		screen_annotate_symbol(screen, place->map->dso, place->symbol);
	else
		tell(screen, error_new("this row is not a known function"));
}

void screen_annotate_symbol(struct screen *screen, const struct dso *dso, const struct symbol *symbol)
{
	tell(screen, show_annotation(screen, dso, symbol, NULL));
}

void screen_annotate_named(struct screen *screen, const char *name)
{
	tell(screen, show_annotation(screen, NULL, NULL, name));
}

/* ---- questions ---- */

bool screen_ask_limit(struct screen *screen)
{
	double limit;
	cleanup_free char *text = question_ask(screen->terminal, "Percent limit", "Rows below this percentage are left out", "");
	if (!text)
		return false;
	if (!number_parse_double(text, &limit) || !(limit >= 0 && limit <= 100)) {
		message_show(screen->terminal, "Percent limit", "A number from 0 to 100 is needed.");
		return false;
	}
	screen->report->options->percent_limit = screen->report->options->callgraph.min_percent = limit;
	return true;
}

char *screen_ask_part(const struct screen *screen, const char *before)
{
	return question_ask(screen->terminal, "Symbol to show", "A part of a function's name; nothing shows all again", before);
}

void screen_ask_symbol(struct screen *screen)
{
	char *text = screen_ask_part(screen, screen->zoom.symbol);
	if (text)
		screen_zoom_symbol(screen, text);
}

/* ---- menus ---- */

static char *events_line(const struct screen *screen, const struct screen_events *set)
{
	uint64_t samples = 0;
	const struct fold *fold = screen->report->fold;
	struct strbuf name = {0}, line = {0};
	for (size_t i = 0; i < fold->entry_count; i++)
		for (size_t event = 0; event < set->count; event++)
			samples += fold->entries[i].event == set->list[event]->index ? fold->entries[i].count : 0;
	event_set_add_name(set->list, set->count, &name);
	strbuf_printf(&line, "%10lu samples of ", samples);
	text_add_safe(&line, strbuf_str(&name), name.len);
	strbuf_deinit(&name);
	return strbuf_detach(&line);
}

bool screen_choose_events(struct screen *screen)
{
	size_t count = screen->sets.len;
	char **lines = mem_alloc_array(count, sizeof(*lines));
	for (size_t i = 0; i < count; i++)
		lines[i] = events_line(screen, &screen->sets.data[i]);
	terminal_clear(screen->terminal);
	size_t chosen = menu_choose(screen->terminal, "Events of the recording", (const char *const *)lines, count, screen->current);
	for (size_t i = 0; i < count; i++)
		free(lines[i]);
	free(lines);
	if (chosen != MENU_NONE)
		screen->current = chosen;
	return chosen != MENU_NONE;
}

enum action {
	ACTION_ANNOTATE,
	ACTION_THREAD,
	ACTION_DSO,
	ACTION_TARGET,
	ACTION_SOCKET,
	ACTION_SYMBOLS,
	ACTION_SAMPLES,
	ACTION_SCRIPT,
	ACTION_RECORDING,
	ACTION_PRINT,
	ACTION_EXPORT,
	ACTION_HEADER,
	ACTION_EXIT,
};

struct menu {
	VEC(char *) lines;
	VEC(enum action) actions;
};

/* "Zoom into thread w", or back out of it. */
static void add_zoom(const struct screen *screen, struct menu *menu, enum zoom_kind kind, enum action action, const char *what,
		     uint32_t row)
{
	struct strbuf line = {0}, name = {0};
	bool zoomed = false;
	for (size_t i = 0; i < screen->zooms.len; i++)
		zoomed |= screen->zooms.data[i] == kind;
	if (screen_zoom_name(screen, kind, row, &name)) {
		strbuf_printf(&line, "%s %s %s", zoomed ? "Zoom out of" : "Zoom into", what, strbuf_str(&name));
		vec_push(&menu->lines, strbuf_detach(&line));
		vec_push(&menu->actions, action);
	}
	strbuf_deinit(&name);
}

static void add_line(struct menu *menu, enum action action, const char *before, const char *name)
{
	struct strbuf line = {0};
	strbuf_add_str(&line, before);
	text_add_safe(&line, name, strlen(name));
	vec_push(&menu->lines, strbuf_detach(&line));
	vec_push(&menu->actions, action);
}

static void act(struct screen *screen, enum action action, uint32_t row)
{
	switch (action) {
	case ACTION_ANNOTATE:
		screen_annotate(screen, row);
		break;
	case ACTION_TARGET:
		screen_annotate_symbol(screen, screen_target(screen, row)->map->dso, screen_target(screen, row)->symbol);
		break;
	case ACTION_THREAD:
		screen_zoom_toggle(screen, ZOOM_THREAD, row);
		break;
	case ACTION_DSO:
		screen_zoom_toggle(screen, ZOOM_DSO, row);
		break;
	case ACTION_SOCKET:
		screen_zoom_toggle(screen, ZOOM_SOCKET, row);
		break;
	case ACTION_SYMBOLS:
		screen_show_symbols(screen, row);
		break;
	case ACTION_SAMPLES:
		screen_browse_samples(screen, row);
		break;
	case ACTION_SCRIPT:
		screen_run_script(screen);
		break;
	case ACTION_RECORDING:
		screen_switch_recording(screen);
		break;
	case ACTION_PRINT:
		screen_print(screen, rows_table_result(screen->table));
		break;
	case ACTION_EXPORT:
		screen_export(screen);
		break;
	case ACTION_HEADER:
		screen_show_header(screen);
		break;
	default:
		screen->ended = true;
	}
}

void screen_menu(struct screen *screen, uint32_t row)
{
	struct menu menu = {0};
	const struct fold_frame *place = screen_place(screen, row), *function = screen_function(screen, row),
				*target = screen_target(screen, row);
	if (function)
		add_line(&menu, ACTION_ANNOTATE, "Annotate ", function->symbol->name);
	if (target && (!function || target->symbol != function->symbol))
		add_line(&menu, ACTION_TARGET, "Annotate ", target->symbol->name);
	add_zoom(screen, &menu, ZOOM_THREAD, ACTION_THREAD, "thread", row);
	add_zoom(screen, &menu, ZOOM_DSO, ACTION_DSO, "file", row);
	add_zoom(screen, &menu, ZOOM_SOCKET, ACTION_SOCKET, "processor socket", row);
	if (place && place->map)
		add_line(&menu, ACTION_SYMBOLS, "Browse the symbols of ", place->map->dso->short_name);
	if (screen->tools.scripts && screen->report->options->single_samples && !screen->report->branch_mode)
		add_line(&menu, ACTION_SAMPLES, "Show individual samples", "");
	if (screen->tools.scripts)
		add_line(&menu, ACTION_SCRIPT, "Run a script on what is shown", "");
	if (screen->tools.choice && screen->tools.choice->wish >= 0)
		add_line(&menu, ACTION_RECORDING, "Switch to another recording of this folder", "");
	add_line(&menu, ACTION_PRINT, "Print the table to a file", "");
	add_line(&menu, ACTION_EXPORT, "Write what is shown as CSV, JSON, folded stacks or a flame graph", "");
	add_line(&menu, ACTION_HEADER, "Show the recording's header", "");
	add_line(&menu, ACTION_EXIT, "Exit", "");
	size_t chosen = menu_choose(screen->terminal, "What now?", (const char *const *)menu.lines.data, menu.lines.len, 0);
	if (chosen != MENU_NONE)
		act(screen, menu.actions.data[chosen], row);
	for (size_t i = 0; i < menu.lines.len; i++)
		free(menu.lines.data[i]);
	vec_deinit(&menu.lines);
	vec_deinit(&menu.actions);
}
