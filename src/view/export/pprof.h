/* profile.proto of a window, or of some of its rows. */
#pragma once

#include "base/sink.h"
#include "result/window.h"

#define PPROF_ALL_SETS UINT32_MAX

/* All zero with samples alone: all of them. */
struct pprof_choice {
	const struct samples *samples;
	const struct window *window; /* whose samples they are: its time, and labels of rows; NULL = of none */
	/* Of a window: only rows with these labels, which aren't said again; threads aren't told apart then, and there is a type. Or
	 * PPROF_ALL_SETS. */
	uint32_t set;
	const char *type; /* of a window: what `event` is called; only its rows, and the period's type is written; or NULL */
	uint32_t event;
};

/* Not compressed; `compressed` as readers of files expect it. What fails is told by sink_flush(). */
void pprof_write(const struct pprof_choice *choice, const struct sink *out);
void pprof_write_compressed(const struct pprof_choice *choice, const struct sink *out);
