/* Hardware traces in recordings (AUX areas) as events: a reader of what was recorded with samples in between, made of the trace, as if
 * they had been recorded. Sessions, filters and reports can't tell the difference.
 *
 *	recording ──► inner session, in the order of time ──┬─ a record of time t ──────────────────────────────┐
 *	    │                                               └─ queues: decode until t ──► samples ──► chunk ◄─┘ ──► feed ──► reader
 *	    └── AUXTRACE records, found beforehand ──────────────►  one for each CPU or thread
 *
 * Samples come before the record whose time they don't reach, those of several queues in the order of time: as the kernel's tool has it.
 * The machine of the inner session, which is as far as the records are, tells who runs and which code is where.
 *
 * Kinds of traces are decoders (decoder.h). What has none, is damaged or can't be followed is counted and told: nothing is dropped
 * silently. */
#pragma once

#include "analysis/itrace/options.h"
#include "perfdata/reader.h"
#include "symbol/resolve.h"

#include <stdbool.h>

struct itrace;

/* Whether a recording has a hardware trace that can be looked at: its input is stable. */
bool itrace_is_in(struct reader *recording);

/* `recording` is taken over, also on an error. `symbols`: where files are looked for whose code the trace went through
 * (same_machine is found out); the strings must outlive it. */
struct error *itrace_open(struct reader *recording, const struct itrace_options *options, const struct symbol_options *symbols,
			  struct itrace **ret);
/* The reader, once, for session_options.reader with `unordered`; it must be closed before the trace is. */
struct reader *itrace_reader(struct itrace *itrace);
/* What couldn't be decoded: a sentence each, separated by newlines. */
void itrace_diagnostics_text(const struct itrace *itrace, struct strbuf *out);
void itrace_close(struct itrace *itrace);

/* For dumps: what a record of the recording tells of its trace, as the kernel's tool shows it. Of an AUXTRACE record the packets that
 * follow it, or a sentence where their kind isn't known; of AUXTRACE_INFO its words. Nothing for other records. */
void itrace_dump_record(struct reader *recording, const struct record_header *header, uint64_t offset, struct strbuf *out);
