/* Loads sample_filter.bpf.c (sample_filter.h). */
#include "bpf/sample_filter.h"

#include "base/mem.h"
#include "bpf/support.h"
#include "sample_filter.skel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>

struct bpf_sample_filter {
	struct sample_filter_bpf *skeleton;
};

struct error *bpf_sample_filter_open(const struct sample_filter_config *config, struct bpf_sample_filter **ret)
{
	struct error *error = bpf_support_begin();
	if (error)
		return error;
	struct bpf_sample_filter *filter = mem_zalloc(sizeof(*filter));
	filter->skeleton = sample_filter_bpf__open();
	int failure = filter->skeleton ? 0 : -errno;
	if (!failure) {
		*(struct sample_filter_config *)&filter->skeleton->rodata->config = *config;
		failure = sample_filter_bpf__load(filter->skeleton);
	}
	if (failure) {
		bpf_sample_filter_close(filter);
		if (failure == -EPERM || failure == -EACCES)
			return bpf_support_explain(failure, "the BPF program that filters samples");
		return error_system(-failure,
				    "the kernel rejected the BPF program that filters samples (-vv shows why; requires Linux 6.2)");
	}
	*ret = filter;
	return NULL;
}

struct error *bpf_sample_filter_attach(struct bpf_sample_filter *filter, int counter)
{
	if (ioctl(counter, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(filter->skeleton->progs.keep_sample)) < 0)
		return error_system(errno, "samples of this event cannot be filtered");
	return NULL;
}

uint64_t bpf_sample_filter_dropped(const struct bpf_sample_filter *filter)
{
	return __atomic_load_n(&filter->skeleton->bss->dropped, __ATOMIC_RELAXED);
}

void bpf_sample_filter_close(struct bpf_sample_filter *filter)
{
	if (!filter)
		return;
	sample_filter_bpf__destroy(filter->skeleton);
	free(filter);
}
