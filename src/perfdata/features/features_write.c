/* Encoders of the header features: by the fields of their rows (features.def), or by a function that mirrors its reader in
 * features_read.c. Texts are padded with zeros to 64 bytes, as the kernel's perf pads them. */
#include "perfdata/features/features_write.h"
#include "perfdata/compress.h"
#include "perfdata/features/features_fields.h"
#include "perfdata/records.h"

#include <string.h>

enum { TEXT_ALIGN = 64 };

struct encoder {
	struct strbuf *out;
	const struct features *features;
	const struct event_list *events;
	uint32_t attr_size;
};

static void put_u32(struct encoder *e, uint32_t value)
{
	strbuf_add(e->out, &value, sizeof(value));
}

static void put_u64(struct encoder *e, uint64_t value)
{
	strbuf_add(e->out, &value, sizeof(value));
}

static size_t text_room(const char *text)
{
	return (strlen(text) + TEXT_ALIGN) / TEXT_ALIGN * TEXT_ALIGN;
}

static void put_padded(struct strbuf *out, const char *text, size_t room)
{
	size_t length = strlen(text);
	strbuf_add(out, text, length);
	strbuf_add_chars(out, '\0', room - length);
}

static void put_string(struct encoder *e, const char *text)
{
	text = text ? text : "";
	put_u32(e, (uint32_t)text_room(text));
	put_padded(e->out, text, text_room(text));
}

static void put_strings(struct encoder *e, const char *const *texts)
{
	uint32_t count = 0;
	while (texts && texts[count])
		count++;
	put_u32(e, count);
	for (uint32_t i = 0; i < count; i++)
		put_string(e, texts[i]);
}

static void write_command_line(struct encoder *e)
{
	put_strings(e, e->features->command_line);
}

static void write_event_desc(struct encoder *e)
{
	put_u32(e, (uint32_t)e->events->events.len);
	put_u32(e, e->attr_size);
	for (size_t i = 0; i < e->events->events.len; i++) {
		const struct event *event = e->events->events.data[i];
		struct event_attr attr = event->attr;
		attr.size = e->attr_size;
		strbuf_add(e->out, &attr, e->attr_size);
		put_u32(e, (uint32_t)event->ids.len);
		put_string(e, event->name);
		strbuf_add(e->out, event->ids.data, event->ids.len * sizeof(uint64_t));
	}
}

static void write_cpu_topology(struct encoder *e)
{
	const struct features *f = e->features;
	put_strings(e, f->core_siblings);
	put_strings(e, f->thread_siblings);
	for (size_t i = 0; i < f->cpus.len; i++) {
		put_u32(e, (uint32_t)f->cpus.data[i].core_id);
		put_u32(e, (uint32_t)f->cpus.data[i].socket_id);
	}
	if (!f->die_siblings)
		return;
	put_strings(e, f->die_siblings);
	for (size_t i = 0; i < f->cpus.len; i++)
		put_u32(e, (uint32_t)f->cpus.data[i].die_id);
}

static void write_group_desc(struct encoder *e)
{
	const struct event_list *list = e->events;
	uint32_t count = 0;
	for (size_t i = 0; i < list->events.len; i++)
		count += list->events.data[i]->members > 1;
	put_u32(e, count);
	for (size_t i = 0; i < list->events.len; i++) {
		const struct event *event = list->events.data[i];
		if (event->members < 2)
			continue;
		put_string(e, event->group_name ? event->group_name : "{anon_group}");
		put_u32(e, event->index);
		put_u32(e, event->members);
	}
}

static void write_memory_topology(struct encoder *e)
{
	put_u64(e, 1); /* version */
	put_u64(e, e->features->memory_block_size);
	put_u64(e, e->features->memory_nodes.len);
	for (size_t i = 0; i < e->features->memory_nodes.len; i++) {
		const struct feature_mem_node *node = &e->features->memory_nodes.data[i];
		put_u64(e, node->node);
		put_u64(e, node->bits);
		put_u64(e, node->bits);
		strbuf_add(e->out, node->bitmap, (node->bits + 63) / 64 * 8);
	}
}

static void write_bpf_programs(struct encoder *e)
{
	put_u32(e, (uint32_t)e->features->bpf_progs.len);
	for (size_t i = 0; i < e->features->bpf_progs.len; i++)
		strbuf_add(e->out, e->features->bpf_progs.data[i].data, e->features->bpf_progs.data[i].size);
}

static void write_btf(struct encoder *e)
{
	put_u32(e, (uint32_t)e->features->btfs.len);
	for (size_t i = 0; i < e->features->btfs.len; i++) {
		const struct feature_btf *btf = &e->features->btfs.data[i];
		put_u32(e, btf->id);
		put_u32(e, btf->size);
		strbuf_add(e->out, btf->data, btf->size);
	}
}

static void put_caps(struct encoder *e, const struct feature_pmu_caps *caps)
{
	put_u32(e, caps->count);
	for (uint32_t i = 0; i < caps->count; i++) {
		put_string(e, caps->names[i]);
		put_string(e, caps->values[i]);
	}
}

static bool caps_are_cpu(const struct feature_pmu_caps *caps)
{
	return !strcmp(caps->pmu_name, "cpu");
}

static void write_cpu_pmu_caps(struct encoder *e)
{
	static const struct feature_pmu_caps none = {0};
	const struct feature_pmu_caps *cpu = &none;
	for (size_t i = 0; i < e->features->pmu_caps.len; i++)
		if (caps_are_cpu(&e->features->pmu_caps.data[i]))
			cpu = &e->features->pmu_caps.data[i];
	put_caps(e, cpu);
}

static void write_pmu_caps(struct encoder *e)
{
	uint32_t count = 0;
	for (size_t i = 0; i < e->features->pmu_caps.len; i++)
		count += !caps_are_cpu(&e->features->pmu_caps.data[i]);
	put_u32(e, count);
	for (size_t i = 0; i < e->features->pmu_caps.len; i++) {
		const struct feature_pmu_caps *caps = &e->features->pmu_caps.data[i];
		if (caps_are_cpu(caps))
			continue;
		put_caps(e, caps);
		put_string(e, caps->pmu_name);
	}
}

static void write_tracing_data(struct encoder *e)
{
	strbuf_add(e->out, e->features->tracing_data, e->features->tracing_data_size);
}

static void write_traces(struct encoder *e)
{
	put_u64(e, e->features->traces.len);
	for (size_t i = 0; i < e->features->traces.len; i++) {
		put_u64(e, e->features->traces.data[i].offset);
		put_u64(e, e->features->traces.data[i].size);
	}
}

void features_write_build_id(const struct feature_build_id *entry, uint32_t record_type, struct strbuf *out)
{
	enum { MISC_SIZE_GIVEN = 1 << 15, FIXED = offsetof(struct record_header_build_id, name) };
	const char *name = entry->filename ? entry->filename : "";
	size_t room = text_room(name);
	if (room > UINT16_MAX - FIXED)
		return;
	struct record_header_build_id record = {
		.header = {.type = record_type, .misc = entry->misc | MISC_SIZE_GIVEN, .size = (uint16_t)(FIXED + room)},
		.pid = entry->pid,
		.build_id_size = entry->id.size,
	};
	memcpy(record.build_id, entry->id.data, entry->id.size);
	strbuf_add(out, &record, FIXED);
	put_padded(out, name, room);
}

static void write_build_ids(struct encoder *e)
{
	for (size_t i = 0; i < e->features->build_ids.len; i++)
		features_write_build_id(&e->features->build_ids.data[i], 0, e->out);
}

static void write_carried(struct encoder *e)
{
	enum { VERSION = 1 };
	put_u64(e, VERSION);
	put_u64(e, e->features->carried_size);
	compress_all(e->features->carried, e->features->carried_size, e->out);
}

static void (*const writers[FEATURE_COUNT])(struct encoder *) = {
#define CODED(type, number, read, write, print, detailed) [FEATURE_##type] = write,
#include "perfdata/features/features.def"
};

/* Of the members of `item`. */
static void write_fields(struct encoder *e, const void *item, const struct feature_field *field)
{
	for (; field->kind != FEATURE_FIELD_END; field++) {
		const void *member = (const uint8_t *)item + field->offset;
		const struct feature_list *list = member;
		if (field->kind == FEATURE_FIELD_LIST) {
			put_u32(e, (uint32_t)list->len);
			for (size_t i = 0; i < list->len; i++)
				write_fields(e, list->data + i * field->size, field->items());
		} else if (field->kind == FEATURE_FIELD_TEXT) {
			put_string(e, *(const char *const *)member);
		} else if (field->kind == FEATURE_FIELD_NUMBER) {
			strbuf_add(e->out, member, field->size);
		} else {
			put_u32(e, field->size);
		}
	}
}

bool features_write(const struct features *features, unsigned int feature, const struct event_list *events, uint32_t attr_size,
		    struct strbuf *out)
{
	const struct feature_field *fields = feature_fields(feature);
	if (feature >= FEATURE_COUNT || (!writers[feature] && !fields))
		return false;
	struct encoder encoder = {.out = out, .features = features, .events = events, .attr_size = attr_size};
	if (fields)
		write_fields(&encoder, features, fields);
	else
		writers[feature](&encoder);
	return true;
}
