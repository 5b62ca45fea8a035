/* Counting in the three formats: functions for the views of those names, and what they share. */
#pragma once

#include "view/view.h"

struct error *stdio_counting(const struct counting *counting, const struct view_options *options, const struct sink *out);
struct error *csv_counting(const struct counting *counting, const struct view_options *options, const struct sink *out);
struct error *json_counting(const struct counting *counting, const struct view_options *options, const struct sink *out);

/* "%6lu.%09lu" of a time, as all formats have it. */
void counting_add_time(struct strbuf *out, uint64_t time_ns);
/* The title of a metric that stands alone in a column: "GHz", "branch-misses of all branches". */
void counting_add_title(struct strbuf *out, const struct counting_row *row, const struct derived_metric *metric);
/* How many rows from `first` on belong to its place. */
size_t counting_place_end(const struct counting *counting, size_t first);
/* A place's label as machines get it. */
const char *counting_place(const struct counting *counting, const struct counting_row *row);
