/* Questions of newest.h. Windows arrive when they are over, those of some hosts later than those of others; what is asked for ends with the
 * newest one, so that it is as long as it says. */
#include "fleet/clickhouse/newest.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>

enum { HOUR = 3600, AHEAD = 60 }; /* clocks differ */

void fleet_newest_time(const struct fleet_newest *newest, uint64_t seconds, char *ret, size_t size)
{
	snprintf(ret, size, "@%" PRIu64 ",@%" PRIu64, newest->begin + 1 - seconds, newest->begin + 1);
}

static struct error *ask_hosts(struct clickhouse *clickhouse, const struct fleet_question *question, uint64_t seconds,
			       struct fleet_newest *newest)
{
	struct fleet_question recent = *question;
	struct fleet_period period;
	struct strbuf sql = {0};
	char time[64];
	fleet_newest_time(newest, seconds, time, sizeof(time));
	recent.time = time;
	strbuf_add_str(&sql, "SELECT uniqExact(host) FROM samples");
	struct error *error = fleet_question_add_where(&recent, &sql, &period);
	if (!error)
		error = clickhouse_ask_number(clickhouse, strbuf_str(&sql), "&skip_unavailable_shards=1", &newest->hosts);
	strbuf_deinit(&sql);
	return error;
}

struct error *fleet_ask_newest(const struct fleet_question *question, uint64_t seconds, struct fleet_newest *ret)
{
	const uint64_t now = clock_now_ns(CLOCK_REALTIME) / 1000000000;
	struct clickhouse *clickhouse = NULL;
	struct fleet_newest newest = {0};
	struct strbuf sql = {0};
	struct error *error = clickhouse_open(question->url, question->http, &clickhouse);
	strbuf_printf(&sql,
		      "SELECT toUInt64(max(toUInt32(begin))) FROM windows WHERE begin >= toDateTime(%" PRIu64
		      ") AND begin < toDateTime(%" PRIu64 ")",
		      now - HOUR, now + AHEAD);
	if (!error)
		error = clickhouse_ask_number(clickhouse, strbuf_str(&sql), "&skip_unavailable_shards=1", &newest.begin);
	if (!error && newest.begin && (newest.begin < now - HOUR || newest.begin >= now + AHEAD))
		error = error_new_kind(ERROR_FORMAT, "the engine's answer (the newest window) is not as it should be");
	if (!error && newest.begin)
		error = ask_hosts(clickhouse, question, seconds, &newest);
	clickhouse_close(clickhouse);
	strbuf_deinit(&sql);
	if (!error)
		*ret = newest;
	return error_wrap(error, "--from");
}
