/* Looks PMUs and tracefs up once. */
#include "event/catalog.h"

#include <stdlib.h>

struct event_catalog {
	char *root;
	struct pmu_list *pmus;
	char *tracefs;
};

struct event_catalog *event_catalog_create(const char *root)
{
	struct event_catalog *catalog = mem_zalloc(sizeof(*catalog));

	catalog->root = mem_strdup(root ? root : "");
	return catalog;
}

void event_catalog_destroy(struct event_catalog *catalog)
{
	if (!catalog)
		return;
	pmu_list_destroy(catalog->pmus);
	free(catalog->tracefs);
	free(catalog->root);
	free(catalog);
}

struct pmu_list *event_catalog_pmus(struct event_catalog *catalog)
{
	if (!catalog->pmus)
		catalog->pmus = pmu_list_load(catalog->root);
	return catalog->pmus;
}

struct error *event_catalog_tracefs(struct event_catalog *catalog, const char **ret_path)
{
	if (!catalog->tracefs) {
		struct error *error = tracefs_find(catalog->root, &catalog->tracefs);
		if (error)
			return error;
	}
	*ret_path = catalog->tracefs;
	return NULL;
}
