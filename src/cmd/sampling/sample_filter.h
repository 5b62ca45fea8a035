/* The expressions of record's --filter for events that are no tracepoints: "TERM [, TERM | || TERM]…", each "FIELD OPERATOR VALUE".
 *
 *	period > 1000, ip < 0x8000000000000000          both
 *	pid == 7 || pid == 8, uid != 0                  one of the first two, and the third: || binds closer
 */
#pragma once

#include "base/error.h"
#include "bpf/sample_filter_shared.h"

/* Reads an expression. An error says what is wrong with it, and names what is known. */
struct error *sample_filter_parse(const char *text, struct sample_filter_config *ret);
/* The option of record that adds what a term needs and samples of this type lack, with the field in *ret_field; NULL: all is there. */
const char *sample_filter_missing(const struct sample_filter_config *config, uint64_t sample_type, const char **ret_field);
