/* Times of --time with --from. */
#include "fleet/clickhouse/period.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/number.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

enum { HOUR = 3600, DAY = 86400 };

static struct error *unknown(const char *text)
{
	return error_new_kind(
		ERROR_USAGE,
		"--time: invalid time '%s': with --from expected one such as -2h, 2026-11-27, 2026-11-27 10:30 or @1795808006, "
		"or two of them with a comma between",
		text);
}

/* "2h" ago. */
static bool parse_ago(const char *text, uint64_t now, uint64_t *ret)
{
	size_t length = strlen(text);
	uint64_t ago, days;
	if (length > 1 && text[length - 1] == 'd') {
		cleanup_free char *number = mem_strndup(text, length - 1);
		if (!number_parse_u64(number, &days) || days > now / DAY)
			return false;
		*ret = now - days * DAY;
		return true;
	}
	if (!number_parse_duration(text, "s", &ago) || ago / 1000000000 > now)
		return false;
	*ret = now - ago / 1000000000;
	return true;
}

static bool parse_clock(const char *text, uint64_t *ret, bool *ret_day)
{
	static const char *const formats[] = {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"};
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct tm parts = {.tm_isdst = -1};
		const char *end = strptime(text, formats[i], &parts);
		time_t time = end && !*end ? mktime(&parts) : -1;
		if (time < 0)
			continue;
		*ret = (uint64_t)time;
		*ret_day = !i;
		return true;
	}
	return false;
}

static bool parse_time(const char *text, uint64_t now, uint64_t *ret, bool *ret_day)
{
	*ret_day = false;
	text += strspn(text, " ");
	if (!*text || !strcmp(text, "now")) {
		*ret = now + 1; /* what began in this second, too */
		return true;
	}
	return *text == '@'   ? number_parse_u64(text + 1, ret)
	       : *text == '-' ? parse_ago(text + 1, now, ret)
			      : parse_clock(text, ret, ret_day);
}

struct error *fleet_period_parse(const char *text, uint64_t now, struct fleet_period *ret)
{
	struct fleet_period period = {now > HOUR ? now - HOUR : 0, now + 1};
	bool day = false;
	if (text) {
		const char *comma = strchr(text, ',');
		cleanup_free char *from = mem_strndup(text, comma ? (size_t)(comma - text) : strlen(text));
		if (!*from || !parse_time(from, now, &period.from, &day))
			return unknown(text);
		if (!comma && day)
			period.to = period.from + DAY;
		else if (comma && !parse_time(comma + 1, now, &period.to, &day))
			return unknown(text);
		else if (comma && day)
			period.to += DAY;
	}
	if (period.from >= period.to || period.to > UINT32_MAX)
		return error_new_kind(ERROR_USAGE, "--time: '%s' ends before it begins, or beyond the year 2105", text ? text : "");
	*ret = period;
	return NULL;
}
