/* Warnings about BPF programs of others (attached.h). */
#include "capture/attached.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "kernel/bpf/bpf_attached.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Some descriptor of the event, or -1. */
static int descriptor_of(const struct counter *counter)
{
	for (size_t slot = 0; slot < counter_slots(counter); slot++)
		if (counter->fds[slot] >= 0)
			return counter->fds[slot];
	return -1;
}

/* Opened on ourselves, counting nothing. */
static int open_asleep(const struct event *event)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = event->attr.config, .disabled = 1};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void warn(const struct event *event, const struct bpf_attached_list *programs)
{
	struct strbuf text = {0};

	for (size_t i = 0; i < programs->len; i++) {
		strbuf_add_str(&text, i ? ", " : "");
		bpf_attached_add_text(&programs->data[i], &text);
	}
	cleanup_free char *name = text_safe_copy(event->name);
	log_warning("A BPF program is attached to %s: %s. It filters these events for all users of this machine; events that it drops are "
		    "neither counted nor recorded. Stop its process to see all events.",
		    name, strbuf_str(&text));
	strbuf_deinit(&text);
}

void attached_warn(const struct event_list *events, const struct counter_set *counters)
{
	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		struct bpf_attached_list programs = {0};
		bool told = false;
		if (event->attr.type != PERF_TYPE_TRACEPOINT)
			continue;
		for (size_t j = 0; j < i && !told; j++)
			told = events->events.data[j]->attr.type == PERF_TYPE_TRACEPOINT &&
			       events->events.data[j]->attr.config == event->attr.config;
		if (told)
			continue;
		cleanup_close int own = counters ? -1 : open_asleep(event);
		int fd = counters && i < counters->count ? descriptor_of(&counters->each[i]) : own;
		if (fd >= 0)
			bpf_attached_to(fd, &programs);
		if (programs.len)
			warn(event, &programs);
		vec_deinit(&programs);
	}
}
