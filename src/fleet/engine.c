/* Engines over HTTP (engine.h). */
#include "fleet/engine.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { ANSWER_MAX = 1 << 20, QUOTE_MAX = 300 };

static char *make_base(const struct sink_url *url, const char *port)
{
	bool tls = str_ends_with(url->scheme, "s");
	struct strbuf base = {0};
	strbuf_printf(&base, "http%s://%s:%s", tls ? "s" : "", url->host, url->port ? url->port : tls ? "443" : port);
	sink_url_add_encoded(&base, url->path);
	while (base.data[base.len - 1] == '/')
		base.data[--base.len] = '\0';
	return strbuf_detach(&base);
}

struct error *engine_open(const struct fleet_sink_options *options, const char *port, const char *const *parameters, struct engine **ret)
{
	struct engine *engine = mem_zalloc(sizeof(*engine));
	struct http_options http = options->http;
	struct error *error = sink_url_parse(options->url, parameters, &engine->url);
	if (error) {
		free(engine);
		return error;
	}
	engine->base = make_base(&engine->url, port);
	if (engine->url.user)
		http.user = engine->url.user;
	if (!*engine->url.host)
		error = error_new_kind(ERROR_USAGE, "its URL has no host: %s://HOST:%s", engine->url.scheme, port);
	error = error ? error : http_open(&http, &engine->http);
	if (error)
		engine_close(engine);
	else
		*ret = engine;
	return error;
}

void engine_close(void *state)
{
	struct engine *engine = state;
	http_close(engine->http);
	free(engine->base);
	free(engine->header);
	sink_url_deinit(&engine->url);
	free(engine);
}

unsigned int engine_wait_s(const void *state)
{
	return ((const struct engine *)state)->wait_s;
}

void engine_stop(void *state)
{
	http_stop(((struct engine *)state)->http);
}

static enum sink_outcome outcome_of(int status)
{
	static const int later[] = {401, 403, 404, 408, 409, 425, 429};
	for (size_t i = 0; i < sizeof(later) / sizeof(*later); i++)
		if (status == later[i])
			return SINK_LATER;
	return status >= 200 && status < 300 ? SINK_TAKEN : status >= 400 && status < 500 ? SINK_REFUSED : SINK_LATER;
}

/* What helps, where the status tells. */
static const char *hint_of(int status)
{
	switch (status) {
	case 401:
		return "; who asks is said by token-file, or by USER@ in the URL and password-file";
	case 403:
		return "; who asks may not write there";
	case 404:
		return "; is the path of the URL right?";
	case 413:
		return "; send shorter windows";
	default:
		return status >= 300 && status < 400 ? "; redirections aren't followed: name the right place in the URL" : "";
	}
}

static struct error *explain(const struct engine *engine, const struct http_answer *answer)
{
	struct strbuf quote = {0};
	size_t length = answer->body.len < QUOTE_MAX ? answer->body.len : QUOTE_MAX;
	while (length && strchr(" \r\n\t", answer->body.data[length - 1]))
		length--;
	text_add_safe(&quote, strbuf_str(&answer->body), length);
	struct error *error = error_new("%s: status %d%s%s%s", engine->base, answer->status, quote.len ? ": " : "", strbuf_str(&quote),
					hint_of(answer->status));
	strbuf_deinit(&quote);
	return error;
}

enum sink_outcome engine_send(struct engine *engine, const char *path, const struct http_request *request, struct http_answer *ret_answer,
			      struct error **ret_why)
{
	cleanup_free char *url = mem_printf("%s%s", engine->base, path);
	struct http_request filled = *request;
	filled.url = url;
	filled.headers = engine->headers;
	engine->wait_s = 0;
	*ret_why = http_do(engine->http, &filled, ANSWER_MAX, ret_answer);
	if (*ret_why)
		return SINK_LATER;
	enum sink_outcome outcome = outcome_of(ret_answer->status);
	if (outcome == SINK_LATER)
		engine->wait_s = ret_answer->retry_after_s;
	if (outcome != SINK_TAKEN)
		*ret_why = explain(engine, ret_answer);
	return outcome;
}

static struct http_request make_post(const char *type, const void *body, size_t size)
{
	return (struct http_request){.method = "POST", .body = body, .body_size = size, .content_type = type};
}

enum sink_outcome engine_post(struct engine *engine, const char *path, const char *type, const void *body, size_t size,
			      struct error **ret_why)
{
	const struct http_request request = make_post(type, body, size);
	struct http_answer answer = {0};
	enum sink_outcome outcome = engine_send(engine, path, &request, &answer, ret_why);
	strbuf_deinit(&answer.body);
	return outcome;
}

struct error *engine_try(struct engine *engine, const char *path, const char *type, const void *nothing, size_t size)
{
	const struct http_request request = make_post(type, nothing, size);
	struct http_answer answer = {0};
	struct error *error = NULL;
	engine_send(engine, path, &request, &answer, &error);
	strbuf_deinit(&answer.body);
	if (answer.status != 400)
		return error;
	error_free(error);
	return NULL;
}
