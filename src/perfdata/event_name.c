/* Names for events of recordings without an event description (old ones, pipes): type, config and the exclude bits are put into the words
 * that the kernel's perf uses, modifiers included. */
#include "perfdata/event_name.h"

#include "event/modifiers.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>

static const char *const hardware_names[] = {
	"cycles",	 "instructions", "cache-references",	    "cache-misses",	      "branches",
	"branch-misses", "bus-cycles",	 "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
static const char *const software_names[] = {"cpu-clock",    "task-clock",   "page-faults",	 "context-switches", "cpu-migrations",
					     "minor-faults", "major-faults", "alignment-faults", "emulation-faults", "dummy"};
static const char *const cache_names[] = {"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"};
static const char *const cache_operations[] = {"load", "store", "prefetch"};
static const char *const cache_operation_lists[] = {"loads", "stores", "prefetches"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void add_cache_name(uint64_t config, struct strbuf *out)
{
	uint64_t cache = config & 0xff, operation = config >> 8 & 0xff, result = config >> 16 & 0xff;
	bool read_only = cache == PERF_COUNT_HW_CACHE_L1I || cache == PERF_COUNT_HW_CACHE_ITLB || cache == PERF_COUNT_HW_CACHE_BPU;
	if (cache >= COUNT(cache_names))
		strbuf_add_str(out, "unknown-ext-hardware-cache-type");
	else if (operation >= COUNT(cache_operations))
		strbuf_add_str(out, "unknown-ext-hardware-cache-op");
	else if (result > 1)
		strbuf_add_str(out, "unknown-ext-hardware-cache-result");
	else if (read_only && operation && !(cache == PERF_COUNT_HW_CACHE_L1I && operation == PERF_COUNT_HW_CACHE_OP_PREFETCH))
		strbuf_add_str(out, "invalid-cache");
	else if (result)
		strbuf_printf(out, "%s-%s-misses", cache_names[cache], cache_operations[operation]);
	else
		strbuf_printf(out, "%s-%s", cache_names[cache], cache_operation_lists[operation]);
}

static void add_breakpoint_name(const struct event_attr *attr, struct strbuf *out)
{
	strbuf_printf(out, "mem:0x%llx:%s%s%s", (unsigned long long)attr->bp_addr, attr->bp_type & HW_BREAKPOINT_R ? "r" : "",
		      attr->bp_type & HW_BREAKPOINT_W ? "w" : "", attr->bp_type & HW_BREAKPOINT_X ? "x" : "");
}

void event_name_from_attr(const struct event_attr *attr, struct strbuf *out)
{
	switch (attr->type) {
	case PERF_TYPE_HARDWARE:
		strbuf_add_str(out, attr->config < COUNT(hardware_names) ? hardware_names[attr->config] : "unknown-hardware");
		break;
	case PERF_TYPE_SOFTWARE:
		strbuf_add_str(out, attr->config < COUNT(software_names) ? software_names[attr->config] : "unknown-software");
		break;
	case PERF_TYPE_HW_CACHE:
		add_cache_name(attr->config, out);
		break;
	case PERF_TYPE_RAW:
		strbuf_printf(out, "raw 0x%llx", (unsigned long long)attr->config);
		break;
	case PERF_TYPE_BREAKPOINT:
		add_breakpoint_name(attr, out);
		break;
	case PERF_TYPE_TRACEPOINT:
		strbuf_add_str(out, "unknown tracepoint");
		return;
	default:
		strbuf_printf(out, "unknown attr type: %u", attr->type);
		return;
	}
	event_add_modifiers(attr, out);
}
