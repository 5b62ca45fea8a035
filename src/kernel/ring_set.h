/* The rings of one recording: one for each CPU (or thread) of the target, shared by all events and threads there; a second one where some
 * counters overwrite what is oldest and others don't. */
#pragma once

#include "kernel/counter.h"
#include "kernel/ring.h"

struct ring_set {
	struct ring *rings;
	size_t count;
	size_t overwritten; /* how many of them are overwrite rings */
	size_t pages;	    /* data pages of each */
};

struct ring_set_counter {
	const struct counter *counter;
	bool overwrite; /* its attribute says write_backward */
	bool traces;	/* it may have an AUX area, which the kernel gives to the counter that the ring is mapped on */
};

/* Maps a ring for each CPU of the target on the first descriptor opened there and directs all others to it. `counters` are `count` counters
 * of the same target. `pages` a power of two. Returns 0 or -errno (EPERM: more than may be locked); nothing stays mapped then. */
int ring_set_open(struct ring_set *set, const struct ring_set_counter *counters, size_t count, const struct counter_target *target,
		  size_t pages);
/* Unmaps all of them. Counters stay open. */
void ring_set_close(struct ring_set *set);
/* The next descriptor to poll for a ring, after the one given out before has hung up; -1 when there is none left. */
int ring_next_member(struct ring *ring);
