/* Building synthetic records in a buffer, and those that describe the recording itself (user range: no sample_id trailer). */
#include "capture/synth/synth.h"

#include "capture/synth/synth_internal.h"
#include "kernel/proc.h"
#include "perfdata/layout.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

enum { CPU_MAP_CPUS = 0 };

size_t synth_trailer_size(const struct event_attr *attr)
{
	struct sample_layout layout;

	sample_layout_init(&layout, attr);
	return layout.trailer;
}

size_t synth_begin(struct synth *synth, const void *record, size_t size)
{
	size_t begin = synth->out->len;

	strbuf_add(synth->out, record, size);
	return begin;
}

void synth_add(struct synth *synth, const void *data, size_t size)
{
	strbuf_add(synth->out, data, size);
}

void synth_add_text(struct synth *synth, const char *text, size_t length)
{
	strbuf_add(synth->out, text, length);
	strbuf_add_chars(synth->out, '\0', 8 - length % 8);
}

void synth_put(struct synth *synth, const void *record, size_t size, const char *text, size_t length)
{
	size_t begin = synth_begin(synth, record, size);

	synth_add_text(synth, text, length);
	synth_end(synth, begin);
}

void synth_put_mmap2(struct synth *synth, struct record_mmap2 record, const struct buildid *id, const char *name, size_t length)
{
	record.header.type = RECORD_MMAP2;
	if (id && id->size) {
		record.header.misc |= RECORD_MISC_MMAP_BUILD_ID;
		record.build_id_size = id->size;
		memset(record.reserved, 0, sizeof(record.reserved));
		memset(record.build_id, 0, sizeof(record.build_id));
		memcpy(record.build_id, id->data, id->size);
	}
	synth_put(synth, &record, offsetof(struct record_mmap2, name), name, length);
}

void synth_end(struct synth *synth, size_t begin)
{
	struct strbuf *out = synth->out;
	size_t odd = (out->len - begin) % 8;

	if (odd)
		strbuf_add_chars(out, '\0', 8 - odd);
	struct record_header header;
	memcpy(&header, out->data + begin, sizeof(header));
	if (header.type < RECORD_USER_START)
		strbuf_add_chars(out, '\0', synth->trailer);
	size_t size = out->len - begin;
	if (size > SYNTH_RECORD_MAX) {
		out->len = begin;
		return;
	}
	header.size = (uint16_t)size;
	memcpy(out->data + begin, &header, sizeof(header));
}

/* One record for so many counters as it holds. */
void synth_id_index(struct synth *synth, const struct counter *const *counters, size_t count, const struct counter_target *target)
{
	struct record_id_index record = {.header.type = RECORD_ID_INDEX};
	enum { PER_RECORD = (SYNTH_RECORD_MAX - sizeof(record)) / sizeof(record.entries[0]) };
	struct strbuf entries = {0};

	for (size_t i = 0; i < count; i++)
		for (size_t slot = 0; slot < target->cpu_count * target->thread_count; slot++) {
			if (counters[i]->fds[slot] < 0)
				continue;
			size_t cpu = slot / target->thread_count, thread = slot % target->thread_count;
			const __typeof__(record.entries[0]) entry = {
				.id = counters[i]->ids[slot],
				.index = target->cpus[0] < 0 ? thread : cpu,
				.cpu = (uint64_t)(int64_t)target->cpus[cpu],
				.tid = (uint64_t)(int64_t)target->threads[thread],
			};
			strbuf_add(&entries, &entry, sizeof(entry));
		}
	for (size_t at = 0; at < entries.len; at += record.count * sizeof(record.entries[0])) {
		size_t left = (entries.len - at) / sizeof(record.entries[0]);
		record.count = left < PER_RECORD ? left : PER_RECORD;
		size_t begin = synth_begin(synth, &record, sizeof(record));
		synth_add(synth, entries.data + at, record.count * sizeof(record.entries[0]));
		synth_end(synth, begin);
	}
	strbuf_deinit(&entries);
}

void synth_thread_map(struct synth *synth, const pid_t *threads, size_t count)
{
	struct record_thread_map record = {.header.type = RECORD_THREAD_MAP};
	enum { MAX = (SYNTH_RECORD_MAX - sizeof(record)) / sizeof(record.threads[0]) };

	record.count = count < MAX ? count : MAX;
	size_t begin = synth_begin(synth, &record, sizeof(record));
	for (size_t i = 0; i < record.count; i++) {
		__typeof__(record.threads[0]) entry = {.tid = (uint64_t)(int64_t)threads[i]};
		char comm[sizeof(entry.name)] = "", path[64];
		if (threads[i] > 0) {
			snprintf(path, sizeof(path), "/proc/%d/comm", threads[i]);
			proc_read_line(path, comm, sizeof(comm));
			memcpy(entry.name, comm, strlen(comm));
		}
		synth_add(synth, &entry, sizeof(entry));
	}
	synth_end(synth, begin);
}

void synth_cpu_map(struct synth *synth, const int *cpus, size_t count)
{
	enum { MAX = (SYNTH_RECORD_MAX - 16) / 2 };
	const struct record_cpu_map record = {.header.type = RECORD_CPU_MAP, .cpus_form = CPU_MAP_CPUS};
	uint16_t number = (uint16_t)(count < MAX ? count : MAX);
	size_t begin = synth_begin(synth, &record, offsetof(struct record_cpu_map, cpus));

	synth_add(synth, &number, sizeof(number));
	for (size_t i = 0; i < number; i++)
		synth_add(synth, &(uint16_t){(uint16_t)cpus[i]}, sizeof(uint16_t));
	synth_end(synth, begin);
}

static void event_update(struct synth *synth, const struct event *event, enum event_update what, const void *data, size_t size)
{
	const struct record_event_update record = {
		.header.type = RECORD_EVENT_UPDATE, .what = what, .id = event->ids.len ? event->ids.data[0] : 0};
	size_t begin = synth_begin(synth, &record, sizeof(record));

	synth_add(synth, data, size);
	synth_end(synth, begin);
}

void synth_event_update(struct synth *synth, const struct event *event, bool name)
{
	if (event->unit && *event->unit)
		event_update(synth, event, EVENT_UPDATE_UNIT, event->unit, strlen(event->unit) + 1);
	if (event->scale != 1)
		event_update(synth, event, EVENT_UPDATE_SCALE, &event->scale, sizeof(event->scale));
	if (name)
		event_update(synth, event, EVENT_UPDATE_NAME, event->name, strlen(event->name) + 1);
}
