/* Option groups that several commands share: each is a struct to embed, the table for OPTION_GROUP(), and what makes of it. */
#pragma once

#include "app/options.h"
#include "base/error.h"

enum { FROM_LABELS_MAX = 16 };

/* --from URL, --where CONDITION, --label NAME=VALUE: a fleet's database instead of a recording; cmd/from.h makes one of it. */
struct from_options {
	const char *url; /* or NULL */
	const char *where;
	const char *labels[FROM_LABELS_MAX + 1]; /* ended by NULL */
};
extern const struct option from_option_group[];
option_parse_fn from_option_label; /* of `labels` */

/* -i, -f/--force, --symfs, -k/--vmlinux, --kallsyms, -m/--modules, --ignore-vmlinux, --demangle, --demangle-kernel, --debuginfod-timeout,
 * --jobs N */
struct input_options {
	const char *input; /* NULL = perf.data in the current directory */
	bool force;	   /* read a file that belongs to another user */
	int jobs;	   /* 0 = as many as there are CPUs */
	const char *symfs;
	const char *vmlinux;
	const char *kallsyms;
	const char *guest_kallsyms, *guest_modules, *guest_vmlinux, *guest_mount; /* symbol/kernel/guest_kernel.h */
	bool guest_code;
	bool ignore_vmlinux;
	bool load_modules;
	int debuginfod_seconds; /* -1 = not given */
	bool demangle;		/* default true: call input_options_init() */
	bool demangle_kernel;
	bool sandbox;		  /* default true; OPTION_SANDBOX (cmd/opening.h) */
	struct from_options from; /* of commands that have its group */
};
extern const struct option input_option_group[];
/* --guestkallsyms and so on of commands that show symbols of samples. */
extern const struct option guest_option_group[];
void input_options_init(struct input_options *options);

/* -v and -q set the log level: each use takes effect when it is parsed. */
struct output_options {
	int verbose;
	bool quiet;
};
extern const struct option output_option_group[];
