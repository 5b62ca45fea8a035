/* What the scheduler counted between the two snapshots of a recording of 'perf sched stats record', by CPU and scheduling domain. */
#pragma once

#include "base/error.h"
#include "base/vec.h"
#include "session/session.h"

#include <stddef.h>
#include <stdint.h>

enum { SCHED_STATS_VALUES = 48 };

/* What the values of a row are called, in their order. */
struct sched_stats_field {
	const char *name;
	int base;	/* the field of which this one is a part, in percent; -1 = none */
	bool intervals; /* occurrences, of which the time between two says something */
};

struct sched_stats_row {
	uint32_t cpu;
	int domain; /* -1 = the CPU itself */
	uint64_t values[SCHED_STATS_VALUES];
	size_t count;
	uint64_t first_time; /* jiffies: of the first snapshot */
	unsigned int seen;   /* snapshots */
};

struct sched_stats {
	uint32_t version;
	uint64_t jiffies;		  /* between the snapshots */
	VEC(struct sched_stats_row) rows; /* in the order of the recording: a CPU, then its domains */
};

/* Reads the session to its end. An error when it has no two snapshots. */
struct error *sched_stats_create(struct session *session, struct sched_stats **ret);
void sched_stats_destroy(struct sched_stats *stats);
/* All CPUs added up, or the domains of one level of all CPUs (from 0 on); `count` 0 when there are none. */
struct sched_stats_row sched_stats_sum(const struct sched_stats *stats, int domain);
/* What the values of CPUs or domains are; returns how many there are. */
size_t sched_stats_fields(uint32_t version, bool domain, struct sched_stats_field buffer[SCHED_STATS_VALUES]);
