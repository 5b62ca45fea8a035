/* URLs (url.h), as far as one needs them to see whether somebody listens there. */
#include "base/formats/url.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Not by the system's list of services, which small systems have not. */
static const char *default_port(const char *scheme)
{
	return !strcasecmp(scheme, "https") ? "443" : !strcasecmp(scheme, "http") ? "80" : scheme;
}

bool url_parse(const char *text, size_t length, struct url *ret)
{
	cleanup_free char *copy = mem_strndup(text, length);
	char *host = strstr(copy, "://"), *user, *port;

	if (!host || host == copy)
		return false;
	*host = '\0';
	host += strlen("://");
	host[strcspn(host, "/?#")] = '\0';
	user = strrchr(host, '@');
	host = user ? user + 1 : host;
	char *bracket = *host == '[' ? strchr(host, ']') : NULL;
	port = strchr(bracket ? bracket : host, ':');
	if (port)
		*port++ = '\0';
	if (bracket) {
		host++;
		*bracket = '\0';
	}
	if (!*host)
		return false;
	*ret = (struct url){.host = mem_strdup(host), .port = mem_strdup(port && *port ? port : default_port(copy))};
	return true;
}

void url_deinit(struct url *url)
{
	free(url->host);
	free(url->port);
}
