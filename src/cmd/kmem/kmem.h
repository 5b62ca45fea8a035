/* Parts of perf kmem. */
#pragma once

#include "analysis/kmem/kmem.h"
#include "app/command.h"
#include "app/format_option.h"
#include "app/groups.h"
#include "cmd/opening.h"

/* Which table an option like -l is for: the one that was named last, or both. */
enum kmem_table { KMEM_TABLE_BOTH, KMEM_TABLE_CALLERS, KMEM_TABLE_ROWS };
enum kmem_kind { KMEM_KIND_BOTH, KMEM_KIND_SLAB, KMEM_KIND_PAGE };

struct kmem_stat_options {
	struct input_options input;
	struct output_options output;
	struct kmem_options wanted;
	enum kmem_table last_table; /* named so far */
	enum kmem_kind last_kind;
	uint64_t caller_lines, row_lines; /* at most; UINT64_MAX = all */
	bool raw_addresses;
	const char *time;
	const char *format; /* "csv", "json" or NULL = text for people */
	char separator;	    /* of csv; 0 = a comma */
};

/* Those of perf kmem and of perf kmem stat; call kmem_stat_options_init() first. */
extern const struct option kmem_stat_option_table[];
void kmem_stat_options_init(struct kmem_stat_options *options);

/* Neither: the one that the configuration names in kmem.default, else slab. */
struct error *kmem_choose_kind(bool *slab, bool *page);

/* How results are shown. */
struct kmem_show {
	const struct kmem_stat_options *options;
	struct resolver *resolver;
};

void kmem_print_slab(const struct kmem_show *show, const struct kmem_slab *slab);
void kmem_print_pages(const struct kmem_show *show, const struct kmem_pages *pages);
/* For programs. */
struct error *kmem_write_tables(const struct kmem_show *show, const struct kmem *kmem);

/* "alloc_pid+0x60", the name alone without `offset`; or the address. */
void kmem_add_function(struct strbuf *out, const struct kmem_show *show, uint64_t address, bool offset);
/* "Unmovable" and so on. */
const char *kmem_type_name(enum kmem_page_type type);
/* "GFP_KERNEL|__GFP_ZERO", or a number. */
void kmem_add_flags(struct strbuf *out, const struct kmem_pages *pages, uint64_t flags);

/* Those whose files are in this folder; made by the build. */
extern const struct command *const kmem_subcommands[];
