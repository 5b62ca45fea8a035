/* Grafana Pyroscope, and Grafana Cloud: pprof profiles with labels to PusherService.Push, as Connect has it over HTTP
 * (https://grafana.com/docs/pyroscope/latest/reference-server-api). A batch is a PushRequest, whose fields are these:
 *
 *	1 series ──┬─ 1 labels ─── 1 name, 2 value        __name__ among them
 *	           └─ 2 samples ── 1 raw_profile, 2 ID */
#include "base/formats/protobuf.h"
#include "base/mem.h"
#include "fleet/engine.h"
#include "fleet/series.h"

static const char path[] = "/push.v1.PusherService/Push", type[] = "application/proto";

static struct error *open_pyroscope(const struct fleet_sink_options *options, void **ret_state)
{
	static const char *const parameters[] = {"tenant", NULL};
	struct engine *engine;
	struct error *error = engine_open(options, "4040", parameters, &engine);
	if (error)
		return error;
	const char *tenant = sink_url_parameter(&engine->url, "tenant");
	engine->header = tenant ? mem_printf("X-Scope-OrgID: %s", tenant) : NULL;
	engine->headers[0] = "Connect-Protocol-Version: 1";
	engine->headers[1] = engine->header;
	*ret_state = engine;
	return NULL;
}

/* ---- batches ---- */

struct encoding {
	struct strbuf *out;
	struct strbuf series, part;
};

static void add_label(struct encoding *encoding, const char *name, const char *value)
{
	protobuf_add_string(&encoding->part, 1, name);
	protobuf_add_string(&encoding->part, 2, value);
	protobuf_add_message(&encoding->series, 1, &encoding->part);
}

static void format_uuid(const uint8_t id[16], char ret[37])
{
	static const char digits[] = "0123456789abcdef";
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*ret++ = '-';
		*ret++ = digits[id[i] >> 4];
		*ret++ = digits[id[i] & 15];
	}
	*ret = '\0';
}

static void add_series(void *context, const struct series *series)
{
	struct encoding *encoding = context;
	char uuid[37];
	add_label(encoding, "__name__", series->profile_name);
	for (size_t i = 0; i < series->labels.list.len; i++)
		add_label(encoding, series->labels.list.data[i].name, series->labels.list.data[i].value);
	format_uuid(series->id, uuid);
	protobuf_add_bytes(&encoding->part, 1, series->profile.data, series->profile.len);
	protobuf_add_string(&encoding->part, 2, uuid);
	protobuf_add_message(&encoding->series, 2, &encoding->part);
	protobuf_add_message(encoding->out, 1, &encoding->series);
}

static struct error *encode(void *state, const struct window *window, struct strbuf *ret)
{
	struct encoding encoding = {.out = ret};
	series_for_each(window, add_series, &encoding);
	strbuf_deinit(&encoding.series);
	strbuf_deinit(&encoding.part);
	return NULL;
}

/* ---- sending ---- */

static enum sink_outcome send_batch(void *state, const uint8_t *id, const void *batch, size_t size, struct error **ret_why)
{
	return size ? engine_post(state, path, type, batch, size, ret_why) : SINK_TAKEN; /* without samples there is nothing to say */
}

static struct error *check(void *state)
{
	return engine_try(state, path, type, "", 0);
}

static const char *const schemes[] = {"pyroscope", "pyroscopes", NULL};
const struct sink_kind sink_pyroscope = {
	.schemes = schemes,
	.summary = "Grafana Pyroscope, Grafana Cloud Profiles: pprof profiles, a series for each set of labels",
	.open = open_pyroscope,
	.close = engine_close,
	.encode = encode,
	.send = send_batch,
	.wait_s = engine_wait_s,
	.stop = engine_stop,
	.check = check,
};
