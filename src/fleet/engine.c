/* Engines over HTTP (engine.h). */
#include "fleet/engine.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

enum { ANSWER_MAX = 1 << 20, QUOTE_MAX = 300 };

struct error *engine_open(const struct fleet_sink_options *options, const char *port, const char *const *parameters, struct engine *ret)
{
	struct engine engine = {0};
	struct error *error = sink_url_parse(options->url, parameters, &engine.url);
	if (error)
		return error;
	const struct sink_url *url = &engine.url;
	struct http_options http = options->http;
	bool tls = str_ends_with(url->scheme, "s");
	size_t path = strlen(url->path);
	while (path && url->path[path - 1] == '/')
		path--;
	engine.base = mem_printf("http%s://%s:%s%.*s", tls ? "s" : "", url->host,
				 url->port ? url->port
				 : tls	   ? "443"
					   : port,
				 (int)path, url->path);
	if (url->user)
		http.user = url->user;
	if (!*url->host)
		error = error_new_kind(ERROR_USAGE, "its URL has no host: %s://HOST:%s", url->scheme, port);
	error = error ? error : http_open(&http, &engine.http);
	if (error)
		engine_close(&engine);
	else
		*ret = engine;
	return error;
}

void engine_close(struct engine *engine)
{
	http_close(engine->http);
	free(engine->base);
	sink_url_deinit(&engine->url);
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

enum sink_outcome engine_send(struct engine *engine, const char *path, struct http_request request, struct http_answer *ret_answer,
			      struct error **ret_why)
{
	cleanup_free char *url = mem_printf("%s%s", engine->base, path);
	request.url = url;
	engine->wait_s = 0;
	*ret_why = http_do(engine->http, &request, ANSWER_MAX, ret_answer);
	if (*ret_why)
		return SINK_LATER;
	enum sink_outcome outcome = outcome_of(ret_answer->status);
	if (outcome == SINK_LATER)
		engine->wait_s = ret_answer->retry_after_s;
	if (outcome != SINK_TAKEN)
		*ret_why = explain(engine, ret_answer);
	return outcome;
}

struct error *engine_try(struct engine *engine, const char *path, struct http_request request)
{
	struct http_answer answer = {0};
	struct error *error = NULL;
	engine_send(engine, path, request, &answer, &error);
	strbuf_deinit(&answer.body);
	return error;
}
