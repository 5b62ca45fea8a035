/* Questions and statements of hours.h. */
#include "fleet/clickhouse/hours.h"

#include "base/cursor.h"

#include <inttypes.h>

enum {
	ANSWER_MAX = 1 << 24,
	PIECE_SECONDS = 21600, /* of schema.c: the order of samples */
};

#define SKIP "&skip_unavailable_shards=1"
/* Sums are for all that there is, or aren't made. */
#define WHOLE "&insert_distributed_sync=1"

static struct error *damaged(void)
{
	return error_new_kind(ERROR_FORMAT, "the engine's answer (hours) is not as it should be");
}

void fleet_period_add_where(const struct fleet_period *period, struct strbuf *sql)
{
	strbuf_printf(sql,
		      " WHERE time >= toDateTime(%" PRIu64 ") AND time < toDateTime(%" PRIu64 ") AND intDiv(toUInt32(time), %d) >= %" PRIu64
		      " AND intDiv(toUInt32(time), %d) <= %" PRIu64,
		      period->from, period->to, PIECE_SECONDS, period->from / PIECE_SECONDS, PIECE_SECONDS,
		      (period->to - 1) / PIECE_SECONDS);
}

/* ---- which there are ---- */

static struct error *ask_windows(struct clickhouse *clickhouse, const struct fleet_period *whole, fleet_hour_list *ret)
{
	struct strbuf sql = {0}, answer = {0};
	strbuf_printf(&sql,
		      "SELECT toUInt64(intDiv(toUInt32(begin), %d)) * %d AS hour, sum(cityHash64(id, stored)), toUInt64(count())"
		      " FROM windows WHERE begin >= toDateTime(%" PRIu64 ") AND begin < toDateTime(%" PRIu64
		      ") GROUP BY hour ORDER BY hour FORMAT RowBinary",
		      HOUR_SECONDS, HOUR_SECONDS, whole->from, whole->to);
	struct error *error = clickhouse_ask(clickhouse, strbuf_str(&sql), SKIP, ANSWER_MAX, &answer);
	struct cursor cursor = cursor_init(strbuf_str(&answer), answer.len, false);
	while (!error && cursor_left(&cursor)) {
		struct fleet_hour hour = {.begin = cursor_u64(&cursor), .digest = cursor_u64(&cursor)};
		hour.windows = cursor_u64(&cursor);
		error = cursor.failed ? damaged() : NULL;
		vec_push(ret, hour);
	}
	strbuf_deinit(&sql);
	strbuf_deinit(&answer);
	return error;
}

static void set_version(fleet_hour_list *hours, uint64_t begin, uint64_t version, uint64_t digest)
{
	for (size_t i = 0; i < hours->len; i++)
		if (hours->data[i].begin == begin && hours->data[i].digest == digest)
			hours->data[i].version = version;
}

static struct error *ask_versions(struct clickhouse *clickhouse, const struct fleet_period *whole, fleet_hour_list *hours)
{
	struct strbuf sql = {0}, answer = {0};
	strbuf_printf(
		&sql,
		"SELECT toUInt64(toUInt32(hour)) AS begin, max(version), argMax(digest, version) FROM hours WHERE hour >= toDateTime(%" PRIu64
		") AND hour < toDateTime(%" PRIu64 ") GROUP BY begin FORMAT RowBinary",
		whole->from, whole->to);
	struct error *error = clickhouse_ask(clickhouse, strbuf_str(&sql), SKIP, ANSWER_MAX, &answer);
	struct cursor cursor = cursor_init(strbuf_str(&answer), answer.len, false);
	while (!error && cursor_left(&cursor)) {
		uint64_t begin = cursor_u64(&cursor), version = cursor_u64(&cursor), digest = cursor_u64(&cursor);
		error = cursor.failed ? damaged() : NULL;
		set_version(hours, begin, version, digest);
	}
	strbuf_deinit(&sql);
	strbuf_deinit(&answer);
	return error;
}

struct error *fleet_hours_ask(struct clickhouse *clickhouse, const struct fleet_period *period, fleet_hour_list *ret)
{
	const struct fleet_period whole = {(period->from + HOUR_SECONDS - 1) / HOUR_SECONDS * HOUR_SECONDS,
					   period->to / HOUR_SECONDS * HOUR_SECONDS};
	if (whole.from >= whole.to)
		return NULL;
	struct error *error = ask_windows(clickhouse, &whole, ret);
	return error || !ret->len ? error : ask_versions(clickhouse, &whole, ret);
}

/* ---- making them ---- */

/* By what windows say; one that was sent twice may be there twice for a while. */
static struct error *ask_stored(struct clickhouse *clickhouse, uint64_t begin, uint64_t *ret)
{
	struct strbuf sql = {0};
	strbuf_printf(&sql,
		      "SELECT sum(stored) FROM (SELECT DISTINCT id, stored FROM windows WHERE begin >= toDateTime(%" PRIu64
		      ") AND begin < toDateTime(%" PRIu64 "))",
		      begin, begin + HOUR_SECONDS);
	struct error *error = clickhouse_ask_number(clickhouse, strbuf_str(&sql), "", ret);
	strbuf_deinit(&sql);
	return error;
}

static struct error *ask_count(struct clickhouse *clickhouse, const char *table, const char *where, uint64_t *ret)
{
	struct strbuf sql = {0};
	strbuf_printf(&sql, "SELECT sum(count) FROM %s%s", table, where);
	struct error *error = clickhouse_ask_number(clickhouse, strbuf_str(&sql), "", ret);
	strbuf_deinit(&sql);
	return error;
}

static struct error *insert(struct clickhouse *clickhouse, const struct strbuf *statement)
{
	struct strbuf answer = {0};
	struct error *error = clickhouse_ask(clickhouse, strbuf_str(statement), WHOLE, ANSWER_MAX, &answer);
	strbuf_deinit(&answer);
	return error;
}

static struct error *insert_sums(struct clickhouse *clickhouse, const struct fleet_hour *hour, const char *where, uint64_t version)
{
	struct strbuf sql = {0};
	strbuf_printf(&sql,
		      "INSERT INTO sums (hour, service, event, stack, value, count, version) SELECT toDateTime(%" PRIu64
		      "), service, event, stack, sum(value), sum(count), toUInt64(%" PRIu64
		      ") FROM samples%s GROUP BY service, event, stack",
		      hour->begin, version, where);
	struct error *error = insert(clickhouse, &sql);
	strbuf_deinit(&sql);
	return error;
}

static struct error *insert_hour(struct clickhouse *clickhouse, const struct fleet_hour *hour, uint64_t version)
{
	struct strbuf sql = {0};
	strbuf_printf(&sql,
		      "INSERT INTO hours (hour, version, digest) SELECT toDateTime(%" PRIu64 "), toUInt64(%" PRIu64 "), toUInt64(%" PRIu64
		      ")",
		      hour->begin, version, hour->digest);
	struct error *error = insert(clickhouse, &sql);
	strbuf_deinit(&sql);
	return error;
}

/* A replica may have windows whose samples it is still fetching, and an answer that was lost has rows inserted twice: so all is counted
 * before and afterwards. */
struct error *fleet_hour_add(struct clickhouse *clickhouse, const struct fleet_hour *hour, uint64_t version, struct fleet_hour_sums *ret)
{
	const struct fleet_period period = {hour->begin, hour->begin + HOUR_SECONDS};
	struct strbuf of_samples = {0}, of_sums = {0};
	struct fleet_hour_sums sums = {0};
	fleet_period_add_where(&period, &of_samples);
	strbuf_printf(&of_sums, " WHERE hour = toDateTime(%" PRIu64 ") AND version = %" PRIu64, hour->begin, version);
	struct error *error = ask_stored(clickhouse, hour->begin, &sums.stored);
	if (!error)
		error = ask_count(clickhouse, "samples", strbuf_str(&of_samples), &sums.found);
	if (!error && sums.found == sums.stored)
		error = insert_sums(clickhouse, hour, strbuf_str(&of_samples), version);
	if (!error && sums.found == sums.stored)
		error = ask_count(clickhouse, "sums", strbuf_str(&of_sums), &sums.found);
	if (!error && sums.found == sums.stored)
		error = insert_hour(clickhouse, hour, version);
	if (!error)
		*ret = sums;
	strbuf_deinit(&of_samples);
	strbuf_deinit(&of_sums);
	return error;
}

/* ---- asking them ---- */

static void add_samples(const struct fleet_period *period, const char *condition, bool *first, struct strbuf *sql)
{
	if (period->from >= period->to)
		return;
	strbuf_printf(sql, "%sSELECT stack, sum(value) AS v, sum(count) AS c FROM samples", *first ? "" : " UNION ALL ");
	fleet_period_add_where(period, sql);
	strbuf_printf(sql, "%s GROUP BY stack", condition);
	*first = false;
}

static void add_sums(const fleet_hour_list *hours, const char *condition, bool *first, struct strbuf *sql)
{
	const char *before = "";
	for (size_t i = 0; i < hours->len; i++) {
		if (!hours->data[i].version)
			continue;
		if (!*before)
			strbuf_printf(sql, "%sSELECT stack, sum(value) AS v, sum(count) AS c FROM sums WHERE (hour, version) IN (",
				      *first ? "" : " UNION ALL ");
		strbuf_printf(sql, "%s(toDateTime(%" PRIu64 "), toUInt64(%" PRIu64 "))", before, hours->data[i].begin,
			      hours->data[i].version);
		before = ", ";
	}
	if (!*before)
		return;
	strbuf_printf(sql, ")%s GROUP BY stack", condition);
	*first = false;
}

void fleet_hours_add_from(const fleet_hour_list *hours, const struct fleet_period *period, const char *condition, struct strbuf *sql)
{
	uint64_t from = period->from;
	bool first = true;
	strbuf_add_str(sql, " FROM (");
	for (size_t i = 0; i < hours->len; i++) {
		if (!hours->data[i].version)
			continue;
		add_samples(&(struct fleet_period){from, hours->data[i].begin}, condition, &first, sql);
		from = hours->data[i].begin + HOUR_SECONDS;
	}
	add_samples(&(struct fleet_period){from, period->to}, condition, &first, sql);
	add_sums(hours, condition, &first, sql);
	strbuf_add_char(sql, ')');
}
