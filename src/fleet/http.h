/* A client for HTTP, by libcurl, which is loaded when the first client is opened (base/library.h). Certificates are checked. No
 * redirection is followed: a secret goes to the server that it was given for. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

/* What holds for all requests to a server. Strings are the caller's and live as long as the client. */
struct http_options {
	const char *token_file;	   /* its first line is sent as "Authorization: Bearer …"; read anew for each request. NULL = none */
	const char *user;	   /* HTTP basic authentication, with the first line of password_file; NULL = none */
	const char *password_file; /* or NULL */
	const char *ca_file;	   /* certificates that are trusted, instead of the system's; or NULL */
	const char *certificate_file, *key_file; /* the client's own, or NULL */
	unsigned int timeout_ms;		 /* of a request in whole; 0 = 30,000 */
};

struct http_request {
	const char *method; /* "GET", "POST" */
	const char *url;    /* http:// or https:// */
	const void *body;
	size_t body_size;
	const char *content_type, *content_encoding; /* or NULL */
	const char *const *headers;		     /* "Name: value", ended by NULL; or NULL */
};

struct http_answer {
	int status;		    /* 200, … */
	struct strbuf body;	    /* ≤ the limit of the request; the caller's to free (strbuf_deinit) */
	unsigned int retry_after_s; /* as the server says; 0 = it doesn't */
};

struct http;

/* Nothing is connected before the first request; connections are kept. One thread at a time. */
struct error *http_open(const struct http_options *options, struct http **ret);
void http_close(struct http *http);
/* The request that is under way ends within a second, with an error; all later ones at once. From any thread. */
void http_stop(struct http *http);
/* An error: no answer has come (refused, no such host, time is up, certificate), with the reason. Any status is an answer. `ret` is
 * filled anew. `limit`: bytes of an answer's body; of more the rest is an error. */
struct error *http_do(struct http *http, const struct http_request *request, size_t limit, struct http_answer *ret);
