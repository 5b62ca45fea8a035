/* Debug files from the servers that $DEBUGINFOD_URLS names (debuginfod): asked for by build-id, kept in the cache that all clients of such
 * servers share, so that a debugger finds them, too.
 *
 * Nothing waits for ever: all questions together have a budget of time. When it is used up, or the library that asks is missing, files are
 * without debug information as if there were no servers. What comes from a server is checked like any other file by whoever opens it. */
#pragma once

#include "base/buildid.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

struct debug_server;

enum debug_server_file { DEBUG_SERVER_DEBUGINFO, DEBUG_SERVER_EXECUTABLE };

struct debug_server_options {
	uint64_t budget_ms; /* for all questions together */
	/* While a file is fetched, now and then; all zero when it is over. `total` is bytes, 0 = not known: then `part` tells how much of
	 * the budget is used up,
	 * 0…1. May be NULL. On the thread that asks. */
	void (*progress)(void *context, const char *name, uint64_t done, uint64_t total, double part);
	void *context;
};

/* NULL where no servers are named or there is no budget. */
struct debug_server *debug_server_create(const struct debug_server_options *options);
void debug_server_destroy(struct debug_server *server);
/* The same, after a warning of what went wrong. */
void debug_server_end(struct debug_server *server);

/* The path of the file, freed by the caller; NULL when there is none, or when it was asked for before. `name` is for people. Thread-safe;
 * threads wait for each other. */
char *debug_server_fetch(struct debug_server *server, enum debug_server_file kind, const struct buildid *id, const char *name);
/* Adds one sentence about what went wrong and what helps; nothing if all was well. Files that no server has are no trouble. */
void debug_server_diagnostics(const struct debug_server *server, struct strbuf *out);
