/* Recordings made by somebody who wasn't allowed to see where the kernel lies. */
#pragma once

struct fold;

/* Warns when samples are the kernel's, but the recording doesn't tell where the kernel lay: which share they are, and what to change on the
 * machine that recorded. Nothing else in the format tells of kernel.kptr_restrict and kernel.perf_event_paranoid: recorders, the kernel's
 * perf too, leave out the MMAP record of the kernel when /proc/kallsyms has no addresses for them. */
void hidden_kernel_warn(const struct fold *fold);
