/* How instructions and source lines are shown: the options of `perf annotate`, which `perf report` and `perf top` have for the functions
 * that are opened on their screens. */
#pragma once

#include "analysis/annotate/annotate.h"
#include "app/options.h"
#include "base/error.h"
#include "result/annotation.h"

#include <stdbool.h>
#include <stdint.h>

struct code_options {
	enum disasm_syntax syntax;
	bool source, raw; /* source: default true; call code_options_init() */
	const char *prefix;
	uint64_t prefix_strip;
	struct percent_type {
		bool global, hits;
	} percent_type;
	const char *objdump, *addr2line; /* programs that aren't needed: code_options_check() */
};

/* --source, --asm-raw, -M, --prefix, --prefix-strip, --percent-type, --objdump, --addr2line */
extern const struct option code_option_group[];
void code_options_init(struct code_options *options);
/* What excludes one another; with -v, which programs weren't run. */
struct error *code_options_check(const struct code_options *options);
/* A person is told that text shows no instructions, which they ask for. */
void code_options_hint(const struct code_options *options, const char *command);

/* For annotate_create(); `symfs` may be NULL. The strings are the options'. */
struct annotate_options code_options_annotate(const struct code_options *options, const char *symfs);
/* Of a screen. */
struct annotation_style code_options_style(const struct code_options *options);

/* With -v: --NAME names a program, whose work perf does itself. NULL = it wasn't given. */
void code_options_tell_program(const char *name, const char *program);
