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

struct error *probe_add(const struct probe_options *options, int *ret_status);
struct error *probe_delete(const struct probe_options *options, int *ret_status);
struct error *probe_list(const struct probe_options *options);
struct error *probe_show_functions(const struct probe_options *options);
struct error *probe_show_lines(const struct probe_options *options);
struct error *probe_show_variables(const struct probe_options *options);
