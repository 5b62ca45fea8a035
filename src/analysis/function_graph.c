/* Reading the tracer's lines. What stands in front of the time differs with the tracer's options (CPU, process, absolute time); the time is
 * what ends with " us" before the bar. */
#include "analysis/function_graph.h"

#include <ctype.h>
#include <string.h>

static const char *find_text(const char *at, const char *end, const char *text)
{
	return memmem(at, (size_t)(end - at), text, strlen(text));
}

/* "10.500" that ends at `end`; microseconds with three digits behind the point. */
static bool read_time(const char *begin, const char *end, uint64_t *ret_ns)
{
	const char *at = end;
	uint64_t whole = 0, part = 0;

	while (at > begin && (isdigit((unsigned char)at[-1]) || at[-1] == '.'))
		at--;
	if (at == end)
		return false;
	for (; at < end && *at != '.'; at++)
		whole = whole * 10 + (uint64_t)(*at - '0');
	for (unsigned int scale = 100; at + 1 < end && scale; scale /= 10)
		part += (uint64_t)(*++at - '0') * scale;
	*ret_ns = whole * 1000 + part;
	return true;
}

bool function_graph_parse(const char *line, size_t size, struct function_call *ret)
{
	const char *end = line + size, *unit = find_text(line, end, " us ");
	const char *bar = unit ? memchr(unit, '|', (size_t)(end - unit)) : NULL;

	if (!bar || !read_time(line, unit, &ret->ns))
		return false;
	const char *name = bar + 1;
	while (name < end && *name == ' ')
		name++;
	if (name < end && *name == '}') {
		const char *comment = find_text(name, end, "/* ");
		if (!comment)
			return false;
		name = comment + 3;
	}
	size_t len = 0;
	while (name + len < end && (isalnum((unsigned char)name[len]) || strchr("_.$@", name[len])))
		len++;
	ret->name = name;
	ret->name_len = len;
	return len > 0;
}
