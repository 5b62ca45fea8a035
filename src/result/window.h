/* Result: what a machine did during a window of time, added up: what `perf agent` sends, and what a database of a fleet holds.
 *
 * Samples that are alike (thread, labels, stack) are one row of `samples`; their times and CPUs aren't kept. Labels say whose they are:
 * each thread has a set of them (cgroup, unit, container, pod, service, …), and the window one for all.
 */
#pragma once

#include "result/samples.h"

#include <stdint.h>

/* Both are texts of the window's samples->arena; unsafe bytes may be in the value. */
struct window_label {
	const char *name, *value;
};

/* In the order of their names, each of which is there once. */
struct window_labels {
	VEC(struct window_label) list;
};

struct window {
	uint8_t id[16];		   /* drawn at random: engines that see it again know that they have it */
	const char *host;	   /* how the machine is called among the others */
	const char *host_id;	   /* what tells hosts of equal names apart: hexadecimal digits, of /etc/machine-id hashed */
	uint64_t begin_ns, end_ns; /* since 1970, by the machine's clock; end - begin is what has passed by its monotonic clock */
	struct samples *samples;
	uint64_t taken;		/* samples that the kernel took: those of the rows, `lost` and `dropped` ones */
	uint64_t lost;		/* by the kernel, as it says */
	uint64_t dropped;	/* by the agent, for want of memory */
	uint32_t hz, wanted_hz; /* samples a second and CPU that were asked for; less than wanted where they would have cost too much */
	struct window_labels labels;	/* of all rows */
	VEC(struct window_labels) sets; /* sets.data[0] is empty */
	VEC(uint32_t) thread_sets;	/* by samples->threads: number of its set */
};

/* Empty, with empty samples, an id and set 0. */
struct window *window_create(void);
/* And its samples. NULL: nothing. */
void window_destroy(struct window *window);
/* The value of the label, or NULL. */
const char *window_labels_find(const struct window_labels *labels, const char *name);
/* The set's value of the label, or else that of the window; NULL = it has none. */
const char *window_label(const struct window *window, uint32_t set, const char *name);
/* All labels of a set: its own, and those of the window that it hasn't; in the order of their names. `ret` is emptied before. */
void window_labels_of_set(const struct window *window, uint32_t set, struct window_labels *ret);
/* Whether any row is of the event, and of a thread with this set. */
bool window_has_rows(const struct window *window, uint32_t set, uint32_t event);
static inline uint32_t window_row_set(const struct window *window, const struct samples_row *row)
{
	return window->thread_sets.data[window->samples->actors.data[row->actor].thread];
}
/* What engines call profiles of an event: "cpu" of a clock, "off_cpu", else as the event is called. */
const char *window_event_type(const struct samples_event *event);
/* For engines that know what they have by id: of the rows of one set and event; the same whenever it is asked for. */
void window_part_id(const struct window *window, uint32_t set, uint32_t event, uint8_t ret[16]);
