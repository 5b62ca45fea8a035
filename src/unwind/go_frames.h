/* Call frame information of a program of Go that has none: stripped ones (-ldflags=-w) have lost their .debug_frame, and nothing else says
 * where callers are. Their runtime's own table does (symbol/elf/go_table.h). */
#pragma once

#include "symbol/elf/elf.h"

#include <stddef.h>
#include <stdint.h>

/* What .debug_frame would be, to be freed; NULL = the program isn't one, or nothing is known of its processor. */
uint8_t *go_frames_make(const struct elf_file *elf, size_t *ret_size);
