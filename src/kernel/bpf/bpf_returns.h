/* What a BPF program can return, by its instructions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct bpf_insn;

/* Whether it may return 0, for all that its code tells: false only when each way through it sets the result to a constant that isn't 0. */
bool bpf_may_return_zero(const struct bpf_insn *code, size_t count);
