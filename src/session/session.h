/* A session: one recording, open for analysis. Source + order + machine + filters.
 *
 * Two ways to consume it, no third:
 *  - session_next(): every record in time order, for commands that tell a story (script, trace, sched);
 *  - session_reduce(): samples in any order on several threads, for commands that add up (report, flamegraph, annotate).
 *
 * Reading at large, in two passes over one mapping: pass 1 (in session_open) hops over the record headers, applies all side-band to the
 * machine in the order of time, counts records by type and event, and notes cuts for the workers; the machine is finished then. Pass 2
 * decodes samples. Reading as a stream (options.streaming, for session_next() only): one pass; side-band is applied to the machine when its
 * turn comes, so the machine grows while records are delivered and must be asked by the thread that calls session_next(). It is the only
 * way for a pipe that isn't to be spooled, and the quicker one for a command that may stop early.
 *
 * The order of session_next() is the kernel tool's: records with a time in the order of time (ties: of the file), round by round (order.h);
 * those without one, and those that the recorder made up (type >= 64), as soon as they are met in the file. Without times, or when only
 * samples have them, everything comes in the file's order.
 *
 * Times: where samples have no time stamps, a record's offset in the file serves as its time in the model.
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "model/jitdump.h"
#include "model/machine.h"
#include "perfdata/reader.h"

#include <stdbool.h>
#include <stdint.h>

/* Which samples are delivered. All parts must agree; an empty part agrees with everything. */
struct session_filter {
	const uint64_t *cpus; /* bitmap, or NULL */
	size_t cpu_words;
	struct time_range {
		uint64_t begin, end;
	} * times; /* both inclusive */
	size_t time_count;
	/* --time "10%-20%", "10%/2": resolved against the recording's first and last sample; NULL = none. Fills `times`. */
	const char *time_text;
};

/* A piece of generated code that is in memory from now on. */
struct session_code {
	const struct jitdump *dump;
	const struct jitdump_code *code;
	uint64_t address;
	uint64_t time;	  /* of the recording; 0 = none */
	uint32_t pid;	  /* of the process that mapped the dump */
	const char *path; /* where the dump was found: as recorded, or below /proc/PID/root; lives as long as the session */
};

struct session;

struct session_options {
	struct reader_options input;
	/* Instead of `input`: an open reader (reader_open_feed(), a live source), which belongs to the session from now on, also when it
	 * can't be opened. */
	struct reader *reader;
	struct session_filter filter;
	const char *symfs; /* jitdumps are looked for below this directory, or NULL */
	unsigned int jobs; /* 0 = pool_default_jobs() */
	bool streaming;	   /* only session_next() will be used, on one thread: one pass, pipes aren't spooled */
	bool kernel_only;  /* nobody asks for addresses of programs: maps of processes are passed over */
	bool threadless;   /* … nor for threads: their names, beginnings and ends are, too */
	bool sparing;	   /* what a pass over all records has read of a file leaves our memory, which others need more */
	bool unordered;	   /* session_next() delivers in the order of the file, whatever the times */
	/* With `streaming`, for what runs for days: what has ended is forgotten now and then, so that the machine stays as large as what is
	 * there (machine_forget()). It happens when a FINISHED_ROUND is applied: pointers to threads, maps and their names that were got
	 * before session_next() gave it are void then, if machine->generation has changed. */
	bool forgets;
	/* … and which threads have ended without a record of it, for when records were lost; may be NULL. */
	bool (*thread_gone)(void *context, const struct thread *thread);
	void *thread_gone_context;
	bool whole_groups; /* session_next() delivers a sample with counters read for its group once, as it was recorded */
	/* With `streaming`: told of each piece of generated code (jitdumps) when its time has come, before the record that session_next()
	 * delivers next. May be NULL. */
	void (*code)(void *context, const struct session_code *code);
	void *code_context;
	/* Called once in session_open(), when events and features are known and before the records are read. May be NULL. */
	struct error *(*described)(void *context, struct session *session);
	void *described_context;
	/* Called now and then while a pass over all records runs, in session_open() and in session_reduce(): with done 0 at its beginning
	 * and done = total at its end, always on the calling thread. May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *progress_context;
};

struct event_counts {
	uint64_t samples;
	uint64_t lost;	       /* records of any kind that a full ring swallowed, by LOST records with this event's id */
	uint64_t lost_samples; /* from LOST_SAMPLES: what this event's counters lost (the same losses seen from the other side) */
	uint64_t throttles;
};

struct session {
	struct reader *reader;
	struct machine *machine;
	unsigned int jobs;
	struct session_private *private; /* looked at with each record, so apart from what a thread that reads ahead counts */
	/* Complete after session_open(), when streaming at the end. */
	uint64_t record_counts[256];	   /* by type; 0 = all types above 255 */
	struct event_counts *event_counts; /* by event index; as long as reader->events, NULL when that is empty */
	uint64_t lost, lost_samples;	   /* in total, of events that aren't known too */
	uint64_t lost_chunks;		   /* LOST records */
	uint64_t full_traces;		   /* AUX records of a hardware trace whose buffer was full */
	uint64_t first_time, last_time;	   /* of samples; 0 = none has a time */
};

struct error *session_open(const struct session_options *options, struct session **ret);
void session_close(struct session *session);
/* Whether the kernel that runs now is the recorded one, by its release. What a recording doesn't tell is taken for yes. */
bool session_is_of_this_machine(const struct session *session);
/* Whether a MMAP or MMAP2 record stands for generated code that jitdumps tell of: it maps a dump that was read, or memory without a file of
 * a process that has one. While streaming, of the record that session_next() gave last. */
bool session_maps_jitdump(const struct session *session, const struct record_header *header);

/* One record on its way to a command. */
/* What trackers are told of a sample, taken out of it beforehand, so that nobody has to look for it when its turn has come. */
struct sample_digest {
	uint32_t event; /* its index */
	uint32_t pid, tid, cpu;
	uint64_t values[];
};

struct record {
	const struct record_header *header; /* valid until the next session_next() */
	uint64_t time;			    /* 0 = none */
	uint64_t model_time;		    /* what to ask the machine with; never less than the one before when streaming */
	uint64_t offset;		    /* in the file */
	bool is_sample;			    /* the header's type, which others could write over, says no more */
	const struct event *event;	    /* of samples never NULL; of others by their trailer, or NULL */
	/* A sample with counters read for its group is delivered once for each of them that advanced, with that one's event, id and period.
	 */
	bool is_member, is_last_member;
	uint64_t member_id, member_period;
	const struct sample_digest *digest; /* as long as `header`; NULL = none */
};

/* 1: *ret is the next record that passed the filter (side-band always passes, already applied to the machine). 0: end. -1: *ret_error is
 * set. */
int session_next(struct session *session, struct record *ret, struct error **ret_error);
/* The same for who looks at nothing but samples, and at these by decoding them, which takes whatever others write to the file meanwhile:
 * *ret is the next sample, where it lies, all else was applied. What was read of a file leaves our memory again. */
int session_next_sample(struct session *session, struct record *ret, struct error **ret_error);
/* Of the events that are known by now only those are looked at for which `is_wanted` says so: samples of others are counted, and
 * session_next_sample() may leave them out. */
void session_choose_events(struct session *session, bool (*is_wanted)(void *context, const struct event *event), void *context);
/* Takes what trackers are told out of a sound sample, whose event is known by now; true when nothing needs the whole sample to be told that
 * it is broken. Threads call it, several at a time. */
typedef bool session_digester(void *context, const struct event *event, const struct record_header *header, struct sample_digest *ret);
/* Has samples that session_next_sample() gives digested where that is done ahead: records have digests then, of `values` values. Before the
 * first record, by one only: else false. `context` must live as long as the session, or until session_end_digests(). */
bool session_digest_samples(struct session *session, session_digester *digester, void *context, size_t values);
/* Nothing is digested any more. */
void session_end_digests(struct session *session);
/* Who is told of all other records that are applied on the way to the next sample; each is valid during the call. */
void session_tell_others(struct session *session, void (*told)(void *context, const struct record *record), void *context);
/* Lets the machine forget, when that is due, for who keeps pointers into it and so can't have options.forgets: after a FINISHED_ROUND.
 * True: all pointers that `holder`, which may be NULL, didn't renew are void. */
bool session_forget(struct session *session, const struct machine_holder *holder);
/* The two halves of session_next(), for commands that gather records while other threads still ask the machine about earlier ones. First
 * what comes next; with `resting` nothing changes that samples are decoded by, and 0 also says that this isn't possible now. Then what each
 * record does to the machine, in the same order: when all are applied, the machine may be asked about any of them. Several may be gathered
 * before the first is applied when the input is stable: their headers stay valid then; that of a record that is no sample becomes, by
 * session_apply(), a copy which is valid until the next call. */
int session_gather(struct session *session, bool resting, struct record *ret, struct error **ret_error);
void session_apply(struct session *session, struct record *record);
/* For those who ask about records when later ones are applied already; to be called for each before that. The machine goes by time, so that
 * it would tell of a sample what comes behind it at the same time: a record that is no sample moves a nanosecond behind samples of its
 * time, to the machine, and what follows not before it. */
void session_part_times(struct session *session, struct record *record);
/* The hypervisor's process of the guest that a side-band record tells of; 0 = it tells of the host. */
uint32_t session_record_guest(const struct session *session, const struct record_header *header);
/* The thread that a sample is of, on the host or in its guest: machine_thread_or_new(). */
static inline struct thread *session_sample_thread(struct machine *machine, const struct sample *sample, uint64_t model_time)
{
	struct machine *of = machine_of_guest(machine, sample->guest.machine_pid);
	return machine_thread_or_new(of, sample->pid, sample->tid, model_time);
}
/* Decodes the sample that session_next() gave (use this, not sample_decode(): a member's id and period are not in its record). False when
 * it is broken, which is counted: go on with the next. */
bool session_decode(struct session *session, const struct record *record, struct sample *ret);
/* The same into a sample that is all zero, or that this function has filled for an event with the same sample_type: quicker. */
bool session_decode_anew(struct session *session, const struct record *record, struct sample *ret);
/* The same without counting, for several threads: what is wrong with it (a literal), or NULL. */
const char *session_decode_uncounted(const struct session *session, const struct record *record, struct sample *ret);

/* Any order, any number of threads; what comes out depends on neither. */
struct reducer {
	size_t state_size;
	void (*init)(void *state, void *context);
	/* A decoded sample (of a group with counters read: once for each member that advanced). Its pointers stay valid until
	 * session_close() (stable input is guaranteed here), but `chain` only during the call. */
	void (*sample)(void *state, void *context, const struct event *event, const struct sample *sample, uint64_t model_time);
	/* The state gets no more samples. On several threads, each with another state; may be NULL. */
	void (*finish)(void *state, void *context);
	/* Adds `from` to `into`; `from` is empty afterwards. Called on one thread. */
	void (*merge)(void *into, void *from, void *context);
	void (*deinit)(void *state, void *context); /* may be NULL */
	bool fixed_only;			    /* sample_decode_fixed() is enough */
	unsigned int every;			    /* only one piece of the file in so many, evenly; 0, 1 = all */
};
/* Returns the merged state (freed by the caller with free() after its own deinit). The input must be stable: not a pipe opened with
 * `streaming`. */
struct error *session_reduce(struct session *session, const struct reducer *reducer, void *context, void **ret_state);

/* How many pieces of a file there are to reduce, each of some megabytes at most. */
size_t session_piece_count(const struct session *session);
/* Another one for options.progress from now on; NULL = none. Not while a pass runs. */
void session_set_progress(struct session *session, void (*progress)(void *context, uint64_t done, uint64_t total), void *context);

/* ---- what every reader tells at its end ---- */

/* Adds a plain sentence when records were lost, and one when the kernel throttled sampling: how often, of which events, what to do. Event
 * names are made safe. Sentences are separated by newlines, none at the end. Nothing when nothing was lost. */
void session_loss_text(const struct session *session, struct strbuf *out);
/* The same for what was wrong with the input: cut short, broken or unknown records, hardware trace that isn't decoded. One sentence each,
 * separated by newlines, none at the end. */
void session_diagnostics_text(const struct session *session, struct strbuf *out);
