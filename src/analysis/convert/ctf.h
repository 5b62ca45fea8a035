/* A recording as a CTF trace (ctf_writer.h): samples become events whose fields are what was sampled ("perf_ip", "perf_tid", …) and, of
 * tracepoints, their fields by name. Names, order and types are those that the kernel's perf gives them. */
#pragma once

#include "analysis/convert/ctf_writer.h"
#include "session/session.h"

struct ctf_export;

/* All live longer than the export. */
struct ctf_export *ctf_export_create(struct session *session, struct ctf_writer *writer);
/* *ret_written: those of tracepoints with fields much larger than what was recorded of them are passed over. */
struct error *ctf_export_sample(struct ctf_export *export, const struct event *event, const struct sample *sample, bool *ret_written);
/* COMM, FORK, EXIT, MMAP, MMAP2; *ret_written: others are passed over. */
struct error *ctf_export_record(struct ctf_export *export, const struct record *record, bool *ret_written);
/* Writes the metadata. `wall_clock`: times become those of the wall clock, which the recording must know. */
struct error *ctf_export_finish(struct ctf_export *export, bool wall_clock);
void ctf_export_destroy(struct ctf_export *export);

/* Whether the recording knows the wall clock: NULL, or why not. */
struct error *ctf_check_wall_clock(const struct session *session);
