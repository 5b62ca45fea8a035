/* The sorted list of the side-band's times, searched from where the last search ended (ties.h). Where side-band of the same time lies on
 * either side of a sample, all of it counts as earlier. */
#include "session/ties.h"

#include "base/search.h"

void ties_deinit(struct ties *ties)
{
	vec_deinit(&ties->records);
}

void ties_take(struct ties *ties, order_items *records)
{
	ties->records = *records;
	*records = (order_items){0};
}

void ties_seek(const struct ties *ties, uint64_t time, size_t *near)
{
	enum { NEXT_ONES = 8 };
	const order_items *records = &ties->records;
	size_t at = *near, end = at + NEXT_ONES < records->len ? at + NEXT_ONES : records->len;

	if (!at || records->data[at - 1].time < time) {
		while (at < end && records->data[at].time < time)
			at++;
		if (at < end || at == records->len) {
			*near = at;
			return;
		}
	}
	*near = partition_point(i, records->len, records->data[i].time < time);
}
