/* What a recording tells of the ETMs of CoreSight, each of which traces a CPU: their registers, as libopencsd wants them. Within
 * analysis/itrace. */
#pragma once

#include "analysis/itrace/coresight_library.h"
#include "analysis/itrace/decoder.h"

/* The last one is ETE's alone. */
enum etm_register {
	ETM_CONFIG,
	ETM_TRACE_ID,
	ETM_ID0,
	ETM_ID1,
	ETM_ID2,
	ETM_ID8,
	ETM_AUTHENTICATION,
	ETM_REGISTERS,
	ETM_ARCHITECTURE = ETM_REGISTERS,
	ETE_REGISTERS,
};

struct etm {
	uint32_t cpu;
	bool is_ete;
	uint64_t registers[ETE_REGISTERS];
};

typedef VEC(struct etm) etm_list;

struct error *etms_read(const struct record_auxtrace_info *info, etm_list *ret);
void etms_describe(const struct record_auxtrace_info *info, struct strbuf *out);
/* The type of their PMU's events; the description has been read. */
uint64_t etms_pmu(const struct record_auxtrace_info *info);
/* Frames have the streams of several CPUs; a buffer of its own has one, without frames. C_API_INVALID_TREE_HANDLE = it doesn't go. */
dcd_tree_handle_t etm_create_tree(bool is_raw);
/* For packets, or elements (OCSD_CREATE_FLG_*). *ret_id: of its stream. */
bool etm_create_decoder(const struct etm *etm, dcd_tree_handle_t tree, int flags, unsigned char *ret_id);

/* ── coresight_dump.c ── */

void coresight_dump(const struct trace_dump *trace, struct strbuf *out);
