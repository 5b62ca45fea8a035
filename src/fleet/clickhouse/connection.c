/* Requests to ClickHouse, and what its answers mean. The server writes an exception as text, "Code: 60, e.displayText() = …" or "Code: 60.
 * DB::Exception: …". Answers are held back by the server until they are whole (wait_end_of_query), so that the status tells whether they
 * are. */
#include "fleet/clickhouse/connection.h"

#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "base/vec.h"
#include "fleet/sink_url.h"

#include <stdlib.h>
#include <string.h>

enum { ANSWER_MAX = 1 << 20 };

struct clickhouse {
	struct http *http;
	struct http_options options;
	struct sink_url url;
	const char *database;
	VEC(char *) servers;  /* "https://HOST:PORT" */
	size_t current;	      /* the one that answered last */
	unsigned int version; /* 0 = not known yet */
	unsigned int wait_s;
};

static void add_server(struct clickhouse *clickhouse, bool tls, const char *host, size_t length, const char *port)
{
	const char *port_default = tls ? "8443" : "8123";
	bool has_port = memchr(host, ':', length) && host[length - 1] != ']';
	vec_push(&clickhouse->servers, mem_printf("%s://%.*s%s%s", tls ? "https" : "http", (int)length, host, has_port ? "" : ":",
						  has_port ? ""
						  : port   ? port
							   : port_default));
}

/* Names of databases that need no quotes: what is in the URL stands in many statements. */
static bool is_name(const char *text)
{
	for (const char *c = text; *c; c++)
		if (!((*c | 0x20) >= 'a' && (*c | 0x20) <= 'z') && *c != '_' && (c == text || *c < '0' || *c > '9'))
			return false;
	return *text && strlen(text) <= 64;
}

static struct error *read_url(struct clickhouse *clickhouse)
{
	struct sink_url *url = &clickhouse->url;
	const char *also = sink_url_parameter(url, "also");
	bool tls = !strcmp(url->scheme, "clickhouses");
	if (!tls && strcmp(url->scheme, "clickhouse") != 0) {
		struct strbuf safe = {0};
		text_add_safe(&safe, url->scheme, strlen(url->scheme));
		struct error *error =
			error_new_kind(ERROR_USAGE, "%s:// is not ClickHouse, which alone can be asked: clickhouse:// or clickhouses://",
				       strbuf_str(&safe));
		strbuf_deinit(&safe);
		return error;
	}
	if (!*url->host)
		return error_new_kind(ERROR_USAGE, "clickhouse:// needs a host, as in clickhouse://db.example:8123/perf");
	clickhouse->database = url->path[0] && url->path[1] ? url->path + 1 : CLICKHOUSE_DATABASE;
	if (!is_name(clickhouse->database))
		return error_new_kind(ERROR_USAGE, "the name of a database has letters, digits and _ only: the URL's path is its name");
	add_server(clickhouse, tls, url->host, strlen(url->host), url->port);
	while (also && *also) {
		size_t length = strcspn(also, ",");
		if (length)
			add_server(clickhouse, tls, also, length, NULL);
		also += length + (also[length] == ',');
	}
	if (url->user)
		clickhouse->options.user = url->user;
	return NULL;
}

struct error *clickhouse_open(const char *url, const struct http_options *options, struct clickhouse **ret)
{
	static const char *const names[] = {"also", NULL};
	struct clickhouse *clickhouse = mem_zalloc(sizeof(*clickhouse));
	clickhouse->options = *options;
	struct error *error = sink_url_parse(url, names, &clickhouse->url);
	error = error ? error : read_url(clickhouse);
	error = error ? error : http_open(&clickhouse->options, &clickhouse->http);
	if (error)
		clickhouse_close(clickhouse);
	else
		*ret = clickhouse;
	return error;
}

void clickhouse_close(struct clickhouse *clickhouse)
{
	if (!clickhouse)
		return;
	http_close(clickhouse->http);
	for (size_t i = 0; i < clickhouse->servers.len; i++)
		free(clickhouse->servers.data[i]);
	vec_deinit(&clickhouse->servers);
	sink_url_deinit(&clickhouse->url);
	free(clickhouse);
}

void clickhouse_stop(struct clickhouse *clickhouse)
{
	http_stop(clickhouse->http);
}

const char *clickhouse_database(const struct clickhouse *clickhouse)
{
	return clickhouse->database;
}

size_t clickhouse_server(const struct clickhouse *clickhouse)
{
	return clickhouse->current;
}

unsigned int clickhouse_wait_s(const struct clickhouse *clickhouse)
{
	return clickhouse->wait_s;
}

/* ---- text ---- */

void clickhouse_add_literal(struct strbuf *sql, const char *text, size_t length)
{
	strbuf_add_char(sql, '\'');
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '\'' || c == '\\')
			strbuf_printf(sql, "\\%c", c);
		else if (c < ' ' || c == 0x7f)
			strbuf_printf(sql, "\\x%02X", c);
		else
			strbuf_add_char(sql, (char)c);
	}
	strbuf_add_char(sql, '\'');
}

/* ---- requests ---- */

/* Codes of ClickHouse (system.errors) for rows that it can't read. */
static bool is_about_data(unsigned int code)
{
	static const unsigned int codes[] = {6, 26, 27, 32, 33, 38, 41, 72, 117, 128, 131, 271, 354};
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i] == code)
			return true;
	return false;
}

static struct error *error_of(const struct http_answer *answer, const char *server, enum clickhouse_failure *ret_failure)
{
	struct strbuf text = {0};
	const char *body = strbuf_str(&answer->body);
	unsigned int code = str_starts_with(body, "Code: ") ? (unsigned int)strtoul(body + 6, NULL, 10) : 0;
	size_t length = strcspn(body, "\n");
	*ret_failure = is_about_data(code) ? CLICKHOUSE_BAD_DATA : CLICKHOUSE_FAILED;
	text_add_safe(&text, body, length < 500 ? length : 500);
	const char *hint = code == 60 || code == 81 ? "; 'perf agent schema clickhouse' prints what makes its tables" : "";
	struct error *error =
		error_new("%s: status %d: %s%s", server, answer->status, text.len ? strbuf_str(&text) : "no reason given", hint);
	strbuf_deinit(&text);
	return error;
}

/* One request to the current server. `query` is in the URL where there is a body, else it is the body. `settings` NULL: not about the
 * database, which needn't be there. */
static struct error *request(struct clickhouse *clickhouse, const char *query, const char *settings, const void *body, size_t size,
			     size_t limit, struct http_answer *answer, enum clickhouse_failure *ret_failure)
{
	struct strbuf url = {0};
	const char *server = clickhouse->servers.data[clickhouse->current];
	strbuf_printf(&url, "%s/?wait_end_of_query=1%s%s%s", server, settings ? "&database=" : "", settings ? clickhouse->database : "",
		      settings ? settings : "");
	if (body) {
		strbuf_add_str(&url, "&query=");
		sink_url_add_encoded(&url, query);
	}
	const struct http_request http = {
		.method = "POST",
		.url = strbuf_str(&url),
		.body = body ? body : query,
		.body_size = body ? size : strlen(query),
		.content_type = "application/octet-stream",
		.content_encoding = body ? "gzip" : NULL,
	};
	struct error *error = http_do(clickhouse->http, &http, limit, answer);
	strbuf_deinit(&url);
	clickhouse->wait_s = error ? 0 : answer->retry_after_s;
	*ret_failure = CLICKHOUSE_AWAY;
	if (error || answer->status == 200)
		return error;
	return error_of(answer, server, ret_failure);
}

static void next_server(struct clickhouse *clickhouse)
{
	clickhouse->current = (clickhouse->current + 1) % clickhouse->servers.len;
}

/* Questions and statements may be repeated. */
static struct error *ask_any(struct clickhouse *clickhouse, const char *query, const char *settings, size_t limit, struct strbuf *ret,
			     enum clickhouse_failure *ret_failure)
{
	struct error *error = NULL;
	for (size_t i = 0; i < clickhouse->servers.len; i++) {
		struct http_answer answer = {0};
		error_free(error);
		error = request(clickhouse, query, settings, NULL, 0, limit, &answer, ret_failure);
		if (!error && ret) {
			strbuf_deinit(ret);
			*ret = answer.body;
			return NULL;
		}
		strbuf_deinit(&answer.body);
		if (!error || *ret_failure != CLICKHOUSE_AWAY)
			return error;
		next_server(clickhouse);
	}
	return error;
}

struct error *clickhouse_run(struct clickhouse *clickhouse, const char *statement)
{
	enum clickhouse_failure failure;
	return ask_any(clickhouse, statement, NULL, ANSWER_MAX, NULL, &failure);
}

struct error *clickhouse_ask(struct clickhouse *clickhouse, const char *question, const char *settings, size_t limit, struct strbuf *ret)
{
	enum clickhouse_failure failure;
	return ask_any(clickhouse, question, settings, limit, ret, &failure);
}

struct error *clickhouse_ask_number(struct clickhouse *clickhouse, const char *question, const char *settings, uint64_t *ret)
{
	struct strbuf answer = {0};
	struct error *error = clickhouse_ask(clickhouse, question, settings, ANSWER_MAX, &answer);
	if (answer.len && answer.data[answer.len - 1] == '\n')
		answer.data[--answer.len] = '\0';
	if (!error && !number_parse_u64(strbuf_str(&answer), ret))
		error = error_new("%s: a number was expected as the answer", clickhouse->servers.data[clickhouse->current]);
	strbuf_deinit(&answer);
	return error;
}

struct error *clickhouse_insert(struct clickhouse *clickhouse, const char *statement, const char *settings, const void *rows, size_t size,
				enum clickhouse_failure *ret_failure)
{
	struct http_answer answer = {0};
	struct error *error = request(clickhouse, statement, settings, rows, size, ANSWER_MAX, &answer, ret_failure);
	strbuf_deinit(&answer.body);
	if (error && *ret_failure != CLICKHOUSE_BAD_DATA)
		next_server(clickhouse);
	return error;
}

/* ---- version ---- */

bool clickhouse_known_version(const struct clickhouse *clickhouse, unsigned int *ret)
{
	*ret = clickhouse->version;
	return clickhouse->version != 0;
}

struct error *clickhouse_version(struct clickhouse *clickhouse, unsigned int *ret)
{
	struct strbuf answer = {0};
	enum clickhouse_failure failure;
	struct error *error = clickhouse->version ? NULL : ask_any(clickhouse, "SELECT version()", NULL, ANSWER_MAX, &answer, &failure);
	if (!error && !clickhouse->version) {
		char *end;
		unsigned long major = strtoul(strbuf_str(&answer), &end, 10), minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
		if (major && major < 1000 && minor < 1000)
			clickhouse->version = (unsigned int)(major * 1000 + minor);
		else
			error = error_new("%s: 'SELECT version()' gives no version: it is not ClickHouse",
					  clickhouse->servers.data[clickhouse->current]);
	}
	strbuf_deinit(&answer);
	*ret = clickhouse->version;
	return error;
}
