/* Loads slow_calls.bpf.c and hangs its programs at two events (slow_calls.h). A program is run wherever its event happens, as long as a
 * counter of the event is open somewhere, which needn't count. */
#include "bpf/latency/slow_calls.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "bpf/ring.h"
#include "bpf/support.h"
#include "kernel/perf_open.h"
#include "kernel/tracing/tracefs.h"
#include "slow_calls.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

struct bpf_slow_calls {
	struct slow_calls_bpf *skeleton;
	struct bpf_ring ring;
	int begin, end; /* counters */
};

static const char *const what = "the BPF program that looks for slow calls";

/* Whichever program the event takes. */
static int attach(int counter, const struct bpf_program *at_tracepoint, const struct bpf_program *at_probe)
{
	if (!ioctl(counter, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(at_tracepoint)))
		return 0;
	return ioctl(counter, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(at_probe)) ? -errno : 0;
}

static struct error *open_counter(const char *tracefs, const struct bpf_slow_calls_event *event, int *ret)
{
	int id;
	if (!tracefs_event_id(tracefs, event->system, event->name, &id))
		return error_new_kind(ERROR_UNSUPPORTED,
				      "there is no event %s:%s: 'perf list' shows those of the kernel, 'perf probe' makes others",
				      event->system, event->name);
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = (uint64_t)id, .sample_period = 1, .disabled = 1};
	*ret = perf_open_raw(&attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return *ret < 0 ? error_system(-*ret, "%s:%s", event->system, event->name) : NULL;
}

static struct error *open_counters(struct bpf_slow_calls *calls, const struct bpf_slow_calls_options *options)
{
	cleanup_free char *tracefs = NULL;
	const struct slow_calls_bpf *skeleton = calls->skeleton;
	struct error *error = tracefs_find("", &tracefs);
	if (!error)
		error = open_counter(tracefs, &options->end, &calls->end);
	if (!error)
		error = open_counter(tracefs, &options->begin, &calls->begin);
	if (error)
		return error;
	/* The end first: each beginning that is noted has its end then. */
	int failure = attach(calls->end, skeleton->progs.end_at_tracepoint, skeleton->progs.end_at_probe);
	if (!failure)
		failure = attach(calls->begin, skeleton->progs.begin_at_tracepoint, skeleton->progs.begin_at_probe);
	return failure ? bpf_support_explain(failure, what) : NULL;
}

static int load(struct slow_calls_bpf *skeleton, const struct slow_calls_config *config)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	*(struct slow_calls_config *)&skeleton->rodata->config = *config;
	int failure = slow_calls_bpf__load(skeleton);
	return failure ? failure : bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.find_level), &options);
}

struct error *bpf_slow_calls_open(const struct bpf_slow_calls_options *options, struct bpf_slow_calls **ret)
{
	struct error *error = bpf_support_begin();
	if (error)
		return error;
	struct bpf_slow_calls *calls = mem_zalloc(sizeof(*calls));
	*calls = (struct bpf_slow_calls){.skeleton = slow_calls_bpf__open(), .begin = -1, .end = -1};
	int failure = calls->skeleton ? load(calls->skeleton, &options->config) : -errno;
	error = failure ? bpf_support_explain(failure, what) : NULL;
	if (!error)
		error = bpf_ring_open(&calls->ring, bpf_map__fd(calls->skeleton->maps.ring),
				      bpf_map__max_entries(calls->skeleton->maps.ring));
	if (!error)
		error = open_counters(calls, options);
	if (error)
		bpf_slow_calls_close(calls);
	else
		*ret = calls;
	return error;
}

void bpf_slow_calls_close(struct bpf_slow_calls *calls)
{
	if (!calls)
		return;
	if (calls->begin >= 0)
		close(calls->begin);
	if (calls->end >= 0)
		close(calls->end);
	bpf_ring_close(&calls->ring);
	slow_calls_bpf__destroy(calls->skeleton);
	free(calls);
}

bool bpf_slow_calls_next(struct bpf_slow_calls *calls, struct slow_call *ret)
{
	uint32_t size;
	const void *record = bpf_ring_next(&calls->ring, &size);
	if (!record || size != sizeof(*ret))
		return false;
	memcpy(ret, record, sizeof(*ret));
	bpf_ring_release(&calls->ring);
	return true;
}

uint64_t bpf_slow_calls_missed(const struct bpf_slow_calls *calls)
{
	return __atomic_load_n(&calls->skeleton->bss->missed, __ATOMIC_RELAXED);
}
