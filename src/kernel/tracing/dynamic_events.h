/* Probes that somebody made: the files uprobe_events and kprobe_events of tracefs, one probe a line.
 *
 *	p:GROUP/EVENT PATH:0xOFFSET[(0xCOUNTER)] [NAME=VALUE[:TYPE]]…     of a program
 *	r:GROUP/EVENT [MODULE:]SYMBOL+OFFSET …                            of the kernel, at a return
 *
 * Source of the facts: Documentation/trace/uprobetracer.rst and kprobetrace.rst of the kernel. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct dynamic_event {
	bool user; /* in a program; else in the kernel */
	bool is_return;
	const char *group, *event;
	const char *target;    /* the program's path, or the kernel's symbol, "module:symbol", "0xffff…" */
	uint64_t offset;       /* in the file, or from the symbol */
	const char *arguments; /* "name=%di:s64 …", "" = none */
};

struct dynamic_events {
	VEC(struct dynamic_event) events;
	VEC(char *) texts; /* what the strings point into */
};

/* All probes of programs and of the kernel. What this kernel hasn't is skipped; lines of other forms, too. */
struct error *dynamic_events_read(const char *tracefs, struct dynamic_events *ret);
/* The strings of the events go with it. */
void dynamic_events_deinit(struct dynamic_events *list);
/* Whether a probe of that group and name is among them, of programs or of the kernel. */
bool dynamic_events_has(const struct dynamic_events *list, const char *group, const char *event);

/* One line of such a file, cut in place; false when it has another form. */
bool dynamic_event_parse(char *line, bool user, struct dynamic_event *ret);

/* Adds one, by a line as above. The error says why the kernel refuses. */
struct error *dynamic_event_add(const char *tracefs, bool user, const char *line);
/* Takes one away. The error says why the kernel refuses: it is in use, or there is none. */
struct error *dynamic_event_delete(const char *tracefs, bool user, const char *group, const char *event);
