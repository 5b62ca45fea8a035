/* Reads a recording's allocations for kmem.h: which events, and in what order rows stand. What is added up is in slab.c and pages.c. */
#include "analysis/kmem/kmem_internal.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- order ---- */

static const struct kmem_sort_key *find_key(const struct kmem_sort_key *keys, const char *name)
{
	while (keys->name && strcmp(keys->name, name) != 0)
		keys++;
	return keys->name ? keys : NULL;
}

static struct error *check_keys(const char *what, const struct kmem_sort_key *keys, const char *text)
{
	cleanup_free char *copy = mem_strdup(text ? text : "");
	for (char *rest = copy, *word; (word = strsep(&rest, ", "));) {
		if (!*word || find_key(keys, word))
			continue;
		struct strbuf known = {0};
		for (const struct kmem_sort_key *key = keys; key->name; key++)
			strbuf_printf(&known, "%s%s", key == keys ? "" : key[1].name ? ", " : " and ", key->name);
		struct error *error =
			error_new_kind(ERROR_USAGE, "unknown sort key '%s' for %s; the keys are %s", word, what, strbuf_str(&known));
		strbuf_deinit(&known);
		return error;
	}
	return NULL;
}

struct error *kmem_check_sort(const struct kmem_options *options)
{
	struct error *error = NULL;
	if (options->slab)
		error = check_keys("--slab", slab_sort_keys, options->slab_sort.callers);
	if (!error && options->slab)
		error = check_keys("--slab", slab_sort_keys, options->slab_sort.rows);
	if (!error && options->pages)
		error = check_keys("--page", page_sort_keys, options->page_sort.callers);
	if (!error && options->pages)
		error = check_keys("--page", page_sort_keys, options->page_sort.rows);
	return error;
}

struct row_order {
	kmem_compare *compare[KMEM_SORT_KEYS];
	size_t count;
};

static int compare_by_order(const void *a, const void *b, void *context)
{
	const struct row_order *order = context;
	int result = 0;
	for (size_t i = 0; !result && i < order->count; i++)
		result = order->compare[i](a, b);
	return result;
}

void kmem_sort_rows(void *rows, size_t count, size_t size, const struct kmem_sort_key *keys, const char *text, kmem_compare *tie)
{
	cleanup_free char *copy = mem_strdup(text);
	struct row_order order = {0};
	for (char *rest = copy, *word; (word = strsep(&rest, ", "));) {
		const struct kmem_sort_key *key = find_key(keys, word);
		if (key && order.count < KMEM_SORT_KEYS - 1)
			order.compare[order.count++] = key->compare;
	}
	order.compare[order.count++] = tie;
	if (count)
		qsort_r(rows, count, size, compare_by_order, &order);
}

/* ---- events ---- */

#define SLAB_FIELDS                                                    \
	{                                                              \
		"call_site", "ptr", "bytes_req", "bytes_alloc", "node" \
	}

/* Some kernels have events of their own for allocations on a certain node. */
static const struct tracker_handler handlers[] = {
	{"kmem:kmalloc", SLAB_FIELDS, slab_on_alloc},
	{"kmem:kmem_cache_alloc", SLAB_FIELDS, slab_on_alloc},
	{"kmem:kmalloc_node", SLAB_FIELDS, slab_on_alloc},
	{"kmem:kmem_cache_alloc_node", SLAB_FIELDS, slab_on_alloc},
	{"kmem:kfree", {"ptr"}, slab_on_free},
	{"kmem:kmem_cache_free", {"ptr"}, slab_on_free},
	{"kmem:mm_page_alloc", {"pfn", "page", "order", "gfp_flags", "migratetype"}, page_on_alloc},
	{"kmem:mm_page_free", {"pfn", "page", "order"}, page_on_free},
	{0},
};

static struct error *require(const struct tracker *events, const struct kmem_options *options)
{
	if (options->slab && !tracker_has(events, "kmem:kmalloc") && !tracker_has(events, "kmem:kmem_cache_alloc"))
		return error_new("the recording has no allocations of the slab allocator; record them with 'perf kmem record'%s",
				 !options->pages && tracker_has(events, "kmem:mm_page_alloc") ? ", or use --page for its page allocations"
											      : "");
	if (options->pages && !tracker_has(events, "kmem:mm_page_alloc"))
		return error_new("the recording has no page allocations; record them with 'perf kmem record --page'");
	return NULL;
}

struct error *kmem_create(struct session *session, struct resolver *resolver, const struct kmem_options *options, struct kmem **ret)
{
	struct kmem_trackers trackers = {0};
	struct tracker *events = tracker_create(session, handlers, &trackers);
	if (options->slab)
		trackers.slab = slab_tracker_create(session);
	if (options->pages)
		trackers.pages = page_tracker_create(resolver, options->live);
	struct error *error = tracker_run(events);
	if (!error)
		error = require(events, options); /* at the end: a stream's events aren't known before */
	if (!error) {
		*ret = mem_zalloc(sizeof(**ret));
		if (options->slab)
			(*ret)->slab = slab_tracker_finish(trackers.slab, options);
		if (options->pages)
			(*ret)->pages = page_tracker_finish(trackers.pages, options);
	}
	slab_tracker_destroy(trackers.slab);
	page_tracker_destroy(trackers.pages);
	tracker_destroy(events);
	return error;
}

void kmem_destroy(struct kmem *kmem)
{
	if (!kmem)
		return;
	kmem_slab_destroy(kmem->slab);
	kmem_pages_destroy(kmem->pages);
	free(kmem);
}
