/* A progress bar on standard error: only on a terminal, only when the work takes longer than half a second, removed when done. */
#pragma once

#include <stdint.h>

struct progress {
	const char *title;
	uint64_t total; /* 0 = not known yet: nothing is drawn; may be set later */
	uint64_t started_ns;
	uint64_t drawn_ns;
	int state;
};

void progress_begin(struct progress *progress, const char *title, uint64_t total);
/* Cheap enough to be called for every block of work. Not thread-safe. */
void progress_update(struct progress *progress, uint64_t done);
void progress_end(struct progress *progress);
