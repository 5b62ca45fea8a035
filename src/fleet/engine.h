/* An engine that is asked over HTTP: where it is, as its sink's URL says, and what its answers mean. */
#pragma once

#include "fleet/http.h"
#include "fleet/sink.h"
#include "fleet/sink_url.h"

struct engine {
	struct sink_url url;
	char *base; /* http://HOST:PORT/PATH, without a slash at the end */
	struct http *http;
	const char *headers[3]; /* of each request; for those who open it, ended by NULL */
	char *header;		/* owned, for `headers`; or NULL */
	unsigned int wait_s;	/* as it has said when it was too busy; 0 = it hasn't */
};

/* `port`: of the engine, where the URL has none; with TLS (a scheme with an s at the end) that is 443. `parameters`: those that the URL
 * may have, ended by NULL. Connects to nothing. */
struct error *engine_open(const struct fleet_sink_options *options, const char *port, const char *const *parameters, struct engine **ret);
/* For sinks whose state is an engine (struct sink_kind). */
void engine_close(void *engine);
unsigned int engine_wait_s(const void *engine);
void engine_stop(void *engine);

/* Sends a request to `path`, put behind the base; its url is filled in. Unless it was taken, *ret_why has the reason, with the beginning
 * of what the engine has said.
 *
 *	200 to 299                          SINK_TAKEN
 *	400, 411, 413, 415, 422 and others  SINK_REFUSED: the batch is at fault
 *	401, 403, 404, 408, 409, 425, 429   SINK_LATER: who asks and where is at fault, or the moment
 *	300 to 399, 500 on, no answer       SINK_LATER
 */
enum sink_outcome engine_send(struct engine *engine, const char *path, const struct http_request *request, struct http_answer *ret_answer,
			      struct error **ret_why);
/* The same of a body of this type, where nothing needs to be known of the answer. */
enum sink_outcome engine_post(struct engine *engine, const char *path, const char *type, const void *body, size_t size,
			      struct error **ret_why);
/* For `perf agent check`: sends what has nothing in it. That it is taken, or that this emptiness is refused (400), tells that one gets
 * there and may write. */
struct error *engine_try(struct engine *engine, const char *path, const char *type, const void *nothing, size_t size);
