/* A terminal as a screen of cells, by ncursesw: the only part of the program that talks to it. Keys come in, styled text goes out; windows
 * and browsers are made of that. All texts are UTF-8; what would move the cursor or colour the terminal becomes '?', so that even a name
 * that nobody made harmless can do no harm.
 *
 * While a screen is open, what is written to standard error is held back, and shown behind it. One is open at a time: ncurses keeps its
 * state for the process. In a build without ncursesw terminal_why_not() says so, and nothing else may be called. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

struct terminal;

enum terminal_style {
	STYLE_PLAIN,
	STYLE_TITLE,  /* the first line */
	STYLE_HEADER, /* of columns */
	STYLE_STATUS, /* the last line */
	STYLE_CURSOR, /* the chosen line */
	STYLE_HOT,    /* a large share */
	STYLE_WARM,
	STYLE_DIM,
	STYLE_FRAME, /* windows */
	STYLE_BOX,   /* a function in a flame graph */
	STYLE_BOX_KERNEL,
	STYLE_BOX_FOUND,
	STYLES,
};

/* Keys that aren't characters; others are code points, Ctrl-X the number of X. */
enum terminal_key {
	KEY_NOTHING = 0x200000, /* the time is up */
	KEY_CLOSED,		/* the terminal has gone */
	KEY_SIZE,		/* another size: all is to be drawn anew */
	KEY_LINE_UP,
	KEY_LINE_DOWN,
	KEY_GO_LEFT,
	KEY_GO_RIGHT,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_FIRST, /* Home */
	KEY_LAST,  /* End */
	KEY_RETURN,
	KEY_ESCAPE,
	KEY_TABULATOR,
	KEY_BACK_TABULATOR,
	KEY_RUBOUT,
	KEY_HELP_F1,
	KEY_CLICK, /* of the mouse: terminal_clicked() says where. The wheel gives KEY_LINE_UP and KEY_LINE_DOWN */
	KEY_UNKNOWN,
};

/* NULL when a screen can be opened; else a sentence why not: this build has none, no terminal, a TERM without a cursor. */
const char *terminal_why_not(void);
struct error *terminal_open(struct terminal **ret);
/* The terminal as it was. */
void terminal_close(struct terminal *terminal);

int terminal_lines(const struct terminal *terminal);
int terminal_columns(const struct terminal *terminal);

/* Writes text from (line, column) on, cut off after `width` columns and filled up to them with spaces; what lies outside of the screen is
 * left out. Tabs are spaces up to the next column of eight, from `column` on. */
void terminal_put(struct terminal *terminal, int line, int column, int width, enum terminal_style style, const char *text);
void terminal_clear(struct terminal *terminal);
/* Shows what was put since the last time, and where the person types: a column below 0 hides the cursor. */
void terminal_show(struct terminal *terminal, int cursor_line, int cursor_column);
/* Whether Ctrl-C, Ctrl-Z and Ctrl-\ come as keys (3, 26, 28); else they end or stop the program. */
void terminal_take_interrupts(struct terminal *terminal, bool on);
/* The next key; KEY_NOTHING after `wait_ms`, which is below 0 for as long as it takes. */
int terminal_key(struct terminal *terminal, int wait_ms);

/* Whether clicks and the wheel come as keys; not at first, since the terminal can't mark text with the mouse then but with Shift. */
bool terminal_has_mouse(const struct terminal *terminal);
void terminal_set_mouse(struct terminal *terminal, bool on);
/* Where the last KEY_CLICK was. */
void terminal_clicked(const struct terminal *terminal, int *ret_line, int *ret_column);

/* What else is done while keys are waited for, whichever window waits. */
struct terminal_work {
	int fd; /* when it can be read … */
	/* … this is called, and says how it goes on. It draws nothing. */
	enum terminal_work_state { WORK_GOES_ON, WORK_DONE, WORK_CLOSES } (*step)(void *context);
	void *context;
};

/* NULL = nothing any more. After WORK_DONE the descriptor isn't looked at again, and the next key is KEY_NOTHING; after WORK_CLOSES either,
 * and the next keys are KEY_CLOSED, so that all windows close. `work` must live until then. */
void terminal_set_work(struct terminal *terminal, const struct terminal_work *work);
