/* What the formats of counting share. */
#include "base/text.h"
#include "view/counting/counting_internal.h"

#include <string.h>

void counting_add_time(struct strbuf *out, uint64_t time_ns)
{
	strbuf_printf(out, "%6lu.%09lu", time_ns / 1000000000u, time_ns % 1000000000u);
}

void counting_add_title(struct strbuf *out, const struct counting_row *row, const struct derived_metric *metric)
{
	if (str_starts_with(metric->unit, "of all")) {
		text_add_safe(out, row->name, strlen(row->name));
		strbuf_add_char(out, ' ');
	}
	text_add_safe(out, metric->unit, strlen(metric->unit));
}

size_t counting_place_end(const struct counting *counting, size_t first)
{
	size_t end = first + 1;
	const char *place = counting->rows.data[first].place;

	while (end < counting->rows.len && (!place || !strcmp(counting->rows.data[end].place, place)))
		end++;
	return end;
}

const char *counting_place(const struct counting *counting, const struct counting_row *row)
{
	const char *strip = counting->places->strip;

	return strip && str_starts_with(row->place, strip) ? row->place + strlen(strip) : row->place;
}
