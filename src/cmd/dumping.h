/* Raw dumps of records (-D), for the commands that walk a recording. */
#pragma once

#include "base/strbuf.h"
#include "session/session.h"

/* Adds the dump of a record that session_next() gave: its bytes and fields, and for samples whose they are and in which file. *offset,
 * UINT64_MAX at first, is kept for the caller: a record that is delivered several times (once for each counter of a group) has its bytes
 * dumped once. */
void dumping_add_record(const struct session *session, const struct record *record, uint64_t *offset, struct strbuf *out);
/* Dumps all records of a session to standard output. */
struct error *dumping_all(struct session *session);
