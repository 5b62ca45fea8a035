/* Allocations of kernel memory, added up: the slab allocator's by call site and by object, the page allocator's by call site and by page.
 *
 *	kmem:kmalloc, kmem_cache_alloc (older kernels: *_node, too) ─► slab: requested, allocated ◄─ kfree, kmem_cache_free: freed, ping-pong
 *	kmem:mm_page_alloc                                          ─► pages: by order, type, flags ◄─ mm_page_free
 *
 * The rules are those of the kernel's perf kmem: tests/oracle/test_kmem_oracle.py compares. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "session/session.h"
#include "symbol/resolve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmem_slab_row {
	uint64_t call_site;	       /* by object: of its latest allocation */
	uint64_t object;	       /* its address; 0 in rows by call site */
	uint64_t requested, allocated; /* bytes */
	uint64_t hits;		       /* allocations, at least 1 */
	uint64_t ping_pong;	       /* frees on another CPU than that of the allocation */
};

struct kmem_slab {
	struct kmem_slab_row *callers, *objects; /* as ordered */
	size_t caller_count, object_count;
	uint64_t requested, allocated, freed; /* bytes */
	uint64_t allocations;
	uint64_t cross_node; /* allocations that asked for memory of another node than that of the CPU */
};

/* Which of a kernel's numbers for a type of page mean what differs by version: what the numbers 1 and 2 are is seen from the flags. */
enum kmem_page_type { KMEM_UNMOVABLE, KMEM_RECLAIMABLE, KMEM_MOVABLE, KMEM_RESERVED, KMEM_ISOLATED, KMEM_UNKNOWN, KMEM_PAGE_TYPES };

struct kmem_page_row {
	uint64_t page;	    /* frame number, or the address of its struct page (kmem_pages.addresses); 0 in rows by call site */
	uint64_t call_site; /* of the latest allocation; 0 = not known */
	uint64_t bytes;
	uint64_t hits; /* allocations */
	uint64_t flags;
	uint32_t order;
	uint32_t migrate_type; /* the kernel's number */
};

struct kmem_flags {
	uint64_t flags;
	const char *names; /* "GFP_KERNEL|__GFP_ZERO" as the recording's format prints them, made safe */
};

struct kmem_total {
	uint64_t count, bytes;
};

enum { KMEM_ORDERS = 64 };

struct kmem_pages {
	struct arena arena;		       /* owns the names of flags */
	struct kmem_page_row *callers, *pages; /* as ordered */
	size_t caller_count, page_count;
	struct kmem_flags *flags; /* those that occur, ascending */
	size_t flags_count;
	struct kmem_total allocated, freed, failed;
	struct kmem_total unmatched;		       /* frees of pages whose allocation wasn't recorded */
	uint64_t orders[KMEM_ORDERS][KMEM_PAGE_TYPES]; /* allocations; with `live` those that are left */
	enum kmem_page_type types[KMEM_PAGE_TYPES];    /* what the kernel's numbers mean */
	bool addresses;				       /* an old kernel's recording: pages are known by address */
};

struct kmem_sort {
	const char *callers, *rows; /* "frag,hit,bytes": keys of either table, or NULL = the default */
};

struct kmem_options {
	bool slab, pages;
	bool live;	    /* pages: only those that aren't freed */
	bool callers, rows; /* which tables are wanted; the others are empty */
	struct kmem_sort slab_sort, page_sort;
};

/* Either is NULL where it wasn't asked for. */
struct kmem {
	struct kmem_slab *slab;
	struct kmem_pages *pages;
};

/* A usage error for a key that isn't known, for commands to check before they open a recording. */
struct error *kmem_check_sort(const struct kmem_options *options);
/* Reads the session, which may be a stream, to its end. */
struct error *kmem_create(struct session *session, struct resolver *resolver, const struct kmem_options *options, struct kmem **ret);
void kmem_destroy(struct kmem *kmem);

static inline enum kmem_page_type kmem_page_type(const struct kmem_pages *pages, uint32_t migrate_type)
{
	return migrate_type < KMEM_UNKNOWN ? pages->types[migrate_type] : KMEM_UNKNOWN;
}

/* How much of what was allocated wasn't asked for, in percent. */
static inline double kmem_fragmentation(uint64_t requested, uint64_t allocated)
{
	return allocated ? 100.0 - 100.0 * (double)requested / (double)allocated : 0;
}
