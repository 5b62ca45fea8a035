/* A large recording on a screen: the first rows are those of a part of its samples, and all of them are added up meanwhile by a thread of
 * its own. When that is done, its rows take the place of the first ones; the cursor stays on its row.
 *
 *	pieces of the recording   |#|  |  |  |#|  |  |  |#| …      one in so many: shown within a second
 *	                          |##########################|      all: the thread's, shown when they are there
 *
 * The thread has a report of its own; what both look at (session, machine, symbols) is safe for several threads. */
#pragma once

#include "base/strbuf.h"
#include "cmd/report/report.h"

#include <stdbool.h>

struct screen;
struct screen_rest;

/* One piece in how many makes a good first part of the report's recording; 0: it is shown as a whole. */
unsigned int screen_rest_part(const struct report *report);
/* Begins to read all. */
struct screen_rest *screen_rest_begin(struct screen *screen);
/* Shows all once it is there: screen->report is another one then, which lives until screen_rest_end(). */
struct error *screen_rest_take(struct screen *screen);
/* How long to wait for a key before screen_rest_take() is to be called, in milliseconds; -1 = there is nothing to wait for. */
int screen_rest_wait_ms(const struct screen *screen);
/* Whether only a part is shown; and what to say of it. */
bool screen_rest_is_read(const struct screen *screen);
void screen_rest_add_status(const struct screen *screen, struct strbuf *out);
/* Where the thread still runs nothing can be freed: the program ends here, with the error (or NULL) told. The terminal must be closed. */
void screen_rest_end(struct screen_rest *rest, const struct error *error);
