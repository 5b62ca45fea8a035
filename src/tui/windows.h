/* Windows on a screen: a menu, a question, a long text. Each takes the keys until it is closed; who opens it draws the screen anew then. */
#pragma once

#include "result/branch_counts.h"
#include "tui/terminal.h"

#include <stdbool.h>
#include <stddef.h>

/* The last line of a screen, of which words may have so many columns: its parts, three spaces apart, are shown as far as they fit as a
 * whole; the first one is cut where even that doesn't. */
void status_put(struct terminal *terminal, const char *words, int columns);

#define MENU_NONE ((size_t)-1)

/* The number of the chosen line, or MENU_NONE (Esc, Left, q). `at`: the one that is marked first. */
size_t menu_choose(struct terminal *terminal, const char *title, const char *const *lines, size_t count, size_t at);

/* A line that is typed: freed by the caller; NULL = given up. `before`: what stands in it first. */
char *question_ask(struct terminal *terminal, const char *title, const char *explanation, const char *before);

/* A few words, until any key. */
void message_show(struct terminal *terminal, const char *title, const char *text);

/* Lines of text to scroll through; / searches. Lines beginning with '\001' are shown as titles. Makes nothing harmless but by
 * terminal_put(). */
void text_show(struct terminal *terminal, const char *title, const char *text);

/* What a key does, for help texts. */
struct key_help {
	const char *keys; /* NULL ends a list; "" with a text = a heading */
	const char *text;
};
/* Lists of keys, one after the other, as a text. */
void help_show(struct terminal *terminal, const char *title, const struct key_help *const *lists, size_t count);

/* What the letters of branch counters stand for. False, if there are none; COUNTERS_MISSING says so. */
bool counters_explain(struct terminal *terminal, const struct branch_counter *counters, size_t count);
#define COUNTERS_MISSING "there are no branch counters: record with -j any,counter on a processor that has them"
