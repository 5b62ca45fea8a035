/* A scanner that knows where values end. Skipping counts brackets instead of going down into them, so that no nesting is too deep; a string
 * is what needs care, since brackets in it don't count. */
#include "base/formats/json_reader.h"

#include <stdlib.h>
#include <string.h>

struct json_reader json_reader_init(const char *text, size_t size)
{
	return (struct json_reader){.at = text, .end = text + size};
}

char json_peek(struct json_reader *json)
{
	while (json->at < json->end && strchr(" \t\r\n", *json->at) && *json->at)
		json->at++;
	return json->failed || json->at == json->end ? '\0' : *json->at;
}

static bool take(struct json_reader *json, char c)
{
	if (json_peek(json) != c)
		return false;
	json->at++;
	return true;
}

/* Of a string, the byte behind its closing quote. */
static const char *string_end(const struct json_reader *json)
{
	const char *at = json->at + 1;
	while (at < json->end && *at != '"')
		at += *at == '\\' && at + 1 < json->end ? 2 : 1;
	return at < json->end ? at + 1 : NULL;
}

static void skip_string(struct json_reader *json)
{
	const char *end = string_end(json);
	json->failed |= !end;
	json->at = end ? end : json->end;
}

static void skip_word(struct json_reader *json)
{
	const char *start = json->at;
	while (json->at < json->end && !strchr(",]} \t\r\n:\"[{", *json->at))
		json->at++;
	json->failed |= json->at == start;
}

void json_skip(struct json_reader *json)
{
	size_t depth = 0;
	do {
		char c = json_peek(json);
		if (c == '"') {
			skip_string(json);
		} else if (c == '{' || c == '[') {
			json->at++;
			depth++;
		} else if (depth && (c == '}' || c == ']')) {
			json->at++;
			depth--;
		} else if (depth && (c == ',' || c == ':')) {
			json->at++;
		} else {
			json->failed |= !c;
			skip_word(json);
		}
	} while (depth && !json->failed);
}

bool json_enter(struct json_reader *json, char bracket)
{
	if (!take(json, bracket)) {
		json_skip(json);
		return false;
	}
	json->first = true;
	return true;
}

/* Whether there is another entry before the closing bracket. */
static bool goes_on(struct json_reader *json, char bracket)
{
	bool first = json->first;
	json->first = false;
	if (json->failed || take(json, bracket))
		return false;
	json->failed |= !first && !take(json, ',');
	return !json->failed;
}

bool json_next_member(struct json_reader *json, struct strbuf *name)
{
	if (!goes_on(json, '}'))
		return false;
	json->failed |= json_peek(json) != '"';
	if (!json->failed)
		json_read_string(json, name);
	json->failed |= !take(json, ':');
	return !json->failed;
}

bool json_next_item(struct json_reader *json)
{
	return goes_on(json, ']');
}

double json_read_number(struct json_reader *json)
{
	char text[64] = "", c = json_peek(json);
	const char *start = json->at;
	json_skip(json);
	if (c != '-' && (c < '0' || c > '9'))
		return 0;
	size_t length = (size_t)(json->at - start);
	memcpy(text, start, length < sizeof(text) ? length : sizeof(text) - 1);
	return strtod(text, NULL);
}

static uint32_t hex4(const char *at)
{
	char digits[5] = "";
	memcpy(digits, at, 4);
	return (uint32_t)strtoul(digits, NULL, 16);
}

static void add_utf8(struct strbuf *out, uint32_t code)
{
	if (code < 0x80) {
		strbuf_add_char(out, (char)code);
	} else if (code < 0x800) {
		strbuf_add_char(out, (char)(0xc0 | code >> 6));
		strbuf_add_char(out, (char)(0x80 | (code & 0x3f)));
	} else if (code < 0x10000) {
		strbuf_add_char(out, (char)(0xe0 | code >> 12));
		strbuf_add_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
		strbuf_add_char(out, (char)(0x80 | (code & 0x3f)));
	} else {
		strbuf_add_char(out, (char)(0xf0 | code >> 18));
		strbuf_add_char(out, (char)(0x80 | (code >> 12 & 0x3f)));
		strbuf_add_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
		strbuf_add_char(out, (char)(0x80 | (code & 0x3f)));
	}
}

/* "\u1234", or two of them that stand for one character above 0xffff; returns what is behind. */
static const char *add_unicode(const char *at, const char *end, struct strbuf *out)
{
	uint32_t code, low;
	if (end - at < 6)
		return end;
	code = hex4(at + 2);
	at += 6;
	bool pair = code >= 0xd800 && code < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u';
	low = pair ? hex4(at + 2) : 0;
	if (low >= 0xdc00 && low < 0xe000) {
		add_utf8(out, 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
		return at + 6;
	}
	add_utf8(out, code);
	return at;
}

static const char *add_escape(const char *at, const char *end, struct strbuf *out)
{
	static const char letters[] = "bfnrt", meanings[] = "\b\f\n\r\t";
	if (at[1] == 'u')
		return add_unicode(at, end, out);
	const char *letter = strchr(letters, at[1]);
	strbuf_add_char(out, letter && *letter ? meanings[letter - letters] : at[1]);
	return at + 2;
}

void json_read_string(struct json_reader *json, struct strbuf *ret)
{
	strbuf_clear(ret);
	bool is_string = json_peek(json) == '"';
	const char *at = json->at + 1;
	json_skip(json);
	if (!is_string || json->failed)
		return;
	for (const char *end = json->at - 1; at < end;) {
		size_t plain = (size_t)(end - at);
		const char *escape = memchr(at, '\\', plain);
		plain = escape ? (size_t)(escape - at) : plain;
		strbuf_add(ret, at, plain);
		at += plain;
		if (escape)
			at = add_escape(at, end, ret);
	}
}
