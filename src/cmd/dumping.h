/* Raw dumps of records (-D), for the commands that walk a recording. */
#pragma once

#include "base/strbuf.h"
#include "session/session.h"

/* Adds the dump of a record that session_next() gave: its bytes, its fields, and for samples whose they are and in which file. */
void dumping_add_record(const struct session *session, const struct record *record, struct strbuf *out);
