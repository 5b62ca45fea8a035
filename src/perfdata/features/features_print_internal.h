/* Within perfdata: the lines about BPF programs. */
#pragma once

#include "base/strbuf.h"
#include "perfdata/features/features.h"

void bpf_program_print(const struct features *features, const struct feature_bpf_prog *program, bool swap, struct strbuf *out);
