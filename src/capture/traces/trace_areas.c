/* Moving traces: areas are memory, the writer takes pieces of it, and nothing is copied in between. */
#include "capture/traces/trace_areas.h"

#include "arch/own.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "kernel/aux_area.h"
#include "kernel/refusal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BTS_RECORD_SIZE = 24 };

struct area {
	struct aux_area aux; /* without data where the ring has none */
	const struct ring *ring;
	pid_t thread; /* whose ring it is, or the first one that is measured; -1 = all */
};

struct trace_areas {
	const struct trace_plan *plan;
	struct area *each; /* by ring */
	size_t count;
	bool on; /* counters are, or will be by the command's start */
};

struct error *trace_areas_open(const struct trace_plan *plan, const struct ring_set *rings, const struct counter_target *target,
			       struct trace_areas **ret)
{
	struct trace_areas *areas = mem_zalloc(sizeof(*areas));
	size_t mapped = 0;
	int status = 0;

	areas->plan = plan;
	areas->count = rings->count;
	areas->each = mem_zalloc_array(rings->count, sizeof(*areas->each));
	for (size_t i = 0; i < rings->count && status == 0; i++) {
		struct area *area = &areas->each[i];
		area->ring = &rings->rings[i];
		area->thread = target->threads[area->ring->cpu >= 0 ? 0 : area->ring->place];
		if (!area->ring->tracer_count)
			continue;
		status = aux_area_open(&area->aux, area->ring, plan->pages, trace_plan_overwrites(plan));
		mapped++;
	}
	if (status < 0) {
		trace_areas_close(areas);
		return error_wrap(refusal_explain_ring(-status, plan->pages, mapped), "%s: the buffer of the trace (-m ,PAGES)",
				  plan->event->name);
	}
	log_info("%zu buffers of %zu KB for the hardware trace", mapped, plan->pages * (size_t)sysconf(_SC_PAGESIZE) / 1024);
	*ret = areas;
	return NULL;
}

/* A number that goes up: readers order pieces of trace by it, and Intel PT's short time stamps are completed by it. */
static uint64_t reference_now(void)
{
	uint64_t ticks;

	return own_counter(&ticks) ? ticks : clock_now_ns(CLOCK_MONOTONIC);
}

/* Records of BTS have 24 bytes: one that doesn't fit behind the last one in the buffer is begun anew at its start. */
static void cut_odd_end(const struct trace_plan *plan, struct iovec *pieces, int count)
{
	if (plan->kind == TRACE_INTEL_BTS && count > 1)
		pieces[0].iov_len -= pieces[0].iov_len % BTS_RECORD_SIZE;
}

static struct error *take(struct trace_areas *areas, size_t ring, struct writer *writer, uint64_t *bytes)
{
	struct area *area = &areas->each[ring];
	struct iovec pieces[2];
	int count = aux_area_read(&area->aux, areas->plan->snapshot_bytes, pieces);

	if (!count)
		return NULL;
	const struct record_auxtrace record = {
		.offset = area->aux.begin,
		.reference = reference_now(),
		.index = (uint32_t)ring,
		.tid = area->thread,
		.cpu = area->ring->cpu,
	};
	cut_odd_end(areas->plan, pieces, count);
	struct error *error = writer_add_trace(writer, &record, pieces, count);
	for (int i = 0; i < count; i++)
		*bytes += pieces[i].iov_len;
	aux_area_consume(&area->aux);
	return error;
}

static void switch_tracers(const struct ring *ring, unsigned long request)
{
	for (size_t i = 0; i < ring->tracer_count; i++)
		ioctl(ring->members[i], request, 0); /* of a thread that has ended it fails */
}

struct error *trace_areas_take(struct trace_areas *areas, size_t ring, struct writer *writer, uint64_t *bytes)
{
	uint64_t taken = 0;

	if (trace_plan_overwrites(areas->plan) || !areas->each[ring].aux.data)
		return NULL;
	struct error *error = take(areas, ring, writer, &taken);
	*bytes += taken;
	if (taken && areas->on)
		switch_tracers(areas->each[ring].ring, PERF_EVENT_IOC_ENABLE);
	return error;
}

void trace_areas_switched(struct trace_areas *areas, bool on)
{
	areas->on = on;
}

static void switch_all(const struct trace_areas *areas, unsigned long request)
{
	for (size_t i = 0; areas->on && i < areas->count; i++)
		switch_tracers(areas->each[i].ring, request);
}

void trace_areas_stop(struct trace_areas *areas)
{
	switch_all(areas, PERF_EVENT_IOC_DISABLE);
}

void trace_areas_go_on(struct trace_areas *areas)
{
	switch_all(areas, PERF_EVENT_IOC_ENABLE);
}

struct error *trace_areas_take_snapshot(struct trace_areas *areas, struct writer *writer, uint64_t *bytes)
{
	struct error *error = NULL;

	for (size_t i = 0; i < areas->count && !error; i++)
		if (areas->each[i].aux.data)
			error = take(areas, i, writer, bytes);
	return error;
}

const struct perf_event_mmap_page *trace_areas_page(const struct trace_areas *areas)
{
	for (size_t i = 0; i < areas->count; i++)
		if (areas->each[i].aux.data)
			return areas->each[i].aux.page;
	return NULL;
}

void trace_areas_close(struct trace_areas *areas)
{
	if (!areas)
		return;
	for (size_t i = 0; i < areas->count; i++)
		aux_area_close(&areas->each[i].aux);
	free(areas->each);
	free(areas);
}
