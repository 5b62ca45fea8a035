/* perf report --hierarchy: rows of the first key, below each those of the second, and so on. */
#include "cmd/report.h"

struct error *report_show_hierarchy(struct report *report, struct rows *rows, struct table *table)
{
	return error_new_kind(ERROR_UNSUPPORTED, "--hierarchy");
}
