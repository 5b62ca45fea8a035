/* HTTP by libcurl (http.h). Each request sets all options anew; what stays of one is the connection. Secrets are read for a request and
 * forgotten after it, and are in no message: messages name the server, and what libcurl and the server say. */
#include "fleet/http.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/curl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMEOUT_MS = 30000, CONNECT_MS = 10000, SECRET_MAX = 1 << 16 };

struct http {
	struct http_options options;
	const struct curl_api *api;
	struct curl *curl;
	atomic_bool stopped;
	/* Of the request that is under way: */
	char message[CURL_ERROR_SIZE];
	struct http_answer *answer;
	size_t limit;	     /* of answer->body */
	struct error *error; /* of the limit */
};

/* What is in memory when a request begins, and shall not be longer than that. */
struct secrets {
	char *token, *password;
};

/* ---- secrets ---- */

/* The first line. */
static struct error *read_secret(const char *path, char **ret)
{
	struct strbuf text = {0};
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	int failed = fd < 0 ? -errno : strbuf_read(&text, fd, SECRET_MAX);
	size_t length = strcspn(strbuf_str(&text), "\r\n");
	struct error *error = NULL;
	if (failed)
		error = error_system(-failed, "%s", path);
	else if (!length)
		error = error_new("%s has no secret in its first line", path);
	for (size_t i = 0; i < length && !error; i++)
		if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
			error = error_new("%s has a control character in its first line", path);
	if (!error)
		*ret = mem_strndup(text.data, length);
	if (text.data)
		explicit_bzero(text.data, text.len);
	strbuf_deinit(&text);
	return error;
}

static void forget(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

static void secrets_deinit(struct secrets *secrets)
{
	forget(secrets->token);
	forget(secrets->password);
}

static struct error *read_secrets(const struct http_options *options, struct secrets *ret)
{
	struct error *error = NULL;
	if (options->token_file)
		error = read_secret(options->token_file, &ret->token);
	if (!error && options->user && options->password_file)
		error = read_secret(options->password_file, &ret->password);
	return error;
}

/* ---- answers ---- */

/* Called with a piece of the body. Another number than that of its bytes ends the request. */
static size_t take_body(char *data, size_t size, size_t count, void *context)
{
	struct http *http = context;
	size_t bytes = size * count;
	struct strbuf *body = &http->answer->body;
	size_t room = http->limit - body->len;
	strbuf_add(body, data, bytes < room ? bytes : room);
	if (bytes <= room)
		return bytes;
	http->error = error_new("its answer has more than %zu bytes", http->limit);
	return 0;
}

/* Called when bytes go or come, and else once a second. */
static int progress(void *context, int64_t down, int64_t downloaded, int64_t up, int64_t uploaded)
{
	struct http *http = context;
	return atomic_load_explicit(&http->stopped, memory_order_relaxed);
}

/* ---- requests ---- */

static struct curl_list *add_header(const struct http *http, struct curl_list *list, const char *name, const char *value)
{
	cleanup_free char *line = mem_printf("%s: %s", name, value);
	struct curl_list *longer = http->api->slist_append(list, line);
	if (!longer)
		mem_exhausted();
	explicit_bzero(line, strlen(line));
	return longer;
}

static struct curl_list *make_headers(const struct http *http, const struct http_request *request, const struct secrets *secrets)
{
	struct curl_list *list = http->api->slist_append(NULL, "Expect:"); /* no waiting for 100 Continue */
	if (request->content_type)
		list = add_header(http, list, "Content-Type", request->content_type);
	if (request->content_encoding)
		list = add_header(http, list, "Content-Encoding", request->content_encoding);
	for (const char *const *header = request->headers; header && *header; header++)
		list = http->api->slist_append(list, *header);
	if (secrets->token) {
		cleanup_free char *value = mem_printf("Bearer %s", secrets->token);
		list = add_header(http, list, "Authorization", value);
		explicit_bzero(value, strlen(value));
	}
	return list;
}

/* What is the same for all requests. */
static void set_common(struct http *http)
{
	const struct http_options *options = &http->options;
	int (*set)(struct curl * curl, int option, ...) = http->api->easy_setopt;
	unsigned int timeout = options->timeout_ms ? options->timeout_ms : TIMEOUT_MS;
	http->api->easy_reset(http->curl);
	set(http->curl, CURL_NOSIGNAL, 1L);
	set(http->curl, CURL_PROTOCOLS, (long)CURL_HTTP_AND_HTTPS);
	set(http->curl, CURL_SSL_VERIFYPEER, 1L);
	set(http->curl, CURL_SSL_VERIFYHOST, 2L);
	set(http->curl, CURL_USERAGENT, "perf-ng/" PERF_VERSION);
	set(http->curl, CURL_TIMEOUT_MS, (long)timeout);
	set(http->curl, CURL_CONNECTTIMEOUT_MS, (long)(timeout < CONNECT_MS ? timeout : CONNECT_MS));
	set(http->curl, CURL_ERRORBUFFER, http->message);
	set(http->curl, CURL_WRITEFUNCTION, take_body);
	set(http->curl, CURL_WRITEDATA, http);
	set(http->curl, CURL_XFERINFOFUNCTION, progress);
	set(http->curl, CURL_XFERINFODATA, http);
	set(http->curl, CURL_NOPROGRESS, 0L);
	if (options->ca_file)
		set(http->curl, CURL_CAINFO, options->ca_file);
	if (options->certificate_file)
		set(http->curl, CURL_SSLCERT, options->certificate_file);
	if (options->key_file)
		set(http->curl, CURL_SSLKEY, options->key_file);
}

static void set_request(struct http *http, const struct http_request *request, const struct secrets *secrets)
{
	int (*set)(struct curl * curl, int option, ...) = http->api->easy_setopt;
	set(http->curl, CURL_URL, request->url);
	if (request->body) {
		set(http->curl, CURL_POST, 1L);
		set(http->curl, CURL_POSTFIELDSIZE_LARGE, (int64_t)request->body_size);
		set(http->curl, CURL_POSTFIELDS, request->body);
	} else {
		set(http->curl, CURL_HTTPGET, 1L);
	}
	set(http->curl, CURL_CUSTOMREQUEST, request->method);
	if (http->options.user) {
		set(http->curl, CURL_HTTPAUTH, (long)CURL_AUTH_BASIC);
		set(http->curl, CURL_USERNAME, http->options.user);
		set(http->curl, CURL_PASSWORD, secrets->password ? secrets->password : "");
	}
}

/* A library for TLS may write to a connection that the server has closed. */
static int perform(struct http *http)
{
	const struct timespec now = {0};
	sigset_t pipe, before, pending;
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	int code = http->api->easy_perform(http->curl);
	if (!sigismember(&pending, SIGPIPE))
		sigtimedwait(&pipe, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

/* SCHEME://HOST:PORT; what is behind that may be a statement with data in it. */
static void add_place(const char *url, struct strbuf *out)
{
	const char *host = strstr(url, "://");
	host = host ? host + strlen("://") : url;
	text_add_safe(out, url, (size_t)(host - url) + strcspn(host, "/?#"));
}

static struct error *explain(struct http *http, int code, const char *url)
{
	struct strbuf place = {0}, reason = {0};
	const char *text = *http->message ? http->message : http->api->easy_strerror(code);
	struct error *error = http->error;
	http->error = NULL;
	add_place(url, &place);
	text_add_safe(&reason, text, strlen(text));
	if (error)
		error = error_wrap(error, "%s", strbuf_str(&place));
	else if (code == CURL_STOPPED)
		error = error_new("%s: stopped", strbuf_str(&place));
	else if (code == CURL_CERTIFICATE_REFUSED)
		error = error_new("%s: its certificate is not trusted (%s); if it is right, name the authority's certificate with ca-file",
				  strbuf_str(&place), strbuf_str(&reason));
	else
		error = error_new("%s: %s", strbuf_str(&place), strbuf_str(&reason));
	strbuf_deinit(&place);
	strbuf_deinit(&reason);
	return error;
}

static void read_head(struct http *http)
{
	int64_t seconds = 0;
	long status = 0;
	http->api->easy_getinfo(http->curl, CURL_INFO_STATUS, &status);
	http->answer->status = (int)status;
	http->api->easy_getinfo(http->curl, CURL_INFO_RETRY_AFTER, &seconds);
	http->answer->retry_after_s = seconds < 0 ? 0 : seconds > INT32_MAX ? INT32_MAX : (unsigned int)seconds;
}

struct error *http_do(struct http *http, const struct http_request *request, size_t limit, struct http_answer *ret)
{
	struct secrets secrets = {0};
	*ret = (struct http_answer){0};
	struct error *error = read_secrets(&http->options, &secrets);
	if (error) {
		secrets_deinit(&secrets);
		return error;
	}
	http->answer = ret;
	http->limit = limit;
	*http->message = '\0';
	struct curl_list *headers = make_headers(http, request, &secrets);
	set_common(http);
	set_request(http, request, &secrets);
	http->api->easy_setopt(http->curl, CURL_HTTPHEADER, headers);
	int code = atomic_load(&http->stopped) ? CURL_STOPPED : perform(http);
	if (code == CURL_OK)
		read_head(http);
	else
		error = explain(http, code, request->url);
	http->api->easy_reset(http->curl); /* before what it points to is gone */
	http->api->slist_free_all(headers);
	secrets_deinit(&secrets);
	if (error) {
		strbuf_deinit(&ret->body);
		*ret = (struct http_answer){0};
	}
	return error;
}

struct error *http_open(const struct http_options *options, struct http **ret)
{
	const struct curl_api *api;
	if (options->token_file && options->user)
		return error_new_kind(ERROR_USAGE, "a token and a user with a password are two ways to say who asks: choose one");
	if (options->password_file && !options->user)
		return error_new_kind(ERROR_USAGE, "a password-file without a user: name the user in the URL, USER@HOST");
	struct error *error = curl_load(&api);
	if (error)
		return error;
	struct http *http = mem_zalloc(sizeof(*http));
	*http = (struct http){.options = *options, .api = api, .curl = api->easy_init()};
	if (!http->curl)
		mem_exhausted();
	*ret = http;
	return NULL;
}

void http_close(struct http *http)
{
	if (!http)
		return;
	http->api->easy_cleanup(http->curl);
	free(http);
}

void http_stop(struct http *http)
{
	atomic_store(&http->stopped, true);
}
