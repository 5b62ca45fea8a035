/* Advice: at most three sentences that read counts for a person, each only where the numbers leave no doubt. */
#pragma once

#include "analysis/counting/counts.h"

#include <stdbool.h>

struct advice_scope {
	bool tasks;		/* a command or processes were measured, not whole CPUs */
	bool workload;		/* a command: its user and system times are in `counts` */
	bool tells_no_hardware; /* say that the machine has no hardware counters */
	double ran, waited;	/* seconds of a run that the scheduler let them run, and that they waited for a CPU; 0 = not known */
};

/* Hardware events were asked for, and every one of them is absent: there is no PMU. */
bool advice_lacks_hardware(const struct counts *counts);
/* Adds the sentences to result->remarks. Counts must be of one place. */
void advice_add(const struct counts *counts, const struct advice_scope *scope, struct counting *result);
