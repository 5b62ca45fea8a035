/* Parts of perf probe: what is added and deleted (add, list, cache), and what is only shown (show). */
#pragma once

#include "app/groups.h"
#include "probe/probe.h"

struct probe_words {
	VEC(const char *) items;
};

struct probe_options {
	struct probe_words add, delete, define;
	const char *lines, *variables;
	const char *functions_pattern, *list_pattern;
	bool functions, list;
	struct probe_target_options target;
	const char *filter;
	bool cache;
	bool force, dry_run, externs, range, bootconfig;
	bool demangle_kernel;
	struct output_options output;
};

/* ---- what is done ---- */

/* Adds the probes of --add, or with --definition only prints what the kernel would be told. */
struct error *probe_add(const struct probe_options *options, int *ret_status);
/* Deletes the probes that fit the patterns of --del. A pattern that fits none is an error; *ret_status is then that of the kernel's perf.
 * */
struct error *probe_delete(const struct probe_options *options, int *ret_status);
/* What there is, with places and arguments as people would write them. */
struct error *probe_list(const struct probe_options *options);
/* -F: functions that can be probed. */
struct error *probe_show_functions(const struct probe_options *options);
/* -L: source lines, with a number where a probe can be. */
struct error *probe_show_lines(const struct probe_options *options);
/* -V: what can be seen at a place. */
struct error *probe_show_variables(const struct probe_options *options);
