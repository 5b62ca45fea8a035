/* Synthetic records: what the kernel would have told had we listened from the start. The kernel reports what happens from now on; who
 * already runs, what is mapped, the kernel itself, loaded BPF programs, cgroups: that is made up here from /proc, /sys and bpf(2), in the
 * same record formats, with time 0 and zeros in the sample_id trailer.
 *
 * All functions add whole records to a buffer and never fail: what cannot be read (who just ended, what we may not see) is left out. */
#pragma once

#include "base/buildid.h"
#include "base/strbuf.h"
#include "event/event.h"
#include "kernel/counter.h"
#include "model/machine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct synth {
	struct strbuf *out;
	size_t trailer; /* bytes of sample_id that records of this recording end with */
	bool data_maps; /* -d: maps without execute permission as well */
	bool namespaces;
	/* Puts build-ids into MMAP2 records (--buildid-mmap): reads that of a file, or NULL for device and inode instead. Called from
	 * several threads. */
	bool (*build_id)(const char *path, struct buildid *ret);
	uint64_t map_timeout_ns;   /* give up a process whose maps take longer; 0 = never */
	unsigned int map_timeouts; /* how many were given up */
};

/* Bytes of the sample_id trailer that an event's side-band records have. */
size_t synth_trailer_size(const struct event_attr *attr);

/* The kernel's text ("[kernel.kallsyms]_text") and its modules; with its build-id when `build_id` can read "[kernel.kallsyms]". False when
 * the kernel hides its addresses (kptr_restrict). */
bool synth_kernel(struct synth *synth);
/* KSYMBOL and BPF_EVENT of every loaded BPF program that we may see. */
void synth_bpf(struct synth *synth);
/* CGROUP records of the hierarchy that perf events use. */
void synth_cgroups(struct synth *synth);

/* Everything that runs: FORK, COMM, NAMESPACES, MMAP2. On up to `jobs` threads. */
void synth_all_tasks(struct synth *synth, unsigned int jobs);
/* The same of the processes of the given threads and of all that descends from them. */
void synth_families(struct synth *synth, const pid_t *threads, size_t count);
/* COMM, NAMESPACES, MMAP2 of the given threads, each process' maps once; `is_workload`: they have not exec'ed yet, so their maps are ours
 * and are left out. */
void synth_threads(struct synth *synth, const pid_t *threads, size_t count, bool is_workload);

/* The name of a thread, as a COMM record. */
void synth_comm(struct synth *synth, uint32_t pid, uint32_t tid, const char *name, size_t length);
/* A map of a process or the kernel, as a MMAP2 record: by its build-id where it has one, else by device and inode. */
void synth_map(struct synth *synth, const struct map_description *map, bool kernel);

/* User-range records that describe the recording. */
void synth_id_index(struct synth *synth, const struct counter *const *counters, size_t count, const struct counter_target *target);
void synth_thread_map(struct synth *synth, const pid_t *threads, size_t count);
void synth_cpu_map(struct synth *synth, const int *cpus, size_t count);
/* Unit, scale and (pipe) name of an event: what the attribute doesn't hold. */
void synth_event_update(struct synth *synth, const struct event *event, bool name);

/* Records are at most this long. */
enum { SYNTH_RECORD_MAX = 65528 };
