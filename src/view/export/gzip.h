/* A sink that compresses what it gets, as gzip does, and hands it on. Within view. */
#pragma once

#include "base/sink.h"

struct gzip;
/* `out` must live as long. Writing into it goes on until gzip_end(). */
struct gzip *gzip_begin(const struct sink *out, struct sink *ret);
/* What is left of the stream; out's flush is still to be called. */
void gzip_end(struct gzip *gzip);
