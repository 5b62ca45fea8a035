// SPDX-License-Identifier: Dual MIT/GPL
/* What a BPF program costs, by any event: the counters of the CPU are noted when the program begins (fentry), and the difference is added
 * when it ends (fexit). BPF programs stay on their CPU.
 *
 *	CPU 0   ──other──┤ program ├──other──┤ program ├──
 *	               note      add       note      add
 */
#include "bpf/counters/event_counters.bpf.h"
#include "bpf/counters/program_counters_shared.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile struct program_counters_config config;

uint32_t running; /* the counters are enabled */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EVENT_COUNTERS_MOST);
	__type(key, uint32_t);
	__type(value, struct bpf_perf_event_value);
} sums SEC(".maps");

/* There are notes. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint32_t);
} noted SEC(".maps");

/* Where the program is attached is said when it is loaded. */
SEC("fentry")
int begin(void *context)
{
	uint32_t cpu = bpf_get_smp_processor_id(), zero = 0, *flag = bpf_map_lookup_elem(&noted, &zero);

	if (!flag || !running)
		return 0;
	for (uint32_t event = 0; event < EVENT_COUNTERS_MOST && event < config.events; event++) {
		uint32_t at = event;
		struct bpf_perf_event_value *note = bpf_map_lookup_elem(&notes, &at), now = {};
		if (note && !bpf_perf_event_read_value(&counters, event * config.cpus + cpu, &now, sizeof(now)))
			*note = now;
	}
	*flag = 1;
	return 0;
}

SEC("fexit")
int end(void *context)
{
	uint32_t cpu = bpf_get_smp_processor_id(), zero = 0, *flag = bpf_map_lookup_elem(&noted, &zero);

	if (!flag || !*flag)
		return 0; /* it had begun before we were there */
	*flag = 0;
	for (uint32_t event = 0; event < EVENT_COUNTERS_MOST && event < config.events; event++) {
		uint32_t at = event;
		struct bpf_perf_event_value *note, *sum, now = {};
		if (bpf_perf_event_read_value(&counters, event * config.cpus + cpu, &now, sizeof(now)))
			continue;
		note = bpf_map_lookup_elem(&notes, &at);
		sum = bpf_map_lookup_elem(&sums, &at);
		if (!note || !sum)
			continue;
		if (now.enabled == note->enabled) {
			/* Shorter than a tick of the kernel's clock. A run takes at least 1 ns, which tells it from none. */
			now.enabled++;
			now.running++;
		}
		add_counted(sum, note, &now);
	}
	return 0;
}
