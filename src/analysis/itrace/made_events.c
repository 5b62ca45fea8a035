/* Events that are made of a trace, and their samples as records. */
#include "analysis/itrace/decoder.h"
#include "analysis/itrace/flow.h"
#include "base/mem.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

/* What of the traced event's samples those that are made have, too: the kernel tool's PERF_SAMPLE_MASK. */
static const uint64_t SHARED = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
			       PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_IDENTIFIER;
/* Distance of their ids from those of the recording, as the kernel's tool has it. */
enum { ID_DISTANCE = 1000000000 };

uint64_t trace_time(const struct itrace *itrace, uint64_t ticks)
{
	return trace_clock_is_known(&itrace->clock) ? trace_clock_time(&itrace->clock, ticks) : 0;
}

uint64_t trace_ticks(const struct itrace *itrace, uint64_t nanoseconds)
{
	const struct trace_clock *clock = &itrace->clock;
	if (!trace_clock_is_known(clock))
		return nanoseconds;
	return (uint64_t)(((unsigned __int128)nanoseconds << clock->shift) / clock->multiplier);
}

void trace_events_copy(struct itrace *itrace)
{
	const struct event_list *recorded = &itrace->session->reader->events;
	for (size_t i = 0; i < recorded->events.len; i++) {
		const struct event *event = recorded->events.data[i];
		struct event *copy = event_list_add(&itrace->events, event->name);
		const unsigned int index = copy->index;
		*copy = *event;
		copy->index = index;
		memset(&copy->ids, 0, sizeof(copy->ids));
		for (size_t j = 0; j < event->ids.len; j++)
			vec_push(&copy->ids, event->ids.data[j]);
	}
}

struct error *trace_find_source(struct itrace *itrace, uint64_t pmu)
{
	const struct event_list *events = &itrace->session->reader->events;
	for (size_t i = 0; i < events->events.len; i++)
		if (!itrace->source && events->events.data[i]->attr.type == (uint32_t)pmu)
			itrace->source = events->events.data[i];
	return itrace->source ? NULL : error_new_kind(ERROR_FORMAT, "there is no event of that PMU (type %" PRIu64 ")", pmu);
}

struct event *trace_event_add(struct itrace *itrace, const char *name, uint32_t type, uint64_t config, uint64_t sample_type,
			      uint64_t period)
{
	const struct event *source = itrace->source;
	struct event *event = event_list_add(&itrace->events, name);
	const struct event_attr *from = &source->attr;
	event->attr = (struct event_attr){
		.type = type,
		.size = EVENT_ATTR_SIZE_V8,
		.config = config,
		.sample_period = period,
		.sample_type = (from->sample_type & SHARED) | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD | sample_type,
		.read_format = from->read_format,
		.exclude_user = from->exclude_user,
		.exclude_kernel = from->exclude_kernel,
		.exclude_hv = from->exclude_hv,
		.exclude_host = from->exclude_host,
		.exclude_guest = from->exclude_guest,
		.sample_id_all = from->sample_id_all,
	};
	if (sample_type & PERF_SAMPLE_BRANCH_STACK)
		event->attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	event->has_flow = itrace->options.flow;
	if (event->has_flow)
		event->attr.sample_type |= PERF_SAMPLE_RAW;
	if (itrace->timeless)
		event->attr.sample_type &= ~(uint64_t)PERF_SAMPLE_TIME;
	else
		event->attr.sample_type |= PERF_SAMPLE_TIME;
	if (!itrace->next_id)
		itrace->next_id = (source->ids.len ? source->ids.data[0] : 0) + ID_DISTANCE;
	vec_push(&event->ids, itrace->next_id++);
	return event;
}

struct event *trace_event_add_hardware(struct itrace *itrace, const char *name, uint64_t config, uint64_t sample_type, uint64_t period)
{
	const struct event_attr *attr = &itrace->source->attr;
	char full[64];
	const bool some = attr->exclude_kernel || attr->exclude_user || attr->exclude_hv;
	snprintf(full, sizeof(full), "%s%s%s%s%s", name, some ? ":" : "", some && !attr->exclude_kernel ? "k" : "",
		 some && !attr->exclude_user ? "u" : "", some && !attr->exclude_hv ? "h" : "");
	return trace_event_add(itrace, full, PERF_TYPE_HARDWARE, config, sample_type, period);
}

struct event *trace_event_add_branches(struct itrace *itrace, uint32_t *ret_filter)
{
	const struct itrace_options *options = &itrace->options;
	*ret_filter =
		(options->calls ? TRACED_CALL | TRACED_ASYNC | TRACED_END : 0) | (options->returns ? TRACED_RETURN | TRACED_BEGIN : 0);
	if (!options->branches && !*ret_filter)
		return NULL;
	return trace_event_add_hardware(itrace, "branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_SAMPLE_ADDR, 1);
}

/* Raw data is 4 bytes less than a multiple of 8, with flow behind it as well. */
static void add_raw(const struct event *event, const struct trace_sample *sample, struct strbuf *out)
{
	const uint32_t nothing = 0;
	const bool fill = !sample->raw_size;
	const uint32_t own = fill ? sizeof(nothing) : sample->raw_size;
	const uint32_t size = own + (event->has_flow ? sizeof(sample->flow) : 0);
	strbuf_add(out, &size, sizeof(size));
	strbuf_add(out, fill ? &nothing : sample->raw, own);
	if (event->has_flow)
		strbuf_add(out, &sample->flow, sizeof(sample->flow));
}

/* A sample's words, in the order of linux/perf_event.h. */
static void add_words(const struct event *event, const struct trace_sample *sample, struct strbuf *out)
{
	const uint64_t type = event->attr.sample_type, id = event->ids.data[0];
	const struct {
		uint64_t part, value;
	} WORDS[] = {
		{PERF_SAMPLE_IDENTIFIER, id},
		{PERF_SAMPLE_IP, sample->ip},
		{PERF_SAMPLE_TID, sample->pid | (uint64_t)sample->tid << 32},
		{PERF_SAMPLE_TIME, sample->time},
		{PERF_SAMPLE_ADDR, sample->addr},
		{PERF_SAMPLE_ID, id},
		{PERF_SAMPLE_STREAM_ID, id},
		{PERF_SAMPLE_CPU, sample->cpu},
		{PERF_SAMPLE_PERIOD, sample->period},
		{PERF_SAMPLE_WEIGHT, sample->weight},
		{PERF_SAMPLE_DATA_SRC, sample->data_src},
		{PERF_SAMPLE_PHYS_ADDR, sample->phys_addr},
	};
	for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
		const bool is_weight = WORDS[i].part == PERF_SAMPLE_WEIGHT;
		if (type & PERF_SAMPLE_CALLCHAIN && is_weight)
			trace_add_chain(sample->queue, sample->ip, out);
		if (type & PERF_SAMPLE_RAW && is_weight)
			add_raw(event, sample, out);
		if (type & PERF_SAMPLE_BRANCH_STACK && is_weight)
			trace_add_branches(sample->queue, out);
		if (type & WORDS[i].part)
			strbuf_add(out, &WORDS[i].value, sizeof(WORDS[i].value));
	}
}

bool trace_is_kernel(const struct itrace *itrace, uint64_t address)
{
	return address >> 63 || machine_is_kernel_address(itrace->session->machine, address);
}

bool trace_put(struct itrace *itrace, const struct event *event, const struct trace_sample *sample)
{
	struct record_header header = {.type = RECORD_SAMPLE};
	if (!event)
		return false;
	if (itrace->skipped < itrace->options.skipped) {
		itrace->skipped++;
		return false;
	}
	header.misc = trace_is_kernel(itrace, sample->ip ? sample->ip : sample->addr) ? CPUMODE_KERNEL : CPUMODE_USER;
	size_t begin = itrace->out.len;
	strbuf_add(&itrace->out, &header, sizeof(header));
	add_words(event, sample, &itrace->out);
	header.size = (uint16_t)(itrace->out.len - begin);
	memcpy(itrace->out.data + begin, &header, sizeof(header));
	return true;
}

void trace_put_error_of(struct itrace *itrace, const struct sample_id *where, uint32_t code, uint64_t ip, const char *message)
{
	struct record_auxtrace_error record = {
		.header = {.type = RECORD_AUXTRACE_ERROR, .size = sizeof(record)},
		.type = 1, /* of instructions; the only one there is */
		.code = code,
		.cpu = (int32_t)where->cpu,
		.pid = (int32_t)where->pid,
		.tid = (int32_t)where->tid,
		.format = 1, /* with the time */
		.ip = ip,
		.time = where->time,
	};
	if (!itrace->options.errors)
		return;
	snprintf((char *)record.message, sizeof(record.message), "%s", message);
	strbuf_add(&itrace->out, &record, sizeof(record));
}

void trace_put_error(struct trace_queue *queue, uint32_t code, uint64_t ip, const char *message)
{
	const struct trace_runner runner = trace_runner_of(queue);
	const struct sample_id where = {.pid = runner.pid, .tid = runner.tid, .cpu = queue->cpu, .time = queue->time};
	trace_put_error_of(queue->itrace, &where, code, ip, message);
}

void trace_put_lost(struct itrace *itrace, const struct sample_id *where)
{
	enum { LOST = 8 };
	if (!itrace->options.without_losses)
		trace_put_error_of(itrace, where, LOST, 0, "Lost trace data");
}
