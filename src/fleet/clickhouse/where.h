/* Which samples are meant: what people write, as a condition of SQL in which their words are literals only.
 *
 *	service = "shop" and (host like "web%" or not region in ("north", "south"))
 *
 * Names: host, service, event, comm; any other is a label's, as is label.NAME. Signs: = != < <= > >= like, in (…), and `not` in
 * front of the last two. Texts stand in single or double quotes, doubled where they are meant themselves. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>

/* The condition, in brackets. *ret_by_host becomes true where it is about hosts or labels, which sums of all hosts don't have. */
struct error *fleet_where_add(const char *text, struct strbuf *sql, bool *ret_by_host);
/* That of "NAME=VALUE". */
struct error *fleet_label_add(const char *label, struct strbuf *sql);
