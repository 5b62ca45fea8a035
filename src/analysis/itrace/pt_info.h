/* What AUXTRACE_INFO tells of an Intel PT trace (tools/perf/util/intel-pt.h), and its packets as text. Within analysis/itrace. */
#pragma once

#include "base/strbuf.h"
#include "perfdata/records.h"

#include <stddef.h>

enum pt_word {
	PT_PMU_TYPE,
	PT_TIME_SHIFT,
	PT_TIME_MULTIPLIER,
	PT_TIME_ZERO,
	PT_HAS_TIME,
	PT_TSC_BIT,
	PT_NO_RETURN_COMPRESSION_BIT,
	PT_SWITCHES,
	PT_SNAPSHOTS,
	PT_PER_CPU,
	PT_MTC_BIT,
	PT_MTC_FREQUENCY_BITS,
	PT_TSC_CTC_NUMERATOR,
	PT_TSC_CTC_DENOMINATOR,
	PT_CYC_BIT,
	PT_NOMINAL_RATIO,
	PT_FILTER_SIZE,
	PT_WORDS,
};

/* 0 where recorders of that time didn't say. */
uint64_t pt_info_word(const struct record_auxtrace_info *info, enum pt_word word);
struct trace_dump;
void pt_describe(const struct record_auxtrace_info *info, struct strbuf *out);
void pt_dump(const struct trace_dump *trace, struct strbuf *out);
