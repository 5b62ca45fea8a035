/* Pass 1 over a recording that can be read more than once. */
#pragma once

#include "session/order.h"
#include "session/session.h"

/* Looks at all records: counts, cuts for the workers of later passes, and the side-band into `sideband`. */
struct error *scan_records(struct session *session, struct order *sideband);
