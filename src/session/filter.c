/* Which samples are wanted: by CPU, and by time ranges as the kernel tool's --time takes them:
 *
 *	START,STOP  START,  ,STOP         seconds[.fraction], several separated by spaces
 *	A%-B%                             of the time from the first to the last sample; several separated by commas
 *	P%/N                              the Nth piece of P per cent; P% alone is the first one
 */
#include "base/number.h"
#include "session/session_internal.h"

#include <math.h>
#include <string.h>

bool filter_text_is_relative(const char *text)
{
	return text && strchr(text, '%');
}

static struct error *bad_text(const char *text)
{
	return error_new_kind(ERROR_USAGE,
			      "invalid value '%s' for --time: expected seconds, such as 12.5,13.5, or a part of the recorded time, "
			      "such as 10%%-20%% or 10%%/2",
			      text);
}

/* "5%" at `*text`, which moves behind it. */
static bool parse_percent(const char **text, double *ret)
{
	const char *end = strchr(*text, '%');
	char digits[32];
	if (!end || (size_t)(end - *text) >= sizeof(digits))
		return false;
	memcpy(digits, *text, (size_t)(end - *text));
	digits[end - *text] = '\0';
	double value;
	if (!number_parse_double(digits, &value) || value < 0 || value > 100)
		return false;
	*ret = value / 100;
	*text = end + 1;
	return true;
}

/* One of "A%-B%", "P%/N", "P%". */
static bool parse_part(char *text, double *ret_begin, double *ret_end)
{
	const char *at = text;
	double first, second;
	uint64_t piece = 1;
	if (!parse_percent(&at, &first))
		return false;
	if (*at == '-') {
		at++;
		if (!parse_percent(&at, &second) || *at || second < first)
			return false;
		*ret_begin = first;
		*ret_end = second;
		return true;
	}
	if (*at == '/' && (!number_parse_u64(at + 1, &piece) || !piece))
		return false;
	if (*at && *at != '/')
		return false;
	*ret_begin = first * (double)(piece - 1);
	*ret_end = first * (double)piece;
	return *ret_end <= 1.0000001;
}

static bool parse_parts(struct filter *filter, char *text, uint64_t first, uint64_t last)
{
	double total = (double)(last - first);
	char *rest = NULL;
	for (char *part = strtok_r(text, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
		double begin, end;
		part += strspn(part, " ");
		if (!parse_part(part, &begin, &end))
			return false;
		struct time_range range = {first + (uint64_t)llround(begin * total), first + (uint64_t)llround(end * total)};
		/* The next part begins where this one ends. */
		if (range.end > range.begin && range.end != last)
			range.end--;
		vec_push(&filter->times, range);
	}
	return filter->times.len > 0;
}

/* "START,STOP" with either missing. */
static bool parse_range(char *text, struct time_range *ret)
{
	char *comma = strchr(text, ',');
	*ret = (struct time_range){0, UINT64_MAX};
	if (!comma)
		return false;
	*comma = '\0';
	if (*text && !number_parse_timestamp(text, &ret->begin))
		return false;
	if (comma[1] && !number_parse_timestamp(comma + 1, &ret->end))
		return false;
	return ret->begin <= ret->end;
}

static bool parse_ranges(struct filter *filter, char *text)
{
	char *rest = NULL;
	for (char *part = strtok_r(text, " ", &rest); part; part = strtok_r(NULL, " ", &rest)) {
		struct time_range range;
		if (!parse_range(part, &range))
			return false;
		vec_push(&filter->times, range);
	}
	return filter->times.len > 0;
}

struct error *filter_init(struct filter *filter, const struct session_filter *wanted, uint64_t first_time, uint64_t last_time)
{
	*filter = (struct filter){.cpus = wanted->cpus, .cpu_words = wanted->cpu_words};
	for (size_t i = 0; i < wanted->time_count; i++)
		vec_push(&filter->times, wanted->times[i]);
	if (wanted->time_text) {
		bool relative = filter_text_is_relative(wanted->time_text);
		if (relative && !last_time)
			return error_new("--time %s: the samples of this recording have no times", wanted->time_text);
		char *text = mem_strdup(wanted->time_text);
		bool ok = relative ? parse_parts(filter, text, first_time, last_time) : parse_ranges(filter, text);
		free(text);
		if (!ok)
			return bad_text(wanted->time_text);
	}
	filter->active = filter->cpus || filter->times.len;
	return NULL;
}

void filter_deinit(struct filter *filter)
{
	vec_deinit(&filter->times);
}

bool filter_accepts_time(const struct filter *filter, uint64_t time)
{
	if (!filter->times.len || !time)
		return true;
	for (size_t i = 0; i < filter->times.len; i++)
		if (time >= filter->times.data[i].begin && time <= filter->times.data[i].end)
			return true;
	return false;
}
