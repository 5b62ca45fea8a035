/* System calls of a timechart that move data, or wait for some. */
#include "analysis/timechart/timechart_internal.h"

#include "event/event.h"

#include <errno.h>
#include <string.h>

enum { NO_CALL = 1, FIRST_KIND = 2 }; /* in timechart_maker.calls */

static int kind_of_call(const char *name)
{
	static const struct {
		const char *name;
		enum timechart_kind kind;
	} calls[] = {
		{"read", TIMECHART_READ},	 {"pread64", TIMECHART_READ},	 {"readv", TIMECHART_READ},
		{"preadv", TIMECHART_READ},	 {"preadv2", TIMECHART_READ},	 {"write", TIMECHART_WRITE},
		{"pwrite64", TIMECHART_WRITE},	 {"writev", TIMECHART_WRITE},	 {"pwritev", TIMECHART_WRITE},
		{"pwritev2", TIMECHART_WRITE},	 {"sync", TIMECHART_SYNC},	 {"sync_file_range", TIMECHART_SYNC},
		{"fsync", TIMECHART_SYNC},	 {"fdatasync", TIMECHART_SYNC},	 {"msync", TIMECHART_SYNC},
		{"recvfrom", TIMECHART_RECEIVE}, {"recvmsg", TIMECHART_RECEIVE}, {"recvmmsg", TIMECHART_RECEIVE},
		{"sendto", TIMECHART_SEND},	 {"sendmsg", TIMECHART_SEND},	 {"sendmmsg", TIMECHART_SEND},
		{"epoll_pwait", TIMECHART_POLL}, {"epoll_wait", TIMECHART_POLL}, {"poll", TIMECHART_POLL},
		{"ppoll", TIMECHART_POLL},	 {"pselect6", TIMECHART_POLL},	 {"select", TIMECHART_POLL},
	};
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(calls[i].name, name))
			return FIRST_KIND + (int)calls[i].kind;
	return NO_CALL;
}

static bool find_kind(struct timechart_maker *maker, const struct event *event, size_t prefix, enum timechart_kind *ret)
{
	while (maker->calls.len <= event->index)
		vec_push(&maker->calls, 0);
	uint8_t *known = &maker->calls.data[event->index];
	if (!*known)
		*known = (uint8_t)kind_of_call(event->tp_name + prefix);
	*ret = (enum timechart_kind)(*known - FIRST_KIND);
	return *known >= FIRST_KIND;
}

/* Spans of the scheduler are no calls. */
static void push_call(struct timechart_row *row, const struct timechart_span *span, const struct timechart_call *call)
{
	while (row->calls.len < row->spans.len)
		vec_push(&row->calls, (struct timechart_call){0});
	vec_push(&row->spans, *span);
	vec_push(&row->calls, *call);
}

void timechart_drop_call(struct timechart_row *row)
{
	row->spans.len--;
	if (row->calls.len > row->spans.len)
		row->calls.len = row->spans.len;
}

void timechart_on_enter(void *context, const struct tracker_event *event)
{
	struct timechart_maker *maker = context;
	enum timechart_kind kind;
	if (!find_kind(maker, event->record->event, strlen("sys_enter_"), &kind))
		return;
	struct timechart_own_row *row = timechart_row(maker, event->tid);
	if (row->in_call) { /* it never came back, as far as the recording tells */
		timechart_drop_call(&row->row);
		row->in_call = false;
		return;
	}
	const struct timechart_span span = {
		.begin = event->record->time, .kind = kind, .cpu = event->cpu, .stack = timechart_stack(maker, event)};
	push_call(&row->row, &span, &(struct timechart_call){.fd = (int64_t)event->values[0]});
	row->in_call = true;
	timechart_begin_row(&row->row, span.begin);
}

static bool moves_data(enum timechart_kind kind)
{
	return kind != TIMECHART_SYNC && kind != TIMECHART_POLL;
}

/* The span before and this one become one. */
static bool can_merge(const struct timechart_row *row, uint64_t distance)
{
	const struct timechart_span *span = &row->spans.data[row->spans.len - 1], *before = span - 1;
	const struct timechart_call *call = &row->calls.data[row->spans.len - 1], *call_before = call - 1;
	uint64_t latest = before->end + distance < before->end ? UINT64_MAX : before->end + distance;
	return before->kind == span->kind && call_before->error == call->error && call_before->fd == call->fd && latest >= span->begin;
}

static void merge_last(struct timechart_row *row)
{
	struct timechart_span *span = vec_last(&row->spans), *before = span - 1;
	struct timechart_call *call = vec_last(&row->calls), *call_before = call - 1;
	call->bytes += call_before->bytes;
	call->merges += call_before->merges + 1;
	span->begin = before->begin;
	*before = *span;
	*call_before = *call;
	timechart_drop_call(row);
	if (!call_before->error && call_before->bytes > row->most_bytes)
		row->most_bytes = call_before->bytes;
}

/* Short ones are drawn longer, but not over others: errors are what one wants to see. */
static void stretch(struct timechart_row *row, uint64_t least)
{
	struct timechart_span *span = vec_last(&row->spans), *before = row->spans.len > 1 ? span - 1 : NULL;
	if (span->end - span->begin < least)
		span->end = span->begin + least;
	if (!before || span->begin >= before->end)
		return;
	if (timechart_call_of(row, row->spans.len - 2).error)
		span->begin = before->end;
	else
		before->end = span->begin;
}

void timechart_on_exit(void *context, const struct tracker_event *event)
{
	struct timechart_maker *maker = context;
	struct timechart_own_row *own = timechart_known_row(maker, event->tid);
	int64_t result = (int64_t)event->values[0];
	enum timechart_kind kind;
	if (!find_kind(maker, event->record->event, strlen("sys_exit_"), &kind) || !own || !own->in_call ||
	    vec_last(&own->row.spans)->kind != kind)
		return;
	struct timechart_row *row = &own->row;
	struct timechart_call *call = vec_last(&row->calls);
	own->in_call = false;
	maker->call_count++;
	vec_last(&row->spans)->end = event->record->time;
	stretch(row, maker->options->least_ns);
	call->error = result < 0 ? result : 0;
	call->bytes = result > 0 && moves_data(kind) ? (uint64_t)result : 0;
	row->bytes += call->bytes;
	if (call->bytes > row->most_bytes)
		row->most_bytes = call->bytes;
	if (row->spans.len > 1 && can_merge(row, maker->options->merge_ns))
		merge_last(row);
}
