/* perf report: what its files share. */
#pragma once

#include "analysis/report/callgraph.h"
#include "analysis/report/fold.h"
#include "analysis/report/keys/keys.h"
#include "analysis/report/rows.h"
#include "analysis/sides.h"
#include "app/color.h"
#include "app/config.h"
#include "app/groups.h"
#include "app/print_file.h"
#include "base/error.h"
#include "cmd/code/code_options.h"
#include "cmd/name_list.h"
#include "cmd/opening.h"
#include "event/event_set.h"
#include "result/table.h"
#include "session/tally.h"

#include <regex.h>

struct callgraph_choice {
	bool given; /* -g was used */
	enum callgraph_print mode;
	double min_percent;
	uint32_t most_entries;
	bool order_given;
	bool caller;
	bool by_address;
	enum graph_value value;
	bool branches; /* with the last branches before the chain */
};

struct report_options {
	struct input_options input;
	struct itrace_options itrace;
	struct output_options output;
	struct code_options code; /* of functions that are opened */
	const char *sort, *fields;
	const char *default_sort; /* NULL = comm,dso,symbol, or trace for tracepoints; branches and memory accesses have others */
	bool compares;		  /* for perf diff: the keys bring no columns along */
	const char *cpus, *time;
	struct name_list comms, dsos, symbols, pids, tids;
	enum machine_sides sides; /* of virtual machines */
	const char *symbol_filter;
	const char *parent;
	bool exclude_other;
	bool hide_unresolved;
	enum stack_inlines inlines;
	bool children;
	bool stitch_lbr;
	uint64_t single_samples; /* --samples: how many of a row the screen offers */
	bool total_cycles, mem_mode;
	bool show_samples, show_period, show_modes, show_threads;
	enum stats_choice { STATS_NONE, STATS_RECORDS, STATS_STACKS } stats;
	bool tasks, mmaps, header, header_only, show_info, dump;
	bool inverted;
	bool reference_graphs;
	struct callgraph_choice callgraph;
	uint64_t max_stack;
	enum group_choice group;
	int group_sort_index;
	const char *separator;
	const char *widths;
	enum branch_choice { BRANCHES_IF_RECORDED, BRANCHES_WANTED, BRANCHES_NEVER } branches;
	bool branch_history;
	bool hierarchy;
	double percent_limit;
	bool relative;
	bool raw_trace;
	bool full_source_path;
	const char *ignore_callees; /* regular expression, or NULL */
	bool raw_counts;	    /* -T: one line a count */
	bool disable_order;	    /* -D: in the order of the file */
	enum color_choice color;
	bool nanoseconds;
	bool skip_empty;
	int socket;
	uint64_t time_quantum_ns;
	const char *switch_on, *switch_off;
	bool show_on_off;
	const char *format;
	enum screen_choice { SCREEN_ON_TERMINALS, SCREEN_WANTED, SCREEN_NEVER } screen;
	bool mouse;		/* of the screen */
	const char *html;	/* the page to write, or NULL */
	size_t most_rows;	/* of a table; 0 = all */
	uint64_t least_samples; /* only rows with more than so many */
};

/* A report under way. */
struct report {
	struct report_options *options;
	bool live; /* samples come one by one, and whoever feeds them looks at --switch-on and --switch-off */
	struct opening opening;
	struct session *session;
	struct key_context context;
	struct intern strings;
	struct arena arena;
	struct key_list sort;	/* in order */
	struct key_list shown;	/* columns */
	struct key_list extras; /* sort keys that the fold keeps apart */
	unsigned int extra_words;
	struct stitcher *stitcher; /* or NULL */
	struct fold *fold;
	unsigned int every;	/* the fold is of one piece of the recording in so many; 0 = of all */
	bool beginning;		/* what was opened is only the beginning of the recording */
	bool by_line;		/* a key tells addresses in one function apart */
	bool unwound;		/* there are stacks of registers and stack bytes */
	bool whole_rows;	/* a filter shows all samples of a row or none, by the first one: so the kernel's diff makes its pairs */
	size_t most_rows;	/* that anybody is going to look at; 0 = all */
	const char *sort_order; /* what the rows are sorted by, as text */
	bool branch_mode, branch_history, children, chains, caller_order, group;
	regex_t parent_regex, ignored_regex;
	bool has_parent_regex, has_ignored_regex;
	struct time_range *windows;
	size_t window_count;
};

/* report.c: the steps of a report whose options and opening are set, for `perf top` and `perf offcpu` as well. First everything that
 * follows from the events and the options; then what to fold. Releases all, the fold and the opening too. */
struct error *report_prepare(struct report *report);
void report_fold_options(struct report *report, struct fold_options *ret);
/* Folds all samples of the recording. */
struct error *report_make_fold(struct report *report);
/* What functions of --ignore-callees call counts for themselves; of a fold that is finished. */
void report_ignore_callees(struct report *report, struct fold *fold);
/* A report with the same options, keys and session, but with a fold to be made and with nothing in common that changes: for another thread.
 * It lives no longer than `report`; released by report_copy_deinit(). */
void report_copy(const struct report *report, struct report *ret);
void report_copy_deinit(struct report *copy);
/* Takes out of the fold what the filters of rows leave out: for stacks, which have no rows. */
void report_keep_shown(struct report *report);
/* Prints the fold as options.format asks for: tables, or stacks for formats that cannot show tables. */
struct error *report_show(struct report *report);
void report_deinit(struct report *report);

/* options.c */
extern const struct option report_option_table[];
/* --percentage: relative or absolute; the field is a bool. */
option_parse_fn report_option_percentage;
/* --tui and --stdio: the last one counts. The field is an enum screen_choice. */
option_parse_fn report_option_screen;
/* Keys of the configuration that preset options; the styles of call graphs don't ask for them. */
extern const struct config_binding report_configuration[];
/* What holds without options or configuration; deinit frees the lists of names. */
void report_options_init(struct report_options *options);
void report_options_deinit(struct report_options *options);

/* keys.c: fills sort, shown and extras from -s and -F. */
struct error *report_setup_keys(struct report *report);
/* Without a recording: names that are no keys and could only be fields of tracepoints. */
struct error *report_check_keys(const struct report_options *options);
/* The one name of a filter, or NULL: then the column says nothing. */
bool report_is_elided(const struct report *report, const struct key *key);

/* filter.c */
bool report_place_shown(void *context, const struct fold_frame *place);
/* What --time, --socket-filter and the lists of names ask for, in forms that are quick to check. The error says which of it can't be. */
struct error *report_setup_filter(struct report *report);
/* The events of --switch-on and --switch-off, or NULL. */
struct error *report_find_switches(const struct report *report, const struct event **ret_on, const struct event **ret_off);
bool report_accept(void *context, const struct fold_sample *sample);
void report_extra(void *context, const struct fold_sample *sample, uint64_t *words);
bool report_shown(void *context, const struct fold *fold, const struct fold_entry *entry);

/* The keys that say something about some events: fields of other tracepoints don't. */
struct report_keys {
	const struct key *sort[ROWS_KEYS_MAX];
	const struct key *identity[ROWS_KEYS_MAX];
	bool skipped[ROWS_KEYS_MAX];
	size_t count, identity_count;
	bool by_mode;
};

/* table.c: rows → table; shown with the view. */
struct error *report_choose_keys(const struct report *report, const struct event *const *events, size_t count, struct report_keys *keys);
/* Keeps the pointers. Rows that the filters of the options leave out aren't shown. */
struct rows *report_make_rows(struct report *report, struct fold *fold, const struct event *const *events, size_t count,
			      const struct report_keys *keys);
struct error *report_show_events(struct report *report);
/* By index: whether the event has samples that passed the filter. Freed by the caller. */
bool *report_events_with_samples(const struct report *report);

/* What a screen needs and couldn't get in the sandbox; each may be NULL. */
struct screen_tools {
	struct print_file *prints;
	struct script_runner *scripts;
	const struct screen_switch *choice;
};

/* screen.c: whether a screen shows it, by the options and the terminal; an error: --tui where there can be none. */
struct error *report_screen_wanted(const struct report_options *options, bool *ret);
/* Shows the fold's tables on a screen until the person leaves. */
struct error *report_screen(struct report *report, const struct screen_tools *tools);
/* report.c: whether a word names a recording, told by its first bytes, or a pipe. */
bool report_is_recording(const char *word);

/* html.c: --html. Whether the options go with it; and the page. */
struct error *report_check_html(const struct report_options *options);
struct error *report_html(struct report *report);

/* other.c: other things than tables. */
/* All records of a recording, from its first on, counted. */
struct error *report_stats(struct reader *reader, bool skip_empty);
/* The same of what was counted elsewhere; `skip_empty`: no events without samples. */
void report_tally(const struct reader *reader, const struct tally *tally, bool skip_empty);
/* --tasks: the processes as a tree; with --mmaps what each had mapped. */
void report_tasks(const struct session *session, bool with_maps);
/* -T: counts that threads were read with; `raw`: one line a count, instead of columns. */
void report_threads(const struct session *session, bool raw);
/* hint.c: which files lacked symbols, losses, diagnostics. */
void report_hints(struct report *report);
/* names.c: names of filters that nothing in the recording has, and the nearest that it has. */
void report_names_hint(const struct report *report);
/* For --stats=stacks: where stacks end, on standard output, in a few lines. */
struct error *report_stack_stats(struct report *report);
