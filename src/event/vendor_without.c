/* In place of vendor.c in a build without libpfm4. */
#include "event/vendor.h"

bool vendor_is_available(void)
{
	return false;
}

void vendor_visit(void (*visit)(void *context, const struct vendor_event *event), void *context)
{
}

struct event *vendor_add(struct event_list *list, struct event_catalog *catalog, const char *name)
{
	return NULL;
}

struct error *vendor_parse(struct event_list *list, struct event_catalog *catalog, const char *text)
{
	return error_new_kind(ERROR_UNSUPPORTED, "--pfm-events: this perf was built without libpfm4 (package libpfm4-dev)");
}
