/* Switching a screen to another recording of the folder. A screen has given up the right to open others (sandbox), so each recording is
 * shown by a process of its own, and one outside waits for what it ends with: a status, or the number of the recording that is next.
 *
 *	waits ──fork──► shows perf.data ──3──► waits ──fork──► shows perf.data.old ──► status
 */
#pragma once

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>

struct screen_switch {
	VEC(char *) paths; /* of the recordings in the current folder, by name, and of the one that is shown first */
	size_t current;
	int wish; /* pipe */
};

/* Finds the recordings; `path` is shown first. */
void screen_switch_init(struct screen_switch *choice, const char *path);
void screen_switch_deinit(struct screen_switch *choice);
/* True in the process that has to show paths[current], each time another one. False when all is over, with the status of the last
 * process. */
bool screen_switch_next(struct screen_switch *choice, int *ret_status);
/* In that process: this one is next, when the process has ended. */
void screen_switch_wish(const struct screen_switch *choice, size_t number);
