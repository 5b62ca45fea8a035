/* Looks PMUs and tracefs up once. */
#include "event/catalog.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct event_catalog {
	char *root;
	struct pmu_list *pmus;
	char *tracefs;
	const struct pmu *chosen_cores; /* NULL = all kinds */
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

size_t event_catalog_core_kinds(struct event_catalog *catalog, struct pmu **ret, size_t max)
{
	struct pmu *kinds[PMU_CORE_KINDS_MAX];
	size_t all = pmu_core_kinds(event_catalog_pmus(catalog), kinds, PMU_CORE_KINDS_MAX), count = 0;

	for (size_t i = 0; all > 1 && i < all && i < PMU_CORE_KINDS_MAX && count < max; i++)
		if (!catalog->chosen_cores || catalog->chosen_cores == kinds[i])
			ret[count++] = kinds[i];
	return count;
}

bool event_catalog_is_chosen(const struct event_catalog *catalog, const struct pmu *pmu)
{
	return !catalog->chosen_cores || !pmu->is_core || pmu == catalog->chosen_cores;
}

struct error *event_catalog_choose_cores(struct event_catalog *catalog, const char *kind)
{
	struct pmu *kinds[PMU_CORE_KINDS_MAX];
	struct strbuf names = {0};

	catalog->chosen_cores = NULL;
	size_t count = event_catalog_core_kinds(catalog, kinds, PMU_CORE_KINDS_MAX);
	for (size_t i = 0; i < count; i++) {
		const char *name = kinds[i]->name, *part = str_starts_with(name, "cpu_") ? name + 4 : name;
		if (!strcmp(kind, name) || !strcmp(kind, part))
			catalog->chosen_cores = kinds[i];
		strbuf_printf(&names, "%s%s", i ? ", " : "", part);
	}
	struct error *error = NULL;
	if (!count)
		error = error_new_kind(ERROR_USAGE, "--cputype: all cores of this machine have the same type");
	else if (!catalog->chosen_cores)
		error = error_new_kind(ERROR_USAGE, "--cputype: unknown core type '%s'; the types are: %s", kind, strbuf_str(&names));
	strbuf_deinit(&names);
	return error;
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

struct error *event_catalog_add_format(struct event_catalog *catalog, const char *system, const char *name,
				       struct tracepoint_formats *formats)
{
	struct strbuf text = {0};
	const char *tracefs;
	struct error *error = event_catalog_tracefs(catalog, &tracefs);

	if (!error)
		error = tracefs_event_format(tracefs, system, name, &text);
	if (!error)
		error = tracepoint_formats_add(formats, system, strbuf_str(&text), text.len);
	strbuf_deinit(&text);
	return error;
}
