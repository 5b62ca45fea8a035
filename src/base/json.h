/* JSON, written piece by piece: commas, colons and escapes. What stands between the pieces for people (line ends) the caller adds to `out`.
 *
 *	struct json json = {.out = &text};
 *	json_begin_object(&json);
 *	json_add_string(&json, "name", "x");
 *	json_name(&json, "list");
 *	json_begin_array(&json);
 *	json_u64(&json, 1);
 *	json_u64(&json, 2);
 *	json_end_array(&json);
 *	json_end_object(&json);               {"name":"x","list":[1,2]}
 *
 * Strings may hold any bytes. Nothing checks that names and values come in turn.
 */
#pragma once

#include "base/strbuf.h"
#include "base/untrusted.h"

#include <stdbool.h>
#include <stdint.h>

struct json {
	struct strbuf *out;
	const char *comma;  /* NULL = "," */
	const char *colon;  /* NULL = ":" */
	const char *indent; /* before the name of each member; NULL = nothing */
	bool needs_comma;   /* before the next name or value of an array */
};

void json_begin_object(struct json *json);
void json_end_object(struct json *json);
void json_begin_array(struct json *json);
void json_end_array(struct json *json);
/* Of the member whose value comes next. */
void json_name(struct json *json, const char *name);

void json_text(struct json *json, const char *text, size_t length);
void json_string(struct json *json, const char *text);
void json_u64(struct json *json, uint64_t value);
void json_bool(struct json *json, bool value);
/* A value that is JSON already: a number. */
void json_value(struct json *json, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Members: a name and its value. */
void json_add_text(struct json *json, const char *name, const char *text, size_t length);
void json_add_string(struct json *json, const char *name, const char *text);
void json_add_untrusted(struct json *json, const char *name, const struct untrusted *text);
void json_add_u64(struct json *json, const char *name, uint64_t value);
/* As text, "0x1f": many readers keep numbers as doubles. */
void json_add_hex(struct json *json, const char *name, uint64_t value);
