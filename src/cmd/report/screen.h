/* perf report on a screen: what its files share, and what perf top adds to it. */
#pragma once

#include "analysis/annotate/annotate.h"
#include "cmd/report/table.h"
#include "tui/browser.h"

/* What the person has chosen to see, of what the options let through. All zero is everything. */
struct screen_zoom {
	const struct dso *dso;
	bool kernel;
	const struct thread *thread; /* where rows tell threads apart; else by name */
	const struct untrusted *comm;
	bool by_socket;
	uint64_t socket;
	char *symbol; /* a part of its name, or NULL */
};

/* In the order in which they were made: the last one goes first. */
enum zoom_kind { ZOOM_DSO, ZOOM_KERNEL, ZOOM_THREAD, ZOOM_SOCKET, ZOOM_SYMBOL, ZOOM_KINDS };

struct screen_events {
	const struct event **list;
	size_t count;
};

struct screen;

/* Who shows a fold that is replaced by newer ones. All functions get `context`. */
struct screen_owner {
	const char *title;	     /* of the help */
	size_t event_count;	     /* the first events of the session are shown, whether they have samples or not */
	const struct key_help *keys; /* its own, which come before the others' */
	struct terminal_work work;   /* done while keys are waited for; it must leave the fold that is shown as it is */
	/* The screen is open; before anything else. */
	void (*begin)(void *context, struct screen *screen);
	/* In place of the table's own first line. */
	void (*add_title)(void *context, const struct screen *screen, struct strbuf *out);
	/* In front of what the last line says. */
	void (*add_status)(void *context, struct strbuf *out);
	/* False: it is none of its keys. */
	bool (*key)(void *context, struct screen *screen, int key);
	/* How long there is nothing new to show. */
	int (*wait_ms)(void *context);
	/* A newer fold, or NULL. The one before stays until release(), and then nothing refers to it. */
	struct fold *(*renew)(void *context);
	void (*release)(void *context, struct screen *screen);
	/* All samples by address, for instructions; destroyed by the caller. */
	struct annotate *(*annotate)(void *context, const struct annotate_options *options);
	void *context;
};

struct screen {
	struct report *report;
	const struct screen_owner *owner; /* or NULL */
	struct screen_tools tools;
	struct terminal *terminal;
	struct browser *browser;
	struct fold_parts *parts;
	VEC(struct screen_events) sets; /* of events with samples, each shown in a table of its own */
	size_t current;			/* of those */
	struct report_event *event;
	struct rows_table *table;
	struct rows_open open; /* of a hierarchy */
	uint32_t *order;       /* of all rows that the options let through */
	size_t order_count;
	uint64_t *totals; /* of those: periods, then samples, by event */
	struct screen_zoom zoom;
	VEC(enum zoom_kind) zooms;
	struct screen_rest *rest;  /* what is still being read, or NULL */
	struct annotate *annotate; /* made when it is first asked for, or NULL */
	struct strbuf note;	   /* what the last key has to say */
	bool ended;
};

/* screen.c: shows the report's fold until the person leaves. */
struct error *screen_show(struct report *report, const struct screen_tools *tools, const struct screen_owner *owner);
/* What a table's first lines say, in one, made harmless. */
void screen_add_header(const struct table *table, struct strbuf *out);
/* Which sets of events the report has; the same one stays the current one. */
void screen_find_sets(struct screen *screen);
/* Notes all rows that the options let through, and what they add up to: of an event that was opened just now. */
void screen_note_rows(struct screen *screen);
/* Rows and table of the current events anew, after an option has changed. */
struct error *screen_open_event(struct screen *screen);
/* The table of the rows that the zoom lets through. `stay`: the cursor as well. */
void screen_make_table(struct screen *screen, bool stay);

/* screen_renew.c: while the machine forgets (struct machine_holder), after the folds were carried over; the owner calls it. */
void screen_carry(struct screen *screen, struct carrying *carrying);
/* Shows a newer fold; the cursor stays on its row. Nothing refers to the one before then. */
struct error *screen_renew(struct screen *screen, struct fold *fold);
/* The same with a report, which takes the place of screen->report and has a fold, and the parts of that; it may be of another session of
 * the same recording. `event`: what is shown of it, or NULL where it is to be opened; taken over like the parts. */
struct error *screen_replace(struct screen *screen, struct report *report, struct fold_parts *parts, struct report_event *event);

/* screen_zoom.c: sorts out the rows that the zoom doesn't let through. */
void screen_filter(struct screen *screen);
#define SCREEN_NO_ROW UINT32_MAX
/* What a row has of this kind becomes the only thing that is shown; if it is already, all is shown again, which needs no row. False: rows
 * don't tell. */
bool screen_zoom_toggle(struct screen *screen, enum zoom_kind kind, uint32_t row);
/* Only functions with this in their names; NULL or "" = all. Takes over the text. */
void screen_zoom_symbol(struct screen *screen, char *text);
/* Takes the last zoom back; false = there is none. */
bool screen_zoom_out(struct screen *screen);
void screen_zoom_reset(struct screen *screen);
/* What was zoomed into is looked for in another session of the same recording. */
void screen_zoom_move(struct screen *screen, struct machine *machine);
/* ", Thread: w, DSO: libc.so.6", made harmless. */
void screen_zoom_text(const struct screen *screen, struct strbuf *out);
/* The names of what a row would be zoomed into, made harmless; false: rows don't tell. */
bool screen_zoom_name(const struct screen *screen, enum zoom_kind kind, uint32_t row, struct strbuf *out);
/* Whether the zoom lets an entry of the fold through. */
bool screen_entry_passes(const struct screen *screen, const struct fold_entry *entry);
/* The place of a row, or NULL. */
const struct fold_frame *screen_place(const struct screen *screen, uint32_t row);
/* The same where the row is about a known function, else NULL. */
const struct fold_frame *screen_function(const struct screen *screen, uint32_t row);
/* Of branches: the known function that a row's lead to, else NULL. */
const struct fold_frame *screen_target(const struct screen *screen, uint32_t row);

/* screen_blocks.c: with --total-cycles, shows the blocks of code of one event after the other until the person leaves. */
struct error *screen_show_blocks(struct screen *screen);

/* screen_export.c: asks for a format, and writes what is shown to a file. */
void screen_export(struct screen *screen);
/* The stacks of the first of the current events, of samples that the zoom lets through; see struct fold_calltree_options. */
struct calltree *screen_calltree(const struct screen *screen, size_t most, unsigned int deepest);

/* What a row's samples have in common, and those that the zoom lets through. */
struct screen_row_filter {
	bool by_dso, by_symbol;
	const struct dso *dso;	     /* NULL: in no file */
	const struct symbol *symbol; /* NULL: in none */
	const struct thread *thread; /* or NULL */
	const struct untrusted *comm;
};
/* screen_zoom.c. False: rows tell neither. */
bool screen_row_filter(const struct screen *screen, uint32_t row, struct screen_row_filter *ret);

/* screen_samples.c: with --samples, some single samples of a row to choose from, and what happened around the one that was chosen. */
void screen_browse_samples(struct screen *screen, uint32_t row);

struct script_choice;
/* screen_scripts.c: asks for a script, and shows what it prints of the threads and files that are zoomed into; shows what one prints. */
void screen_run_script(struct screen *screen);
void screen_show_script(struct screen *screen, size_t number, const struct script_choice *filter);

/* screen_windows.c: asks for another recording, and ends the screen for it. */
void screen_switch_recording(struct screen *screen);
/* screen_windows.c: the recording's header; the table as text, to a file; the symbols of a file; all of the events' stacks as a flame
 * graph; a function's instructions; the menu of a row. */
void screen_show_header(struct screen *screen);
void screen_print(struct screen *screen, const struct table *table);
void screen_show_symbols(struct screen *screen, uint32_t row);
void screen_show_flame(struct screen *screen);
void screen_annotate(struct screen *screen, uint32_t row);
void screen_annotate_symbol(struct screen *screen, const struct dso *dso, const struct symbol *symbol);
void screen_annotate_named(struct screen *screen, const char *name);
void screen_menu(struct screen *screen, uint32_t row);
/* Asks for the least percentage of rows; false: it stays. */
bool screen_ask_limit(struct screen *screen);
void screen_ask_symbol(struct screen *screen);
/* A part of a function's name: freed by the caller; NULL = given up. */
char *screen_ask_part(const struct screen *screen, const char *before);
/* Which events; false: none was chosen. */
bool screen_choose_events(struct screen *screen);
