/* What scripts and filters are told of a sample in a structure. Each interface has a structure of its own, which others have laid down, but
 * the members that they share have the same names and meanings. */
#pragma once

#include "analysis/script/sample_text.h"
#include "language/language.h"

/* Initialisers of these members for `at`, a const struct language_sample *. What the sample lacks is 0. */
#define LANGUAGE_SAMPLE_MEMBERS(at)                                                                                                     \
	.ip = (at)->sample->ip, .pid = (at)->sample->pid, .tid = (at)->sample->tid, .time = (at)->sample->time,                         \
	.addr = (at)->sample->addr, .id = (at)->sample->id, .stream_id = (at)->sample->stream_id, .period = (at)->sample->period,       \
	.weight = (at)->sample->weight, .transaction = (at)->sample->transaction, .cpu = (at)->sample->cpu,                             \
	.data_src = sample_data_source(&(at)->record->event->attr, (at)->sample), .phys_addr = (at)->sample->phys_addr,                 \
	.data_page_size = (at)->sample->data_page_size, .code_page_size = (at)->sample->code_page_size, .cgroup = (at)->sample->cgroup, \
	.cpumode = (at)->sample->cpumode, .misc = (at)->sample->header->misc, .raw_size = (at)->sample->raw_size
