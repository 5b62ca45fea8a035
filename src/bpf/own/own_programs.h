/* The BPF programs that this process holds. */
#pragma once

#include <stdint.h>

/* Calls `visit` with the number that the kernel tells of each program for `key`, which ends with a colon, as "prog_id:" (Linux 4.10). */
void bpf_own_programs(const char *key, void (*visit)(void *context, uint64_t number), void *context);
