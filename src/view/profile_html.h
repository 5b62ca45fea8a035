/* A whole profile as one page: table, flame graph, heat map, lanes, callers and callees, code. Nothing is loaded from anywhere. */
#pragma once

#include "base/error.h"
#include "base/sink.h"
#include "result/profile.h"

struct error *profile_html_write(const struct profile_page *profile, const struct sink *out);
