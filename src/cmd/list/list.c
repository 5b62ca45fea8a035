/* perf list: what can be measured here, by groups, by patterns or by parts of names. */
#include "cmd/list/list.h"

#include "app/command.h"
#include "app/pager.h"
#include "base/cleanup.h"
#include "base/files/output.h"
#include "base/files/replacement.h"
#include "base/log.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option list_options[] = {
	OPTION_FLAG_INVERTED('d', "desc", struct list_options, no_description,
			     "show short descriptions of events (default; --no-desc: omit them)"),
	OPTION_FLAG('v', "long-desc", struct list_options, long_description, "show long descriptions of events, and fields of tracepoints"),
	OPTION_FLAG(0, "details", struct list_options, details, "show how events are encoded for -e, and the formulas of metrics"),
	OPTION_FLAG(0, "deprecated", struct list_options, deprecated, "also list events that the vendor has deprecated"),
	OPTION_STRING(0, "unit", struct list_options, unit, "PMU", "list only events of this PMU (or pattern such as 'uncore*')"),
	OPTION_STRING(0, "cputype", struct list_options, cputype, "KIND", "list only this core type, such as core or atom"),
	OPTION_FLAG('j', "json", struct list_options, json, "print JSON"),
	OPTION_FLAG(0, "raw-dump", struct list_options, raw_dump, "list only the names of supported events, in one line"),
	OPTION_STRING('o', "output", struct list_options, output, "FILE", "write to a file"),
	OPTION_FLAG(0, "debug", struct list_options, debug, "explain why events cannot be opened"),
	OPTION_END,
};

struct list_run {
	struct list_options options;
	struct event_catalog *catalog;
	struct listing listing;
	bool told_of_tracepoints;
	bool nothing_found; /* for a word */
	bool by_group;	    /* metrics stand under the names of their groups */
};

struct group_word {
	const char *word;
	enum listing_group first, last; /* groups from first to last */
};

static const struct group_word group_words[] = {
	{"hw", LISTING_HARDWARE, LISTING_HARDWARE},
	{"hardware", LISTING_HARDWARE, LISTING_HARDWARE},
	{"sw", LISTING_SOFTWARE, LISTING_TOOL},
	{"software", LISTING_SOFTWARE, LISTING_TOOL},
	{"tool", LISTING_TOOL, LISTING_TOOL},
	{"cache", LISTING_CACHE, LISTING_CACHE},
	{"hwcache", LISTING_CACHE, LISTING_CACHE},
	{"pmu", LISTING_PMU, LISTING_PMU},
	{"rawhw", LISTING_RAW, LISTING_RAW},
	{"breakpoint", LISTING_BREAKPOINT, LISTING_BREAKPOINT},
	{"tracepoint", LISTING_TRACEPOINT, LISTING_TRACEPOINT},
	{"sdt", LISTING_SDT, LISTING_SDT},
	{"pfm", LISTING_VENDOR, LISTING_VENDOR},
	{"metric", LISTING_METRIC, LISTING_METRIC},
	{"metrics", LISTING_METRIC, LISTING_METRIC},
	{"metricgroup", LISTING_METRIC_GROUP, LISTING_METRIC_GROUP},
	{"metricgroups", LISTING_METRIC_GROUP, LISTING_METRIC_GROUP},
};

/* Why there are no tracepoints, once. */
static void explain_no_tracepoints(struct list_run *run)
{
	const char *tracefs;
	struct error *error = run->told_of_tracepoints ? NULL : event_catalog_tracefs(run->catalog, &tracefs);

	run->told_of_tracepoints = true;
	if (error)
		log_warning("no tracepoints: %s", error_message(error));
	error_free(error);
}

static void add_group(struct list_run *run, enum listing_group group, const char *tracepoints)
{
	struct listing_options options = {.try = true,
					  .encoding = run->options.details || run->options.json,
					  .fields = run->options.long_description,
					  .tracepoints = tracepoints};

	if (group == LISTING_TRACEPOINT && (!tracepoints || strchr(tracepoints, ':')) && !run->options.raw_dump)
		explain_no_tracepoints(run);
	if (group == LISTING_SDT)
		list_add_sdt(&run->listing);
	else if (group == LISTING_METRIC)
		list_add_metrics(&run->listing, run->catalog, run->by_group);
	else if (group == LISTING_METRIC_GROUP)
		list_add_metric_groups(&run->listing);
	else
		listing_add(&run->listing, run->catalog, group, &options);
}

static char *lower_case(const char *text)
{
	char *copy = mem_strdup(text);

	for (char *c = copy; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return copy;
}

/* A pattern in small letters matches names in any case. */
static bool matches(const char *pattern, const char *name, bool any_case)
{
	cleanup_free char *lower = any_case && name ? lower_case(name) : NULL;

	return name && str_glob_match(pattern, lower ? lower : name);
}

/* Keeps the entries from `first` on of which a name matches. */
static void keep_matching(struct listing *listing, size_t first, const char *pattern, bool any_case)
{
	size_t to = first;

	for (size_t i = first; i < listing->entries.len; i++) {
		const struct listing_entry *entry = &listing->entries.data[i];
		if (matches(pattern, entry->name, any_case) || matches(pattern, entry->alias, any_case))
			listing->entries.data[to++] = *entry;
	}
	listing->entries.len = to;
}

/* Adds what matches the pattern; with a colon, tracepoints and their like only. */
static void add_matching(struct list_run *run, const char *pattern, bool any_case)
{
	static const enum listing_group with_colon[] = {LISTING_TRACEPOINT, LISTING_SDT, LISTING_VENDOR},
					all[] = {LISTING_HARDWARE,   LISTING_SOFTWARE, LISTING_TOOL,   LISTING_CACHE, LISTING_PMU,
						 LISTING_TRACEPOINT, LISTING_SDT,      LISTING_VENDOR, LISTING_METRIC};
	bool colon = strchr(pattern, ':');
	const enum listing_group *groups = colon ? with_colon : all;
	size_t count = colon ? sizeof(with_colon) / sizeof(with_colon[0]) : sizeof(all) / sizeof(all[0]);
	size_t first = run->listing.entries.len;

	for (size_t i = 0; i < count; i++)
		add_group(run, groups[i], any_case ? NULL : pattern);
	keep_matching(&run->listing, first, pattern, any_case);
}

/* Everything whose name has `word` in it, or matches it; in any case of letters when there is nothing else. */
static void add_by_name(struct list_run *run, const char *word)
{
	cleanup_free char *pattern = strchr(word, ':') ? mem_strdup(word) : mem_printf("*%s*", word);
	cleanup_free char *lower = lower_case(pattern);
	size_t first = run->listing.entries.len;

	add_matching(run, pattern, false);
	if (run->listing.entries.len == first)
		add_matching(run, lower, true);
	if (run->listing.entries.len > first)
		return;
	run->nothing_found = true;
	if (!run->options.raw_dump)
		log_warning("no event matches '%s'", word);
}

static void add_word(struct list_run *run, const char *word)
{
	for (size_t i = 0; i < sizeof(group_words) / sizeof(group_words[0]); i++) {
		const struct group_word *row = &group_words[i];
		if (strcmp(row->word, word))
			continue;
		for (enum listing_group group = row->first; group <= row->last; group++)
			add_group(run, group, NULL);
		return;
	}
	add_by_name(run, word);
}

/* Only what the options ask for: one PMU's events, and no deprecated ones. */
static void filter(struct list_run *run)
{
	struct listing *listing = &run->listing;
	const char *unit = run->options.unit;
	size_t to = 0;

	for (size_t i = 0; i < listing->entries.len; i++) {
		const struct listing_entry *entry = &listing->entries.data[i];
		bool wanted = !unit || (entry->unit && (str_glob_match(unit, entry->unit) || (str_starts_with(entry->unit, "uncore_") &&
											      str_glob_match(unit, entry->unit + 7))));
		if (wanted && (!entry->deprecated || run->options.deprecated))
			listing->entries.data[to++] = *entry;
	}
	listing->entries.len = to;
	if (unit && !to)
		log_warning("no listed event belongs to a PMU '%s'; 'perf list pmu' lists the PMUs", unit);
}

static bool any_hardware_refused(const struct listing *listing)
{
	for (size_t i = 0; i < listing->entries.len; i++)
		if (listing->entries.data[i].support > LISTING_SUPPORTED)
			return true;
	return false;
}

static struct error *print(struct list_run *run)
{
	const struct list_options *options = &run->options;
	struct strbuf out = {0};
	FILE *file = stdout;

	struct error *error = options->output ? output_stream_open(options->output, false, &file) : NULL;
	if (error)
		return error;
	if (!options->output && !options->json && !options->raw_dump)
		pager_start("list");
	unsigned int columns = options->output ? 0 : output_columns();
	list_print(&run->listing, options, columns, &out);
	if (columns && !options->json && !options->raw_dump) { /* a person looks */
		printf("\nList of pre-defined events (to be used in -e or -M):\n\n");
		if (any_hardware_refused(&run->listing))
			strbuf_add_str(&out, "\n'perf doctor' explains why events are not supported here.\n");
	}
	fputs(strbuf_str(&out), file);
	strbuf_deinit(&out);
	int failure = file == stdout ? 0 : output_close(file);
	return failure ? error_system(failure, "cannot write %s", options->output) : NULL;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct list_run run = {0};
	int words;
	struct error *error = options_parse(list_options, OPTIONS_PERMUTE, argc, argv, &run.options, &words);

	if (error)
		return error;
	if (run.options.debug)
		log_set_level(LOG_DEBUG);
	run.catalog = event_catalog_create("");
	if (run.options.cputype)
		error = event_catalog_choose_cores(run.catalog, run.options.cputype);
	for (int i = 0; !error && i < words; i++)
		add_word(&run, argv[i]);
	run.by_group = !words && !run.options.json && !run.options.raw_dump;
	for (enum listing_group group = 0; !error && !words && group < LISTING_GROUPS; group++)
		if (group != LISTING_METRIC_GROUP || !run.by_group)
			add_group(&run, group, NULL);
	if (!error) {
		filter(&run);
		error = print(&run);
		*ret_status = run.nothing_found;
	}
	listing_deinit(&run.listing);
	event_catalog_destroy(run.catalog);
	return error;
}

static const char *const usage[] = {"[OPTIONS] [NAME | PATTERN]...",
				    "[OPTIONS] hw | sw | cache | pmu | rawhw | breakpoint | tracepoint | sdt | pfm | metric | metricgroup",
				    NULL};
const struct command cmd_list = {"list", "List the events that can be measured", usage, list_options, run};
