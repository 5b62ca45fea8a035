/* The fields of tracepoints as JSON. */
#include "view/export/fields.h"

#include <inttypes.h>

void field_add_value(struct json *json, const struct samples_field *field)
{
	if (field->text)
		json_text(json, field->text, field->length);
	else if (field->is_signed)
		json_value(json, "%" PRId64, (int64_t)field->number);
	else
		json_u64(json, field->number);
}

void fields_add(struct json *json, const char *name, const struct samples *samples, const struct samples_row *row, samples_fields *fields)
{
	json_name(json, name);
	json_begin_object(json);
	samples->fields(samples->fields_context, row, fields);
	for (size_t i = 0; i < fields->len; i++) {
		json_name(json, fields->data[i].name);
		field_add_value(json, &fields->data[i]);
	}
	json_end_object(json);
}
