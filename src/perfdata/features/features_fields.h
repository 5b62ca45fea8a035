/* The fields of a header feature that features.def describes as a row of fields. Within perfdata/features. */
#pragma once

#include "perfdata/features/features.h"

#include <stddef.h>

enum feature_field_kind { FEATURE_FIELD_END, FEATURE_FIELD_NUMBER, FEATURE_FIELD_TEXT, FEATURE_FIELD_VERSION, FEATURE_FIELD_FIRST_VERSION };

struct feature_field {
	enum feature_field_kind kind;
	uint16_t offset; /* of the member in struct features */
	uint16_t size;	 /* of a number: 4 or 8; of a version: itself */
	const char *name;
};

/* Up to a FEATURE_FIELD_END; NULL for features that functions read and write. */
const struct feature_field *feature_fields(unsigned int feature);
