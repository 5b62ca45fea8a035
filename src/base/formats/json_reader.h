/* JSON, read piece by piece from memory, without a tree. What isn't asked for is skipped; the same text can be gone over again.
 *
 *	struct json_reader json = json_reader_init(text, size);
 *	if (json_enter(&json, '{'))
 *		while (json_next_member(&json, &name))
 *			if (!strcmp(strbuf_str(&name), "weight"))
 *				weight = json_read_number(&json);
 *			else
 *				json_skip(&json);
 *
 * Bytes may be hostile: what cannot be read sets `failed`; from then on nothing is found. Of what is skipped only the end is looked for:
 * that brackets are of one kind, or words are known, isn't checked. */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_reader {
	const char *at, *end;
	bool first; /* private: of what was entered nothing was read yet */
	bool failed;
};

struct json_reader json_reader_init(const char *text, size_t size);
/* The first character of the next value: '{', '[', '"', a digit or '-', 't', 'f', 'n'; 0 at the end. */
char json_peek(struct json_reader *json);
/* Enters an object ('{') or array ('['), or skips another value and returns false. */
bool json_enter(struct json_reader *json, char bracket);
/* The next member's name, before its value; false at the object's end. */
bool json_next_member(struct json_reader *json, struct strbuf *name);
/* Whether another item follows in an array. */
bool json_next_item(struct json_reader *json);
/* Values; of another kind they are skipped, and 0 or "". */
double json_read_number(struct json_reader *json);
void json_read_string(struct json_reader *json, struct strbuf *ret);
void json_skip(struct json_reader *json);
