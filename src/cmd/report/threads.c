/* perf report -T: the READ records of a recording made with -s: what each thread counted of each event. */
#include "cmd/report/report.h"

#include "base/text.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct thread_count {
	uint32_t pid, tid;
	uint64_t *values; /* by event */
};

struct thread_counts {
	VEC(struct thread_count) list;
	size_t events;
	bool *seen; /* by event */
};

static struct thread_count *count_for(struct thread_counts *counts, uint32_t pid, uint32_t tid)
{
	for (size_t i = 0; i < counts->list.len; i++)
		if (counts->list.data[i].pid == pid && counts->list.data[i].tid == tid)
			return &counts->list.data[i];
	vec_push(&counts->list,
		 (struct thread_count){.pid = pid, .tid = tid, .values = mem_zalloc_array(counts->events + 1, sizeof(uint64_t))});
	return vec_last(&counts->list);
}

/* PERF_RECORD_READ: pid, tid, then value, [time enabled], [time running], [id], [lost]. */
static void add_read(struct thread_counts *counts, const struct session *session, const struct record_header *header)
{
	const uint32_t *ids = (const uint32_t *)(header + 1);
	const uint64_t *words = (const uint64_t *)(ids + 2), *end = (const uint64_t *)((const char *)header + header->size);
	if (words + 1 > end)
		return;
	const struct reader *reader = session->reader;
	const struct event *event = reader->events.events.data[0];
	uint64_t format = event->attr.read_format;
	const uint64_t *at = words + 1 + !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	if ((format & PERF_FORMAT_ID) && at < end)
		event = reader_event_by_id(reader, *at);
	if (!event)
		return;
	struct thread_count *count = count_for(counts, ids[0], ids[1]);
	count->values[event->index] += words[0];
	counts->seen[event->index] = true;
}

static void widen(int *width, uint64_t value)
{
	int digits = snprintf(NULL, 0, "%lu", value);
	if (digits > *width)
		*width = digits;
}

static void print_counts(const struct thread_counts *counts, const struct event_list *events)
{
	int pid_width = 3, tid_width = 3;
	for (size_t t = 0; t < counts->list.len; t++) {
		widen(&pid_width, counts->list.data[t].pid);
		widen(&tid_width, counts->list.data[t].tid);
	}
	printf("# %*s  %*s", pid_width, "PID", tid_width, "TID");
	struct strbuf names = {0};
	for (size_t i = 0; i < counts->events; i++) {
		if (!counts->seen[i])
			continue;
		strbuf_add_str(&names, "  ");
		text_add_safe(&names, events->events.data[i]->name, strlen(events->events.data[i]->name));
	}
	printf("%s\n", strbuf_str(&names));
	strbuf_deinit(&names);
	for (size_t t = 0; t < counts->list.len; t++) {
		const struct thread_count *count = &counts->list.data[t];
		printf("  %*d  %*d", pid_width, (int)count->pid, tid_width, (int)count->tid);
		for (size_t i = 0; i < counts->events; i++) {
			if (!counts->seen[i])
				continue;
			printf("  %*lu", (int)strlen(events->events.data[i]->name), count->values[i]);
		}
		printf("\n");
	}
}

/* One line for each thread and event. */
static void print_raw_counts(const struct thread_counts *counts, const struct event_list *events)
{
	int pid_width = 3, tid_width = 3, name_width = 4, raw_width = 3, count_width = 5;
	for (size_t t = 0; t < counts->list.len; t++) {
		const struct thread_count *count = &counts->list.data[t];
		widen(&pid_width, count->pid);
		widen(&tid_width, count->tid);
		for (size_t i = 0; i < counts->events; i++)
			widen(&count_width, count->values[i]);
	}
	for (size_t i = 0; i < counts->events; i++) {
		int name = (int)strlen(events->events.data[i]->name), raw = snprintf(NULL, 0, "%x", events->events.data[i]->index);
		name_width = counts->seen[i] && name > name_width ? name : name_width;
		raw_width = counts->seen[i] && raw > raw_width ? raw : raw_width;
	}
	printf("# %*s  %*s  %*s  %*s  %*s\n", pid_width, "PID", tid_width, "TID", name_width, "Name", raw_width, "Raw", count_width,
	       "Count");
	struct strbuf name = {0};
	for (size_t t = 0; t < counts->list.len; t++)
		for (size_t i = 0; i < counts->events; i++) {
			const struct thread_count *count = &counts->list.data[t];
			if (!counts->seen[i])
				continue;
			strbuf_clear(&name);
			text_add_safe(&name, events->events.data[i]->name, strlen(events->events.data[i]->name));
			printf("  %*d  %*d  %*s  %*x  %*lu\n", pid_width, (int)count->pid, tid_width, (int)count->tid, name_width,
			       strbuf_str(&name), raw_width, events->events.data[i]->index, count_width, count->values[i]);
		}
	strbuf_deinit(&name);
}

void report_threads(const struct session *session, bool raw)
{
	const struct reader *reader = session->reader;
	struct thread_counts counts = {.events = reader->events.events.len};
	counts.seen = mem_zalloc_array(counts.events + 1, sizeof(bool));
	uint64_t offset = reader->data_offset;
	const struct record_header *header;
	while ((header = reader_record(session->reader, &offset, false)))
		if (header->type == RECORD_READ)
			add_read(&counts, session, header);
	(raw ? print_raw_counts : print_counts)(&counts, &reader->events);
	for (size_t i = 0; i < counts.list.len; i++)
		free(counts.list.data[i].values);
	vec_deinit(&counts.list);
	free(counts.seen);
}
