/* URLs of sinks (RFC 3986), read from left to right. */
#include "fleet/sink_url.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int digit_of(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? (c | 0x20) - 'a' + 10 : -1;
}

/* With %XX decoded; a % without two digits stands for itself. */
static char *decode(const char *text, size_t length)
{
	struct strbuf out = {0};
	for (size_t i = 0; i < length; i++) {
		bool coded = text[i] == '%' && i + 2 < length && digit_of(text[i + 1]) >= 0 && digit_of(text[i + 2]) >= 0;
		strbuf_add_char(&out, coded ? (char)(digit_of(text[i + 1]) << 4 | digit_of(text[i + 2])) : text[i]);
		i += coded ? 2 : 0;
	}
	return strbuf_detach(&out);
}

static bool has_control(const char *text)
{
	for (; *text; text++) {
		int high = *text == '%' ? digit_of(text[1]) : -1, low = high < 0 ? -1 : digit_of(text[2]);
		if (iscntrl((unsigned char)*text) || (low >= 0 && iscntrl(high << 4 | low)))
			return true;
	}
	return false;
}

static struct error *add_parameter(const char *text, size_t length, const char *const *names, struct sink_url *url)
{
	const char *equals = memchr(text, '=', length);
	size_t name_length = equals ? (size_t)(equals - text) : length;
	char *name = decode(text, name_length);
	for (const char *const *known = names; *known; known++)
		if (!strcmp(*known, name)) {
			char *value = decode(equals ? equals + 1 : "", equals ? length - name_length - 1 : 0);
			vec_push(&url->parameters, (struct sink_url_parameter){name, value});
			return NULL;
		}
	struct strbuf list = {0}, safe = {0};
	for (const char *const *known = names; *known; known++)
		strbuf_printf(&list, "%s%s", list.len ? ", " : "", *known);
	text_add_safe(&safe, name, strlen(name));
	struct error *error = error_new_kind(ERROR_USAGE, "%s:// has no parameter '%s'%s%s", url->scheme, strbuf_str(&safe),
					     list.len ? "; it has " : "", strbuf_str(&list));
	strbuf_deinit(&list);
	strbuf_deinit(&safe);
	free(name);
	return error;
}

static struct error *parse_parameters(const char *text, const char *const *names, struct sink_url *url)
{
	struct error *error = NULL;
	while (*text && *text != '#' && !error) {
		size_t length = strcspn(text, "&#");
		if (length)
			error = add_parameter(text, length, names, url);
		text += length + (text[length] == '&');
	}
	return error;
}

/* USER@HOST:PORT */
static struct error *parse_authority(const char *text, size_t length, struct sink_url *url)
{
	const char *end = text + length, *at = memrchr(text, '@', length);
	if (at && memchr(text, ':', (size_t)(at - text)))
		return error_new_kind(ERROR_USAGE,
				      "a password doesn't belong in a URL, which others may see: put it into a file of its own, which "
				      "password-file names");
	url->user = at ? decode(text, (size_t)(at - text)) : NULL;
	text = at ? at + 1 : text;
	const char *bracket = *text == '[' ? memchr(text, ']', (size_t)(end - text)) : NULL, *from = bracket ? bracket : text;
	const char *colon = memchr(from, ':', (size_t)(end - from));
	url->host = mem_strndup(text, (size_t)((colon ? colon : end) - text));
	url->port = colon && colon + 1 < end ? mem_strndup(colon + 1, (size_t)(end - colon - 1)) : NULL;
	if (url->port && (strspn(url->port, "0123456789") != strlen(url->port) || strlen(url->port) > 5))
		return error_new_kind(ERROR_USAGE, "the port of the URL isn't a number");
	return NULL;
}

struct error *sink_url_parse(const char *text, const char *const *names, struct sink_url *ret)
{
	struct sink_url url = {0};
	const char *colon = strstr(text, "://");
	if (!colon || colon == text)
		return error_new_kind(ERROR_USAGE, "not a URL: it begins with a scheme and ://");
	if (has_control(text))
		return error_new_kind(ERROR_USAGE, "a URL has no control characters, not even as %%00 to %%1F and %%7F");
	url.scheme = mem_strndup(text, (size_t)(colon - text));
	text = colon + strlen("://");
	size_t authority = strcspn(text, "/?#"), path = strcspn(text + authority, "?#");
	struct error *error = parse_authority(text, authority, &url);
	text += authority;
	url.path = decode(text, path);
	text += path;
	if (!error && *text == '?')
		error = parse_parameters(text + 1, names, &url);
	if (error) {
		sink_url_deinit(&url);
		return error;
	}
	*ret = url;
	return NULL;
}

void sink_url_add_encoded(struct strbuf *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		bool plain = ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9') || strchr("-_.~/", c);
		if (plain)
			strbuf_add_char(out, (char)c);
		else
			strbuf_printf(out, "%%%02X", c);
	}
}

char *sink_url_path(const char *text)
{
	const char *colon = strstr(text, "://"), *path = colon ? strpbrk(colon + strlen("://"), "/?#") : NULL;
	return decode(path ? path : "", path ? strcspn(path, "?#") : 0);
}

void sink_url_deinit(struct sink_url *url)
{
	free(url->scheme);
	free(url->user);
	free(url->host);
	free(url->port);
	free(url->path);
	for (size_t i = 0; i < url->parameters.len; i++) {
		free(url->parameters.data[i].name);
		free(url->parameters.data[i].value);
	}
	vec_deinit(&url->parameters);
}

const char *sink_url_parameter(const struct sink_url *url, const char *name)
{
	for (size_t i = 0; i < url->parameters.len; i++)
		if (!strcmp(url->parameters.data[i].name, name))
			return url->parameters.data[i].value;
	return NULL;
}
