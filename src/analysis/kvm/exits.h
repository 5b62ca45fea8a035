/* What virtual processors leave guest mode for, and how long the host takes until they go on, by KVM's tracepoints.
 *
 *	guest ──► kvm_exit ── host ──────────────────────► kvm_entry ──► guest      a visit of the host, by its reason
 *	              │ kvm_mmio (write) ──────────────────────┤                    an access of the guest to emulated memory …
 *	              ├────────────────► kvm_mmio (read)       │
 *	              │ kvm_pio, kvm_msr ──────────────────────┘                    … to a port, to a register of the processor
 *
 * A virtual processor is a thread, whose number is known from its first kvm_entry on; what was before isn't counted. Rules and figures are
 * those of the kernel's tool. */
#pragma once

#include "analysis/counting/statistics.h"
#include "analysis/kvm/reasons.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "session/session.h"

#include <stdbool.h>
#include <stdint.h>

enum kvm_event { KVM_VMEXIT, KVM_MMIO, KVM_IOPORT, KVM_MSR, KVM_EVENTS };

/* "vmexit"; "VM-EXIT"; the tracepoints that it needs, with commas. */
const char *kvm_event_name(enum kvm_event event);
const char *kvm_event_title(enum kvm_event event);
const char *kvm_event_tracepoints(enum kvm_event event);

/* What is counted together. */
struct kvm_key {
	enum kvm_event event;
	enum kvm_reason_kind kind; /* KVM_VMEXIT */
	uint64_t code;		   /* reason, address, port, register */
	bool write;		   /* the others */
};

/* "HLT", "UNKNOWN(200)", "0xfee00000:W", "0x3f8:POUT". */
void kvm_add_key(struct strbuf *out, const struct kvm_key *key);
/* The guest had nothing to do: for how long says nothing of the host. */
bool kvm_is_idle(const struct kvm_key *key);

struct kvm_row {
	struct kvm_key key;
	uint64_t count, time, shortest, longest; /* ns */
	struct statistics times;
	uint64_t number; /* private: which was met first */
};

/* One that has ended. */
struct kvm_visit {
	const struct kvm_key *key;
	uint64_t time, length; /* ns; when it ended */
	uint32_t pid, vcpu;
};

struct kvm_options {
	enum kvm_event event;
	int64_t vcpu;	      /* only of virtual processors with this number; -1 = all */
	const uint32_t *pids; /* only of these processes; pid_count 0 = all */
	size_t pid_count;
	bool by_time; /* rows that take longest on average come first, else those that came most often */
	/* Told of each visit; may be NULL. */
	void (*visit)(void *context, const struct kvm_visit *visit);
	void *context;
};

struct kvm_exits;

/* An error when the session has none of the events. `options` must live as long. */
struct error *kvm_exits_create(struct session *session, const struct kvm_options *options, struct kvm_exits **ret);
void kvm_exits_destroy(struct kvm_exits *exits);
/* All that is left of the session, to its end. */
struct error *kvm_exits_run(struct kvm_exits *exits);
/* A record of the session; others than KVM's do nothing. */
void kvm_exits_give(struct kvm_exits *exits, const struct record *record);
/* What was added up so far, in order; freed by the caller. */
struct kvm_row *kvm_exits_rows(const struct kvm_exits *exits, size_t *ret_count);
/* Counts from nothing again. Visits that haven't ended stay. */
void kvm_exits_clear(struct kvm_exits *exits);
