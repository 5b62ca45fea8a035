/* Loads probe_cost.bpf.c and attaches one of its programs (probe_cost.h). */
#include "bpf/probes/probe_cost.h"

#include "base/mem.h"
#include "bpf/support.h"
#include "probe_cost.skel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

struct bpf_probe_cost {
	struct probe_cost_bpf *skeleton;
	struct bpf_link *link;
};

struct error *bpf_probe_cost_open(const char *path, const char *function, pid_t pid, bool prints, bool at_return,
				  struct bpf_probe_cost **ret)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .func_name = function, .retprobe = at_return);
	struct error *error = bpf_support_begin();
	if (error)
		return error;
	struct bpf_probe_cost *cost = mem_zalloc(sizeof(*cost));
	cost->skeleton = probe_cost_bpf__open_and_load();
	int failure = cost->skeleton ? 0 : -errno;
	if (!failure) {
		const struct bpf_program *program = prints ? cost->skeleton->progs.print : cost->skeleton->progs.nothing;
		cost->link = bpf_program__attach_uprobe_opts(program, pid, path, 0, &options);
		failure = cost->link ? 0 : -errno;
	}
	if (!failure) {
		*ret = cost;
		return NULL;
	}
	bpf_probe_cost_close(cost);
	return bpf_support_explain(failure, "the BPF program at a function (uprobe)");
}

void bpf_probe_cost_close(struct bpf_probe_cost *cost)
{
	if (!cost)
		return;
	bpf_link__destroy(cost->link);
	probe_cost_bpf__destroy(cost->skeleton);
	free(cost);
}
