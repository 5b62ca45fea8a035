/* Header features for people, in the words of the kernel's perf: by the texts of their rows (features.def), or by a function. */
#include "perfdata/features/features_print.h"
#include "base/cursor.h"
#include "base/text.h"
#include "perfdata/attr_print.h"
#include "perfdata/features/features_fields.h"
#include "perfdata/features/features_print_internal.h"
#include "perfdata/reader_internal.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static void add_text(struct strbuf *out, const char *text)
{
	if (text)
		text_add_safe(out, text, strlen(text));
}

static void add_line(struct strbuf *out, const char *title, const char *text)
{
	strbuf_add_str(out, title);
	add_text(out, text);
	strbuf_add_char(out, '\n');
}

static void print_command_line(const struct reader *reader, struct strbuf *out)
{
	strbuf_add_str(out, "# cmdline : ");
	for (uint32_t i = 0; i < reader->features.command_line_count; i++) {
		for (const char *at = reader->features.command_line[i];;) {
			size_t length = strcspn(at, "'");
			text_add_safe(out, at, length);
			if (!at[length])
				break;
			strbuf_add_str(out, "\\'");
			at += length + 1;
		}
		strbuf_add_char(out, ' ');
	}
	strbuf_add_char(out, '\n');
}

static void print_event_desc(const struct reader *reader, struct strbuf *out)
{
	const struct features *features = &reader->features;
	for (size_t i = 0; i < features->event_descs.len; i++) {
		const struct feature_event_desc *desc = &features->event_descs.data[i];
		strbuf_add_str(out, "# event : name = ");
		add_text(out, desc->name);
		strbuf_add_str(out, ", ");
		for (uint32_t j = 0; j < desc->id_count; j++)
			strbuf_printf(out, "%s %" PRIu64, j ? "," : ", id = {", desc->ids[j]);
		if (desc->id_count)
			strbuf_add_str(out, " }");
		attr_print(&desc->attr, ", ", ", ", " = ", out);
		strbuf_add_char(out, '\n');
	}
	if (!features->event_descs.len)
		strbuf_add_str(out, "# event desc: not available or unable to read\n");
}

static void print_siblings(struct strbuf *out, const char *title, const char *const *lists)
{
	for (; lists && *lists; lists++)
		add_line(out, title, *lists);
}

static void print_cpu_topology(const struct reader *reader, struct strbuf *out)
{
	const struct features *f = &reader->features;
	print_siblings(out, "# sibling sockets : ", f->core_siblings);
	print_siblings(out, "# sibling dies    : ", f->die_siblings);
	print_siblings(out, "# sibling threads : ", f->thread_siblings);
	for (size_t i = 0; i < f->cpus.len; i++) {
		const struct feature_cpu *cpu = &f->cpus.data[i];
		strbuf_printf(out, "# CPU %zu: Core ID %d, ", i, cpu->core_id);
		if (f->has_dies)
			strbuf_printf(out, "Die ID %d, ", cpu->die_id);
		strbuf_printf(out, "Socket ID %d\n", cpu->socket_id);
	}
	if (!f->cpus.len)
		strbuf_add_str(out, "# Core ID and Socket ID information is not available\n");
}

static void print_numa_topology(const struct reader *reader, struct strbuf *out)
{
	for (size_t i = 0; i < reader->features.numa_nodes.len; i++) {
		const struct feature_node *node = &reader->features.numa_nodes.data[i];
		strbuf_printf(out, "# node%u meminfo  : total = %" PRIu64 " kB, free = %" PRIu64 " kB\n", node->node, node->mem_total_kb,
			      node->mem_free_kb);
		strbuf_printf(out, "# node%u cpu list : ", node->node);
		add_line(out, "", node->cpus);
	}
}

static void print_auxtrace(const struct reader *reader, struct strbuf *out)
{
	strbuf_add_str(out, "# contains AUX area data (e.g. instruction trace)\n");
}

static void print_pmu_mappings(const struct reader *reader, struct strbuf *out)
{
	if (!reader->features.pmus.len) {
		strbuf_add_str(out, "# pmu mappings: not available\n");
		return;
	}
	for (size_t i = 0; i < reader->features.pmus.len; i++) {
		strbuf_add_str(out, i ? ", " : "# pmu mappings: ");
		add_text(out, reader->features.pmus.data[i].name);
		strbuf_printf(out, " = %u", reader->features.pmus.data[i].type);
	}
	strbuf_add_char(out, '\n');
}

static void print_group_desc(const struct reader *reader, struct strbuf *out)
{
	const struct event_list *list = &reader->events;
	for (size_t i = 0; i < list->events.len; i++) {
		const struct event *event = list->events.data[i];
		if (event->members < 2)
			continue;
		strbuf_add_str(out, "# group: ");
		add_text(out, event->group_name);
		for (unsigned int j = 0; j < event->members && i + j < list->events.len; j++) {
			strbuf_add_char(out, j ? ',' : '{');
			add_text(out, list->events.data[i + j]->name);
		}
		strbuf_add_str(out, "}\n");
	}
}

static void print_cache(const struct reader *reader, struct strbuf *out)
{
	strbuf_add_str(out, "# CPU cache info:\n");
	for (size_t i = 0; i < reader->features.caches.len; i++) {
		const struct feature_cache *cache = &reader->features.caches.data[i];
		struct strbuf line = {0};
		strbuf_printf(&line, "L%u %-15s %8s [%s]", cache->level, cache->type, cache->size, cache->map);
		add_line(out, "#  ", strbuf_str(&line));
		strbuf_deinit(&line);
	}
}

static void print_time(struct strbuf *out, const char *title, uint64_t ns)
{
	strbuf_printf(out, "%s%" PRIu64 ".%06" PRIu64 "\n", title, ns / 1000000000, ns % 1000000000 / 1000);
}

static void print_sample_time(const struct reader *reader, struct strbuf *out)
{
	uint64_t first = reader->features.first_sample_ns, last = reader->features.last_sample_ns;
	print_time(out, "# time of first sample : ", first);
	print_time(out, "# time of last sample : ", last);
	strbuf_printf(out, "# sample duration : %10.3f ms\n", (double)(last - first) / 1e6);
}

static bool bit_is_set(const uint64_t *bitmap, uint64_t bit)
{
	return bitmap[bit / 64] >> bit % 64 & 1;
}

/* "0-3,7" */
static void add_bitmap(struct strbuf *out, const uint64_t *bitmap, uint64_t bits)
{
	const char *before = "";
	for (uint64_t i = 0; i < bits; i++) {
		if (!bit_is_set(bitmap, i))
			continue;
		uint64_t last = i;
		while (last + 1 < bits && bit_is_set(bitmap, last + 1))
			last++;
		strbuf_printf(out, last > i ? "%s%" PRIu64 "-%" PRIu64 : "%s%" PRIu64, before, i, last);
		before = ",";
		i = last;
	}
}

static void print_memory_topology(const struct reader *reader, struct strbuf *out)
{
	const struct features *f = &reader->features;
	strbuf_printf(out, "# memory nodes (nr %zu, block size 0x%" PRIx64 "):\n", f->memory_nodes.len, f->memory_block_size);
	for (size_t i = 0; i < f->memory_nodes.len; i++) {
		const struct feature_mem_node *node = &f->memory_nodes.data[i];
		uint64_t size = 0;
		unsigned int unit = 0;
		for (uint64_t bit = 0; bit < node->bits; bit++)
			size += bit_is_set(node->bitmap, bit) ? f->memory_block_size : 0;
		while (size / 1024 > 1 && unit < 3) {
			size /= 1024;
			unit++;
		}
		strbuf_printf(out, "#  %3" PRIu64 " [%" PRIu64 "%c]: ", node->node, size, "BKMG"[unit]);
		add_bitmap(out, node->bitmap, node->bits);
		strbuf_add_char(out, '\n');
	}
}

static void print_clockid(const struct reader *reader, struct strbuf *out)
{
	strbuf_printf(out, "# clockid frequency: %" PRIu64 " MHz\n", reader->features.clock_resolution_ns * 1000);
}

static const char *clock_name(uint32_t id)
{
	static const char *const names[] = {
		[CLOCK_REALTIME] = "realtime",
		[CLOCK_MONOTONIC] = "monotonic",
		[CLOCK_PROCESS_CPUTIME_ID] = "process_cputime",
		[CLOCK_THREAD_CPUTIME_ID] = "thread_cputime",
		[CLOCK_MONOTONIC_RAW] = "monotonic_raw",
		[CLOCK_REALTIME_COARSE] = "realtime_coarse",
		[CLOCK_MONOTONIC_COARSE] = "monotonic_coarse",
		[CLOCK_BOOTTIME] = "boottime",
		[CLOCK_TAI] = "tai",
	};
	return id < sizeof(names) / sizeof(names[0]) && names[id] ? names[id] : "(not found)";
}

static void print_clock_data(const struct reader *reader, struct strbuf *out)
{
	const struct features *f = &reader->features;
	time_t seconds = (time_t)(f->clock_wall_ns / 1000000000);
	struct tm broken_down;
	char date[64] = "<error>";
	if (localtime_r(&seconds, &broken_down))
		strftime(date, sizeof(date), "%F %T", &broken_down);
	uint64_t wall_us = f->clock_wall_ns % 1000000000 / 1000;
	strbuf_printf(out, "# clockid: %s (%u)\n", clock_name(f->clock_id), f->clock_id);
	strbuf_printf(out, "# reference time: %s.%06" PRIu64 " = %" PRIu64 ".%06" PRIu64 " (TOD) = %" PRIu64 ".%09" PRIu64 " (%s)\n", date,
		      wall_us, f->clock_wall_ns / 1000000000, wall_us, f->clock_clockid_ns / 1000000000, f->clock_clockid_ns % 1000000000,
		      clock_name(f->clock_id));
}

static void print_bpf_programs(const struct reader *reader, struct strbuf *out)
{
	for (size_t i = 0; i < reader->features.bpf_progs.len; i++)
		bpf_program_print(&reader->features, &reader->features.bpf_progs.data[i], reader->swapped, out);
}

static void print_btf(const struct reader *reader, struct strbuf *out)
{
	for (size_t i = 0; i < reader->features.btfs.len; i++)
		strbuf_printf(out, "# btf info of id %u\n", reader->features.btfs.data[i].id);
}

static void print_compressed(const struct reader *reader, struct strbuf *out)
{
	const struct features *f = &reader->features;
	strbuf_printf(out, "# compressed : %s, level = %u, ratio = %u\n", f->compress_type == 1 ? "Zstd" : "Unknown", f->compress_level,
		      f->compress_ratio);
}

static void print_caps(const struct feature_pmu_caps *caps, struct strbuf *out)
{
	strbuf_add_str(out, "# ");
	add_text(out, caps->pmu_name);
	strbuf_add_str(out, " pmu capabilities: ");
	if (!caps->count)
		strbuf_add_str(out, "not available");
	for (uint32_t i = 0; i < caps->count; i++) {
		strbuf_add_str(out, i ? ", " : "");
		add_text(out, caps->names[i]);
		strbuf_add_char(out, '=');
		add_text(out, caps->values[i]);
	}
	strbuf_add_char(out, '\n');
}

static void print_cpu_pmu_caps(const struct reader *reader, struct strbuf *out)
{
	for (size_t i = 0; i < reader->features.pmu_caps.len; i++)
		if (!strcmp(reader->features.pmu_caps.data[i].pmu_name, "cpu"))
			print_caps(&reader->features.pmu_caps.data[i], out);
}

static void print_pmu_caps(const struct reader *reader, struct strbuf *out)
{
	for (size_t i = 0; i < reader->features.pmu_caps.len; i++)
		if (strcmp(reader->features.pmu_caps.data[i].pmu_name, "cpu"))
			print_caps(&reader->features.pmu_caps.data[i], out);
}

static void print_hybrid(const struct reader *reader, struct strbuf *out)
{
	strbuf_add_str(out, "# hybrid cpu system:\n");
	for (size_t i = 0; i < reader->features.hybrids.len; i++) {
		strbuf_add_str(out, "# ");
		add_text(out, reader->features.hybrids.data[i].pmu_name);
		add_line(out, " cpu list : ", reader->features.hybrids.data[i].cpus);
	}
}

static void print_carried(const struct reader *reader, struct strbuf *out)
{
	if (reader->features.carried_size)
		strbuf_printf(out, "# contains names, source lines and code of what was hit: %" PRIu64 " kB\n",
			      (reader->features.carried_size + 1023) / 1024);
}

static const struct printer {
	void (*print)(const struct reader *reader, struct strbuf *out);
	const char *text; /* without a function */
	bool detailed;
} printers[FEATURE_COUNT] = {
#define PLAIN(type, number, fields, text) [FEATURE_##type] = {NULL, text, false},
#define SHOWN(type, number, fields, print) [FEATURE_##type] = {print, NULL, false},
#define LISTED(type, number, fields, print, detailed) [FEATURE_##type] = {print, NULL, detailed},
#define CODED(type, number, read, write, print, detailed) [FEATURE_##type] = {print, NULL, detailed},
#include "perfdata/features/features.def"
};

static void add_member(const struct features *features, unsigned int feature, const char *name, size_t length, struct strbuf *out)
{
	const struct feature_field *field = feature_fields(feature);
	while (field->kind != FEATURE_FIELD_END && (strncmp(field->name, name, length) != 0 || field->name[length]))
		field++;
	const void *member = (const uint8_t *)features + field->offset;
	if (field->kind == FEATURE_FIELD_TEXT)
		add_text(out, *(const char *const *)member);
	else if (field->kind == FEATURE_FIELD_NUMBER)
		strbuf_add_u64(out, field->size == sizeof(uint64_t) ? *(const uint64_t *)member : *(const uint32_t *)member, 0);
}

static void print_text(const struct features *features, unsigned int feature, const char *text, struct strbuf *out)
{
	while (*text) {
		size_t plain = strcspn(text, "{");
		strbuf_add(out, text, plain);
		text += plain;
		if (!*text)
			return;
		size_t length = strcspn(++text, "}");
		add_member(features, feature, text, length, out);
		text += length + 1;
	}
}

static void print_feature(const struct reader *reader, unsigned int feature, bool full, struct strbuf *out)
{
	const struct printer *printer = &printers[feature];
	if (printer->detailed && !full)
		strbuf_printf(out, "# %s info available, use -I to display\n", feature_name(feature));
	else if (printer->print)
		printer->print(reader, out);
	else if (printer->text)
		print_text(&reader->features, feature, printer->text, out);
}

void features_print_facts(const struct reader *reader, bool full, struct strbuf *out)
{
	for (unsigned int feature = 0; feature < FEATURE_COUNT; feature++)
		if (features_has(&reader->features, feature))
			print_feature(reader, feature, full, out);
}

static void print_missing(const struct reader *reader, struct strbuf *out)
{
	strbuf_add_str(out, "# missing features: ");
	for (unsigned int feature = 1; feature <= FEATURE_PMU_CAPS; feature++) /* as the kernel's perf: those that it knows */
		if (!features_has(&reader->features, feature))
			strbuf_printf(out, "%s ", feature_name(feature));
	strbuf_add_char(out, '\n');
}

void features_print(const struct reader *reader, bool full, struct strbuf *out)
{
	struct reader_place place;
	char date[32];
	reader_place(reader, &place);
	if (!ctime_r(&place.changed, date))
		strcpy(date, "?\n");
	strbuf_printf(out, "# ========\n# captured on    : %s# header version : %u\n", date, place.version);
	strbuf_printf(out, "# data offset    : %" PRIu64 "\n# data size      : %" PRIu64 "\n# feat offset    : %" PRIu64 "\n",
		      place.data_offset, place.data_size, place.features_offset);
	/* In the pipe form features come as records, and the kernel's perf prints them behind the block. */
	if (reader->pipe) {
		strbuf_add_str(out, "# ========\n#\n");
		features_print_facts(reader, full, out);
		return;
	}
	features_print_facts(reader, full, out);
	print_missing(reader, out);
	strbuf_add_str(out, "# ========\n#\n");
}
