/* What this build contains, under the names that `perf version --build-options` and `perf check feature` of the kernel's tool use. */
#pragma once

#include <stdbool.h>

struct build_feature {
	const char *name;  /* "zstd" */
	const char *macro; /* "HAVE_ZSTD_SUPPORT": the kernel tool's word for it */
	bool on;
};

/* Ends with a NULL name. Several rows may have the same macro. */
extern const struct build_feature build_features[];
