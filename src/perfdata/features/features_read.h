/* Header features out of their sections (file) or HEADER_FEATURE records (pipe). Within perfdata. */
#pragma once

#include "base/error.h"
#include "perfdata/features/features.h"
#include "perfdata/records.h"

/* Reads one feature's bytes and sets its bit (when it is set already, the first stays), even when nothing of it is understood. What is
 * damaged is left out as far as it is: returns false then. TRACING_DATA is left to the caller. */
bool features_read(struct features *features, unsigned int feature, const void *data, size_t size, bool swap);

/* One build-id: the payload of a HEADER_BUILD_ID record or an entry of the BUILD_ID section, `header` native. `without_pid`: the layout of
 * the first versions. */
bool features_read_build_id(struct features *features, const struct record_header *header, const void *payload, size_t size, bool swap,
			    bool without_pid);
