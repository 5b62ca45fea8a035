/* Messages that are written as protocol buffers or as JSON, by the same calls: a field has a number in one form and a name in the other. In
 * JSON numbers of 64 bits are texts, as protobuf's mapping has it. Within view.
 *
 *	either_begin(&out, 2, "dictionary");
 *	either_begin_list(&out, "functionTable");
 *		either_begin(&out, 3, NULL);  either_number(&out, 1, "nameStrindex", 5);  either_end(&out);       for each
 *	either_end_list(&out);
 *	either_end(&out);
 */
#pragma once

#include "base/json.h"
#include "base/sink.h"

#include <stdbool.h>
#include <stdint.h>

enum { EITHER_DEEPEST = 8 };

struct either {
	bool as_json;
	struct json json;
	/* Protobuf: the messages that are open, the outermost one first, and their fields' numbers. */
	struct strbuf open[EITHER_DEEPEST];
	uint32_t fields[EITHER_DEEPEST];
	unsigned int depth;
	struct strbuf list;
};

void either_init(struct either *out, bool as_json);
void either_deinit(struct either *out);
/* A message; the name NULL: an element of a list. */
void either_begin(struct either *out, uint32_t field, const char *name);
void either_end(struct either *out);
/* Elements are messages or texts. */
void either_begin_list(struct either *out, const char *name);
void either_end_list(struct either *out);
/* A list of numbers that are packed; of 64 bits, or less. */
void either_numbers(struct either *out, uint32_t field, const char *name, const uint32_t *numbers, size_t count);
void either_numbers64(struct either *out, uint32_t field, const char *name, const uint64_t *numbers, size_t count);
/* Fields; a number that is 0 is left out, a text is always written. */
void either_number(struct either *out, uint32_t field, const char *name, uint32_t number);
void either_number64(struct either *out, uint32_t field, const char *name, uint64_t number);
/* The same, also for 0: where a message has one of several fields, which of them it is says that it's there. */
void either_present64(struct either *out, uint32_t field, const char *name, uint64_t number);
void either_fixed64(struct either *out, uint32_t field, const char *name, uint64_t number);
void either_text(struct either *out, uint32_t field, const char *name, const char *text);
/* An element of a list of texts. */
void either_element(struct either *out, uint32_t field, const char *text);
/* All of it is in open[0] then. */
void either_finish(struct either *out);
