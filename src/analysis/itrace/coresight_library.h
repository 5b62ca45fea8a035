/* libopencsd, which decodes CoreSight traces: loaded when there is such a trace. Within analysis/itrace.
 *
 * csd.dt_process_data() is ocsd_dt_process_data(). Builds without the library (-Dlibopencsd=disabled) have none of this. */
#pragma once

#include "base/error.h"

#include <opencsd/c_api/opencsd_c_api.h>

#define CORESIGHT_FUNCTIONS(row)                                                                                          \
	row(create_dcd_tree) row(destroy_dcd_tree) row(dt_process_data) row(dt_create_decoder) row(dt_set_gen_elem_outfn) \
		row(dt_add_callback_trcid_mem_acc) row(dt_set_pkt_protocol_printer) row(def_errlog_init) row(def_errlog_set_strprint_cb)

struct coresight_library {
#define CORESIGHT_MEMBER(name) __typeof__(&ocsd_##name) name;
	CORESIGHT_FUNCTIONS(CORESIGHT_MEMBER)
#undef CORESIGHT_MEMBER
};
extern struct coresight_library csd;

struct error *coresight_library_load(void);
