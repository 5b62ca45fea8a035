/* What a recording is to carry of the files that its samples hit (symbol/carried/carried.h), gathered while these files are here. */
#pragma once

#include "base/strbuf.h"
#include "session/session.h"
#include "symbol/resolve.h"

/* What the table may have in bytes, without compression. Names and lines of what was hit are always in it; machine code, lines and source
 * text of sampled functions, the hottest ones first, as long as there is room. */
struct carry_options {
	size_t wanted, most; /* … and more than that is an error */
};

/* The room for a recording of `size` bytes: compressed to half, the table is at most an eighth of a large one. */
struct carry_options carry_options_for(uint64_t size);

struct carry_counts {
	size_t files, symbols;
	size_t functions, left_out; /* sampled ones: with their code; those for which there was no more room */
};

/* Puts the bytes of the table into `out`: all that report, script, annotate and flame graphs ask for, about all samples that pass the
 * session's filter. The resolver's names must be readable ones (symbol_options.demangle). The input must be stable. */
struct error *carry_gather(struct session *session, struct resolver *resolver, const struct carry_options *options, struct strbuf *out,
			   struct carry_counts *ret);
