/* The kernel as a target of perf probe. */
#pragma once

#include "probe/probe.h"

struct error *probe_kernel_open(const struct probe_target_options *options, struct probe_target *target);
void probe_kernel_close(struct probe_target *target);
/* Adds "_text+7045680", "vfs_read+0" or "ext4:ext4_sync_file+0" for a point. */
struct error *probe_kernel_add_place(const struct probe_target *target, const struct probe_spec *spec, const struct probe_point *point,
				     struct strbuf *out);
/* Adds what fetches a variable by the kernel's own types (BTF): parameters of functions, where they begin. */
struct error *probe_kernel_fetch(struct probe_target *target, const struct probe_point *point, const struct debug_fetch_query *query,
				 struct strbuf *out);
/* Its parameters with types; none when nothing is known. */
void probe_kernel_parameters(struct probe_target *target, const struct probe_point *point, struct debug_variables *ret);
