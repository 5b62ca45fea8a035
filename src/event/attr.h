/* What perf_event_open() takes, as the kernel's binary interface defines it up to Linux 6.18, whatever headers this was built with.
 * Source of the facts: include/uapi/linux/perf_event.h. On this side always in native byte order. */
#pragma once

#include <stdint.h>

/* Sizes of the structure as kernels grew it. Files say how much they hold; what is missing reads as zero, what is more is skipped. */
enum { EVENT_ATTR_SIZE_MIN = 64, EVENT_ATTR_SIZE_V8 = 136 };

struct event_attr {
	uint32_t type;
	uint32_t size;
	uint64_t config;
	union {
		uint64_t sample_period;
		uint64_t sample_freq;
	};
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t disabled : 1, inherit : 1, pinned : 1, exclusive : 1, exclude_user : 1, exclude_kernel : 1, exclude_hv : 1,
		exclude_idle : 1, mmap : 1, comm : 1, freq : 1, inherit_stat : 1, enable_on_exec : 1, task : 1, watermark : 1,
		precise_ip : 2, mmap_data : 1, sample_id_all : 1, exclude_host : 1, exclude_guest : 1, exclude_callchain_kernel : 1,
		exclude_callchain_user : 1, mmap2 : 1, comm_exec : 1, use_clockid : 1, context_switch : 1, write_backward : 1,
		namespaces : 1, ksymbol : 1, bpf_event : 1, aux_output : 1, cgroup : 1, text_poke : 1, build_id : 1, inherit_thread : 1,
		remove_on_exec : 1, sigtrap : 1, defer_callchain : 1, defer_output : 1, reserved_1 : 24;
	union {
		uint32_t wakeup_events;
		uint32_t wakeup_watermark;
	};
	uint32_t bp_type;
	union {
		uint64_t bp_addr;
		uint64_t kprobe_func; /* pointer, also uprobe path */
		uint64_t config1;
	};
	union {
		uint64_t bp_len;
		uint64_t kprobe_addr; /* also probe offset */
		uint64_t config2;
	};
	uint64_t branch_sample_type;
	uint64_t sample_regs_user;
	uint32_t sample_stack_user;
	int32_t clockid;
	uint64_t sample_regs_intr;
	uint32_t aux_watermark;
	uint16_t sample_max_stack;
	uint16_t reserved_2;
	uint32_t aux_sample_size;
	uint32_t aux_action;
	uint64_t sig_data;
	uint64_t config3;
};

_Static_assert(sizeof(struct event_attr) == EVENT_ATTR_SIZE_V8, "kernel ABI");

/* PERF_TYPE_*, PERF_COUNT_*, PERF_SAMPLE_*, PERF_FORMAT_*: <linux/perf_event.h>. What Debian 12's copy does not have yet: */
#define EVENT_FORMAT_LOST (1u << 4)
#define EVENT_BRANCH_COUNTERS (1u << 19)
