/* The URL of a sink: SCHEME://[USER@][HOST[:PORT]][/PATH][?NAME=VALUE&…]. It says where, never a secret. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct sink_url_parameter {
	char *name, *value; /* %XX decoded */
};

struct sink_url {
	char *scheme;
	char *user; /* or NULL */
	char *host; /* as it was given: an address of IPv6 in its brackets; "" = none */
	char *port; /* or NULL */
	char *path; /* "" or with its slash in front; %XX decoded */
	VEC(struct sink_url_parameter) parameters;
};

/* All that is known to the kind are parameters with these names, ended by NULL: another one is an error, as are a password and a control
 * character, which would have a header of HTTP end in it. */
struct error *sink_url_parse(const char *url, const char *const *names, struct sink_url *ret);
/* Its path alone, decoded; "" of what isn't a URL. To be freed. */
char *sink_url_path(const char *url);
/* Text as a part of a path or a query: all but letters, digits and -_.~/ as %XX. */
void sink_url_add_encoded(struct strbuf *out, const char *text);
void sink_url_deinit(struct sink_url *url);
/* NULL = it isn't there. */
const char *sink_url_parameter(const struct sink_url *url, const char *name);
