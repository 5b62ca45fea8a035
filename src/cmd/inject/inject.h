/* Parts of perf inject: a recording goes through, record by record, in the order of time; some are taken out, changed, or put in.
 *
 *	session ──► sleep ──► build-ids ──► output
 *	   └─ generated code ──────────────────┘
 */
#pragma once

#include "analysis/itrace/itrace.h"
#include "analysis/stack.h"
#include "app/groups.h"
#include "base/hash.h"
#include "perfdata/writer.h"
#include "session/session.h"

/* --guest-data=FILE,PID[,OFFSET[,SCALE]] */
struct inject_guest_option {
	char *path;
	uint32_t pid; /* of the hypervisor */
	uint64_t offset;
	double scale;
};

struct inject_options {
	const char *input, *output; /* NULL or "-": the standard streams */
	bool force;
	bool build_ids, all_build_ids; /* -b, --buildid-all */
	bool maps_hit, maps_all;       /* -B, --mmap2-buildid-all */
	const char *known_build_ids;
	const char *kallsyms; /* which isn't needed, or NULL */
	const char *vmlinux;
	bool ignore_vmlinux; /* of these two: the second wins */
	bool sleep;	     /* -s */
	bool jit;
	bool convert_chains;
	struct itrace_options itrace;
	bool strip;
	VEC(struct inject_guest_option) guests;
	const char *guest_mount; /* or NULL */
	bool self_contained;
	bool sandbox;
	struct output_options output_options;
};

/* The file that the others are beside: the output, or where that is a stream the input, or "perf.data". */
const char *inject_written_file(const struct inject_options *options);

struct inject_known_id {
	const char *path;
	struct buildid id;
};

/* A file of generated code. */
struct inject_image {
	const char *name; /* as its maps have it */
	uint32_t major, minor;
	uint64_t inode;
	struct buildid id;
};

/* A thread's newest sched_switch. */
struct inject_switch {
	struct record_header *header; /* a copy; NULL = gone */
	uint64_t time;
};

struct inject {
	const struct inject_options *options;
	struct session *session;
	char *buildid_dir;
	struct itrace *itrace;	      /* or NULL */
	char *kcore_dir;	      /* with itrace; or NULL */
	unsigned int recorded_events; /* those behind are made of the trace */

	/* output.c: what the output says of itself, as it was when the first record was written. */
	struct event_list events;
	unsigned int host_events; /* of these; guests' are behind them */
	struct features features;
	struct writer *writer;
	uint64_t written, left_out; /* records */
	uint64_t trace_bytes;

	struct inject_guests *guests; /* guest.c; NULL = none is put in */

	/* buildid.c */
	char *known_text;
	VEC(struct inject_known_id) known_ids;
	VEC(bool) noted; /* by dso: its build-id was looked for */
	bool same_machine;

	/* map.c */
	bool drops_maps;	   /* those that no sample hits */
	struct map64 written_maps; /* hash of map, process and where the part begins */

	/* jit.c */
	VEC(struct session_code) codes; /* that come next, from `code_at` on */
	size_t code_at;
	VEC(struct inject_image) images;
	struct map64 image_by_code; /* struct jitdump_code → index */
	struct map64 image_names;   /* process and number of the code → how many files */
	char *image_folder;	    /* absolute; NULL until there is one */

	/* chain.c */
	struct resolver *resolver; /* NULL: nothing is unwound */
	struct stack stack;	   /* of the record that was converted last */
	struct strbuf sample;	   /* that record */
	uint64_t bytes_saved;

	/* sleep.c: the newest sched_switch of each thread, by tid: index + 1 in `switches` */
	struct map64 switch_by_tid;
	VEC(struct inject_switch) switches;
	bool measures_sleep;	     /* there are no sched_stat events that say how long */
	struct record_header *sleep; /* that has ended last */
	struct tracker *sleep_tracker;
	const struct record_header *slept; /* what comes in the place of the record at hand; NULL = nothing */
	const struct event *slept_event;
	uint64_t sleeps, endless_sleeps; /* those that ended, and those whose end was not recorded */
};

/* ---- output.c ---- */

/* Takes the events and features that the session knows now. */
void inject_output_prepare(struct inject *inject);
/* Writes the head. Then come the records, each by inject_write(). */
struct error *inject_output_open(struct inject *inject);
/* A record of the input, or one that was made. Not written: what the output's own head says. */
struct error *inject_write(struct inject *inject, const struct record_header *header);
/* The same of an AUXTRACE record, with its trace where that is to be had; without, nothing is written. */
struct error *inject_write_trace(struct inject *inject, const struct record *record);
/* Writes what stands behind the records: build-ids, the range of times, where hardware traces are. */
struct error *inject_output_finish(struct inject *inject);
/* Closes the output, finished or not, and frees the copies of events and features. */
void inject_output_deinit(struct inject *inject);

/* ---- address.c ---- */

struct inject_sample {
	struct inject *inject;
	const struct record *record;
	struct thread *thread;
	struct sample sample;
};
/* `maps` may be NULL: nothing is known of the address. */
typedef struct error *inject_visitor(const struct inject_sample *sample, const struct maps *maps, uint64_t address);
/* Calls the visitor for each address of a sample: itself, its data and its branches, its callers. `stack`: where it was unwound, else
 * NULL. */
struct error *inject_visit(struct inject *inject, const struct record *record, const struct stack *stack, inject_visitor *visit);

/* ---- map.c ---- */

/* Behind inject_output_prepare(). */
void inject_maps_init(struct inject *inject);
/* Writes a map by its build-id, or drops it: then *ret_done. */
struct error *inject_map(struct inject *inject, const struct record *record, bool *ret_done);
/* Puts in the maps that a sample hits, before it. */
struct error *inject_hit_maps(struct inject *inject, const struct record *record, const struct stack *stack);
void inject_maps_deinit(struct inject *inject);

/* ---- buildid.c ---- */

/* Reads --known-build-ids. */
struct error *inject_build_ids_init(struct inject *inject);
/* Looks at a record that is about to be written, for files whose build-ids are wanted: a stream gets them ahead of it. `stack`: where a
 * sample was unwound, or NULL. */
struct error *inject_build_ids(struct inject *inject, const struct record *record, const struct stack *stack);
/* Adds one to the output. */
struct error *inject_put_build_id(struct inject *inject, const struct feature_build_id *entry);
/* The same for a file of generated code. */
struct error *inject_image_build_id(struct inject *inject, const struct inject_image *image);
/* The build-id of a file, the known ones first; false when there is none. */
bool inject_find_build_id(const struct inject *inject, const struct dso *dso, struct buildid *ret);
void inject_build_ids_deinit(struct inject *inject);

/* ---- jit.c ---- */

/* The session's session_options.code; its context is the struct inject. */
void inject_jit_note(void *context, const struct session_code *code);
/* Puts in the code that is there when a record comes, before it. */
struct error *inject_jit(struct inject *inject, const struct record *record);
/* Says that there was none. */
void inject_jit_tell(const struct inject *inject);
void inject_jit_deinit(struct inject *inject);

/* ---- chain.c ---- */

/* Readies unwinding, and the output's events, which have no copies of stacks any more: before the output is opened, behind
 * inject_output_prepare(). */
struct error *inject_chain_init(struct inject *inject);
/* Puts a sample with a call chain in the place of one with a copy of its stack (valid until the next call). True when it did: inject->stack
 * has the frames. */
bool inject_chain(struct inject *inject, struct record *record);
void inject_chain_deinit(struct inject *inject);

/* ---- guest.c ---- */

/* Reads one use of --guest-data. */
struct error *inject_guest_option(const char *text, struct inject_options *options);
void inject_guest_options_deinit(struct inject_options *options);
/* Opens the recordings of guests and takes their events: behind inject_output_prepare(), before the output is opened. */
struct error *inject_guests_open(struct inject *inject);
/* Puts in what happened in guests before a record of the host, and what they were when recording began before the first one. */
struct error *inject_guests_before(struct inject *inject, const struct record *record);
/* Puts in what is left. */
struct error *inject_guests_finish(struct inject *inject);
/* Says what couldn't be put in. */
void inject_guests_tell(const struct inject *inject);
void inject_guests_close(struct inject *inject);

/* ---- sleep.c ---- */

/* Checks that the samples have what -s needs. */
struct error *inject_sleep_init(struct inject *inject);
/* Puts another sample in the place of one (valid until the next call), or none: false. */
bool inject_sleep(struct inject *inject, struct record *record);
/* Says that there was none to put in. */
void inject_sleep_tell(const struct inject *inject);
void inject_sleep_deinit(struct inject *inject);
