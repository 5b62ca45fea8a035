/* What the files of kmem share. */
#pragma once

#include "analysis/kmem/kmem.h"
#include "analysis/tracker.h"

struct slab_tracker;
struct page_tracker;

/* The context of all handlers: either part may be NULL. */
struct kmem_trackers {
	struct slab_tracker *slab;
	struct page_tracker *pages;
};

/* Handlers of tracker.h; the context is a struct kmem_trackers. Fields: call_site, ptr, bytes_req, bytes_alloc, node. */
void slab_on_alloc(void *context, const struct tracker_event *event);
/* Fields: ptr. */
void slab_on_free(void *context, const struct tracker_event *event);
/* Fields: pfn, page, order, gfp_flags, migratetype. */
void page_on_alloc(void *context, const struct tracker_event *event);
/* Fields: pfn, page, order. */
void page_on_free(void *context, const struct tracker_event *event);

struct slab_tracker *slab_tracker_create(struct session *session);
void slab_tracker_destroy(struct slab_tracker *tracker);
/* What was found, ordered; the tracker has none of it then. The keys were checked. */
struct kmem_slab *slab_tracker_finish(struct slab_tracker *tracker, const struct kmem_options *options);
void kmem_slab_destroy(struct kmem_slab *slab);

struct page_tracker *page_tracker_create(struct resolver *resolver, bool live);
void page_tracker_destroy(struct page_tracker *tracker);
struct kmem_pages *page_tracker_finish(struct page_tracker *tracker, const struct kmem_options *options);
void kmem_pages_destroy(struct kmem_pages *pages);

/* ---- order of rows ---- */

enum { KMEM_SORT_KEYS = 8 };

typedef int kmem_compare(const void *a, const void *b);

struct kmem_sort_key {
	const char *name; /* NULL ends a list */
	kmem_compare *compare;
};

/* The tables' keys and default orders. */
extern const struct kmem_sort_key slab_sort_keys[], page_sort_keys[];
extern const char slab_sort_default[], page_sort_default[];

/* Rows in the order of the keys that `text` names; those that are equal by `tie`. Keys that aren't known are left out. */
void kmem_sort_rows(void *rows, size_t count, size_t size, const struct kmem_sort_key *keys, const char *text, kmem_compare *tie);

/* The greater comes first. */
static inline int kmem_greater(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}
