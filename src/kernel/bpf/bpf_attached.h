/* BPF programs of others at tracepoints. The kernel runs such a program before it hands an event to anyone: of events that the program
 * refuses, by returning 0, no perf event on the machine learns, neither counters nor samples. Programs at raw tracepoints and BTF
 * tracepoints refuse nothing; those of our own always return 1. What can't return 0 (bpf_returns.h) is left out here. */
#pragma once

#include "base/strbuf.h"
#include "base/vec.h"

#include <stdint.h>
#include <sys/types.h>

struct bpf_attached {
	uint32_t id;
	char name[16];	/* of the program, as its author called it; not escaped */
	char event[64]; /* the tracepoint without its group, as its owner's descriptor tells; "" = not known */
	pid_t pid;	/* who holds it, 0 = not known */
	char comm[16];	/* … and its name; not escaped */
};

struct bpf_attached_list {
	struct bpf_attached *data;
	size_t len;
	size_t cap;
};

/* Adds the programs that may refuse events of the tracepoint that `fd` is a perf event of, with their owners. None where the kernel doesn't
 * tell (Linux before 4.16, a user without CAP_PERFMON), or when the event is no tracepoint. The owners need CAP_SYS_ADMIN. */
void bpf_attached_to(int fd, struct bpf_attached_list *ret);
/* Adds all such programs at tracepoints whose descriptors some other process holds: those of this process are left out. Needs
 * CAP_SYS_ADMIN. */
void bpf_attached_everywhere(struct bpf_attached_list *ret);

/* "'sys_enter' of perf (4711)", escaped. */
void bpf_attached_add_text(const struct bpf_attached *attached, struct strbuf *out);
