/* Probes of what this user may do. kernel.perf_event_paranoid is only a number: what it means depends on the kernel (levels above 2 are an
 * addition of Debian, Ubuntu and Android that mainline takes as 2), on capabilities, and on security modules. So each right is tried. */
#include "base/cleanup.h"
#include "kernel/capability/capability_internal.h"
#include "kernel/container.h"
#include "kernel/fix.h"
#include "kernel/limits.h"
#include "kernel/measure.h"
#include "kernel/perf_open.h"
#include "kernel/proc.h"
#include "kernel/ring.h"
#include "kernel/tracing/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	RING_KB = 512,	       /* that record takes for each CPU */
	MANY_EVENTS = 700,     /* of syscalls:* on x86-64, where tracefs cannot be read */
	DEFAULT_RATE = 4000,   /* samples a second of record */
	KERNEL_RATE = 100000,  /* the kernel's own limit of them when it boots */
	FIRST_TRACEPOINT = 32, /* ids below are no tracepoints (enum trace_type in kernel/trace/trace.h) */
	LAST_TRACEPOINT = 4096,
};

/* The CPU's clock, which all machines have: what is refused then is the right. */
static struct perf_event_attr clock_attr(bool kernel)
{
	return measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, kernel);
}

/* The user's part of own programs may be measured: what the setting leaves at its strictest in mainline kernels. */
static bool own_allowed(void)
{
	struct perf_event_attr attr = clock_attr(false);

	return measure_can_open(&attr, 0, -1) == 0;
}

/* Says on what the answer rests. */
static void add_grounds(const struct capability_context *context, struct strbuf *out)
{
	if (context->perfmon) {
		strbuf_add_str(out, "this user has CAP_PERFMON");
		return;
	}
	strbuf_printf(out, "kernel.perf_event_paranoid is %d", context->paranoid);
	if (context->paranoid > 2)
		strbuf_add_str(out, own_allowed() ? ", which this kernel takes as 2" : ", with which this kernel allows users nothing");
}

/* A right that needs `level` of those without a capability. */
static void answer_right(struct capability_context *context, struct capability_result *ret, int status, int level)
{
	struct strbuf grounds = {0};

	add_grounds(context, &grounds);
	capability_fact(ret, "paranoid", "%d", context->paranoid);
	capability_fact(ret, "perfmon", "%s", context->perfmon ? "true" : "false");
	capability_fact_status(ret, "allowed", status);
	if (status == 0) {
		capability_found(ret, CAPABILITY_OK, "yes: %s", strbuf_str(&grounds));
	} else if (context->perfmon || context->paranoid <= level) {
		capability_found(ret, CAPABILITY_MISSING, "no: %s though %s; a security module forbids it (dmesg)", strerror(-status),
				 strbuf_str(&grounds));
	} else {
		capability_found(ret, CAPABILITY_MISSING, "no: %s", strbuf_str(&grounds));
		capability_remedy_rights(context, ret, level);
	}
	strbuf_deinit(&grounds);
}

/* User code of our own process. */
void probe_own_programs(struct capability_context *context, struct capability_result *ret)
{
	struct perf_event_attr attr = clock_attr(false);

	answer_right(context, ret, measure_can_open(&attr, 0, -1), 2);
}

/* The kernel's part of our own process. */
void probe_kernel_code(struct capability_context *context, struct capability_result *ret)
{
	struct perf_event_attr attr = clock_attr(true);

	answer_right(context, ret, measure_can_open(&attr, 0, -1), 1);
}

/* One whole CPU, user code alone. */
void probe_whole_system(struct capability_context *context, struct capability_result *ret)
{
	struct perf_event_attr attr = clock_attr(false);

	answer_right(context, ret, measure_can_open(&attr, -1, context->cpus[0]), 0);
}

/* Opens any tracepoint of a whole CPU with its data: sched_switch, or, where no name can be looked up, the first that there is. */
static int open_tracepoint_data(struct capability_context *context)
{
	int id = 0, fd = -EINVAL, last = LAST_TRACEPOINT;

	if (context->tracefs && tracefs_event_id(context->tracefs, "sched", "sched_switch", &id))
		last = id;
	for (id = id ? id : FIRST_TRACEPOINT; id <= last && (fd == -EINVAL || fd == -ENOENT); id++) {
		struct perf_event_attr attr = measure_attr(PERF_TYPE_TRACEPOINT, (uint64_t)id, true);
		attr.sample_period = 1;
		attr.sample_type = PERF_SAMPLE_RAW;
		fd = perf_open_raw(&attr, -1, context->cpus[0], -1, PERF_FLAG_FD_CLOEXEC);
	}
	return fd;
}

/* Samples of a tracepoint with its fields, on a whole CPU. */
void probe_tracepoint_data(struct capability_context *context, struct capability_result *ret)
{
	int fd = open_tracepoint_data(context);

	if (fd >= 0)
		vec_push(&context->descriptors, fd);
	if (fd == -EINVAL || fd == -ENOENT)
		capability_found(ret, CAPABILITY_MISSING, "this kernel has no tracepoints");
	else
		answer_right(context, ret, fd < 0 ? fd : 0, -1);
}

/* Reads kallsyms until an address isn't 0: on x86 some symbols at the beginning are at 0 in truth. */
static int read_addresses(bool *ret_shown)
{
	cleanup_fclose FILE *file = fopen("/proc/kallsyms", "re");
	char line[512];

	if (!file)
		return -errno;
	*ret_shown = false;
	for (int lines = 0; !*ret_shown && lines < 10000 && fgets(line, sizeof(line), file); lines++)
		*ret_shown = strtoull(line, NULL, 16) != 0;
	return 0;
}

/* Whether /proc/kallsyms shows addresses to us: kptr_restrict alone doesn't tell. */
void probe_kernel_addresses(struct capability_context *context, struct capability_result *ret)
{
	bool shown = false;
	int status = read_addresses(&shown), restricted = limits_kptr_restrict();

	capability_fact(ret, "kptr_restrict", "%d", restricted);
	capability_fact(ret, "paranoid", "%d", context->paranoid);
	capability_fact(ret, "shown", "%s", shown ? "true" : "false");
	if (shown) {
		capability_found(ret, CAPABILITY_OK, "/proc/kallsyms shows them (kernel.kptr_restrict is %d)", restricted);
	} else if (status < 0) {
		capability_found(ret, CAPABILITY_MISSING, "/proc/kallsyms cannot be read: %s", strerror(-status));
	} else {
		capability_found(ret, CAPABILITY_MISSING, "/proc/kallsyms hides them: kernel.kptr_restrict is %d%s", restricted,
				 restricted ? "" : ", but this user may not profile the kernel");
		fix_kernel_addresses(&ret->remedy);
	}
}

/* Maps a ring of `pages` for each CPU, all at once as record does. How many could be had? */
static size_t map_rings(const struct capability_context *context, size_t pages)
{
	struct perf_event_attr attr = measure_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, false);
	struct ring *rings = mem_zalloc_array(context->cpu_count, sizeof(*rings));
	size_t count = 0;

	for (; count < context->cpu_count; count++) {
		int fd = perf_open_raw(&attr, 0, context->cpus[count], -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0)
			break;
		if (ring_open(&rings[count], fd, context->cpus[count], pages, false) < 0) {
			close(fd);
			break;
		}
	}
	for (size_t i = 0; i < count; i++) {
		int fd = rings[i].fd;
		ring_close(&rings[i]);
		close(fd);
	}
	free(rings);
	return count;
}

/* Halves the rings of `record` until all CPUs have one. What other processes of the user have locked counts too, as it will for record.
 * */
void probe_rings(struct capability_context *context, struct capability_result *ret)
{
	size_t page_kb = (size_t)sysconf(_SC_PAGESIZE) / 1024, kb = RING_KB, allowed = limits_mlock_bytes() / 1024;
	struct perf_event_attr attr = clock_attr(false);
	int status = measure_can_open(&attr, 0, -1);

	while (status == 0 && kb >= page_kb && map_rings(context, kb / page_kb) < context->cpu_count)
		kb /= 2;
	kb = status || kb < page_kb ? 0 : kb;
	capability_fact(ret, "mlock_kb", "%zu", allowed);
	capability_fact(ret, "ring_kb", "%zu", kb);
	if (status < 0) {
		capability_found(ret, CAPABILITY_MISSING, "not for this user");
		capability_remedy_rights(context, ret, 2);
		return;
	}
	capability_found(ret,
			 kb == RING_KB ? CAPABILITY_OK
			 : kb	       ? CAPABILITY_LIMITED
				       : CAPABILITY_MISSING,
			 "%zu KB for each CPU%s (kernel.perf_event_mlock_kb is %zu)", kb, kb == RING_KB ? "" : " and no more", allowed);
	if (kb == RING_KB)
		return;
	if (!kb)
		capability_cost(ret, "nothing can be sampled or traced, only counted");
	fix_mlock(&ret->remedy, allowed < RING_KB + page_kb ? RING_KB + page_kb : allowed + RING_KB + page_kb);
}

/* How many events `-e syscalls:*` means here. */
static size_t many_events(const struct capability_context *context)
{
	struct tracefs_names names = {0};
	struct error *error = context->tracefs ? tracefs_events(context->tracefs, "syscalls", &names) : NULL;
	size_t count = names.names.len;

	if (error)
		error_free(error);
	tracefs_names_deinit(&names);
	return count ? count : MANY_EVENTS;
}

/* Raises our own limit first, as record does, then looks whether hundreds of events have room. */
void probe_files(struct capability_context *context, struct capability_result *ret)
{
	size_t events = many_events(context), need = events * context->cpu_count + 256;
	struct rlimit limit;

	limits_raise_files(events * context->cpu_count);
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		limit.rlim_cur = limit.rlim_max = 0;
	bool enough = limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= need;
	size_t count = (size_t)limit.rlim_cur;
	capability_fact(ret, "limit", "%zu", count);
	capability_fact(ret, "needed", "%zu", need);
	capability_found(ret, enough ? CAPABILITY_OK : CAPABILITY_LIMITED, "%zu, %s for the %zu events of syscalls:* on %zu CPU%s", count,
			 enough ? "enough" : "not enough", events, context->cpu_count, context->cpu_count == 1 ? "" : "s");
	if (enough)
		return;
	capability_cost(ret, "more than %zu events at once", count / (context->cpu_count ? context->cpu_count : 1));
	fix_files(&ret->remedy, need < 65536 ? 65536 : need);
}

/* 0 or -errno. */
static int open_with_rate(uint64_t rate)
{
	struct perf_event_attr attr = clock_attr(false);

	attr.freq = 1;
	attr.sample_freq = rate;
	attr.sample_type = PERF_SAMPLE_IP;
	return measure_can_open(&attr, 0, -1);
}

/* The rate that `record` asks for, or what the kernel has lowered it to. */
void probe_sample_rate(struct capability_context *context, struct capability_result *ret)
{
	uint64_t rate = limits_max_sample_rate();
	int status = open_with_rate(rate ? rate : DEFAULT_RATE);

	capability_fact(ret, "max_sample_rate", "%llu", (unsigned long long)rate);
	if (status == -EACCES || status == -EPERM) {
		capability_found(ret, CAPABILITY_MISSING, "not for this user");
		capability_cost(ret, "sampling");
		capability_remedy_rights(context, ret, 2);
	} else if (status < 0 || (rate && rate < DEFAULT_RATE)) {
		capability_found(
			ret, CAPABILITY_LIMITED,
			"at most %llu samples a second (kernel.perf_event_max_sample_rate; the kernel lowers it when they take too long)",
			(unsigned long long)rate);
		fix_sample_rate(&ret->remedy, KERNEL_RATE);
	} else {
		capability_found(ret, CAPABILITY_OK, "up to %llu samples a second", (unsigned long long)rate);
	}
}
