/* Sampling: what the options of record and top make of an event's attribute. The attributes are those that the kernel's perf opens for the
 * same options, so that recordings of both read alike. */
#pragma once

#include "base/error.h"
#include "event/catalog.h"
#include "event/event.h"

#include <stdbool.h>
#include <stdint.h>

struct python_frames; /* capture/python/python_frames.h */

enum callchain_mode { CALLCHAIN_UNSET, CALLCHAIN_NONE, CALLCHAIN_FP, CALLCHAIN_DWARF, CALLCHAIN_LBR, CALLCHAIN_AUTO };

/* Who unwinds the stacks of CALLCHAIN_AUTO. */
enum callchain_way { CALLCHAIN_ANYHOW, CALLCHAIN_BY_BPF, CALLCHAIN_BY_COPIES };

enum {
	SAMPLING_FREQ_DEFAULT = 4000,
	SAMPLING_STACK_DEFAULT = 8192,
	SAMPLING_STACK_FIRST = 4096,
	SAMPLING_STACK_UNWOUND = 32768,
	SAMPLING_STACK_MAX = 65528
};

struct sampling {
	uint64_t freq;	  /* samples a second; 0 = by period */
	uint64_t period;  /* one sample each so many events; 0 = by frequency */
	bool freq_max;	  /* as often as the kernel allows */
	bool freq_strict; /* where it doesn't allow `freq`, that is an error */
	bool freq_given;  /* by the person: it counts for events that have a period of their own as well (tracepoints) */

	enum callchain_mode callgraph;
	enum callchain_mode callgraph_default; /* what -g stands for: CALLCHAIN_AUTO, else frame pointers */
	uint32_t stack_size;		       /* dwarf: bytes of stack, a multiple of 8 */
	bool stack_grows;		       /* dwarf,auto: it begins with SAMPLING_STACK_FIRST and grows where stacks are cut; auto: with
				   SAMPLING_STACK_UNWOUND, if rings may be large */
	enum callchain_way callgraph_way;
	bool callgraph_implied;	      /* auto was not asked for: frame pointers where it cannot be had, or would cost much */
	struct python_frames *python; /* auto: chains have Python's frames, and these their names; or NULL */
	bool walks_stacks;	      /* auto: by capture/stacks/stack_walker.h, where it suits the event */
	uint64_t unwind_memory;	      /* auto: bytes of rules that the kernel gets, 0 = as many as it takes */
	bool unwind_lazily;	      /* auto: rules of code that stacks have met, none ahead: for what runs for days */
	const char *unwind_more;      /* what a user does for more of them; NULL = --unwind-memory */
	uint32_t max_stack;	      /* frames of a call chain, 0 = the kernel's limit */
	bool kernel_callchains;	      /* only the kernel's part of call chains */
	bool user_callchains;	      /* only the user's */
	uint64_t branch_type;	      /* PERF_SAMPLE_BRANCH_*; 0 = no branch stacks */
	uint64_t user_regs;	      /* registers by bit of the architecture's perf_regs.h */
	uint64_t intr_regs;

	bool address; /* -d */
	bool phys_address;
	bool data_page_size;
	bool code_page_size;
	bool no_time;		      /* --no-timestamp */
	bool time;		      /* -T: even where there would be none */
	enum event_choice period_bit; /* -P and --no-period */
	bool cpu;		      /* --sample-cpu */
	bool identifier;
	bool raw;
	bool weight;
	bool transaction;
	bool no_samples;    /* -n: only counts and side-band */
	bool thread_counts; /* -s */
	bool running_time;
	bool no_inherit;
	bool all_user, all_kernel;
	bool namespaces;
	bool cgroups;
	bool switch_events;
	bool text_poke; /* record what the kernel changes of its code */
	bool listener;	/* side-band has an event of its own, whatever is measured */
	bool build_id_mmap;
	bool no_bpf_event;
	bool overwrite;
	bool no_buffering; /* wake up for every sample */
	bool group;	   /* --group: all events in one */
	bool clockid_given;
	int32_t clockid;

	/* The target: */
	bool by_cpu;	 /* whole CPUs are measured (-a, -C) */
	bool per_thread; /* counters follow threads, without CPUs */
	bool workload;	 /* nothing but a command that we start: counters are enabled by its exec */
	bool delayed;	 /* -D: enabled later, by us */
};

/* Configures all events; adds the dummy event that listens to side-band where the events themselves cannot (whole CPUs, delayed start). */
struct error *sampling_configure(struct event_list *events, const struct sampling *sampling);

/* Why an event cannot be sampled, with what to do instead; NULL when it can. `traces`: hardware traces can be recorded as well
 * (capture/traces/trace_plan.h). */
struct error *sampling_refuse(const struct event *event, bool traces);
/* How often events without a period of their own are sampled when nobody says: SAMPLING_FREQ_DEFAULT, or less where the kernel allows no
 * more. */
uint64_t sampling_default_freq(void);

/* The default event: the finest clock of cycles there is; one for each kind of cores. */
struct error *sampling_add_default(struct event_list *events, struct event_catalog *catalog, bool exclude_kernel);

/* When the hardware doesn't count cycles, samples of the CPU's clock do as well. True when the event was changed. */
bool sampling_fall_back_to_clock(struct event_list *events, struct event *event);
/* When the kernel's part may not be measured: user space only. True when the event was changed. */
bool sampling_fall_back_to_user(struct event_list *events, struct event *event);
/* Gives an event without a name of its own the name that follows from its attribute ("cpu-clock:ppp"). */
void sampling_rename(struct event_list *events, struct event *event, const char *base);

/* "fp", "dwarf[,SIZE|,auto]", "lbr", "auto[,bpf|,copy]". The size is rounded up to a multiple of 8. */
struct error *sampling_parse_callgraph(const char *text, struct sampling *sampling);
/* "any,u,k,…" of -j. */
struct error *sampling_parse_branch(const char *text, uint64_t *ret);
/* "ax,bx,ip" of --user-regs and --intr-regs, for this machine's architecture. */
struct error *sampling_parse_regs(const char *text, uint64_t *ret);
/* "mono", "raw", "real", "boot", "tai" …, or a number. */
struct error *sampling_parse_clock(const char *text, int32_t *ret);
/* The registers that unwinding by DWARF needs on this architecture. */
uint64_t sampling_unwind_regs(void);
/* The register that calls leave the return address in, where there is one: frame pointers don't lead to the callers of functions that save
 * it nowhere. */
uint64_t sampling_link_regs(void);
