/* Entries of `perf list` that layers above the events know: static tracepoints of cached programs, and metrics. */
#include "cmd/list/list.h"

#include "analysis/counting/metrics.h"
#include "app/config.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "symbol/elf/sdt.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sdt_search {
	struct listing *listing;
	const char *path; /* of the program */
	const char *id;	  /* its build-id in hexadecimal */
};

static void add_probe(void *context, const struct sdt_probe *probe)
{
	struct sdt_search *search = context;
	struct listing *listing = search->listing;
	cleanup_free char *name = mem_printf("sdt_%s:%s", probe->provider, probe->name);
	cleanup_free char *place = mem_printf("%s(%.12s)", search->path, search->id);

	/* A probe may be at several places of a program: it is one event. */
	if (listing->entries.len) {
		const struct listing_entry *before = vec_last(&listing->entries);
		if (before->group == LISTING_SDT && !strcmp(before->name, name) && !strcmp(before->topic, place))
			return;
	}
	struct listing_entry *entry = listing_add_entry(listing, LISTING_SDT, name, "SDT event");
	entry->topic = arena_strdup(&listing->arena, place);
	if (probe->arguments[0])
		entry->long_description = arena_printf(&listing->arena, "arguments: %s", probe->arguments);
}

/* The cached program CACHE/.build-id/XX/REST, which is a link to CACHE/PATH/BUILDID. */
static void search_program(struct listing *listing, const char *links, const char *first, const char *rest)
{
	cleanup_free char *link = mem_printf("%s/%s/%s", links, first, rest);
	cleanup_free char *file = mem_printf("%s/elf", link);
	cleanup_free char *id = mem_printf("%s%s", first, rest);
	char target[4096];
	struct elf_file elf;
	ssize_t len = readlink(link, target, sizeof(target) - 1);

	if (len <= 0)
		return;
	target[len] = '\0';
	char *slash = strrchr(target, '/');
	if (slash)
		*slash = '\0';
	struct error *error = elf_open(file, &elf);
	if (error) {
		error_free(error);
		return;
	}
	struct sdt_search search = {listing, str_starts_with(target, "../..") ? target + 5 : target, id};
	sdt_visit(&elf, add_probe, &search);
	elf_close(&elf);
}

static void search_links(struct listing *listing, const char *links, const char *first)
{
	cleanup_free char *path = mem_printf("%s/%s", links, first);
	DIR *dir = opendir(path);

	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (entry->d_name[0] != '.')
			search_program(listing, links, first, entry->d_name);
	if (dir)
		closedir(dir);
}

static int compare_sdt(const void *a, const void *b)
{
	const struct listing_entry *left = a, *right = b;
	int names = strcmp(left->name, right->name);

	return names ? names : strcmp(left->topic, right->topic);
}

/* Removes repeats, and says which program is meant where several have an event of that name: NAME@PATH(BUILDID). */
static void tell_apart(struct listing *listing, size_t first)
{
	struct listing_entry *entries = listing->entries.data;
	size_t to = first;

	for (size_t i = first; i < listing->entries.len; i++)
		if (to == first || compare_sdt(&entries[to - 1], &entries[i]))
			entries[to++] = entries[i];
	listing->entries.len = to;
	for (size_t begin = first, end; begin < to; begin = end) {
		for (end = begin + 1; end < to && !strcmp(entries[end].name, entries[begin].name); end++)
			;
		for (size_t i = end; i-- > begin;) {
			if (end - begin > 1)
				entries[i].name = arena_printf(&listing->arena, "%s@%s", entries[i].name, entries[i].topic);
			entries[i].topic = NULL;
		}
	}
}

void list_add_sdt(struct listing *listing)
{
	size_t first = listing->entries.len;
	cleanup_free char *cache = config_buildid_dir();
	cleanup_free char *links = cache ? mem_printf("%s/.build-id", cache) : NULL;
	DIR *dir = links ? opendir(links) : NULL;

	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (entry->d_name[0] != '.')
			search_links(listing, links, entry->d_name);
	if (dir)
		closedir(dir);
	if (listing->entries.len == first)
		return;
	qsort(listing->entries.data + first, listing->entries.len - first, sizeof(*listing->entries.data), compare_sdt);
	tell_apart(listing, first);
}

/* Calls visit for each of the groups of a metric. */
static void visit_groups(const struct metric *metric,
			 void (*visit)(struct listing *listing, const struct metric *metric, const char *group), struct listing *listing)
{
	cleanup_free char *copy = mem_strdup(metric->groups ? metric->groups : "");
	char *rest = copy, *group;

	while ((group = strsep(&rest, ";")))
		visit(listing, metric, group);
}

static struct listing_entry *add_metric(struct listing *listing, const struct metric *metric)
{
	struct listing_entry *entry = listing_add_entry(listing, LISTING_METRIC, metric->name, "Metric");

	entry->description = metric->description;
	entry->expression = metric->expression;
	entry->metric_groups = metric->groups;
	if (metric->unit && metric->unit[0])
		entry->scale_unit = arena_printf(&listing->arena, "%g%s", metric->scale, metric->unit);
	return entry;
}

static void add_metric_in_group(struct listing *listing, const struct metric *metric, const char *group)
{
	add_metric(listing, metric)->topic = arena_strdup(&listing->arena, group);
}

static void add_metric_group(struct listing *listing, const struct metric *metric, const char *group)
{
	if (!*group)
		return;
	for (size_t i = listing->entries.len; i-- > 0 && listing->entries.data[i].group == LISTING_METRIC_GROUP;)
		if (!strcmp(listing->entries.data[i].name, group))
			return;
	listing_add_entry(listing, LISTING_METRIC_GROUP, group, "Metric group")->metric_groups = arena_strdup(&listing->arena, group);
}

void list_add_metrics(struct listing *listing, struct event_catalog *catalog, bool by_group)
{
	size_t count, first = listing->entries.len;
	const struct metric *metrics = metrics_all(&count);

	for (size_t i = 0; i < count; i++) {
		if (!metric_is_known_here(&metrics[i], catalog, NULL))
			continue;
		if (by_group)
			visit_groups(&metrics[i], add_metric_in_group, listing);
		else
			add_metric(listing, &metrics[i]);
	}
	listing_sort(listing, first);
}

void list_add_metric_groups(struct listing *listing)
{
	size_t count, first = listing->entries.len;
	const struct metric *metrics = metrics_all(&count);

	for (size_t i = 0; i < count; i++)
		visit_groups(&metrics[i], add_metric_group, listing);
	listing_sort(listing, first);
}
