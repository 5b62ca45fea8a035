/* What the files of `perf script` share: its options, and its two halves. */
#pragma once

#include "analysis/script/filter.h"
#include "analysis/script/text.h"
#include "app/groups.h"
#include "base/vec.h"
#include "cmd/opening.h"
#include "language/dlfilter.h"
#include "language/language.h"

struct script_options {
	struct input_options input;
	struct itrace_options itrace;
	struct output_options output;
	struct script_fields fields;
	bool list_fields; /* -F help */
	struct script_filter filter;
	const char *cpus;
	const char *time;
	const char *switch_on, *switch_off;
	uint64_t max_stack;
	uint64_t max_blocks;
	bool json;
	bool hide_call_graph;
	bool stitch_lbr;
	enum stack_inlines inlines;
	bool nanoseconds, relative, delta, latency;
	bool kernel_path, source_path, disassemble;
	unsigned int file_width; /* of --call-trace */
	bool show_tasks, show_mmaps, show_namespaces, show_switches, show_lost, show_rounds, show_bpf, show_cgroups, show_text_pokes;
	bool per_event_dump;
	bool dump;	    /* every record's bytes */
	bool dump_unsorted; /* the same, in the order of the file */
	bool check_order;   /* say where times go back */
	bool header, header_only, full_header;
	const char *script;		      /* -s, or NULL */
	const struct language_ops *language;  /* of the script */
	const struct language_ops *generated; /* -g */
	bool list_scripts;		      /* -l */
	bool system_wide;		      /* -a, for ready-made scripts that record */
	const char *dlfilter;		      /* or NULL */
	VEC(char *) dlfilter_arguments;
	bool list_dlfilters;
	const char *addr2line;	  /* a program that isn't needed, or NULL */
	const char *script_words; /* --script-args, or NULL */
	const char *script_path;
	char **script_arguments; /* NULL-terminated */
};

/* The filter of --dlfilter, *ret NULL = none. */
struct error *script_open_dlfilter(const struct script_options *options, const struct opening *opening, struct dlfilter **ret);

/* Prints the samples, and the side-band records that were asked for. */
struct error *script_run(const struct script_options *options, struct opening *opening);
