/* Probes: what they are set in (a program or the kernel), where a text like "main:3 who" leads there, and what the kernel is told then. */
#pragma once

#include "event/probe_spec.h"
#include "kernel/tracing/dynamic_events.h"
#include "symbol/dwarf/debug_program.h"
#include "symbol/dwarf/function_names.h"
#include "symbol/source_file.h"

/* Where to look, and for what. */
struct probe_target_options {
	const char *exec;    /* a program or library; NULL: the kernel, or */
	const char *module;  /* this one of it */
	const char *vmlinux; /* with debug information, or NULL */
	const char *source, *symfs;
	uint64_t namespace_pid; /* whose files these are; 0 = ours */
	uint64_t max_probes;	/* places of one text */
	bool no_inlines, demangle;
};

/* ---- the program or the kernel ---- */

struct kernel_types;

struct probe_target {
	bool kernel;
	char *path;	    /* of the program, or of the module's file, or of a vmlinux; NULL = none of these */
	const char *module; /* name, or NULL */
	const char *shown;  /* the path as the kernel is to find it */
	char *debug_path;   /* where the debug information is looked for */
	struct symbol_files files;
	struct function_names names;
	struct debug_program *debug; /* NULL = there is none */
	struct kernel_types *types;  /* of the kernel (BTF); NULL = not read or none */
	struct source_files *sources;
	struct source_options source_options;
	struct symbol_options symbol_options;
	uint64_t text;	      /* of the kernel: address of _text now; 0 = hidden */
	uint64_t linked_text; /* the same in the vmlinux */
};

struct error *probe_target_open(const struct probe_target_options *options, struct probe_target *ret);
void probe_target_close(struct probe_target *target);
/* Where a virtual address of the program is in its file. */
bool probe_target_offset(const struct probe_target *target, uint64_t address, uint64_t *ret);
/* The group that new events get: "probe_libc", freed by the caller. */
char *probe_target_group(const struct probe_target *target);

/* ---- places ---- */

struct probe_point {
	uint64_t address;     /* virtual, in the file; of the kernel: where it is now, or in the vmlinux with debug information */
	const char *function; /* lives as long as the target; NULL = unknown */
	const char *linked;   /* its name for the linker, or NULL */
	uint64_t entry;	      /* of the function with code of its own around it */
	const char *outer;    /* and its name */
	const char *provider; /* static tracepoints: whose they are; else NULL */
	uint64_t counter;     /* static tracepoints: address of their semaphore; 0 = none */
	const char *operands; /* static tracepoints: their arguments in the assembler's words; or NULL */
};
struct probe_points {
	VEC(struct probe_point) items;
};

/* Never none without an error. */
struct error *probe_find(const struct probe_target_options *options, struct probe_target *target, const struct probe_spec *spec,
			 struct probe_points *ret);

/* "`shown`: no such function`where`", with the nearest to the name of all there are; `name` may be NULL. */
struct error *probe_no_function(const struct probe_target *target, const char *name, const char *shown, const char *where);

/* ---- definitions ---- */

struct probe_definition {
	char *group, *event;
	char *base;	 /* its name before a number was put behind it, or NULL */
	char *line;	 /* for uprobe_events or kprobe_events, without "p:GROUP/EVENT " */
	char *place;	 /* in words: "main+4" */
	char *arguments; /* as asked for: "who:string", "" = none */
	bool is_return;
	bool user;
	const char *source; /* the text it was made from: its definitions are one event at several places */
};
struct probe_definitions {
	VEC(struct probe_definition) items;
};

/* Adds one for each place. */
struct error *probe_define(const struct probe_target_options *options, struct probe_target *target, const char *text,
			   struct probe_definitions *ret);
void probe_definitions_deinit(struct probe_definitions *list);
char *probe_definition_text(const struct probe_definition *definition);
/* The arguments of a probe at a point, for the kernel: " who=%di:x64 …". */
struct error *probe_arguments(struct probe_target *target, const struct probe_spec *spec, const struct probe_point *point,
			      struct strbuf *out);
/* Those of a static tracepoint. What the kernel can't fetch is left out, with a warning. */
void probe_static_arguments(struct probe_target *target, const struct probe_point *point, struct strbuf *out);

/* Conditions of --filter: patterns, ! & | and brackets. */
bool probe_filter_matches(const char *filter, const char *name);
struct error *probe_filter_check(const char *filter);
