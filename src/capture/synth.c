/* Building synthetic records in a buffer, and those that describe the recording itself (user range: no sample_id trailer). */
#include "capture/synth.h"

#include "capture/synth_internal.h"
#include "kernel/proc.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

enum { CPU_MAP_CPUS = 0 };

size_t synth_trailer_size(const struct event_attr *attr)
{
	uint64_t parts =
		PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

	return attr->sample_id_all ? 8 * (size_t)__builtin_popcountll(attr->sample_type & parts) : 0;
}

size_t synth_begin(struct synth *synth, uint32_t type, uint16_t misc)
{
	size_t begin = synth->out->len;
	struct record_header header = {.type = type, .misc = misc};

	strbuf_add(synth->out, &header, sizeof(header));
	return begin;
}

void synth_put(struct synth *synth, const void *data, size_t size)
{
	strbuf_add(synth->out, data, size);
}

void synth_put_u16(struct synth *synth, uint16_t value)
{
	strbuf_add(synth->out, &value, sizeof(value));
}

void synth_put_u32(struct synth *synth, uint32_t value)
{
	strbuf_add(synth->out, &value, sizeof(value));
}

void synth_put_u64(struct synth *synth, uint64_t value)
{
	strbuf_add(synth->out, &value, sizeof(value));
}

void synth_put_string(struct synth *synth, const char *string, size_t length)
{
	strbuf_add(synth->out, string, length);
	strbuf_add_chars(synth->out, '\0', 8 - length % 8);
}

void synth_put_build_id(struct synth *synth, const struct buildid *id)
{
	uint8_t fields[24] = {id->size};

	memcpy(fields + 4, id->data, id->size);
	synth_put(synth, fields, sizeof(fields));
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

void synth_id_index(struct synth *synth, const struct counter *const *counters, size_t count, const struct counter_target *target)
{
	enum { PER_RECORD = (SYNTH_RECORD_MAX - 16) / 32 };
	size_t begin = 0, in_record = PER_RECORD;
	uint64_t index = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t slot = 0; slot < target->cpu_count * target->thread_count; slot++) {
			if (counters[i]->fds[slot] < 0)
				continue;
			if (in_record == PER_RECORD) {
				if (begin)
					synth_end(synth, begin - 1);
				begin = synth_begin(synth, RECORD_ID_INDEX, 0) + 1;
				synth_put_u64(synth, 0);
				in_record = 0;
			}
			pid_t thread = target->threads[slot % target->thread_count];
			index = slot / target->thread_count;
			synth_put_u64(synth, counters[i]->ids[slot]);
			synth_put_u64(synth, target->cpus[0] < 0 ? slot % target->thread_count : index);
			synth_put_u64(synth, (uint64_t)(int64_t)target->cpus[slot / target->thread_count]);
			synth_put_u64(synth, (uint64_t)(int64_t)thread);
			uint64_t entries = ++in_record;
			memcpy(synth->out->data + begin - 1 + 8, &entries, sizeof(entries));
		}
	if (begin)
		synth_end(synth, begin - 1);
}

void synth_thread_map(struct synth *synth, const pid_t *threads, size_t count)
{
	enum { MAX = (SYNTH_RECORD_MAX - 16) / 24 };
	size_t begin = synth_begin(synth, RECORD_THREAD_MAP, 0);

	if (count > MAX)
		count = MAX;
	synth_put_u64(synth, count);
	for (size_t i = 0; i < count; i++) {
		char comm[16] = "", path[64];
		if (threads[i] > 0) {
			snprintf(path, sizeof(path), "/proc/%d/comm", threads[i]);
			proc_read_line(path, comm, sizeof(comm));
			memset(comm + strlen(comm), 0, sizeof(comm) - strlen(comm));
		}
		synth_put_u64(synth, (uint64_t)(int64_t)threads[i]);
		synth_put(synth, comm, sizeof(comm));
	}
	synth_end(synth, begin);
}

void synth_cpu_map(struct synth *synth, const int *cpus, size_t count)
{
	enum { MAX = (SYNTH_RECORD_MAX - 16) / 2 };
	size_t begin = synth_begin(synth, RECORD_CPU_MAP, 0);

	if (count > MAX)
		count = MAX;
	synth_put_u16(synth, CPU_MAP_CPUS);
	synth_put_u16(synth, (uint16_t)count);
	for (size_t i = 0; i < count; i++)
		synth_put_u16(synth, (uint16_t)cpus[i]);
	synth_end(synth, begin);
}

static void event_update(struct synth *synth, const struct event *event, enum event_update what, const void *data, size_t size)
{
	size_t begin = synth_begin(synth, RECORD_EVENT_UPDATE, 0);

	synth_put_u64(synth, what);
	synth_put_u64(synth, event->ids.len ? event->ids.data[0] : 0);
	synth_put(synth, data, size);
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
