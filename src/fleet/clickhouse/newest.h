/* The newest windows of a fleet: until when there is anything, for who shows it again and again. */
#pragma once

#include "base/error.h"
#include "fleet/clickhouse/query.h"

#include <stdint.h>

struct fleet_newest {
	uint64_t begin; /* seconds since 1970, of the newest window's beginning; 0 = there is none of this hour */
	uint64_t hosts; /* with samples that the question asks for, in the last `seconds` up to that */
};

/* `question` without a time. */
struct error *fleet_ask_newest(const struct fleet_question *question, uint64_t seconds, struct fleet_newest *ret);
/* The time of these windows as a question has it. */
void fleet_newest_time(const struct fleet_newest *newest, uint64_t seconds, char *ret, size_t size);
