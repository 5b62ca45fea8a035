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

enum control_command {
	CONTROL_NONE, /* nothing complete is waiting */
	CONTROL_ENABLE,
	CONTROL_DISABLE,
	CONTROL_SNAPSHOT,
	CONTROL_PING,
	CONTROL_STOP,
	CONTROL_EVLIST,
	CONTROL_UNKNOWN,
	CONTROL_CLOSED, /* the other side is gone: a descriptor at its end */
};

void control_init(struct control *control);
/* "fd:IN[,OUT]" or "fifo:IN[,OUT]" (FIFOs that exist). */
struct error *control_open(struct control *control, const char *text);
/* The next command; its argument (an event's name, "" = all) is valid until the next call. Call until CONTROL_NONE. */
enum control_command control_read(struct control *control, const char **ret_argument);
void control_acknowledge(struct control *control);
void control_close(struct control *control);
