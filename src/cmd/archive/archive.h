/* Parts of perf archive. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

struct archive_options {
	const char *input, *output;
	bool all, unpack, force, sandbox;
};

/* pack.c: what the recording's samples hit, from the build-id cache or from where it is, into options->output. */
struct error *archive_pack(const struct archive_options *options, const char *cache);
