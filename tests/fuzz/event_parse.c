/* Texts of -e: any bytes give events or an error, and names that can be printed. */
#include "event/parse/parse.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct event_catalog *catalog = event_catalog_create("/nonexistent");
	struct event_list list = {0};
	char *text = mem_strndup((const char *)data, size);
	struct error *error = event_parse(&list, catalog, text);

	for (size_t i = 0; i < list.events.len; i++)
		if (!list.events.data[i]->name || list.events.data[i]->leader >= list.events.len)
			abort();
	error_free(error);
	event_list_deinit(&list);
	event_catalog_destroy(catalog);
	free(text);
	return 0;
}
