/* For tests: windows of what a machine did, made by hand. */
#pragma once

#include "result/window.h"

/* Of host "web1", from 2026-11-27 19:33:26 on (ten seconds later for each `number`), 10 s; with events cpu-clock (nanoseconds) and
 * page-faults; set 1 has the label unit=a.service, all have region=north. Its id begins with `number`, the rest is 0. */
struct window *made_window(uint8_t number);
/* A row of a thread with this number and set. `stack`: names of functions with ';' between them, the outermost first; "" = none. */
void made_window_add(struct window *window, uint32_t event, uint32_t thread, uint32_t set, const char *stack, uint32_t count,
		     uint64_t period);
