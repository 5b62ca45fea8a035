/* perf kmem: who allocates kernel memory, how much of it, and how well that fits.
 *
 *	perf kmem record -- COMMAND        records the slab allocator's events on all CPUs; with --page the page allocator's, with stacks
 *	perf kmem stat --caller            adds them up, by call site
 *
 * The options of `stat` may stand before either word, as with the kernel's tool; of them `record` knows --slab and --page. */
#include "cmd/kmem/kmem.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "kernel/tracing/tracefs.h"

#include <stdlib.h>
#include <string.h>

/* ---- perf kmem record ---- */

/* Events that only some kernels have are left out where they aren't. */
static const struct {
	const char *name;
	bool page;
} events[] = {
	{"kmalloc", false},	     {"kmalloc_node", false},	       {"kfree", false},
	{"kmem_cache_alloc", false}, {"kmem_cache_alloc_node", false}, {"kmem_cache_free", false},
	{"mm_page_alloc", true},     {"mm_page_free", true},
};

struct recorded_kinds {
	bool slab, page;
};

static struct error *choose_events(const struct recorded_kinds *options, struct strbuf *out)
{
	cleanup_free char *tracefs = NULL;
	struct error *error = tracefs_find("", &tracefs);
	if (error)
		return error;
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		int id;
		if ((events[i].page ? options->page : options->slab || !options->page) &&
		    tracefs_event_id(tracefs, "kmem", events[i].name, &id))
			strbuf_printf(out, "%skmem:%s", out->len ? "," : "", events[i].name);
	}
	return out->len ? NULL : error_new("this kernel has no events of its allocators (kmem:*)");
}

/* Runs `perf record` with the words that are left. Stacks are of pages alone. */
static struct error *run_record(struct recorded_kinds *options, int argc, char **argv, int *ret_status)
{
	struct strbuf chosen = {0};
	struct error *error = choose_events(options, &chosen);
	const char *const before[] = {"record", "-a", "-R", "-c", "1", "-e", strbuf_str(&chosen), "-g"};
	size_t count = sizeof(before) / sizeof(*before);
	if (!error)
		error = command_run_with(before, options->page ? count : count - 1, argv, argc, ret_status);
	strbuf_deinit(&chosen);
	return error;
}

static const struct option recorded_kind_table[] = {
	OPTION_FLAG(0, "slab", struct recorded_kinds, slab, "record the slab allocator (default)"),
	OPTION_FLAG(0, "page", struct recorded_kinds, page, "record the page allocator, with stacks"),
	OPTION_END,
};

/* Takes --slab and --page from argv[1…] up to the first word that is neither: what follows may be arguments of other options. Returns where
 * that is. */
static int take_kinds(int argc, char **argv, struct recorded_kinds *options)
{
	int at = 1;
	for (; at < argc; at++) {
		if (!strcmp(argv[at], "--slab"))
			options->slab = true;
		else if (!strcmp(argv[at], "--page"))
			options->page = true;
		else
			break;
	}
	return at;
}

static struct error *record(int argc, char **argv, int *ret_status)
{
	struct recorded_kinds options = {0};
	int at = take_kinds(argc, argv, &options);
	return run_record(&options, argc - at, argv + at, ret_status);
}

static const char *const record_usage[] = {"[--slab] [--page] [<record options>] [--] [<command>]", NULL};

/* ---- */

static bool is_record(const char *word)
{
	return !strncmp(word, "rec", 3);
}

/* Where no subcommand comes first: record, which may have --slab and --page before its name, or a mistake. */
static struct error *run(int argc, char **argv, int *ret_status)
{
	struct kmem_stat_options values;
	struct recorded_kinds kinds = {0};
	int words, at = take_kinds(argc, argv, &kinds);
	if (at < argc && is_record(argv[at])) {
		int own = take_kinds(argc - at, argv + at, &kinds);
		return run_record(&kinds, argc - at - own, argv + at + own, ret_status);
	}
	kmem_stat_options_init(&values);
	struct error *error = options_parse(kmem_stat_option_table, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &values, &words);
	if (error)
		return error;
	if (words && is_record(argv[0]))
		return error_new_kind(ERROR_USAGE, "only --slab and --page may stand before 'record'; its other options follow its name");
	return error_new_kind(ERROR_USAGE, words ? "unknown subcommand '%s'" : "which subcommand?", argv[0]);
}

const struct command cmd_kmem_record = {
	"kmem record",	    "Record allocations of kernel memory on all CPUs", record_usage, recorded_kind_table, record, .runs = "record",
	.own_options = true};
static const char *const usage[] = {"[<options>] {record|stat}", NULL};
const struct command cmd_kmem = {"kmem", "Analyse allocations of kernel memory", usage, kmem_stat_option_table,
				 run,	 .subcommands = kmem_subcommands};
