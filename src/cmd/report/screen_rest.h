/* A large recording on a screen: the first rows are those of its beginning, which take the same time however long it is. All of it is read
 * meanwhile by a thread of its own, whose rows take the place of the first ones: of some of its pieces as soon as it is known what they
 * need, of all when they are added up. The cursor stays on its row.
 *
 *	the beginning             |##|                              of a session that has no more
 *	pieces of the recording   |#|  |  |  |#|  |  |  |#| …       one in so many, when pass 1 is over
 *	                          |##########################|      all
 *
 * The thread has reports of its own; what it shares with the screen (session, machine, symbols) is safe for several threads. Recordings
 * that aren't opened by their beginning start with the pieces. */
#pragma once

#include "base/strbuf.h"
#include "cmd/report/report.h"

#include <stdbool.h>

struct screen;
struct screen_rest;

/* Whether the first rows are to come from the beginning of what the options choose; how much that is. */
bool screen_rest_has_beginning(const struct report_options *options);
enum { SCREEN_REST_BEGINNING = 8 << 20 };
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
