/* The control channel of --control: commands that another program writes to a descriptor or FIFO, each answered by "ack". */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct control {
	int in, out; /* out -1 = no answers wanted; in -1 = no control at all */
	bool owned;  /* FIFOs that we opened */
	char line[256];
	size_t length;
};

void control_init(struct control *control);
/* "fd:IN[,OUT]" or "fifo:IN[,OUT]" (FIFOs that exist). */
struct error *control_open(struct control *control, const char *text);
/* What commands do to whoever is controlled; one that is NULL is only answered, as ping is. */
struct control_actions {
	void (*switch_events)(void *context, const char *name, bool on); /* enable, disable; "" = all events */
	void (*snapshot)(void *context);
	void (*stop)(void *context);
	void (*list)(void *context); /* evlist */
};
struct poller;
/* Obeys and answers all complete commands that are waiting. At the end of a descriptor `poller` doesn't watch it any more. */
void control_obey(struct control *control, struct poller *poller, const struct control_actions *actions, void *context);
/* What evlist prints: the events' names, a line each. */
struct event_list;
void control_list_events(const struct event_list *events);
void control_close(struct control *control);
