/* What is known of each record type: its name, the least size it can have, and where its text is. One row a type; the reader checks by it.
 */
#include "perfdata/records.h"
#include "base/mapping.h"
#include "perfdata/records_internal.h"

#include <stddef.h>
#include <string.h>

#define KERNEL(type, least, text) [RECORD_##type] = {"PERF_RECORD_" #type, least, text}
#define USER(type, name, least) [RECORD_##type] = {"PERF_RECORD_" name, least, 0}

static const struct record_kind kinds[RECORD_USER_MAX] = {
	KERNEL(MMAP, 40, 40),
	KERNEL(LOST, 24, 0),
	KERNEL(COMM, 16, 16),
	KERNEL(EXIT, 32, 0),
	KERNEL(THROTTLE, 32, 0),
	KERNEL(UNTHROTTLE, 32, 0),
	KERNEL(FORK, 32, 0),
	KERNEL(READ, 24, 0),
	KERNEL(SAMPLE, 8, 0),
	KERNEL(MMAP2, 72, 72),
	KERNEL(AUX, 32, 0),
	KERNEL(ITRACE_START, 16, 0),
	KERNEL(LOST_SAMPLES, 16, 0),
	KERNEL(SWITCH, 8, 0),
	KERNEL(SWITCH_CPU_WIDE, 16, 0),
	KERNEL(NAMESPACES, 24, 0),
	KERNEL(KSYMBOL, 24, 24),
	KERNEL(BPF_EVENT, 24, 0),
	KERNEL(CGROUP, 16, 16),
	KERNEL(TEXT_POKE, 20, 0),
	KERNEL(AUX_OUTPUT_HW_ID, 16, 0),
	KERNEL(CALLCHAIN_DEFERRED, 24, 0),
	USER(HEADER_ATTR, "ATTR", 72),
	USER(HEADER_EVENT_TYPE, "EVENT_TYPE", 8),
	USER(HEADER_TRACING_DATA, "TRACING_DATA", 12),
	USER(HEADER_BUILD_ID, "BUILD_ID", 36),
	USER(FINISHED_ROUND, "FINISHED_ROUND", 8),
	USER(ID_INDEX, "ID_INDEX", 16),
	USER(AUXTRACE_INFO, "AUXTRACE_INFO", 16),
	USER(AUXTRACE, "AUXTRACE", 48),
	USER(AUXTRACE_ERROR, "AUXTRACE_ERROR", 40),
	USER(THREAD_MAP, "THREAD_MAP", 16),
	USER(CPU_MAP, "CPU_MAP", 10),
	USER(STAT_CONFIG, "STAT_CONFIG", 16),
	USER(STAT, "STAT", 48),
	USER(STAT_ROUND, "STAT_ROUND", 24),
	USER(EVENT_UPDATE, "EVENT_UPDATE", 24),
	USER(TIME_CONV, "TIME_CONV", 32),
	USER(HEADER_FEATURE, "FEATURE", 16),
	USER(COMPRESSED, "COMPRESSED", 8),
	USER(FINISHED_INIT, "FINISHED_INIT", 8),
	USER(COMPRESSED2, "COMPRESSED2", 16),
	USER(BPF_METADATA, "BPF_METADATA", 16),
};

const struct record_kind *record_kind(uint32_t type)
{
	return type < RECORD_USER_MAX && kinds[type].name ? &kinds[type] : NULL;
}

const char *record_type_name(uint32_t type)
{
	const struct record_kind *kind = record_kind(type);
	return kind ? kind->name : "UNKNOWN";
}

const char *record_check(const struct record_kind *kind, const struct record_header *header)
{
	uint16_t size = mapping_u16(&header->size);
	if (size < kind->least_size)
		return "record too short for its type";
	if (header->type < RECORD_USER_START && size % 8)
		return "size isn't a multiple of 8";
	if (kind->text_offset && !memchr((const uint8_t *)header + kind->text_offset, 0, (size_t)size - kind->text_offset))
		return "name without an end";
	return NULL;
}
