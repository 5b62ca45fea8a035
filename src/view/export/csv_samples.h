/* The samples of the view csv. Within view. */
#pragma once

#include "base/error.h"
#include "view/view.h"

struct error *csv_samples(const struct samples *samples, const struct view_options *options, const struct sink *out);
