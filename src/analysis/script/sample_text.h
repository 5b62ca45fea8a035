/* Parts of samples as text and as frames, for everything that shows single samples: lines, JSON, scripts. */
#pragma once

#include "base/strbuf.h"
#include "perfdata/layout.h"
#include "session/session.h"
#include "symbol/resolve.h"

#include <stdbool.h>

/* A data source in words: "|OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A". */
void sample_text_add_data_source(uint64_t source, struct strbuf *out);
/* Where code runs, as reports put it in front of a name: k, ., g, u, and H for all else. */
char sample_text_mode(uint8_t cpumode);
/* "4K", "2M", "1G"; "N/A" of 0. */
void sample_text_add_page_size(uint64_t size, struct strbuf *out);
/* One part of it: "L1 hit", and which of its bits that is told by. */
enum data_source_part { DATA_SOURCE_OPERATION, DATA_SOURCE_LEVEL, DATA_SOURCE_SNOOP, DATA_SOURCE_TLB, DATA_SOURCE_LOCK, DATA_SOURCE_BLOCK };
void sample_text_add_part(uint64_t source, enum data_source_part part, struct strbuf *out);
uint64_t sample_text_part_mask(enum data_source_part part);
/* Registers in the order of their numbers: "   AX:0x1 " for each. */
void sample_text_add_registers(const struct sample_regs *regs, const char *arch, struct strbuf *out);
/* The address of such an event's samples belongs to code or data with a name: page faults, and branches that are samples themselves. */
bool sample_addr_is_symbol(const struct event_attr *attr);
/* Each sample of the event is a branch. */
bool sample_is_branch(const struct event_attr *attr);
/* Where the data came from; of events that don't sample it the value that says so: PERF_MEM_NA in all parts of union perf_mem_data_src. */
uint64_t sample_data_source(const struct event_attr *attr, const struct sample *sample);
/* The frame of an address in the space of `cpumode`; `thread` NULL: nothing is known of it. */
void sample_resolve(struct resolver *resolver, const struct thread *thread, uint8_t cpumode, uint64_t addr, uint64_t model_time,
		    struct frame *ret);
/* The same of an address that comes with a sample of `cpumode`: kernel or user space is told by the address itself. */
void sample_resolve_data(struct resolver *resolver, const struct thread *thread, uint8_t cpumode, uint64_t addr, uint64_t model_time,
			 struct frame *ret);
