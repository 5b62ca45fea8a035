/* --guest-data: the recording of a guest on its way into the host's. Parts of perf inject that nobody else sees. */
#pragma once

#include "cmd/inject/guest_time.h"
#include "cmd/inject/inject.h"

/* A virtual CPU: a thread of the hypervisor's process. */
struct inject_vcpu {
	uint32_t tid; /* 0 = not known */
	uint32_t cpu; /* where it ran last … */
	bool placed;  /* … if that is known */
};

struct inject_guest {
	const struct inject_guest_option *option;
	struct session *session;
	struct guest_time time;
	unsigned int first_event;	   /* in inject->events: where its events begin */
	VEC(struct sample_layout) layouts; /* of these */
	struct map64 ids;		   /* guest's → host's */
	struct map64 cpu_by_id;		   /* guest's id → VCPU, as its ID_INDEX tells */
	VEC(struct inject_vcpu) vcpus;
	struct map64 vcpu_by_tid;
	struct record next; /* that comes next … */
	uint64_t next_time; /* … when, on the host */
	bool has_next;
	struct strbuf record;		/* it, as the host's recording has it */
	uint64_t unknown;		/* records left out: nobody's ids, too long; … */
	uint64_t tracepoints;		/* … samples of tracepoints */
	uint64_t unplaced;		/* records that have CPU 0, because nothing tells where the VCPU ran */
	uint64_t outside;		/* records from before or after the host's recording */
	uint64_t first_time, last_time; /* of samples; 0 = none */
};

struct inject_guests {
	VEC(struct inject_guest *) guests;
	bool started;
	uint64_t first_time, last_time; /* of the host's records so far; 0 = none has one */
};

/* ---- guest_record.c ---- */

enum guest_verdict { GUEST_PUT, GUEST_NOT_MEANT, GUEST_UNKNOWN, GUEST_TRACEPOINT };
/* The bits of a record's header, with the guest's mode in the place of the host's. */
uint16_t inject_guest_mode(uint16_t misc);
/* guest->next as a record of the host's recording, in guest->record; other verdicts tell why there is none. */
enum guest_verdict inject_guest_convert(struct inject_guest *guest);

/* ---- guest_vcpus.c ---- */

/* Finds the threads of VCPUs by their names, and where they ran first, in a host's recording that is read at one's leisure. */
void inject_guest_find_vcpus(struct inject_guest *guest, struct reader *host);
/* Takes note of what a record of the host tells of them. */
void inject_guest_follow_vcpus(struct inject_guest *guest, const struct reader *host, const struct record_header *header);
/* The host's CPU for one of the guest's. */
uint32_t inject_guest_place(struct inject_guest *guest, uint32_t vcpu);
