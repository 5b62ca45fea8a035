/* The BPF programs that are loaded, as the kernel describes them, with their translated code, function addresses and line tables. */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

/* The program with the lowest id above `id`; false when there is none, or when this user may not know. */
bool bpf_program_next(uint32_t id, uint32_t *ret_id);

/* Appends the description of a program in the layout of the kernel's perf (its struct perf_bpil): u32 size of bpf_prog_info, u32 size of
 * the arrays, u64 which arrays, bpf_prog_info whose pointers are offsets into the arrays, the arrays. `ret_btf` gets the id of its BTF, 0 =
 * none. False when the program is gone; `out` is as before then. */
bool bpf_program_describe(uint32_t id, struct strbuf *out, uint32_t *ret_btf);

/* Appends the type information `id`. */
bool bpf_btf_read(uint32_t id, struct strbuf *out);
