/* The functions that the table of keys (keys.def) is made of. */
#pragma once

#include "analysis/report/keys/keys.h"

typedef void key_identify_fn(const struct key_context *context, const struct key_source *source, uint64_t *words);
typedef const char *key_string_fn(struct key_context *context, const struct key *key, const struct key_source *source);
typedef int64_t key_number_fn(struct key_context *context, const struct key *key, const struct key_source *source);
typedef void key_text_fn(struct key_context *context, const struct key *key, const struct key_source *source, struct strbuf *out);
typedef unsigned int key_length_fn(const struct key_context *context, const struct key_source *source);
typedef void key_extract_fn(const struct key_context *context, const struct key *key, const struct fold_sample *sample, uint64_t *words);

/* The functions of all rows. */
#define SET(...)
#define IDENTIFY(function) key_identify_fn function;
#define STRING(function) key_string_fn function;
#define NUMBER(function) key_number_fn function;
#define TEXT(function) key_text_fn function;
#define LENGTH(function) key_length_fn function;
#define TOTAL(name, alias, title, which, kind, width)
#define ACTOR(name, title, width, functions) functions
#define PLACE(name, alias, title, flags, identify, words, functions) \
	key_identify_fn identify;                                    \
	functions
#define STACK(name, title, identify, functions) \
	key_identify_fn identify;               \
	functions
#define EXTRA(name, title, width, flags, extract, functions) \
	key_extract_fn extract;                              \
	functions
#include "analysis/report/keys/keys.def"
#undef SET
#undef IDENTIFY
#undef STRING
#undef NUMBER
#undef TEXT
#undef LENGTH
#undef TOTAL
#undef ACTOR
#undef PLACE
#undef STACK
#undef EXTRA

/* keys_place.c: the address an unresolved place is shown with. */
uint64_t key_place_address(const struct fold_frame *place, bool caller);
