/* Names for the values of a tracepoint's numbers: those that its print format shows them by, and the kernel's enumerators. */
#pragma once

#include "base/strbuf.h"
#include "event/tracepoint/tracepoint.h"

/* The value that `name` stands for in `field`: by __print_symbolic() or __print_flags() of the print format ("NET_RX"), else, where
 * `kernel_types` (as /sys/kernel/btf/vmlinux; may be NULL) can be read, by the enumeration that is the field's type or any other
 * ("HRTIMER_MODE_ABS"). False when it has none. */
bool tracepoint_symbol(const struct tracepoint *tracepoint, const struct tracepoint_field *field, const char *kernel_types,
		       const char *name, int64_t *ret);
/* Adds the names of the print format, separated by spaces; nothing when there are none. */
void tracepoint_add_symbols(const struct tracepoint *tracepoint, const struct tracepoint_field *field, struct strbuf *out);
