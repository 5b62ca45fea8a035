/* Text of perf kmem stat for people, as that of the kernel's tool. */
#include "cmd/kmem/kmem.h"

#include "base/log.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_line(void)
{
	static const char dashes[] =
		"---------------------------------------------------------------------------------------------------------";
	puts(dashes);
}

void kmem_add_function(struct strbuf *out, const struct kmem_show *show, uint64_t address, bool offset)
{
	uint64_t start;
	const struct symbol *symbol = show->options->raw_addresses ? NULL : resolver_kernel_symbol(show->resolver, address, &start);
	if (!symbol) {
		strbuf_printf(out, "0x%" PRIx64, address);
		return;
	}
	text_add_safe(out, symbol->name, strlen(symbol->name));
	if (offset)
		strbuf_printf(out, "+%" PRIx64, address - start);
}

const char *kmem_type_name(enum kmem_page_type type)
{
	static const char *const names[KMEM_PAGE_TYPES] = {"unmovable", "reclaimable", "movable", "reserved", "isolated", "unknown"};
	return names[type];
}

/* ---- slab ---- */

/* "| 1234/16 ", each padded. */
static void add_ratio(struct strbuf *out, uint64_t bytes, uint64_t hits)
{
	enum { BYTES = 9, PER_HIT = 5 };
	strbuf_add_literal(out, " | ");
	strbuf_add_u64(out, bytes, BYTES);
	strbuf_add_char(out, '/');
	size_t start = out->len;
	strbuf_add_u64(out, bytes / hits, 0);
	strbuf_pad(out, start, PER_HIT);
}

static void add_slab_row(struct strbuf *out, const struct kmem_show *show, const struct kmem_slab_row *row)
{
	enum { NAME = 34, HITS = 8, PING_PONG = 9 };
	strbuf_add_char(out, ' ');
	size_t start = out->len;
	if (row->object) {
		strbuf_add_literal(out, "0x");
		strbuf_add_hex(out, row->object, 0);
	} else {
		kmem_add_function(out, show, row->call_site, true);
	}
	strbuf_pad(out, start, NAME);
	add_ratio(out, row->allocated, row->hits);
	add_ratio(out, row->requested, row->hits);
	strbuf_add_literal(out, " | ");
	strbuf_add_u64(out, row->hits, HITS);
	strbuf_add_literal(out, " | ");
	strbuf_add_u64(out, row->ping_pong, PING_PONG);
	if (row->requested == row->allocated)
		strbuf_add_literal(out, " |  0.000%\n");
	else
		strbuf_printf(out, " | %6.3f%%\n", kmem_fragmentation(row->requested, row->allocated));
}

static void print_slab_rows(const struct kmem_show *show, const char *title, const struct kmem_slab_row *rows, size_t count, uint64_t most)
{
	enum { PORTION = 32 << 10 };
	struct strbuf out = {0};
	print_line();
	printf(" %-34s | Total_alloc/Per | Total_req/Per   | Hit      | Ping-pong | Frag\n", title);
	print_line();
	for (size_t i = 0; i < count && i < most; i++) {
		add_slab_row(&out, show, &rows[i]);
		if (out.len >= PORTION || i + 1 == count || i + 1 == most) {
			fwrite(out.data, 1, out.len, stdout);
			strbuf_clear(&out);
		}
	}
	strbuf_deinit(&out);
	if (count > most)
		printf(" ...                                | ...             | ...             | ...      | ...       | ...   \n");
	print_line();
}

void kmem_print_slab(const struct kmem_show *show, const struct kmem_slab *slab)
{
	const struct kmem_stat_options *options = show->options;
	if (options->wanted.callers)
		print_slab_rows(show, "Callsite", slab->callers, slab->caller_count, options->caller_lines);
	if (options->wanted.rows)
		print_slab_rows(show, "Alloc Ptr", slab->objects, slab->object_count, options->row_lines);
	printf("\nSUMMARY (SLAB allocator)"
	       "\n========================\n"
	       "Total bytes requested: %" PRIu64 "\n"
	       "Total bytes allocated: %" PRIu64 "\n"
	       "Total bytes freed:     %" PRIu64 "\n",
	       slab->requested, slab->allocated, slab->freed);
	if (slab->allocated >= slab->freed)
		printf("Net total bytes allocated: %" PRIu64 "\n", slab->allocated - slab->freed);
	printf("Total bytes wasted on internal fragmentation: %" PRId64 "\n"
	       "Internal fragmentation: %f%%\n"
	       "Cross CPU allocations: %" PRIu64 "/%" PRIu64 "\n",
	       (int64_t)(slab->allocated - slab->requested), kmem_fragmentation(slab->requested, slab->allocated), slab->cross_node,
	       slab->allocations);
}

/* ---- flags ---- */

/* What the kernel's tool calls them where room is short. */
static const struct {
	const char *name, *letters;
} short_names[] = {
	{"GFP_TRANSHUGE", "THP"},
	{"GFP_TRANSHUGE_LIGHT", "THL"},
	{"GFP_HIGHUSER_MOVABLE", "HUM"},
	{"GFP_HIGHUSER", "HU"},
	{"GFP_USER", "U"},
	{"GFP_KERNEL_ACCOUNT", "KAC"},
	{"GFP_KERNEL", "K"},
	{"GFP_NOFS", "NF"},
	{"GFP_ATOMIC", "A"},
	{"GFP_NOIO", "NI"},
	{"GFP_NOWAIT", "NW"},
	{"GFP_DMA", "D"},
	{"__GFP_HIGHMEM", "HM"},
	{"GFP_DMA32", "D32"},
	{"__GFP_HIGH", "H"},
	{"__GFP_ATOMIC", "_A"},
	{"__GFP_IO", "I"},
	{"__GFP_FS", "F"},
	{"__GFP_NOWARN", "NWR"},
	{"__GFP_RETRY_MAYFAIL", "R"},
	{"__GFP_NOFAIL", "NF"},
	{"__GFP_NORETRY", "NR"},
	{"__GFP_COMP", "C"},
	{"__GFP_ZERO", "Z"},
	{"__GFP_NOMEMALLOC", "NMA"},
	{"__GFP_MEMALLOC", "MA"},
	{"__GFP_HARDWALL", "HW"},
	{"__GFP_THISNODE", "TN"},
	{"__GFP_RECLAIMABLE", "RC"},
	{"__GFP_MOVABLE", "M"},
	{"__GFP_ACCOUNT", "AC"},
	{"__GFP_WRITE", "WR"},
	{"__GFP_RECLAIM", "R"},
	{"__GFP_DIRECT_RECLAIM", "DR"},
	{"__GFP_KSWAPD_RECLAIM", "KR"},
};

static const char *find_names(const struct kmem_pages *pages, uint64_t flags)
{
	for (size_t low = 0, high = pages->flags_count; low < high;) {
		size_t middle = low + (high - low) / 2;
		if (pages->flags[middle].flags == flags)
			return pages->flags[middle].names;
		if (pages->flags[middle].flags < flags)
			low = middle + 1;
		else
			high = middle;
	}
	return "";
}

void kmem_add_flags(struct strbuf *out, const struct kmem_pages *pages, uint64_t flags)
{
	const char *names = find_names(pages, flags);
	if (*names)
		strbuf_add_str(out, names);
	else
		strbuf_printf(out, "0x%" PRIx64, flags);
}

static void add_short_name(struct strbuf *out, const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(short_names) / sizeof(*short_names); i++) {
		if (strlen(short_names[i].name) == len && !memcmp(short_names[i].name, name, len)) {
			strbuf_add_str(out, short_names[i].letters);
			return;
		}
	}
	strbuf_add(out, name, len);
}

static void add_short_flags(struct strbuf *out, const struct kmem_pages *pages, uint64_t flags)
{
	struct strbuf names = {0};
	kmem_add_flags(&names, pages, flags);
	for (const char *name = strbuf_str(&names); *name;) {
		size_t len = strcspn(name, "|");
		add_short_name(out, name, len);
		name += len;
		if (*name) {
			strbuf_add_char(out, '|');
			name++;
		}
	}
	strbuf_deinit(&names);
}

/* The columns that the longest short names take. */
static int flags_width(const struct kmem_pages *pages)
{
	size_t width = 0;
	struct strbuf text = {0};
	for (size_t i = 0; i < pages->flags_count; i++) {
		strbuf_clear(&text);
		add_short_flags(&text, pages, pages->flags[i].flags);
		width = text.len > width ? text.len : width;
	}
	strbuf_deinit(&text);
	return (int)width;
}

static void print_flags(const struct kmem_pages *pages, int width)
{
	struct strbuf letters = {0}, names = {0};
	printf("#\n# GFP flags\n# ---------\n");
	for (size_t i = 0; i < pages->flags_count; i++) {
		strbuf_clear(&letters);
		strbuf_clear(&names);
		add_short_flags(&letters, pages, pages->flags[i].flags);
		kmem_add_flags(&names, pages, pages->flags[i].flags);
		printf("# %08" PRIx64 ": %*s: %s\n", pages->flags[i].flags, width, strbuf_str(&letters), strbuf_str(&names));
	}
	strbuf_deinit(&letters);
	strbuf_deinit(&names);
}

/* ---- pages ---- */

enum { BYTES_PER_KB = 1024 };

static void print_page_row(const struct kmem_show *show, const struct kmem_pages *pages, const struct kmem_page_row *row, bool caller,
			   int width)
{
	static const char *const types[KMEM_PAGE_TYPES] = {"UNMOVABL", "RECLAIM", "MOVABLE", "RESERVED", "CMA/ISLT", "UNKNOWN"};
	struct strbuf flags = {0}, function = {0};
	add_short_flags(&flags, pages, row->flags);
	kmem_add_function(&function, show, row->call_site, log_level() >= LOG_INFO);
	if (!caller && pages->addresses)
		printf(" %016" PRIx64 " |", row->page);
	else if (!caller)
		printf(" %16" PRIu64 " |", row->page);
	printf(" %16" PRIu64 " | %9" PRIu64 " | %5" PRIu32 " | %8s | %-*s | %s\n", row->bytes / BYTES_PER_KB, row->hits, row->order,
	       types[kmem_page_type(pages, row->migrate_type)], width, strbuf_str(&flags), strbuf_str(&function));
	strbuf_deinit(&flags);
	strbuf_deinit(&function);
}

static void print_page_rows(const struct kmem_show *show, const struct kmem_pages *pages, bool caller, int width)
{
	const struct kmem_page_row *rows = caller ? pages->callers : pages->pages;
	size_t count = caller ? pages->caller_count : pages->page_count;
	uint64_t most = caller ? show->options->caller_lines : show->options->row_lines;
	const char *total = show->options->wanted.live ? "Live" : "Total";
	printf("\n");
	print_line();
	if (!caller)
		printf(" %-16s |", pages->addresses ? "Page" : "PFN");
	printf(" %5s alloc (KB) | Hits      | Order | Mig.type | %-*s | Callsite\n", total, width, "GFP flags");
	print_line();
	for (size_t i = 0; i < count && i < most; i++)
		print_page_row(show, pages, &rows[i], caller, width);
	if (count > most)
		printf("%s ...              | ...       | ...   | ...      | %-*s | ...\n", caller ? "" : " ...              |", width,
		       "...");
	print_line();
}

static void print_total(const char *what, uint64_t count, uint64_t bytes)
{
	printf("%-30s: %16" PRIu64 "   [ %16" PRIu64 " KB ]\n", what, count, bytes / BYTES_PER_KB);
}

static void print_orders(const struct kmem_pages *pages)
{
	enum { USUAL_ORDERS = 11 };
	size_t orders = KMEM_ORDERS, columns = KMEM_PAGE_TYPES;
	bool unknown = false;
	for (size_t order = 0; order < KMEM_ORDERS; order++)
		unknown |= pages->orders[order][KMEM_UNKNOWN] > 0;
	columns -= !unknown;
	for (uint64_t count = 0; orders > USUAL_ORDERS; orders--) {
		for (size_t type = 0; type < columns; type++)
			count |= pages->orders[orders - 1][type];
		if (count)
			break;
	}
	printf("%5s  %12s  %12s  %12s  %12s  %12s%s\n", "Order", "Unmovable", "Reclaimable", "Movable", "Reserved", "CMA/Isolated",
	       unknown ? "       Unknown" : "");
	printf("%.5s", "------------");
	for (size_t type = 0; type < columns; type++)
		printf("  ------------");
	printf("\n");
	for (size_t order = 0; order < orders; order++) {
		printf("%5zu", order);
		for (size_t type = 0; type < columns; type++) {
			if (pages->orders[order][type])
				printf("  %12" PRIu64, pages->orders[order][type]);
			else
				printf("  %12s", ".");
		}
		printf("\n");
	}
}

void kmem_print_pages(const struct kmem_show *show, const struct kmem_pages *pages)
{
	const struct kmem_stat_options *options = show->options;
	const int title = (int)strlen("GFP flags");
	int width = flags_width(pages);
	if (options->wanted.callers || options->wanted.rows)
		print_flags(pages, width);
	width = width > title ? width : title;
	if (options->wanted.callers)
		print_page_rows(show, pages, true, width);
	if (options->wanted.rows)
		print_page_rows(show, pages, false, width);
	printf("\nSUMMARY (page allocator)"
	       "\n========================\n");
	uint64_t both = pages->freed.count - pages->unmatched.count, both_bytes = pages->freed.bytes - pages->unmatched.bytes;
	print_total("Total allocation requests", pages->allocated.count, pages->allocated.bytes);
	print_total("Total free requests", pages->freed.count, pages->freed.bytes);
	printf("\n");
	print_total("Total alloc+freed requests", both, both_bytes);
	print_total("Total alloc-only requests", pages->allocated.count - both, pages->allocated.bytes - both_bytes);
	print_total("Total free-only requests", pages->unmatched.count, pages->unmatched.bytes);
	printf("\n");
	print_total("Total allocation failures", pages->failed.count, pages->failed.bytes);
	printf("\n");
	print_orders(pages);
}
