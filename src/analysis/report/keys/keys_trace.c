/* Keys from tracepoints: the whole printed record (trace) and single fields. What tells samples apart is a hash of the raw bytes, so that
 * workers need no text and no lock; the text is made once for each distinct value, from the first sample that has it. */
#include "analysis/report/keys/keys_internal.h"

#include "base/hash.h"
#include "base/intern.h"
#include "base/text.h"
#include "event/tracepoint/tracepoint.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

/* A raw record begins with common_type, _flags, _preempt_count and _pid: they are no part of what is printed. */
enum { COMMON_BYTES = 8 };

void key_trace_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	const struct sample *s = sample->sample;
	words[0] = s->raw && s->raw_size > COMMON_BYTES
			   ? hash_combine(hash_bytes((const char *)s->raw + COMMON_BYTES, s->raw_size - COMMON_BYTES),
					  sample->event->index + 1)
			   : 0;
}

bool key_raw(const struct key_context *context, const struct key_source *source, const void **ret_raw, uint32_t *ret_size)
{
	const struct reader *reader = context->session->reader;
	unsigned int event = source->entry->event;
	struct sample sample;
	if (!source->record || sample_decode(&reader->layouts[event], &reader->events.events.data[event]->attr, source->record, &sample) ||
	    !sample.raw)
		return false;
	*ret_raw = sample.raw;
	*ret_size = sample.raw_size;
	return true;
}

const char *key_trace_string(struct key_context *context, const struct key *key, const struct key_source *source)
{
	const void *raw;
	uint32_t size;
	const struct tracepoint *tracepoint = context->session->reader->events.events.data[source->entry->event]->tracepoint;
	if (!tracepoint || !key_raw(context, source, &raw, &size))
		return "N/A";
	struct strbuf text = {0};
	if (context->raw_trace)
		tracepoint_print_fields(tracepoint, raw, size, &text);
	else
		tracepoint_print(tracepoint, raw, size, &text);
	while (text.len && (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == ' '))
		text.len--;
	const char *string = intern_bytes(context->strings, strbuf_str(&text), text.len);
	strbuf_deinit(&text);
	return string;
}

/* One field. Numbers are themselves; the bytes of anything else are hashed. */
static void field_extract(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words)
{
	const struct sample *s = sample->sample;
	words[0] = 0;
	if (!s->raw || sample->event != key->event)
		return;
	const struct tracepoint_field *field = key->field;
	if (field->flags & TRACEPOINT_FIELD_STRING) {
		size_t len;
		const char *text = untrusted_raw(tracepoint_read_string(field, s->raw, s->raw_size, &len));
		words[0] = hash_bytes(text, strnlen(text, len));
	} else if (field->size <= 8) {
		words[0] = tracepoint_read(field, s->raw, s->raw_size);
	} else if (s->raw_size >= field->size && field->offset <= s->raw_size - field->size) {
		words[0] = hash_bytes((const char *)s->raw + field->offset, field->size);
	}
}

/* "name=value" in the printed record: the value up to the next space. False when the print format doesn't show the field so. */
static bool find_printed(const char *text, const char *name, struct strbuf *out)
{
	size_t length = strlen(name);
	for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
		if ((at != text && at[-1] != ' ') || at[length] != '=')
			continue;
		at += length + 1;
		strbuf_add(out, at, strcspn(at, " "));
		return true;
	}
	return false;
}

static void field_value(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	const void *raw;
	uint32_t size;
	const struct tracepoint_field *field = key->field;
	if (!key_raw(context, source, &raw, &size))
		return;
	bool plain = context->raw_trace || key->flags & KEY_HIDDEN;
	if (!plain && field->flags & TRACEPOINT_FIELD_STRING) {
		/* Whole, also names such as "tmux: server", which the kernel's tool cuts at the space. */
		size_t len;
		const struct untrusted *string = tracepoint_read_string(field, raw, size, &len);
		text_add_safe(out, untrusted_raw(string), strnlen(untrusted_raw(string), len));
		return;
	}
	if (!plain) {
		struct strbuf text = {0};
		tracepoint_print(key->event->tracepoint, raw, size, &text);
		bool found = find_printed(strbuf_str(&text), field->name, out);
		strbuf_deinit(&text);
		if (found)
			return;
	}
	tracepoint_print_field(field, raw, size, out);
}

static void field_text(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out)
{
	field_value(context, key, source, out);
}

static const char *field_string(struct key_context *context, const struct key *key, const struct key_source *source)
{
	struct strbuf text = {0};
	field_value(context, key, source, &text);
	const char *string = intern_bytes(context->strings, strbuf_str(&text), text.len);
	strbuf_deinit(&text);
	return string;
}

/* The order of the kernel tool: by the bytes in memory, the largest first. */
static int64_t field_number(struct key_context *context, const struct key *key, const struct key_source *source)
{
	uint64_t value = __builtin_bswap64(source->words[0]);
	return (int64_t)(value ^ (uint64_t)1 << 63);
}

static void add_field(const struct event *event, const struct tracepoint_field *field, bool raw, struct arena *arena, struct key_list *list)
{
	bool string = field->flags & TRACEPOINT_FIELD_STRING;
	unsigned int width = string ? field->size : field->size * 2 + 2;
	struct key *key = arena_zalloc(arena, sizeof(*key));
	*key = (struct key){.name = arena_strdup(arena, field->name),
			    .title = arena_strdup(arena, field->name),
			    .domain = KEY_EXTRA,
			    .align = ALIGN_RIGHT,
			    .flags = KEY_DYNAMIC | KEY_DESCENDING | (raw ? KEY_HIDDEN : 0),
			    .width = width,
			    .words = 1,
			    .extract = field_extract,
			    .text = field_text,
			    .event = event,
			    .field = field};
	if (string || field->size > 8)
		key->string = field_string;
	else
		key->number = field_number;
	vec_push(&list->keys, key);
}

static bool event_named(const struct event *event, const char *name, size_t length)
{
	const char *tp = event->tp_name;
	if (name[0] == '%') /* by position, from 1 */
		return (unsigned int)atoi(name + 1) == event->index + 1;
	if (strlen(event->name) == length && !memcmp(event->name, name, length))
		return true;
	return tp && strncmp(tp, name, length) == 0;
}

bool key_find_dynamic(const char *name, const struct event_list *events, struct arena *arena, struct key_list *list)
{
	char text[256];
	snprintf(text, sizeof(text), "%s", name);
	bool raw = false, found = false;
	char *slash = strchr(text, '/');
	if (slash) {
		raw = !strcmp(slash, "/raw");
		if (!raw)
			return false;
		*slash = '\0';
	}
	char *dot = strchr(text, '.');
	const char *field = dot ? dot + 1 : text;
	bool all = !strcmp(text, "trace_fields") || (dot && !strcmp(field, "*"));
	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		if (!event->tracepoint || (dot && !event_named(event, text, (size_t)(dot - text))))
			continue;
		for (size_t f = 0; f < event->tracepoint->field_count; f++) {
			const struct tracepoint_field *candidate = &event->tracepoint->fields[f];
			if (candidate->flags & TRACEPOINT_FIELD_COMMON && all)
				continue;
			if (!all && strcmp(candidate->name, field))
				continue;
			add_field(event, candidate, raw, arena, list);
			found = true;
		}
	}
	return found;
}
