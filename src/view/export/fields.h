/* The fields of tracepoints as JSON. Within view. */
#pragma once

#include "base/json.h"
#include "result/samples.h"

/* The value alone. */
void field_add_value(struct json *json, const struct samples_field *field);
/* The fields of a row as members of an object of that name. `fields` is the caller's to use again. */
void fields_add(struct json *json, const char *name, const struct samples *samples, const struct samples_row *row, samples_fields *fields);
