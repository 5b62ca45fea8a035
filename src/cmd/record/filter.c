/* --filter of events that are no tracepoints: each gets a BPF program that drops its samples before they are written. */
#include "cmd/record/record.h"

#include "base/log.h"
#include "cmd/sampling/sample_filter.h"

#include <linux/perf_event.h>

static struct error *attach(struct bpf_sample_filter *filter, const struct counter *counter)
{
	struct error *error = NULL;

	for (size_t slot = 0; slot < counter_slots(counter) && !error; slot++)
		if (counter->fds[slot] >= 0)
			error = bpf_sample_filter_attach(filter, counter->fds[slot]);
	return error;
}

static struct error *filter_event(struct record_filters *filters, const struct event *event, const struct counter *counter)
{
	struct sample_filter_config config;
	struct bpf_sample_filter *filter;
	const char *field, *option;
	struct error *error = sample_filter_parse(event->sample_filter, &config);

	if (error)
		return error;
	if ((option = sample_filter_missing(&config, event->attr.sample_type, &field)))
		return error_new_kind(ERROR_USAGE, "--filter: samples of %s do not contain '%s': add %s", event->name, field, option);
	if (event->stack_grows)
		return error_new_kind(
			ERROR_USAGE,
			"--filter works with copies of stacks of one size: use --call-graph dwarf instead of dwarf,auto or auto");
	error = bpf_sample_filter_open(&config, &filter);
	if (error)
		return error_wrap(error, "--filter on %s", event->name);
	vec_push(filters, filter);
	return error_wrap(attach(filter, counter), "--filter on %s", event->name);
}

struct error *record_filters_open(struct record_filters *filters, const struct event_list *events, const struct counter_set *counters)
{
	struct error *error = NULL;

	for (size_t i = 0; i < events->events.len && !error; i++)
		if (events->events.data[i]->sample_filter)
			error = filter_event(filters, events->events.data[i], &counters->each[i]);
	return error;
}

uint64_t record_filters_dropped(const struct record_filters *filters)
{
	uint64_t dropped = 0;

	for (size_t i = 0; i < filters->len; i++)
		dropped += bpf_sample_filter_dropped(filters->data[i]);
	return dropped;
}

size_t record_filters_lost(const struct record_filters *filters)
{
	size_t lost = 0;

	for (size_t i = 0; i < filters->len; i++)
		lost += bpf_sample_filter_lost(filters->data[i]);
	return lost;
}

void record_filters_close(struct record_filters *filters)
{
	for (size_t i = 0; i < filters->len; i++)
		bpf_sample_filter_close(filters->data[i]);
	vec_deinit(filters);
}
