/* libipt, which decodes Intel PT: loaded when there is such a trace. Within analysis/itrace.
 *
 * pt.pkt_next() is pt_pkt_next(). Builds without the library (-Dlibipt=disabled) have none of this. */
#pragma once

#include "base/error.h"

#include <intel-pt.h>

#define PT_FUNCTIONS(row)                                                                                                        \
	row(cpu_errata) row(pkt_alloc_decoder) row(pkt_free_decoder) row(pkt_sync_set) row(pkt_next) row(insn_alloc_decoder)     \
		row(insn_free_decoder) row(insn_sync_set) row(insn_get_offset) row(insn_get_image) row(insn_time) row(insn_next) \
			row(insn_event) row(image_set_callback)

struct pt_library {
#define PT_MEMBER(name) __typeof__(&pt_##name) name;
	PT_FUNCTIONS(PT_MEMBER)
#undef PT_MEMBER
};
extern struct pt_library pt;

struct error *pt_library_load(void);
