/* Opening counters with step-by-step fallback. The kernel says EINVAL to anything it doesn't know, so the only way to find out what it was
 * is to ask again with less; each step takes away one thing, the youngest first, and only if the attribute has it. What isn't done here:
 * falling back to another event (capture/sampling.c), and explaining refusals (refusal.c). */
#include "kernel/perf_open.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FORMAT_LOST = 1 << 4 };

int perf_open_raw(const struct perf_event_attr *attr, pid_t pid, int cpu, int group, unsigned long flags)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group, flags);
	return fd < 0 ? -errno : (int)fd;
}

uint64_t perf_open_id(int fd)
{
	uint64_t id = 0;
	return ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0 ? 0 : id;
}

/* Takes one feature out of the attribute. False when the attribute doesn't use it. */
static bool drop_feature(struct perf_event_attr *attr, enum perf_feature feature)
{
	struct perf_event_attr before = *attr;

	switch (feature) {
	case PERF_FEATURE_READ_LOST:
		attr->read_format &= ~(uint64_t)FORMAT_LOST;
		return attr->read_format != before.read_format;
	case PERF_FEATURE_WEIGHT_STRUCT:
		if (attr->sample_type & PERF_SAMPLE_WEIGHT_STRUCT)
			attr->sample_type = (attr->sample_type & ~(uint64_t)PERF_SAMPLE_WEIGHT_STRUCT) | PERF_SAMPLE_WEIGHT;
		return attr->sample_type != before.sample_type;
	case PERF_FEATURE_TEXT_POKE:
		attr->text_poke = 0;
		return before.text_poke;
	case PERF_FEATURE_BPF_EVENT:
		attr->bpf_event = 0;
		return before.bpf_event;
	case PERF_FEATURE_KSYMBOL:
		attr->ksymbol = 0;
		return before.ksymbol;
	case PERF_FEATURE_MMAP2:
		attr->mmap2 = 0;
		return before.mmap2;
	case PERF_FEATURE_COMM_EXEC:
		attr->comm_exec = 0;
		return before.comm_exec;
	case PERF_FEATURE_EXCLUDE_GUEST:
		attr->exclude_guest = attr->exclude_host = 0;
		return before.exclude_guest || before.exclude_host;
	case PERF_FEATURE_INHERIT_READ:
		if (attr->sample_type & PERF_SAMPLE_READ)
			attr->inherit = 0;
		return before.inherit && !attr->inherit;
	case PERF_FEATURE_CLOEXEC:
		break;
	}
	return false;
}

static const enum perf_feature drop_order[] = {
	PERF_FEATURE_INHERIT_READ, PERF_FEATURE_READ_LOST, PERF_FEATURE_WEIGHT_STRUCT, PERF_FEATURE_TEXT_POKE,	   PERF_FEATURE_BPF_EVENT,
	PERF_FEATURE_KSYMBOL,	   PERF_FEATURE_COMM_EXEC, PERF_FEATURE_MMAP2,	       PERF_FEATURE_EXCLUDE_GUEST,
};
enum { DROP_COUNT = sizeof(drop_order) / sizeof(drop_order[0]) };

/* What an earlier event has shown to be missing isn't tried again. */
static void drop_missing(const struct perf_open *state, struct perf_event_attr *attr)
{
	for (int i = 0; i < DROP_COUNT; i++)
		if (state->missing & drop_order[i])
			drop_feature(attr, drop_order[i]);
}

/* Descriptor or -errno. Kernels without the flag get it set behind, which a fork in between escapes. */
static int open_once(struct perf_open *state, const struct perf_event_attr *attr, pid_t pid, int cpu, int group, unsigned long flags)
{
	int fd = perf_open_raw(attr, pid, cpu, group, flags | (state->missing & PERF_FEATURE_CLOEXEC ? 0 : PERF_FLAG_FD_CLOEXEC));
	if (fd >= 0 && (state->missing & PERF_FEATURE_CLOEXEC))
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

/* Precise sampling that the hardware cannot do is refused with one of these. */
static bool is_precision_refused(int error)
{
	return error == -EINVAL || error == -EOPNOTSUPP || error == -ENOENT || error == -ENXIO;
}

/* Level by level down to 0; the attribute is that which was opened. */
static int open_less_precise(struct perf_open *state, struct perf_event_attr *attr, pid_t pid, int cpu, int group, unsigned long flags)
{
	struct perf_event_attr less = *attr;
	int fd = -EINVAL;

	while (less.precise_ip && is_precision_refused(fd)) {
		less.precise_ip--;
		fd = open_once(state, &less, pid, cpu, group, flags);
	}
	if (fd >= 0)
		*attr = less;
	return fd;
}

int perf_open_counter(struct perf_open *state, struct perf_event_attr *attr, bool precise_max, pid_t pid, int cpu, int group,
		      unsigned long flags)
{
	drop_missing(state, attr);
	int first = open_once(state, attr, pid, cpu, group, flags);
	if (first >= 0)
		return first;
	if (precise_max && is_precision_refused(first)) {
		int fd = open_less_precise(state, attr, pid, cpu, group, flags);
		if (fd >= 0)
			return fd;
	}
	if (first != -EINVAL && first != -E2BIG)
		return first;

	struct perf_event_attr less = *attr;
	struct perf_open trial = *state;
	if (!(trial.missing & PERF_FEATURE_CLOEXEC)) {
		/* Only kernels before 3.14 lack it, and they lack everything below as well. */
		struct perf_event_attr tiny = {
			.type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER0, .config = PERF_COUNT_SW_CPU_CLOCK, .exclude_kernel = 1};
		int fd = perf_open_raw(&tiny, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd == -EINVAL)
			trial.missing |= PERF_FEATURE_CLOEXEC;
		else if (fd >= 0)
			close(fd);
	}
	for (int i = 0; i < DROP_COUNT; i++) {
		if (!drop_feature(&less, drop_order[i]))
			continue;
		trial.missing |= drop_order[i];
		int fd = open_once(&trial, &less, pid, cpu, group, flags);
		if (fd >= 0) {
			*attr = less;
			*state = trial;
			return fd;
		}
	}
	return first;
}
