/* Putting records together; within capture. What lies where in them is in perfdata/records.def: a record is begun with its structure. */
#pragma once

#include "capture/synth/synth.h"
#include "perfdata/records.h"

/* Starts a record with the first `size` bytes of its structure, whose header has type and misc; what repeats, or is a text, comes behind.
 * Returns its offset in the buffer. */
size_t synth_begin(struct synth *synth, const void *record, size_t size);
void synth_add(struct synth *synth, const void *data, size_t size);
/* With its NUL, padded with zeros to a multiple of 8. */
void synth_add_text(struct synth *synth, const char *text, size_t length);
/* Pads, adds the trailer (records of the kernel's range) and fills in the size. A record that grew too long is dropped. */
void synth_end(struct synth *synth, size_t begin);

/* A whole record that ends with a text. */
void synth_put(struct synth *synth, const void *record, size_t size, const char *text, size_t length);
/* A whole MMAP2 record; with `id` that tells which file it is, not device and inode. `id` may be NULL, or have the size 0. */
void synth_put_mmap2(struct synth *synth, struct record_mmap2 record, const struct buildid *id, const char *name, size_t length);
