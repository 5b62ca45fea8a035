/* An event: something that can be counted or sampled, as asked for on a command line or as described in a recording. */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "event/attr.h"

#include <stdbool.h>
#include <stdint.h>

struct tracepoint; /* event/tracepoint/tracepoint.h */

/* Answers to a yes-or-no term that may not be there. */
enum event_choice { EVENT_UNSET, EVENT_NO, EVENT_YES };

/* Values that `stat` finds out without a counter. The attr of such an event is that of `dummy`. */
enum event_tool { EVENT_TOOL_NONE, EVENT_TOOL_DURATION_TIME, EVENT_TOOL_USER_TIME, EVENT_TOOL_SYSTEM_TIME };

/* aux-action=: as in perf_event_attr (Linux 6.13). */
enum event_aux_action { EVENT_AUX_START_PAUSED = 1 << 0, EVENT_AUX_PAUSE = 1 << 1, EVENT_AUX_RESUME = 1 << 2 };

struct event {
	const char *name; /* as the kernel's perf prints it: "cycles:u", "sched:sched_switch"; never NULL */
	struct event_attr attr;
	unsigned int index;	/* position in its list */
	unsigned int leader;	/* index of the group's leader; its own for a single event or a leader */
	unsigned int members;	/* of the group, the leader included; 1 for a single event; 0 for a member that isn't the leader */
	const char *group_name; /* of a leader whose group has a name, else NULL */

	/* Recordings: the ids of its counters. Recording: filled when the counters are open. */
	VEC(uint64_t) ids;
	bool has_flow; /* made of a hardware trace; its samples' raw data ends with a struct sample_flow (analysis/itrace/flow.h) */

	/* Tracepoints: system and name ("sched", "sched_switch") and the parsed format, NULL when there is none. */
	const char *tp_system;
	const char *tp_name;
	const struct tracepoint *tracepoint;

	/* Asked for: */
	const char *filter;   /* --filter, or NULL */
	bool is_default;      /* nobody asked for it by name: it may be called what it turns out to be */
	const char *pmu_name; /* "cpu", "software", …, or NULL */
	const char *pmu_cpus; /* the PMU's cpumask ("0-3"), or NULL: any */
	bool core_kind;	      /* one of several kinds of cores counts it (pmu_name); where the others run it sees nothing */
	/* The text stood for several PMUs: the first event of those that count parts of one thing, so that their sum is what the text
	 * means (uncore_imc_0, uncore_imc_1 …; with core_kind: the kinds of cores). NULL for that first one and for all others. */
	const struct event *part_of;
	enum event_tool tool; /* counted by the tool itself, not by the kernel */
	bool precise_max;     /* :P, and the default: as precise as the hardware can */
	bool everywhere;      /* it listens to side-band on all CPUs of a recording, those that aren't measured as well */
	bool stack_grows;     /* the size of stack copies is found while recording: capture/stack_sizes.h */
	bool stack_unwound;   /* stack copies become call chains while recording: capture/stack_chains.h */
	bool stack_walked;  /* with stack_unwound: a BPF program walks the stacks, the kernel copies none: capture/stacks/stack_walker.h */
	bool weak_group;    /* :W */
	bool sample_read;   /* :S */
	bool bpf_counter;   /* :b */
	bool user_modified; /* the text named user/kernel/hypervisor: defaults do not touch it */
	bool exclude_sides_given; /* the text named guest or host */

	/* The terms between slashes. They win over a command's options: event_apply_terms() in event/defaults.h. */
	bool period_given;	 /* period= or freq=, already in attr: -c and -F do not touch it */
	bool callgraph_given;	 /* call-graph= */
	const char *callgraph;	 /* its value: "auto", "fp", "dwarf", "lbr", "no" */
	uint32_t stack_size;	 /* stack-size=, bytes; 0 = none */
	uint32_t max_stack;	 /* max-stack=, frames; 0 = none */
	const char *branch_type; /* branch_type=, or NULL */
	enum event_choice time;
	enum event_choice inherit;
	enum event_choice overwrite;
	bool percore;
	bool aux_output;
	uint32_t aux_sample_size; /* bytes; 0 = none */
	uint32_t aux_action;	  /* enum event_aux_action; 0 = none */
	uint64_t max_events;	  /* nr=; 0 = no limit */

	const char *unit;	    /* of counts, "" = none */
	double scale;		    /* 1 = none */
	bool per_package;	    /* counts for a whole package: one CPU of it is enough */
	bool snapshot;		    /* the value is a level, not a count that grows */
	const char *metric_id;	    /* metric-id=, or NULL */
	const char *cgroup;	    /* -G, or NULL */
	const char *address_filter; /* --filter of an event that traces (event/address_filter.h), or NULL */
	const char *sample_filter;  /* --filter of record for other events than tracepoints (cmd/sampling/sample_filter.h), or NULL */
};

/* It has no samples, and is there for the side-band (PERF_COUNT_SW_DUMMY). */
bool event_is_dummy(const struct event *event);

/* The name of a term that the event has for the trace of its group ("aux-output"); NULL when it has none. */
const char *event_trace_term(const struct event *event);

struct event_list {
	struct arena arena; /* owns the events and their strings */
	VEC(struct event *) events;
};

void event_list_deinit(struct event_list *list);
/* A zeroed event with its index, its own leader, scale 1; lives as long as the list. */
struct event *event_list_add(struct event_list *list, const char *name);
/* Makes an event that leads no others a member of a group, behind the members that it has: places in the list change. */
void event_list_join_group(struct event_list *list, struct event *leader, struct event *event);
