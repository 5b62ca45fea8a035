/* Why the kernel refused a counter or a ring, in words that say what is allowed and which command fixes it. One for all commands. */
#pragma once

#include "base/error.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/types.h>

struct refusal {
	int error;	   /* errno of perf_event_open() */
	const char *event; /* its name, as typed or printed */
	const struct perf_event_attr *attr;
	int cpu;    /* -1 = any */
	pid_t pid;  /* -1 = every process of `cpu` */
	bool group; /* it was to join a group */
};

/* Never NULL. */
struct error *refusal_explain(const struct refusal *refusal);
/* A ring of `pages` pages was refused with `error`. */
struct error *refusal_explain_ring(int error, size_t pages, size_t rings);
