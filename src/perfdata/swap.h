/* Records of the other byte order made native, in place. Within perfdata. */
#pragma once

#include "perfdata/reader.h"

/* The 8 bytes of the header. */
void swap_header(struct record_header *header);

/* Swaps what follows the header, which is native already and lies 8-byte aligned. A record that is too short for its counts is swapped as
 * far as it goes. Records that describe the recording (HEADER_*) are left alone: their readers take both orders. */
void swap_record(const struct reader *reader, struct record_header *header);
