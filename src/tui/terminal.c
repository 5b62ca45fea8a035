/* The screen by ncursesw (terminal.h). */
#include "tui/terminal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <term.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#undef columns /* macros of <term.h> */
#undef lines

enum { MOUSE_EVENTS = 8 }; /* as many as ncurses keeps */

/* A click, or a turn of the wheel, which is a key several times. */
struct mouse_event {
	int key, line, column;
	unsigned int times;
};

struct terminal {
	SCREEN *screen;
	int held_errors;  /* what standard error says meanwhile, or -1 */
	int usual_errors; /* where it goes otherwise */
	int attributes[STYLES];
	const struct terminal_work *work; /* or NULL */
	bool closed;			  /* by that */
	bool mouse;
	int clicked_line, clicked_column;
	struct mouse_event events[MOUSE_EVENTS]; /* not told of yet, the newest first */
	size_t event_count;
};

const char *terminal_why_not(void)
{
	const char *type = getenv("TERM");
	int status;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return "standard input and output must be a terminal";
	if (!type || !*type)
		return "TERM is not set";
	if (setupterm(type, STDOUT_FILENO, &status) != OK)
		return "this TERM is unknown here";
	char *moves = tigetstr("cup");
	bool can = moves && moves != (char *)-1;
	del_curterm(cur_term);
	return can ? NULL : "this TERM cannot move the cursor";
}

static void set_styles(struct terminal *terminal)
{
	enum { HOT = 1, WARM, TITLE, FRAME, BOX, BOX_KERNEL, BOX_FOUND };
	const char *refused = getenv("NO_COLOR");
	bool colors = has_colors() && !(refused && *refused) && start_color() == OK && use_default_colors() == OK;
	const int plain[STYLES] = {[STYLE_TITLE] = A_BOLD,
				   [STYLE_HEADER] = A_UNDERLINE,
				   [STYLE_STATUS] = A_REVERSE,
				   [STYLE_CURSOR] = A_REVERSE,
				   [STYLE_HOT] = A_BOLD,
				   [STYLE_DIM] = A_DIM,
				   [STYLE_BOX] = A_UNDERLINE,
				   [STYLE_BOX_KERNEL] = A_UNDERLINE,
				   [STYLE_BOX_FOUND] = A_UNDERLINE | A_BOLD};
	memcpy(terminal->attributes, plain, sizeof(plain));
	if (!colors)
		return;
	init_pair(HOT, COLOR_RED, -1);
	init_pair(WARM, COLOR_GREEN, -1);
	init_pair(TITLE, COLOR_CYAN, -1);
	init_pair(FRAME, COLOR_CYAN, -1);
	init_pair(BOX, COLOR_BLACK, COLOR_YELLOW);
	init_pair(BOX_KERNEL, COLOR_BLACK, COLOR_RED);
	init_pair(BOX_FOUND, COLOR_WHITE, COLOR_MAGENTA);
	terminal->attributes[STYLE_HOT] = COLOR_PAIR(HOT);
	terminal->attributes[STYLE_WARM] = COLOR_PAIR(WARM);
	terminal->attributes[STYLE_TITLE] |= COLOR_PAIR(TITLE);
	terminal->attributes[STYLE_FRAME] = COLOR_PAIR(FRAME);
	terminal->attributes[STYLE_BOX] = COLOR_PAIR(BOX);
	terminal->attributes[STYLE_BOX_KERNEL] = COLOR_PAIR(BOX_KERNEL);
	terminal->attributes[STYLE_BOX_FOUND] = COLOR_PAIR(BOX_FOUND);
}

/* Warnings amid the screen would spoil it: a nameless file takes them. */
static void hold_errors(struct terminal *terminal)
{
	terminal->usual_errors = terminal->held_errors = -1;
	if (!isatty(STDERR_FILENO))
		return;
	fflush(stderr);
	terminal->held_errors = memfd_create("errors", MFD_CLOEXEC);
	terminal->usual_errors = dup(STDERR_FILENO);
	if (terminal->held_errors >= 0 && terminal->usual_errors >= 0)
		dup2(terminal->held_errors, STDERR_FILENO);
}

static void release_errors(struct terminal *terminal)
{
	char part[4096];
	ssize_t got;
	if (terminal->held_errors >= 0 && terminal->usual_errors >= 0) {
		fflush(stderr);
		dup2(terminal->usual_errors, STDERR_FILENO);
		lseek(terminal->held_errors, 0, SEEK_SET);
		while ((got = read(terminal->held_errors, part, sizeof(part))) > 0)
			fwrite(part, 1, (size_t)got, stderr);
	}
	if (terminal->held_errors >= 0)
		close(terminal->held_errors);
	if (terminal->usual_errors >= 0)
		close(terminal->usual_errors);
}

/* Ctrl-Z is taken only while keys are waited for: ncurses acts on it in a signal handler, which must not come upon memory or a screen
 * in the middle of a change. Threads that begin later inherit the mask. */
static void let_stop(bool may)
{
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTSTP);
	pthread_sigmask(may ? SIG_UNBLOCK : SIG_BLOCK, &signals, NULL);
}

struct error *terminal_open(struct terminal **ret)
{
	const char *why = terminal_why_not();
	if (why)
		return error_new("no screen can be shown: %s", why);
	enum { ESCAPE_MS = 50 };
	struct terminal *terminal = mem_zalloc(sizeof(*terminal));
	setlocale(LC_CTYPE, "");
	fflush(stdout);
	terminal->screen = newterm(NULL, stdout, stdin);
	if (!terminal->screen) {
		free(terminal);
		return error_new("no screen can be shown: ncurses cannot use this terminal");
	}
	hold_errors(terminal);
	set_term(terminal->screen);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	set_styles(terminal);
	let_stop(false);
	*ret = terminal;
	return NULL;
}

void terminal_close(struct terminal *terminal)
{
	if (!terminal)
		return;
	terminal_set_mouse(terminal, false);
	endwin();
	let_stop(true);
	delscreen(terminal->screen);
	release_errors(terminal);
	free(terminal);
}

int terminal_lines(const struct terminal *terminal)
{
	return getmaxy(stdscr);
}

int terminal_columns(const struct terminal *terminal)
{
	return getmaxx(stdscr);
}

/* The next character that may be shown and its columns; bytes that are none, and what would do something, are '?'. */
static wchar_t next_character(const char **text, mbstate_t *state, int *ret_columns)
{
	wchar_t character = 0;
	size_t length = mbrtowc(&character, *text, strlen(*text), state);
	if (length == (size_t)-1 || length == (size_t)-2 || !length) {
		memset(state, 0, sizeof(*state));
		character = L'?';
		length = 1;
		while (((*text)[length] & 0xc0) == 0x80) /* the rest of a character that this locale doesn't have */
			length++;
	}
	*text += length;
	*ret_columns = wcwidth(character);
	if (*ret_columns < 0 || iswcntrl((wint_t)character)) {
		character = L'?';
		*ret_columns = 1;
	}
	return character;
}

void terminal_put(struct terminal *terminal, int line, int column, int width, enum terminal_style style, const char *text)
{
	enum { MOST = 1024, TAB = 8 };
	wchar_t shown[MOST];
	mbstate_t state = {0};
	int used = 0, count = 0;
	if (width > getmaxx(stdscr) - column)
		width = getmaxx(stdscr) - column;
	if (line < 0 || line >= getmaxy(stdscr) || column < 0 || width <= 0)
		return;
	while (*text && count < MOST - 1) {
		int columns;
		if (*text == '\t') {
			int next = (used / TAB + 1) * TAB;
			while (used < next && used < width && count < MOST - 1) {
				shown[count++] = L' ';
				used++;
			}
			text++;
			continue;
		}
		wchar_t character = next_character(&text, &state, &columns);
		if (used + columns > width)
			break;
		shown[count++] = character;
		used += columns;
	}
	for (; used < width && count < MOST - 1; used++)
		shown[count++] = L' ';
	attrset(terminal->attributes[style]);
	mvaddnwstr(line, column, shown, count);
	attrset(A_NORMAL);
}

void terminal_clear(struct terminal *terminal)
{
	erase();
}

void terminal_show(struct terminal *terminal, int cursor_line, int cursor_column)
{
	curs_set(cursor_column >= 0);
	if (cursor_column >= 0)
		move(cursor_line, cursor_column);
	refresh();
}

static int function_key(int key)
{
	static const struct {
		int theirs, ours;
	} keys[] = {
		{KEY_UP, KEY_LINE_UP},	  {KEY_DOWN, KEY_LINE_DOWN},	  {KEY_LEFT, KEY_GO_LEFT}, {KEY_RIGHT, KEY_GO_RIGHT},
		{KEY_PPAGE, KEY_PAGE_UP}, {KEY_NPAGE, KEY_PAGE_DOWN},	  {KEY_HOME, KEY_FIRST},   {KEY_END, KEY_LAST},
		{KEY_ENTER, KEY_RETURN},  {KEY_BTAB, KEY_BACK_TABULATOR}, {KEY_F(1), KEY_HELP_F1}, {KEY_BACKSPACE, KEY_RUBOUT},
		{KEY_RESIZE, KEY_SIZE},
	};
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].theirs == key)
			return keys[i].ours;
	return KEY_UNKNOWN;
}

static int character_key(wint_t key)
{
	enum { ESCAPE = 27, DELETE = 127, BACKSPACE = 8 };
	switch (key) {
	case '\r':
	case '\n':
		return KEY_RETURN;
	case '\t':
		return KEY_TABULATOR;
	case ESCAPE:
		return KEY_ESCAPE;
	case DELETE:
	case BACKSPACE:
		return KEY_RUBOUT;
	default:
		return (int)key;
	}
}

void terminal_take_interrupts(struct terminal *terminal, bool on)
{
	if (on) {
		raw();
	} else {
		noraw();
		cbreak();
	}
}

bool terminal_has_mouse(const struct terminal *terminal)
{
	return terminal->mouse;
}

void terminal_set_mouse(struct terminal *terminal, bool on)
{
	mousemask(on ? BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0, NULL);
	mouseinterval(0); /* presses aren't held back to see whether they become clicks */
	terminal->mouse = on;
}

void terminal_clicked(const struct terminal *terminal, int *ret_line, int *ret_column)
{
	*ret_line = terminal->clicked_line;
	*ret_column = terminal->clicked_column;
}

/* What came while nobody read, as the second click of two quick ones, ncurses gives all together, the newest first. */
static void take_mouse_events(struct terminal *terminal)
{
	enum { WHEEL_LINES = 3 };
	MEVENT event;
	while (terminal->event_count < MOUSE_EVENTS && getmouse(&event) == OK) {
		struct mouse_event *taken = &terminal->events[terminal->event_count++];
		if (event.bstate & BUTTON1_PRESSED)
			*taken = (struct mouse_event){KEY_CLICK, event.y, event.x, 1};
		else
			*taken = (struct mouse_event){event.bstate & BUTTON4_PRESSED ? KEY_LINE_UP : KEY_LINE_DOWN, event.y, event.x,
						      WHEEL_LINES};
	}
}

/* Of the oldest one. */
static int mouse_key(struct terminal *terminal)
{
	if (!terminal->event_count)
		return KEY_NOTHING;
	struct mouse_event *event = &terminal->events[terminal->event_count - 1];
	terminal->clicked_line = event->line;
	terminal->clicked_column = event->column;
	if (!--event->times)
		terminal->event_count--;
	return event->key;
}

/* However long it takes. To read would go on after the process was stopped and continued (Ctrl-Z, fg), but only when it is asked for a key
 * ncurses has the terminal send those of the keypad again: until then an arrow would look like Esc. */
static int await_key(wint_t *key)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	timeout(0);
	int kind = get_wch(key);
	while (kind == ERR && poll(&input, 1, -1) < 0 && errno == EINTR)
		kind = get_wch(key);
	if (kind != ERR)
		return kind;
	timeout(-1);
	return get_wch(key);
}

static int next_key(struct terminal *terminal, int wait_ms)
{
	wint_t key;
	if (terminal->event_count)
		return mouse_key(terminal);
	timeout(wait_ms);
	let_stop(true);
	int kind = wait_ms < 0 ? await_key(&key) : get_wch(&key);
	let_stop(false);
	if (kind == KEY_CODE_YES && key == KEY_MOUSE) {
		take_mouse_events(terminal);
		return mouse_key(terminal);
	}
	if (kind == KEY_CODE_YES)
		return function_key((int)key);
	if (kind == OK)
		return character_key(key);
	return wait_ms >= 0 || errno == EINTR ? KEY_NOTHING : KEY_CLOSED;
}

void terminal_set_work(struct terminal *terminal, const struct terminal_work *work)
{
	terminal->work = work;
}

static void do_work(struct terminal *terminal)
{
	enum terminal_work_state state = terminal->work->step(terminal->work->context);
	terminal->closed |= state == WORK_CLOSES;
	if (state != WORK_GOES_ON)
		terminal->work = NULL;
}

/* Until there may be a key, or the time is up. False: the terminal has gone. */
static bool wait_and_work(struct terminal *terminal, uint64_t until_ns)
{
	while (terminal->work) {
		struct pollfd waits[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = terminal->work->fd, .events = POLLIN}};
		uint64_t now = clock_now_ns(CLOCK_MONOTONIC), left_ms = now < until_ns ? (until_ns - now + 999999) / 1000000 : 0;
		let_stop(true);
		int ready = poll(waits, 2, until_ns == UINT64_MAX ? -1 : (int)(left_ms < INT_MAX ? left_ms : INT_MAX));
		let_stop(false);
		if (ready <= 0) /* the time is up, or a signal came: of another size, maybe */
			return true;
		if (waits[1].revents)
			do_work(terminal);
		if (waits[0].revents)
			return waits[0].revents & POLLIN;
	}
	return true;
}

int terminal_key(struct terminal *terminal, int wait_ms)
{
	uint64_t until_ns = wait_ms < 0 ? UINT64_MAX : clock_now_ns(CLOCK_MONOTONIC) + (uint64_t)wait_ms * 1000000;
	while (terminal->work && !terminal->closed) {
		int key = next_key(terminal, 0);
		if (key != KEY_NOTHING)
			return key;
		if (clock_now_ns(CLOCK_MONOTONIC) >= until_ns)
			return KEY_NOTHING;
		if (!wait_and_work(terminal, until_ns))
			return KEY_CLOSED;
		if (!terminal->work && !terminal->closed)
			return KEY_NOTHING;
	}
	return terminal->closed ? KEY_CLOSED : next_key(terminal, wait_ms);
}
