/* Who is asked by a URL of the web: SCHEME://[USER@]HOST[:PORT][/…] (RFC 3986, section 3.2). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct url {
	char *host; /* a name or an address, without the brackets of IPv6; freed by url_deinit() */
	char *port; /* its number; where none is said that of http or https, of other schemes the name: getaddrinfo() takes both */
};

/* False, with nothing to free, when there is no scheme or no host. */
bool url_parse(const char *text, size_t length, struct url *ret);
void url_deinit(struct url *url);
