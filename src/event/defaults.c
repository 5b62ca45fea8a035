/* The last word on an event's attr: the terms of its own text. */
#include "event/defaults.h"

#include <linux/perf_event.h>

static void set_sample_bit(struct event_attr *attr, uint64_t bit, bool on)
{
	attr->sample_type = on ? attr->sample_type | bit : attr->sample_type & ~bit;
}

void event_apply_terms(struct event *event)
{
	struct event_attr *attr = &event->attr;

	if (event->period_given)
		set_sample_bit(attr, PERF_SAMPLE_PERIOD, attr->freq);
	if (event->time)
		set_sample_bit(attr, PERF_SAMPLE_TIME, event->time == EVENT_YES);
	if (event->inherit)
		attr->inherit = event->inherit == EVENT_YES;
	if (event->overwrite)
		attr->write_backward = event->overwrite == EVENT_YES;
	if (event->max_stack)
		attr->sample_max_stack = event->max_stack > UINT16_MAX ? UINT16_MAX : (uint16_t)event->max_stack;
	if (event->aux_output)
		attr->aux_output = 1;
	if (event->aux_action)
		attr->aux_action = event->aux_action;
	if (event->aux_sample_size)
		attr->aux_sample_size = event->aux_sample_size;
}
