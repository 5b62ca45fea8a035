/* Putting records together; within session/synth*.c. */
#pragma once

#include "capture/synth.h"
#include "perfdata/records.h"

/* Starts a record and returns its offset in the buffer. */
size_t synth_begin(struct synth *synth, uint32_t type, uint16_t misc);
void synth_put(struct synth *synth, const void *data, size_t size);
void synth_put_u16(struct synth *synth, uint16_t value);
void synth_put_u32(struct synth *synth, uint32_t value);
void synth_put_u64(struct synth *synth, uint64_t value);
/* With its NUL, padded with zeros to a multiple of 8. */
void synth_put_string(struct synth *synth, const char *string, size_t length);
/* The 24 bytes of an MMAP2 record that tell which file it is, by build-id. */
void synth_put_build_id(struct synth *synth, const struct buildid *id);
/* Pads, adds the trailer (records of the kernel's range) and fills in the size. A record that grew too long is dropped. */
void synth_end(struct synth *synth, size_t begin);
