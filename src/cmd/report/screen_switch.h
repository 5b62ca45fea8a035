/* Switching a screen to another recording of the folder. A screen has given up the right to start programs and to write files (sandbox)
 * for the sake of one recording, so each is shown by a process of its own, and one outside waits for what it ends with: a status, or the
 * name of the recording that is next.
 *
 *	waits ──fork──► shows perf.data ──"perf.data.old"──► waits ──fork──► shows perf.data.old ──► status
 */
#pragma once

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>

struct screen_switch {
	const char *first; /* path of the recording that is shown first; the caller's */
	const char *path;  /* of the one that is shown: `first` or `name` */
	char *name;	   /* in the current folder, or NULL */
	int wish;	   /* pipe, or -1 */
};

/* Nothing is read before somebody wants another recording: the folder may have any number of files. */
void screen_switch_init(struct screen_switch *choice, const char *path);
void screen_switch_deinit(struct screen_switch *choice);
/* True in the process that has to show `path`, each time another one. False when all is over, with the status of the last process. */
bool screen_switch_next(struct screen_switch *choice, int *ret_status);

struct screen_recordings {
	VEC(char *) paths; /* of the recordings in the current folder, by name, and of the first one */
	size_t current;	   /* the one that is shown */
};

/* In the process that shows one: what else there is. */
void screen_switch_look(const struct screen_switch *choice, struct screen_recordings *ret);
void screen_recordings_deinit(struct screen_recordings *recordings);
/* This one of them is next, when the process has ended. */
void screen_switch_wish(const struct screen_switch *choice, const char *path);
