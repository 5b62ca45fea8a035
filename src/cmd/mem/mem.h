/* Parts of perf mem. */
#pragma once

#include "app/command.h"
#include "app/groups.h"
#include "base/error.h"

/* Options that both subcommands have. */
struct mem_common {
	unsigned int kinds; /* of accesses: enum of event/memory_events.h; 0 = both */
	bool phys, data_page;
};
option_parse_fn mem_option_kinds;

#define MEM_COMMON_OPTIONS(type, field)                                                                                            \
	OPTION_CUSTOM_FLAGS('t', "type", type, field.kinds, "KIND,…", "accesses: load, store or both (default)", mem_option_kinds, \
			    OPTION_NO_NEGATION),                                                                                   \
		OPTION_FLAG('p', "phys-data", type, field.phys, "with the physical addresses of data"),                            \
		OPTION_FLAG(0, "data-page-size", type, field.data_page, "with the sizes of the pages that data is in")

struct mem_report_options {
	struct mem_common common;
	struct input_options input; /* these and what follows are for the dump; report takes them by itself */
	struct output_options output;
	const char *cpus;
	bool hide_unresolved;
	bool dump, types;
	const char *separator;
	const char *sort;
};

/* dump.c: -D, one line for each sample. */
struct error *mem_dump(const struct mem_report_options *options);

extern const struct command cmd_mem_report; /* report.c */
