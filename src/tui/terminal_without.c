/* A build without ncursesw: there are no screens (terminal.h), only the reason. */
#include "tui/terminal.h"

const char *terminal_why_not(void)
{
	return "this build of perf has no screens, because libncursesw was missing when it was built";
}

struct error *terminal_open(struct terminal **ret)
{
	return error_new("no screen can be shown: %s", terminal_why_not());
}

void terminal_close(struct terminal *terminal)
{
}

int terminal_lines(const struct terminal *terminal)
{
	return 0;
}

int terminal_columns(const struct terminal *terminal)
{
	return 0;
}

void terminal_put(struct terminal *terminal, int line, int column, int width, enum terminal_style style, const char *text)
{
}

void terminal_clear(struct terminal *terminal)
{
}

void terminal_show(struct terminal *terminal, int cursor_line, int cursor_column)
{
}

int terminal_key(struct terminal *terminal, int wait_ms)
{
	return KEY_CLOSED;
}

void terminal_set_work(struct terminal *terminal, const struct terminal_work *work)
{
}

void terminal_take_interrupts(struct terminal *terminal, bool on)
{
}

bool terminal_has_mouse(const struct terminal *terminal)
{
	return false;
}

void terminal_set_mouse(struct terminal *terminal, bool on)
{
}

void terminal_clicked(const struct terminal *terminal, int *ret_line, int *ret_column)
{
	*ret_line = *ret_column = 0;
}
