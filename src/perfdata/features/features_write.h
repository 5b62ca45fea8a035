/* Header features into bytes, the opposite of features_read.h. Within perfdata. */
#pragma once

#include "base/strbuf.h"
#include "event/event.h"
#include "perfdata/features/features.h"

/* Adds the bytes of one feature, in native byte order. EVENT_DESC and GROUP_DESC come from `events`, whose attributes are written with
 * `attr_size` bytes. False for a feature that has no form here. */
bool features_write(const struct features *features, unsigned int feature, const struct event_list *events, uint32_t attr_size,
		    struct strbuf *out);

/* Adds one build-id entry with the record type given (0 in the section, HEADER_BUILD_ID in pipes). */
void features_write_build_id(const struct feature_build_id *entry, uint32_t record_type, struct strbuf *out);
