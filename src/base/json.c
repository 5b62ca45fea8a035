/* Whether a comma is needed follows from what came last: a value or an end, but not a beginning or a name. */
#include "base/json.h"

#include "base/text.h"

#include <stdarg.h>
#include <string.h>

static void add_comma(struct json *json)
{
	if (json->needs_comma)
		strbuf_add_str(json->out, json->comma ? json->comma : ",");
	json->needs_comma = false;
}

static void begin(struct json *json, char bracket)
{
	add_comma(json);
	strbuf_add_char(json->out, bracket);
}

static void end(struct json *json, char bracket)
{
	strbuf_add_char(json->out, bracket);
	json->needs_comma = true;
}

void json_begin_object(struct json *json)
{
	begin(json, '{');
}

void json_end_object(struct json *json)
{
	end(json, '}');
}

void json_begin_array(struct json *json)
{
	begin(json, '[');
}

void json_end_array(struct json *json)
{
	end(json, ']');
}

void json_name(struct json *json, const char *name)
{
	add_comma(json);
	if (json->indent)
		strbuf_add_str(json->out, json->indent);
	text_add_json(json->out, name, strlen(name));
	strbuf_add_str(json->out, json->colon ? json->colon : ":");
}

void json_text(struct json *json, const char *text, size_t length)
{
	add_comma(json);
	text_add_json(json->out, text, length);
	json->needs_comma = true;
}

void json_string(struct json *json, const char *text)
{
	json_text(json, text, strlen(text));
}

void json_u64(struct json *json, uint64_t value)
{
	add_comma(json);
	strbuf_add_u64(json->out, value, 0);
	json->needs_comma = true;
}

void json_bool(struct json *json, bool value)
{
	add_comma(json);
	strbuf_add_str(json->out, value ? "true" : "false");
	json->needs_comma = true;
}

void json_value(struct json *json, const char *format, ...)
{
	va_list args;
	add_comma(json);
	va_start(args, format);
	strbuf_vprintf(json->out, format, args);
	va_end(args);
	json->needs_comma = true;
}

void json_add_text(struct json *json, const char *name, const char *text, size_t length)
{
	json_name(json, name);
	json_text(json, text, length);
}

void json_add_string(struct json *json, const char *name, const char *text)
{
	json_name(json, name);
	json_string(json, text);
}

void json_add_untrusted(struct json *json, const char *name, const struct untrusted *text)
{
	json_name(json, name);
	text_add_untrusted_json(json->out, text);
	json->needs_comma = true;
}

void json_add_u64(struct json *json, const char *name, uint64_t value)
{
	json_name(json, name);
	json_u64(json, value);
}

void json_add_hex(struct json *json, const char *name, uint64_t value)
{
	json_name(json, name);
	strbuf_add_str(json->out, "\"0x");
	strbuf_add_hex(json->out, value, 0);
	strbuf_add_char(json->out, '"');
	json->needs_comma = true;
}
