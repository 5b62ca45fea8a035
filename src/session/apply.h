/* Side-band records into a machine. Sessions do it by themselves; this is for records from elsewhere, such as those that synth.h makes up.
 */
#pragma once

#include "model/machine.h"
#include "perfdata/records.h"

/* Whether records of the type change the machine. */
bool apply_is_sideband(uint32_t type);
/* The record must have its type's least size and a NUL behind its name, as the reader and synth.h give them. */
void apply_sideband(struct machine *machine, const struct record_header *header, uint64_t time);
/* What a MMAP or MMAP2 record says; false when it is another one. The name is the record's own. */
bool apply_describe_map(const struct record_header *header, struct map_description *ret, bool *ret_kernel);
/* An entry of the build-id table; `misc` tells in its mode whether it is the kernel's. */
void apply_build_id_entry(struct machine *machine, uint16_t misc, const char *name, const struct buildid *id);
