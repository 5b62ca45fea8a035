/* Capabilities: what this machine, this kernel and this user can do, each found out by doing it. `perf doctor` shows them, `perf test`
 * checks by them, and the messages of every command speak of the same facts with the same remedies (kernel/fix.h). */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "kernel/pmu_sysfs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum capability_state { CAPABILITY_OK, CAPABILITY_LIMITED, CAPABILITY_MISSING };

/* For programs: a fact by name. A number or a truth value ("true", "false") is written as such, everything else as text. */
struct capability_fact {
	char *name;
	char *value;
};

struct capability_result {
	enum capability_state state;
	struct strbuf found;  /* what there is, one line */
	struct strbuf cost;   /* what cannot be done because of it; empty when OK */
	struct strbuf remedy; /* the command that fixes it; empty when none on this machine does */
	VEC(struct capability_fact) facts;
};

/* What several capabilities ask for, found out once. */
struct capability_context {
	int paranoid;
	bool perfmon;	  /* has a capability that perf_event_paranoid does not bind */
	int perf_blocked; /* container_probe(): 0 = perf_event_open() gets through */
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
	VEC(int) descriptors;	/* that take the kernel long to close: capability_context_destroy() does */
};

enum capability_need {
	CAPABILITY_NEEDS_NOTHING,
	CAPABILITY_NEEDS_PERF, /* perf_event_open() that gets through: else the capability is not run, the row is missing */
	CAPABILITY_NEEDS_BPF,
};

struct capability {
	const char *group; /* "Rights" */
	const char *id;	   /* for programs: "tracepoint-data" */
	const char *title; /* for people: "tracepoint data" */
	enum capability_need need;
	const char *cost; /* what cannot be done without it, for results that say none of their own */
	void (*run)(struct capability_context *context, struct capability_result *ret);
};

/* Asks the machine for all of it. Destroying it closes the descriptors that were left to it. */
struct capability_context *capability_context_create(void);
void capability_context_destroy(struct capability_context *context);

/* `ret` is filled; capability_result_deinit() releases it. */
void capability_run(const struct capability *capability, struct capability_context *context, struct capability_result *ret);
/* Frees the texts and facts. */
void capability_result_deinit(struct capability_result *result);

/* The kernel's capabilities in the order in which they are shown; ends with a NULL id. */
extern const struct capability kernel_capabilities[];
/* NULL when there is none. */
const struct capability *capability_by_id(const char *id);
/* "OK", "limited", "missing". */
const char *capability_state_name(enum capability_state state);

/* "EPERM"; "an unknown errno" for numbers that have no name. */
const char *capability_errno_name(int error);
/* "SIGSYS"; "a signal" for those that nobody ends a process with. */
const char *capability_signal_name(int number);

/* For capabilities: each sets what it is named for, in place of what was there; facts are added. */
void capability_found(struct capability_result *result, enum capability_state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void capability_cost(struct capability_result *result, const char *format, ...) __attribute__((format(printf, 2, 3)));
void capability_remedy(struct capability_result *result, const char *format, ...) __attribute__((format(printf, 2, 3)));
void capability_fact(struct capability_result *result, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "yes", or the reason by errno. */
void capability_fact_status(struct capability_result *result, const char *name, int status);

/* The remedy for who lacks a right: kernel.perf_event_paranoid at `level`, or what lets this user's capability count. */
void capability_remedy_rights(const struct capability_context *context, struct capability_result *result, int level);
