/* OTLP over HTTP: an ExportProfilesServiceRequest, as protobuf and compressed, to what takes OpenTelemetry's profiles
 * (https://opentelemetry.io/docs/specs/otlp). They are in development: receivers of other versions than v1development refuse them.
 *
 * An answer of 200 may say that some profiles were rejected; to send them again would change nothing. The window is counted as dropped
 * then. */
#include "view/export/otlp.h"
#include "base/formats/protobuf.h"
#include "base/text.h"
#include "fleet/engine.h"
#include "view/export/gzip.h"

#include <inttypes.h>

static const char path[] = "/v1development/profiles", type[] = "application/x-protobuf";

static struct error *open_otlp(const struct fleet_sink_options *options, void **ret_state)
{
	static const char *const parameters[] = {NULL};
	struct engine *engine;
	struct error *error = engine_open(options, "4318", parameters, &engine);
	if (!error)
		*ret_state = engine;
	return error;
}

static struct error *encode(void *state, const struct window *window, struct strbuf *ret)
{
	const struct sink out = sink_to_text(ret);
	struct sink compressed;
	struct gzip *gzip = gzip_begin(&out, &compressed);
	struct error *error = otlp_write_window(window, &compressed);
	gzip_end(gzip);
	return error;
}

struct rejection {
	uint64_t profiles;
	struct cursor message;
};

/* ExportProfilesServiceResponse: partial_success (1), in which are rejected_profiles (1) and error_message (2). */
static void read_answer(const struct http_answer *answer, struct rejection *ret)
{
	struct cursor message = cursor_init(strbuf_str(&answer->body), answer->body.len, false);
	struct protobuf_field field, part;
	*ret = (struct rejection){.message = cursor_init("", 0, false)};
	while (protobuf_next(&message, &field)) {
		if (field.number != 1 || !field.is_piece)
			continue;
		while (protobuf_next(&field.message, &part))
			if (part.number == 1)
				ret->profiles = part.value;
			else if (part.number == 2 && part.is_piece)
				ret->message = part.message;
	}
}

static struct error *explain(const struct engine *engine, const struct rejection *rejection)
{
	enum { QUOTE_MAX = 300 };
	struct strbuf quote = {0};
	size_t length = cursor_left(&rejection->message);
	text_add_safe(&quote, (const char *)rejection->message.at, length < QUOTE_MAX ? length : QUOTE_MAX);
	struct error *error = error_new("%s: rejected %" PRIu64 " profiles of a window%s%s", engine->base, rejection->profiles,
					quote.len ? ": " : "", strbuf_str(&quote));
	strbuf_deinit(&quote);
	return error;
}

static enum sink_outcome send_batch(void *state, const uint8_t *id, const void *batch, size_t size, struct error **ret_why)
{
	const struct http_request request = {
		.method = "POST", .body = batch, .body_size = size, .content_type = type, .content_encoding = "gzip"};
	struct http_answer answer = {0};
	struct rejection rejection;
	enum sink_outcome outcome = engine_send(state, path, &request, &answer, ret_why);
	read_answer(&answer, &rejection);
	if (outcome == SINK_TAKEN && rejection.profiles) {
		*ret_why = explain(state, &rejection);
		outcome = SINK_REFUSED;
	}
	strbuf_deinit(&answer.body);
	return outcome;
}

static struct error *check(void *state)
{
	return engine_try(state, path, type, "", 0);
}

static const char *const schemes[] = {"otlp", "otlps", NULL};
const struct sink_kind sink_otlp = {
	.schemes = schemes,
	.summary = "OpenTelemetry collectors and others: OTLP profiles (v1development) over HTTP",
	.open = open_otlp,
	.close = engine_close,
	.encode = encode,
	.send = send_batch,
	.wait_s = engine_wait_s,
	.stop = engine_stop,
	.check = check,
};
