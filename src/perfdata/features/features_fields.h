/* The fields of a header feature that features.def describes as a row of fields. Within perfdata/features. */
#pragma once

#include "perfdata/features/features.h"

#include <stddef.h>

enum feature_field_kind {
	FEATURE_FIELD_END,
	FEATURE_FIELD_NUMBER,
	FEATURE_FIELD_TEXT,
	FEATURE_FIELD_VERSION,
	FEATURE_FIELD_FIRST_VERSION,
	FEATURE_FIELD_LIST
};

struct feature_field {
	enum feature_field_kind kind;
	uint16_t offset; /* of the member in its structure: struct features, or a list's item */
	uint16_t size;	 /* of a number: 4 or 8; of a version: itself; of a list: an item of it */
	const char *name;
	const struct feature_field *(*items)(void); /* of a list: the fields of each */
};

/* What a VEC looks like whose elements are described by a list's fields. */
struct feature_list {
	uint8_t *data;
	size_t len, cap;
};
enum { FEATURE_ITEM_MOST = 64 }; /* bytes of an item, at most */

/* Up to a FEATURE_FIELD_END; NULL for features that functions read and write. */
const struct feature_field *feature_fields(unsigned int feature);
