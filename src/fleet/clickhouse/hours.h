/* Sums of whole hours. A question about a service and a day adds up what all of its hosts sent each minute; what it needs are sums by
 * stack. They are made once an hour, of hours that are over (perf agent rollup):
 *
 *	samples ──► sums     (hour, service, event, stack, value, count, version)
 *	windows ──► hours    (hour, version, digest)        written when sums of that version are there
 *
 * An hour's sums count only as long as `digest` is that of the windows which the database has of it: a window that came late, or rows
 * that are gone, make them worthless until the next time, and samples are asked instead. So they save time, and never decide. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "fleet/clickhouse/connection.h"
#include "fleet/clickhouse/period.h"

#include <stdbool.h>
#include <stdint.h>

enum { HOUR_SECONDS = 3600 };

struct fleet_hour {
	uint64_t begin;	  /* seconds since 1970 */
	uint64_t digest;  /* of its windows */
	uint64_t windows; /* how many they are */
	uint64_t version; /* of its sums; 0 = there are none that count */
};
typedef VEC(struct fleet_hour) fleet_hour_list;

/* Whole hours of the period of which there are windows, by time. */
struct error *fleet_hours_ask(struct clickhouse *clickhouse, const struct fleet_period *period, fleet_hour_list *ret);
/* Samples of an hour: what its windows say, and what is there. */
struct fleet_hour_sums {
	uint64_t stored, found;
};

/* Makes the sums of an hour, `version` being greater than earlier ones. They count if all samples were found that are stored. */
struct error *fleet_hour_add(struct clickhouse *clickhouse, const struct fleet_hour *hour, uint64_t version, struct fleet_hour_sums *ret);

/* " FROM (…)": stacks with `v`alue and `c`ount, some perhaps twice, of sums where hours have them and of samples for the rest of the time.
 * `condition`: "" or " AND …", of columns that both have. */
void fleet_hours_add_from(const fleet_hour_list *hours, const struct fleet_period *period, const char *condition, struct strbuf *sql);
/* " WHERE …": the samples of a period. */
void fleet_period_add_where(const struct fleet_period *period, struct strbuf *sql);
