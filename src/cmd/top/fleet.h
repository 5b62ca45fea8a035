/* perf top --from: what many machines do now, from the database that their agents fill. */
#pragma once

#include "base/error.h"

/* The command line again, whose options are others than those of measuring. */
struct error *top_fleet(int argc, char **argv, int *ret_status);
