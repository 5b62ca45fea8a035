/* Memory as text, by the kernel's types (BTF): "(struct __kernel_timespec){.tv_nsec = (long long)5000000,}". */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

struct bpf_types_text;

/* An error: this kernel tells no types, or this build can't read them. `names`: of members and types, else values alone. */
struct error *bpf_types_text_open(bool names, struct bpf_types_text **ret);
/* NULL is fine. */
void bpf_types_text_close(struct bpf_types_text *types);
/* Adds `size` bytes as the structure `name`, which must live as long as `types`. False, and nothing is added, when the kernel has none of
 * that name or a larger one. */
bool bpf_types_text_add(struct bpf_types_text *types, const char *name, const void *data, size_t size, struct strbuf *out);
