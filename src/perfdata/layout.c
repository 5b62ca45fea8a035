/* Computes where an event's sample fields are. The order of the fields is the kernel's (perf_event.h, PERF_RECORD_SAMPLE); each of the
 * fixed part takes 8 bytes, so positions depend on sample_type alone. */
#include "perfdata/layout.h"

#include <linux/perf_event.h>
#include <stddef.h>

struct layout_row {
	uint64_t bit;
	size_t field; /* offset of a uint16_t in struct sample_layout */
};

static const struct layout_row fixed_rows[] = {
	{PERF_SAMPLE_IDENTIFIER, offsetof(struct sample_layout, identifier)},
	{PERF_SAMPLE_IP, offsetof(struct sample_layout, ip)},
	{PERF_SAMPLE_TID, offsetof(struct sample_layout, tid)},
	{PERF_SAMPLE_TIME, offsetof(struct sample_layout, time)},
	{PERF_SAMPLE_ADDR, offsetof(struct sample_layout, addr)},
	{PERF_SAMPLE_ID, offsetof(struct sample_layout, id)},
	{PERF_SAMPLE_STREAM_ID, offsetof(struct sample_layout, stream_id)},
	{PERF_SAMPLE_CPU, offsetof(struct sample_layout, cpu)},
	{PERF_SAMPLE_PERIOD, offsetof(struct sample_layout, period)},
};

/* From the record's end backwards. */
static const struct layout_row trailer_rows[] = {
	{PERF_SAMPLE_IDENTIFIER, offsetof(struct sample_layout, trailer_identifier)},
	{PERF_SAMPLE_CPU, offsetof(struct sample_layout, trailer_cpu)},
	{PERF_SAMPLE_STREAM_ID, offsetof(struct sample_layout, trailer_stream_id)},
	{PERF_SAMPLE_ID, offsetof(struct sample_layout, trailer_id)},
	{PERF_SAMPLE_TIME, offsetof(struct sample_layout, trailer_time)},
	{PERF_SAMPLE_TID, offsetof(struct sample_layout, trailer_tid)},
};

static uint16_t place(struct sample_layout *layout, const struct layout_row *rows, size_t count, uint16_t at, uint16_t before)
{
	for (size_t i = 0; i < count; i++) {
		if (!(layout->sample_type & rows[i].bit))
			continue;
		*(uint16_t *)((char *)layout + rows[i].field) = at + before;
		at += 8;
	}
	return at;
}

void sample_layout_init(struct sample_layout *layout, const struct event_attr *attr)
{
	*layout = (struct sample_layout){
		.sample_type = attr->sample_type,
		.read_format = attr->read_format,
		.branch_sample_type = attr->branch_sample_type,
		.regs_user_mask = attr->sample_regs_user,
		.regs_intr_mask = attr->sample_regs_intr,
		.sample_id_all = attr->sample_id_all,
	};
	layout->variable_type = attr->sample_type;
	for (size_t i = 0; i < sizeof(fixed_rows) / sizeof(fixed_rows[0]); i++)
		layout->variable_type &= ~fixed_rows[i].bit;
	layout->variable = place(layout, fixed_rows, sizeof(fixed_rows) / sizeof(fixed_rows[0]), sizeof(struct record_header), 0);
	if (attr->sample_id_all)
		layout->trailer = place(layout, trailer_rows, sizeof(trailer_rows) / sizeof(trailer_rows[0]), 0, 8);
}
