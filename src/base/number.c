/* Strict number parsing: what is left over after a number makes it no number. */
#include "base/number.h"

#include "base/mem.h"
#include "base/vec.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse_unsigned(const char *text, int radix, const char **ret_end, uint64_t *ret)
{
	if (!isxdigit((unsigned char)*text))
		return false;
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, radix);
	if (errno || end == text)
		return false;
	*ret_end = end;
	*ret = value;
	return true;
}

bool number_parse_u64(const char *text, uint64_t *ret)
{
	const char *end;
	uint64_t value;
	if (!parse_unsigned(text, 0, &end, &value) || *end)
		return false;
	*ret = value;
	return true;
}

bool number_parse_s64(const char *text, int64_t *ret)
{
	uint64_t value;
	bool negative = *text == '-';
	if (!number_parse_u64(text + negative, &value) || value > (uint64_t)INT64_MAX + negative)
		return false;
	*ret = negative ? (int64_t)(0 - value) : (int64_t)value;
	return true;
}

bool number_parse_u32(const char *text, uint32_t *ret)
{
	uint64_t value;
	if (!number_parse_u64(text, &value) || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

bool number_parse_double(const char *text, double *ret)
{
	char *end;
	errno = 0;
	double value = strtod(text, &end);
	if (errno || end == text || *end || isspace((unsigned char)*text) || !isfinite(value))
		return false;
	*ret = value;
	return true;
}

bool number_parse_hex(const char *text, uint64_t *ret)
{
	const char *end;
	uint64_t value;
	if (!parse_unsigned(text, 16, &end, &value) || *end)
		return false;
	*ret = value;
	return true;
}

struct unit {
	const char *name;
	double factor;
};

/* The factor of the first unit named exactly `text`, 0 when there is none. */
static double unit_factor(const struct unit *units, const char *text)
{
	for (; units->name; units++)
		if (strcasecmp(units->name, text) == 0)
			return units->factor;
	return 0;
}

static bool parse_with_unit(const char *text, const struct unit *units, const char *default_unit, uint64_t *ret)
{
	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	char *end;
	errno = 0;
	double value = strtod(text, &end);
	double factor = unit_factor(units, *end ? end : default_unit);
	if (errno || end == text || factor == 0 || value * factor >= 18446744073709549568.0)
		return false;
	uint64_t whole;
	const char *whole_end;
	/* Integers stay exact. */
	if (parse_unsigned(text, 10, &whole_end, &whole) && whole_end == end) {
		*ret = whole * (uint64_t)factor;
		return true;
	}
	*ret = (uint64_t)(value * factor + 0.5);
	return true;
}

bool number_parse_size(const char *text, uint64_t *ret)
{
	static const struct unit units[] = {
		{"", 1},	   {"B", 1},	       {"K", 1024},	     {"KB", 1024},	    {"M", 1048576}, {"MB", 1048576},
		{"G", 1073741824}, {"GB", 1073741824}, {"T", 1099511627776}, {"TB", 1099511627776}, {NULL, 0}};
	return parse_with_unit(text, units, "", ret);
}

bool number_parse_duration(const char *text, const char *default_unit, uint64_t *ret_ns)
{
	static const struct unit units[] = {{"ns", 1},	 {"us", 1e3},	{"ms", 1e6},   {"s", 1e9},     {"sec", 1e9},
					    {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {NULL, 0}};
	return parse_with_unit(text, units, default_unit, ret_ns);
}

bool number_parse_timestamp(const char *text, uint64_t *ret_ns)
{
	const char *end;
	uint64_t seconds, ns = 0;
	if (!isdigit((unsigned char)*text) || !parse_unsigned(text, 10, &end, &seconds) || seconds > UINT64_MAX / 1000000000 - 1)
		return false;
	if (*end == '.') {
		uint64_t place = 100000000;
		for (end++; isdigit((unsigned char)*end); end++, place /= 10)
			ns += (uint64_t)(*end - '0') * place;
	}
	if (*end)
		return false;
	*ret_ns = seconds * 1000000000 + ns;
	return true;
}

static int compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}

bool number_parse_list(const char *text, int **ret, size_t *ret_count)
{
	enum { LARGEST = 1 << 20 };
	VEC(int) numbers = {0};
	const char *at = text;
	for (;;) {
		uint64_t first, last;
		if (!parse_unsigned(at, 10, &at, &first))
			goto bad;
		last = first;
		if (*at == '-' && !parse_unsigned(at + 1, 10, &at, &last))
			goto bad;
		if (last < first || last >= LARGEST || last - first >= LARGEST - numbers.len)
			goto bad;
		for (uint64_t i = first; i <= last; i++)
			vec_push(&numbers, (int)i);
		if (*at != ',')
			break;
		at++;
	}
	if (*at && *at != '\n')
		goto bad;
	qsort(numbers.data, numbers.len, sizeof(int), compare_ints);
	size_t kept = 0;
	for (size_t i = 0; i < numbers.len; i++)
		if (!kept || numbers.data[kept - 1] != numbers.data[i])
			numbers.data[kept++] = numbers.data[i];
	*ret = numbers.data;
	*ret_count = kept;
	return true;
bad:
	vec_deinit(&numbers);
	return false;
}

const char *number_format_bytes(uint64_t bytes, char buffer[16])
{
	static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
	double value = (double)bytes;
	size_t unit = 0;
	for (; value >= 1024 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
		value /= 1024;
	snprintf(buffer, 16, unit && value < 10 ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return buffer;
}

const char *number_format_grouped(uint64_t value, char buffer[32])
{
	char *at = buffer + 31;
	*at = '\0';
	for (int digits = 0;; digits++) {
		if (digits && digits % 3 == 0)
			*--at = ',';
		*--at = (char)('0' + value % 10);
		value /= 10;
		if (!value)
			break;
	}
	return memmove(buffer, at, (size_t)(buffer + 32 - at));
}
