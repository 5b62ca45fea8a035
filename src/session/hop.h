/* Hopping from record header to record header, which each large reading begins with: what several threads have in common that do it in
 * different places of one recording. */
#pragma once

#include "perfdata/reader.h"

struct session;

/* Plain samples that were hopped over. */
struct hopped {
	uint64_t *counts; /* by event */
	size_t events;
	uint64_t samples;
	uint64_t first_time, last_time; /* 0 = none had one */
};

/* None yet, of the events that the session knows; `hopped` is all zero, or was used before. */
void hopped_init(struct hopped *hopped, const struct session *session);
void hopped_deinit(struct hopped *hopped);
/* Into the session's counts; none are left. */
void hopped_count(struct hopped *hopped, struct session *session);

/* Where a record begins is known from the one before only. The first place from `from` on at which records seem to begin: some that are
 * sound follow one another. It is a guess, which counts when all before leads to that very place. UINT64_MAX: in as many bytes as a record
 * can have, none is found. */
uint64_t hop_find_record(const struct reader *reader, uint64_t from);
