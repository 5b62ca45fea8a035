/* Writing what tracepoint_data.c reads: the layout is there. Tables that a reader no longer needs (kallsyms) are left empty, as the
 * kernel's perf does. */
#include "event/tracepoint/tracing_data.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "kernel/proc.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

struct system_list {
	VEC(const char *) names; /* each once, in the order of the events */
};

static bool is_tracepoint(const struct event *event)
{
	return event->attr.type == PERF_TYPE_TRACEPOINT && event->tp_system && event->tp_name;
}

static void note_system(struct system_list *systems, const char *name)
{
	for (size_t i = 0; i < systems->names.len; i++)
		if (!strcmp(systems->names.data[i], name))
			return;
	vec_push(&systems->names, name);
}

static void add_u32(struct strbuf *out, uint32_t value)
{
	strbuf_add(out, &value, sizeof(value));
}

/* The file with its size, of `width` bytes, in front. A file that cannot be read is empty. */
static void add_file(struct strbuf *out, const char *path, size_t width)
{
	size_t at = out->len;
	uint64_t size = 0;

	strbuf_add(out, &size, width);
	if (proc_read_file(AT_FDCWD, path, out)) {
		out->len = at + width;
		out->data[out->len] = '\0';
	}
	size = out->len - at - width;
	memcpy(out->data + at, &size, width);
}

static void add_tracefs_file(struct strbuf *out, const char *tracefs, const char *name, size_t width)
{
	cleanup_free char *path = mem_printf("%s/%s", tracefs, name);

	add_file(out, path, width);
}

static void add_head(struct strbuf *out, const char *tracefs)
{
	static const char magic[] = "\x17\x08\x44tracing0.6"; /* with its NUL */
	const uint8_t machine[] = {__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, sizeof(long)};

	strbuf_add(out, magic, sizeof(magic));
	strbuf_add(out, machine, sizeof(machine));
	add_u32(out, (uint32_t)sysconf(_SC_PAGESIZE));
	strbuf_add(out, "header_page", sizeof("header_page"));
	add_tracefs_file(out, tracefs, "events/header_page", 8);
	strbuf_add(out, "header_event", sizeof("header_event"));
	add_tracefs_file(out, tracefs, "events/header_event", 8);
}

/* The formats of one system's events, each once, with their number in front. */
static void add_system(struct strbuf *out, const char *tracefs, const char *system, const struct event_list *events)
{
	size_t at = out->len;
	struct map64 seen = {0};
	uint32_t count = 0;

	add_u32(out, 0);
	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		bool fresh;
		if (!is_tracepoint(event) || strcmp(event->tp_system, system))
			continue;
		map64_insert(&seen, event->attr.config, &fresh);
		if (!fresh)
			continue;
		cleanup_free char *path = mem_printf("%s/events/%s/%s/format", tracefs, system, event->tp_name);
		add_file(out, path, 8);
		count++;
	}
	memcpy(out->data + at, &count, sizeof(count));
	map64_deinit(&seen);
}

static void add_systems(struct strbuf *out, const char *tracefs, const struct event_list *events)
{
	struct system_list systems = {0};
	uint32_t count = 0;

	for (size_t i = 0; i < events->events.len; i++)
		if (is_tracepoint(events->events.data[i]))
			note_system(&systems, events->events.data[i]->tp_system);
	add_system(out, tracefs, "ftrace", events);
	for (size_t i = 0; i < systems.names.len; i++)
		count += strcmp(systems.names.data[i], "ftrace") != 0;
	add_u32(out, count);
	for (size_t i = 0; i < systems.names.len; i++) {
		if (!strcmp(systems.names.data[i], "ftrace"))
			continue;
		strbuf_add(out, systems.names.data[i], strlen(systems.names.data[i]) + 1);
		add_system(out, tracefs, systems.names.data[i], events);
	}
	vec_deinit(&systems.names);
}

struct error *tracing_data_gather(struct event_catalog *catalog, const struct event_list *events, struct strbuf *out)
{
	const char *tracefs;
	bool any = false;

	for (size_t i = 0; i < events->events.len; i++)
		any |= is_tracepoint(events->events.data[i]);
	if (!any)
		return NULL;
	struct error *error = event_catalog_tracefs(catalog, &tracefs);
	if (error)
		return error;
	add_head(out, tracefs);
	add_systems(out, tracefs, events);
	add_u32(out, 0);
	add_tracefs_file(out, tracefs, "printk_formats", 4);
	add_tracefs_file(out, tracefs, "saved_cmdlines", 8);
	return NULL;
}
