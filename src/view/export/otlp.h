/* OpenTelemetry's profiles of a window. */
#pragma once

#include "base/sink.h"
#include "result/window.h"

/* As protobuf. Rows with one set of labels are a resource, whose attributes are the labels; in it is a profile of each event. */
struct error *otlp_write_window(const struct window *window, const struct sink *out);
