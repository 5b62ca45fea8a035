/* What report's tables, of rows and of blocks, share. */
#pragma once

#include "cmd/report/report.h"

/* Shows a table about the event with the view that was asked for. */
struct error *report_render(const struct report *report, const struct event *event, struct table *table);

/* blocks.c: --total-cycles of the event. The table has its header. */
struct error *report_show_blocks(struct report *report, const struct event *event, struct table *table);
