/* Where windows go: an engine that stores them, or a folder.
 *
 *	window ──encode──► batch (bytes) ──► spool ──send──► engine
 *
 * A batch is made once, when its window is over, and sent until the engine has it: again and again with the same bytes and the same id,
 * so that it is there once. A kind of sink is a file of `src/fleet/sinks` with a `const struct sink_kind sink_NAME`.
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "fleet/http.h"
#include "result/window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As of the configuration: [sink NAME] url = clickhouse://user@host:8123/database?…, token-file = … */
struct fleet_sink_options {
	const char *name; /* for messages and for the spool's folder */
	const char *url; /* its scheme says which kind: clickhouse://, clickhouses:// (TLS), pyroscope://, parca://, otlp://, file:///… */
	struct http_options http; /* how it is asked */
};

enum sink_outcome {
	SINK_TAKEN,   /* the engine has it, now or from an earlier time */
	SINK_LATER,   /* the engine is away, slow or full: the same batch again, later */
	SINK_REFUSED, /* it will never take this batch */
};

struct fleet_sink; /* opened */

struct sink_kind {
	const char *const *schemes; /* ended by NULL */
	const char *summary;	    /* a line for help */
	/* Looks at the URL and remembers what it says in *ret_state. Connects to nothing. */
	struct error *(*open)(const struct fleet_sink_options *options, void **ret_state);
	void (*close)(void *state);
	/* The bytes of a batch; only from the window and the options. */
	struct error *(*encode)(void *state, const struct window *window, struct strbuf *ret);
	/* `id`: 16 bytes, the window's. Unless it was taken, *ret_why says why. */
	enum sink_outcome (*send)(void *state, const uint8_t *id, const void *batch, size_t size, struct error **ret_why);
	/* After SINK_LATER: for how many seconds the engine wants to be left alone; 0 = it doesn't say. May be NULL: it never does. */
	unsigned int (*wait_s)(const void *state);
	/* What is being sent ends soon, with SINK_LATER, and so does all that is sent from now on. From any thread. May be NULL: sending
	 * takes no time. */
	void (*stop)(void *state);
	/* For `perf agent check`: whether the engine is there, has what is needed (tables, API), and lets us write. */
	struct error *(*check)(void *state);
};

/* All kinds; ends with NULL. Made by the build. */
extern const struct sink_kind *const sink_kind_list[];

/* Keeps the pointers. Errors of sinks say what they ask and why it failed; which of several sinks it is, the caller says. */
struct error *fleet_sink_open(const struct fleet_sink_options *options, struct fleet_sink **ret);
void fleet_sink_close(struct fleet_sink *sink);
const struct fleet_sink_options *fleet_sink_options(const struct fleet_sink *sink);
struct error *fleet_sink_encode(struct fleet_sink *sink, const struct window *window, struct strbuf *ret);
enum sink_outcome fleet_sink_send(struct fleet_sink *sink, const uint8_t *id, const void *batch, size_t size, struct error **ret_why);
unsigned int fleet_sink_wait_s(const struct fleet_sink *sink);
void fleet_sink_stop(struct fleet_sink *sink);
struct error *fleet_sink_check(struct fleet_sink *sink);
