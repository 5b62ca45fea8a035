/* Parca: pprof profiles with labels to ProfileStoreService.WriteRaw, by way of the JSON that its gateway takes
 * (https://github.com/parca-dev/parca/blob/main/proto/parca/profilestore/v1alpha1/profilestore.proto). Addresses are those in memory,
 * with mappings: "normalized" isn't set. */
#include "base/json.h"
#include "base/text.h"
#include "fleet/engine.h"
#include "fleet/series.h"

static const char path[] = "/api/profiles/writeraw", type[] = "application/json";

static struct error *open_parca(const struct fleet_sink_options *options, void **ret_state)
{
	static const char *const parameters[] = {NULL};
	struct engine *engine;
	struct error *error = engine_open(options, "7070", parameters, &engine);
	if (!error)
		*ret_state = engine;
	return error;
}

static void add_label(struct json *json, const char *name, const char *value)
{
	json_begin_object(json);
	json_add_string(json, "name", name);
	json_add_string(json, "value", value);
	json_end_object(json);
}

static void add_series(void *context, const struct series *series)
{
	struct json *json = context;
	struct strbuf text = {0};
	text_add_base64(&text, series->profile.data, series->profile.len);
	json_begin_object(json);
	json_name(json, "labels");
	json_begin_object(json);
	json_name(json, "labels");
	json_begin_array(json);
	add_label(json, "__name__", series->profile_name);
	for (size_t i = 0; i < series->labels.list.len; i++)
		add_label(json, series->labels.list.data[i].name, series->labels.list.data[i].value);
	json_end_array(json);
	json_end_object(json);
	json_name(json, "samples");
	json_begin_array(json);
	json_begin_object(json);
	json_add_text(json, "rawProfile", text.data, text.len);
	json_end_object(json);
	json_end_array(json);
	json_end_object(json);
	strbuf_deinit(&text);
}

static struct error *encode(void *state, const struct window *window, struct strbuf *ret)
{
	struct json json = {.out = ret};
	json_begin_object(&json);
	json_name(&json, "series");
	json_begin_array(&json);
	series_for_each(window, add_series, &json);
	json_end_array(&json);
	json_end_object(&json);
	return NULL;
}

static enum sink_outcome send_batch(void *state, const uint8_t *id, const void *batch, size_t size, struct error **ret_why)
{
	return engine_post(state, path, type, batch, size, ret_why);
}

static struct error *check(void *state)
{
	static const char nothing[] = "{\"series\":[]}";
	return engine_try(state, path, type, nothing, sizeof(nothing) - 1);
}

static const char *const schemes[] = {"parca", "parcas", NULL};
const struct sink_kind sink_parca = {
	.schemes = schemes,
	.summary = "Parca: pprof profiles, a series for each set of labels",
	.open = open_parca,
	.close = engine_close,
	.encode = encode,
	.send = send_batch,
	.wait_s = engine_wait_s,
	.stop = engine_stop,
	.check = check,
};
