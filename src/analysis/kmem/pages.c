/* Allocations of the page allocator by call site and by page.
 *
 * Where an allocation comes from is its stack's first function that isn't one of the page allocator's own, which have hands through which
 * all allocations go:
 *
 *	__alloc_frozen_pages_noprof ◄ alloc_pages_mpol ◄ vma_alloc_folio_noprof ◄ do_anonymous_page ◄ …
 *	                                                                          ^ this one
 *
 * A free belongs to the latest allocation of its page; that of a page whose allocation wasn't recorded is counted apart. Some ways to
 * free a page leave no record: what is allocated again was freed before. */
#include "analysis/kmem/kmem_internal.h"

#include "analysis/stack.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "event/tracepoint/tracepoint.h"

#include <stdlib.h>
#include <string.h>

/* Rows by their keys, which are all of page, order, flags and type, and of the call site where `by_site`. */
struct row_table {
	bool by_site;
	VEC(struct kmem_page_row) rows;
	VEC(size_t) next;   /* a row whose key has the same hash, plus one; 0 = none */
	struct map64 heads; /* hash → index + 1 */
};

struct live_page {
	struct kmem_page_row row; /* of its allocation; 0 hits in a slot that is free */
	size_t caller;		  /* the row by call site that counts it */
};

struct page_tracker {
	struct kmem_pages *result;
	struct resolver *resolver;
	bool live;
	struct arena arena; /* of the result: names of flags */
	struct row_table callers, pages;
	VEC(struct live_page) lives;
	VEC(size_t) free_slots;	 /* of `lives` */
	struct map64 live_slots; /* of pages */
	struct map64 allocators; /* address → whether it is in a function of the page allocator */
	struct map64 flags;	 /* that were met: index */
	VEC(struct kmem_flags) flags_list;
	uint64_t orders[KMEM_ORDERS][KMEM_PAGE_TYPES]; /* by the kernel's numbers */
};

struct page_tracker *page_tracker_create(struct resolver *resolver, bool live)
{
	struct page_tracker *tracker = mem_zalloc(sizeof(*tracker));
	tracker->result = mem_zalloc(sizeof(*tracker->result));
	tracker->resolver = resolver;
	tracker->live = live;
	tracker->callers.by_site = true;
	return tracker;
}

static void table_deinit(struct row_table *table)
{
	vec_deinit(&table->rows);
	vec_deinit(&table->next);
	map64_deinit(&table->heads);
}

void page_tracker_destroy(struct page_tracker *tracker)
{
	if (!tracker)
		return;
	table_deinit(&tracker->callers);
	table_deinit(&tracker->pages);
	vec_deinit(&tracker->lives);
	vec_deinit(&tracker->free_slots);
	vec_deinit(&tracker->flags_list);
	map64_deinit(&tracker->live_slots);
	map64_deinit(&tracker->allocators);
	map64_deinit(&tracker->flags);
	arena_deinit(&tracker->arena);
	kmem_pages_destroy(tracker->result);
	free(tracker);
}

/* ---- call sites ---- */

static bool is_allocator_name(const char *name)
{
	static const char *const beginnings[] = {"alloc_page",	"alloc_frozen_page", "get_free_page",	"get_zeroed_page",
						 "folio_alloc", "vma_alloc_folio",   "vma_alloc_zeroed"};
	while (*name == '_')
		name++;
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

static bool is_in_allocator(struct page_tracker *tracker, uint64_t address)
{
	bool is_new;
	uint64_t *known = map64_insert(&tracker->allocators, address, &is_new);
	if (is_new) {
		uint64_t start;
		const struct symbol *symbol = resolver_kernel_symbol(tracker->resolver, address, &start);
		*known = symbol && is_allocator_name(symbol->name);
	}
	return *known;
}

static uint64_t find_call_site(struct page_tracker *tracker, const struct sample *sample)
{
	uint8_t mode = CPUMODE_KERNEL;
	for (uint64_t i = 0; i < sample->chain_count && mode == CPUMODE_KERNEL; i++) {
		if (stack_is_marker(sample->chain[i]))
			stack_marker_mode(sample->chain[i], &mode);
		else if (!is_in_allocator(tracker, sample->chain[i]))
			return sample->chain[i];
	}
	return sample->ip;
}

/* ---- rows ---- */

static bool is_same(const struct row_table *table, const struct kmem_page_row *a, const struct kmem_page_row *b)
{
	return a->page == b->page && a->order == b->order && a->flags == b->flags && a->migrate_type == b->migrate_type &&
	       (!table->by_site || a->call_site == b->call_site);
}

/* The index of the row with the keys of `like`, which is there afterwards. */
static size_t get_row(struct row_table *table, const struct kmem_page_row *like)
{
	bool is_new;
	uint64_t hash = hash_combine(hash_combine(like->page, table->by_site ? like->call_site : 0),
				     hash_combine(like->flags, (uint64_t)like->order << 32 | like->migrate_type));
	uint64_t *head = map64_insert(&table->heads, hash, &is_new);
	for (size_t next = *head; next; next = table->next.data[next - 1])
		if (is_same(table, &table->rows.data[next - 1], like))
			return next - 1;
	vec_push(&table->next, *head);
	vec_push(&table->rows, *like);
	*head = table->rows.len;
	return table->rows.len - 1;
}

static void add(struct kmem_page_row *row, uint64_t call_site, uint64_t bytes)
{
	row->hits++;
	row->bytes += bytes;
	row->call_site = call_site;
}

static void total_add(struct kmem_total *total, uint64_t bytes)
{
	total->count++;
	total->bytes += bytes;
}

/* The place of an allocation in the sums; those that no kernel makes share the last. */
static uint64_t *order_of(struct page_tracker *tracker, uint32_t order, uint32_t migrate_type)
{
	return &tracker->orders[order < KMEM_ORDERS ? order : KMEM_ORDERS - 1][migrate_type < KMEM_UNKNOWN ? migrate_type : KMEM_UNKNOWN];
}

/* With `live`: the sums lose a page that is freed. */
static void take_out(struct page_tracker *tracker, const struct live_page *live)
{
	struct kmem_page_row *caller = &tracker->callers.rows.data[live->caller];
	if (!tracker->live)
		return;
	caller->hits--;
	caller->bytes -= live->row.bytes;
	(*order_of(tracker, live->row.order, live->row.migrate_type))--;
}

static void put_live(struct page_tracker *tracker, const struct live_page *live)
{
	bool is_new;
	uint64_t *slot = map64_insert(&tracker->live_slots, live->row.page, &is_new);
	if (!is_new) {
		take_out(tracker, &tracker->lives.data[*slot]);
	} else if (tracker->free_slots.len) {
		*slot = tracker->free_slots.data[--tracker->free_slots.len];
	} else {
		*slot = tracker->lives.len;
		vec_add(&tracker->lives);
	}
	tracker->lives.data[*slot] = *live;
}

/* ---- events ---- */

/* What the recorder's format calls the flags: " gfp_flags=GFP_KERNEL|__GFP_ZERO". */
static const char *flag_names(struct page_tracker *tracker, const struct tracker_event *event)
{
	static const char label[] = "gfp_flags=";
	struct strbuf text = {0};
	const char *names = "";
	if (event->record->event->tracepoint)
		tracepoint_print(event->record->event->tracepoint, tracker_sample(event)->raw, tracker_sample(event)->raw_size, &text);
	const char *found = strstr(strbuf_str(&text), label);
	if (found)
		found += sizeof(label) - 1;
	if (found && !(*found >= '0' && *found <= '9')) /* a number is what a format gives that isn't understood */
		names = arena_strndup(&tracker->arena, found, strcspn(found, " "));
	strbuf_deinit(&text);
	return names;
}

static void note_flags(struct page_tracker *tracker, const struct tracker_event *event, uint64_t flags)
{
	bool is_new;
	map64_insert(&tracker->flags, flags, &is_new);
	if (is_new)
		vec_push(&tracker->flags_list, (struct kmem_flags){.flags = flags, .names = flag_names(tracker, event)});
}

static uint64_t bytes_of(const struct tracker_event *event, uint32_t order)
{
	enum { MOST = 40, PAGE = 4096 };
	const struct tracepoint *tracepoint = event->record->event->tracepoint;
	uint64_t page = tracepoint ? tracepoint_page_size(tracepoint) : PAGE;
	return order < MOST ? page << order : 0;
}

static uint64_t page_of(const struct tracker_event *event, uint64_t *ret_none)
{
	*ret_none = event->fields[0] ? UINT64_MAX : 0;
	return event->values[event->fields[0] ? 0 : 1];
}

void page_on_alloc(void *context, const struct tracker_event *event)
{
	struct page_tracker *tracker = ((struct kmem_trackers *)context)->pages;
	if (!tracker)
		return;
	uint64_t none, page = page_of(event, &none);
	struct kmem_page_row row = {
		.page = page, .flags = event->values[3], .order = (uint32_t)event->values[2], .migrate_type = (uint32_t)event->values[4]};
	uint64_t bytes = bytes_of(event, row.order);
	total_add(&tracker->result->allocated, bytes);
	tracker->result->addresses |= !event->fields[0];
	if (page == none) {
		total_add(&tracker->result->failed, bytes);
		return;
	}
	note_flags(tracker, event, row.flags);
	uint64_t call_site = find_call_site(tracker, tracker_sample(event));
	struct kmem_page_row caller = row;
	if (!tracker->live) {
		size_t index = get_row(&tracker->pages, &row);
		add(&tracker->pages.rows.data[index], call_site, bytes);
	}
	caller.page = 0;
	caller.call_site = call_site;
	struct live_page live = {.row = row, .caller = get_row(&tracker->callers, &caller)};
	add(&tracker->callers.rows.data[live.caller], call_site, bytes);
	add(&live.row, call_site, bytes);
	(*order_of(tracker, row.order, row.migrate_type))++;
	put_live(tracker, &live);
}

void page_on_free(void *context, const struct tracker_event *event)
{
	struct page_tracker *tracker = ((struct kmem_trackers *)context)->pages;
	if (!tracker)
		return;
	uint64_t none, page = page_of(event, &none), bytes = bytes_of(event, (uint32_t)event->values[2]);
	const uint64_t *slot = map64_find(&tracker->live_slots, page);
	total_add(&tracker->result->freed, bytes);
	if (!slot) {
		total_add(&tracker->result->unmatched, bytes);
		return;
	}
	take_out(tracker, &tracker->lives.data[*slot]);
	tracker->lives.data[*slot].row.hits = 0;
	vec_push(&tracker->free_slots, *slot);
	map64_remove(&tracker->live_slots, page);
}

/* ---- the result ---- */

#define COMPARE(name, member)                                    \
	static int compare_##name(const void *a, const void *b)  \
	{                                                        \
		const struct kmem_page_row *one = a, *other = b; \
		return kmem_greater(one->member, other->member); \
	}

COMPARE(page, page)
COMPARE(call_site, call_site)
COMPARE(bytes, bytes)
COMPARE(hits, hits)
COMPARE(order, order)
COMPARE(type, migrate_type)
COMPARE(flags, flags)

static int compare_keys(const void *a, const void *b)
{
	int result = compare_order(b, a);
	if (!result)
		result = compare_type(b, a);
	return result ? result : compare_flags(b, a);
}

static int compare_caller_keys(const void *a, const void *b)
{
	int result = compare_call_site(b, a);
	return result ? result : compare_keys(a, b);
}

static int compare_page_keys(const void *a, const void *b)
{
	int result = compare_page(b, a);
	return result ? result : compare_keys(a, b);
}

const struct kmem_sort_key page_sort_keys[] = {
	{"page", compare_page},	  {"callsite", compare_call_site}, {"bytes", compare_bytes}, {"hit", compare_hits},
	{"order", compare_order}, {"migtype", compare_type},	   {"gfp", compare_flags},   {0},
};
const char page_sort_default[] = "bytes,hit";

static void sort_rows(struct kmem_page_row *rows, size_t count, const char *keys, kmem_compare *tie)
{
	kmem_sort_rows(rows, count, sizeof(*rows), page_sort_keys, keys ? keys : page_sort_default, tie);
}

static struct kmem_page_row *copy_rows(const struct kmem_page_row *rows, size_t count, size_t *ret_count)
{
	struct kmem_page_row *copy = mem_alloc_array(count + 1, sizeof(*copy));
	*ret_count = 0;
	for (size_t i = 0; i < count; i++)
		if (rows[i].hits)
			copy[(*ret_count)++] = rows[i];
	return copy;
}

static int compare_flag_lists(const void *a, const void *b)
{
	const struct kmem_flags *one = a, *other = b;
	return kmem_greater(other->flags, one->flags);
}

static const char *names_of(const struct kmem_pages *pages, uint64_t flags)
{
	const struct kmem_flags key = {.flags = flags};
	const struct kmem_flags *found = bsearch(&key, pages->flags, pages->flags_count, sizeof(key), compare_flag_lists);
	return found ? found->names : "";
}

/* Pages that may be moved are of type 1 in most kernels, of type 2 in old ones. */
static void find_types(const struct page_tracker *tracker, struct kmem_pages *pages)
{
	static const enum kmem_page_type types[KMEM_PAGE_TYPES] = {KMEM_UNMOVABLE, KMEM_MOVABLE,  KMEM_RECLAIMABLE,
								   KMEM_RESERVED,  KMEM_ISOLATED, KMEM_UNKNOWN};
	uint64_t movable[KMEM_PAGE_TYPES] = {0};
	for (size_t i = 0; i < tracker->callers.rows.len; i++) {
		const struct kmem_page_row *row = &tracker->callers.rows.data[i];
		if (row->migrate_type < KMEM_PAGE_TYPES && strstr(names_of(pages, row->flags), "MOVABLE"))
			movable[row->migrate_type]++;
	}
	memcpy(pages->types, types, sizeof(types));
	if (movable[2] > movable[1]) {
		pages->types[1] = KMEM_RECLAIMABLE;
		pages->types[2] = KMEM_MOVABLE;
	}
}

static void add_orders(const struct page_tracker *tracker, struct kmem_pages *pages)
{
	for (size_t order = 0; order < KMEM_ORDERS; order++)
		for (uint32_t type = 0; type < KMEM_PAGE_TYPES; type++)
			pages->orders[order][kmem_page_type(pages, type)] += tracker->orders[order][type];
}

static struct kmem_page_row *copy_lives(const struct page_tracker *tracker, size_t count, size_t *ret_count)
{
	struct kmem_page_row *rows = mem_alloc_array(count + 1, sizeof(*rows));
	*ret_count = 0;
	for (size_t i = 0; i < count; i++)
		if (tracker->lives.data[i].row.hits)
			rows[(*ret_count)++] = tracker->lives.data[i].row;
	return rows;
}

struct kmem_pages *page_tracker_finish(struct page_tracker *tracker, const struct kmem_options *options)
{
	struct kmem_pages *pages = tracker->result;
	tracker->result = NULL;
	pages->arena = tracker->arena;
	tracker->arena = (struct arena){0};
	pages->callers = copy_rows(tracker->callers.rows.data, options->callers ? tracker->callers.rows.len : 0, &pages->caller_count);
	pages->pages = tracker->live ? copy_lives(tracker, options->rows ? tracker->lives.len : 0, &pages->page_count)
				     : copy_rows(tracker->pages.rows.data, options->rows ? tracker->pages.rows.len : 0, &pages->page_count);
	pages->flags_count = tracker->flags_list.len;
	pages->flags = mem_alloc_array(pages->flags_count + 1, sizeof(*pages->flags));
	for (size_t i = 0; i < pages->flags_count; i++)
		pages->flags[i] = tracker->flags_list.data[i];
	qsort(pages->flags, pages->flags_count, sizeof(*pages->flags), compare_flag_lists);
	find_types(tracker, pages);
	add_orders(tracker, pages);
	sort_rows(pages->callers, pages->caller_count, options->page_sort.callers, compare_caller_keys);
	sort_rows(pages->pages, pages->page_count, options->page_sort.rows, tracker->live ? compare_page : compare_page_keys);
	return pages;
}

void kmem_pages_destroy(struct kmem_pages *pages)
{
	if (!pages)
		return;
	free(pages->callers);
	free(pages->pages);
	free(pages->flags);
	arena_deinit(&pages->arena);
	free(pages);
}
