/* Probes: what this machine, this kernel and this user can do, each found out by doing it. `perf doctor` shows them, `perf test` checks by
 * them, and the messages of every command speak of the same facts with the same remedies (kernel/mend.h). */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "kernel/pmu_sysfs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum probe_state { PROBE_OK, PROBE_LIMITED, PROBE_MISSING };

/* For programs: a fact by name. A number or a truth value ("true", "false") is written as such, everything else as text. */
struct probe_fact {
	char *name;
	char *value;
};

struct probe_result {
	enum probe_state state;
	struct strbuf found;  /* what there is, one line */
	struct strbuf cost;   /* what cannot be done because of it; empty when OK */
	struct strbuf remedy; /* the command that mends it; empty when none on this machine does */
	VEC(struct probe_fact) facts;
};

/* What several probes ask for, found out once. */
struct probe_context {
	int paranoid;
	bool perfmon;	  /* has a capability that perf_event_paranoid does not bind */
	int perf_blocked; /* confinement_probe(): 0 = perf_event_open() gets through */
	int bpf_blocked;
	bool perf_absent, bpf_absent; /* ENOSYS, and it is the kernel that was built without */
	struct pmu_list *pmus;
	char *tracefs; /* NULL: why is in tracefs_error */
	struct error *tracefs_error;
	int *cpus; /* online */
	size_t cpu_count;
	bool has_cpu_pmu; /* some PMU counts what a core executes */
	char hypervisor_buffer[64];
	const char *hypervisor; /* NULL = none */
	VEC(int) descriptors;	/* that take the kernel long to close: probe_context_destroy() does */
};

enum probe_need {
	PROBE_NEEDS_NOTHING,
	PROBE_NEEDS_PERF, /* perf_event_open() that gets through: else the probe is not run, the row is missing */
	PROBE_NEEDS_BPF,
};

struct probe {
	const char *group; /* "Rights" */
	const char *id;	   /* for programs: "tracepoint-data" */
	const char *title; /* for people: "tracepoint data" */
	enum probe_need need;
	const char *cost; /* what cannot be done without it, for results that say none of their own */
	void (*run)(struct probe_context *context, struct probe_result *ret);
};

struct probe_context *probe_context_create(void);
void probe_context_destroy(struct probe_context *context);

/* `ret` is filled; probe_result_deinit() releases it. */
void probe_run(const struct probe *probe, struct probe_context *context, struct probe_result *ret);
void probe_result_deinit(struct probe_result *result);

/* The kernel's probes in the order in which they are shown; ends with a NULL id. */
extern const struct probe kernel_probes[];
/* NULL when there is none. */
const struct probe *probe_by_id(const char *id);
/* "OK", "limited", "missing". */
const char *probe_state_name(enum probe_state state);

/* "EPERM"; "an unknown errno" for numbers that have no name. */
const char *probe_errno_name(int error);

/* For probes: set the state and what was found; costs, remedies and facts are added. */
void probe_found(struct probe_result *result, enum probe_state state, const char *format, ...) __attribute__((format(printf, 3, 4)));
void probe_cost(struct probe_result *result, const char *format, ...) __attribute__((format(printf, 2, 3)));
void probe_remedy(struct probe_result *result, const char *format, ...) __attribute__((format(printf, 2, 3)));
void probe_fact(struct probe_result *result, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "yes", or the reason by errno. */
void probe_fact_status(struct probe_result *result, const char *name, int status);

/* The remedy for who lacks a right: kernel.perf_event_paranoid at `level`, or what lets this user's capability count. */
void probe_remedy_rights(const struct probe_context *context, struct probe_result *result, int level);
