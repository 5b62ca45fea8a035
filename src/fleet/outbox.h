/* Between who measures and the spools of the senders: windows are encoded where they were made, and kept by a thread of the outbox's, so
 * that nobody but that thread waits for a disk. Of one that hangs the newest windows are dropped, and counted by their senders when it is
 * back. */
#pragma once

#include "base/error.h"
#include "fleet/sender.h"

#include <stdbool.h>
#include <stdint.h>

struct outbox;

/* `limit`: bytes of windows that wait for the disk; but one of each sender always may. */
struct error *outbox_open(uint64_t limit, struct outbox **ret);
/* Waits until all is kept, for as long as the disk hangs. */
void outbox_close(struct outbox *outbox);
/* Waits for nothing. An error: the window is dropped. The sender has to live until outbox_flush(). */
struct error *outbox_put(struct outbox *outbox, struct sender *sender, const struct window *window);
/* Windows that the disk has not taken yet; those that are only to be counted as dropped aren't among them. NULL: none. */
size_t outbox_waiting(struct outbox *outbox);
bool outbox_is_empty(struct outbox *outbox);
/* Waits until all that was put so far is kept, or counted as dropped. */
void outbox_flush(struct outbox *outbox);
