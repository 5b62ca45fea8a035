// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A PMU that traces nothing real, under the name of one that does: so that the kernel's own AUX areas can be recorded on machines
 * without such a processor.
 *
 * While an event is scheduled it writes packets of Intel PT into the area, each millisecond `burst` times a number that goes
 * up by one, in between PGE and PGD at the instruction where the program was: what a recorder loses, repeats or mixes
 * up is seen in the numbers. */
#include <linux/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

static char *name = "intel_pt";
module_param(name, charp, 0444);
static unsigned int burst = 8;
module_param(burst, uint, 0644);

enum { FILTERS_MAX = 2 };

struct area {
	u8 *base;
	unsigned long size;
	bool snapshot;
};

struct tracer {
	struct perf_output_handle handle;
	struct area *area;
	struct perf_event *event;  /* NULL = nothing is traced */
	unsigned long at, written; /* bytes of this piece: where the next one goes, how many there are */
	struct hrtimer timer;
};

static DEFINE_PER_CPU(struct tracer, tracers);
static atomic64_t number;
static struct pmu fake;

/* ── The area ── */

static void *setup_aux(struct perf_event *event, void **pages, int count, bool overwrite)
{
	struct area *area = kzalloc(sizeof(*area), GFP_KERNEL);
	struct page **list = kmalloc_array(count, sizeof(*list), GFP_KERNEL);
	int i;

	if (!area || !list)
		goto failed;
	for (i = 0; i < count; i++)
		list[i] = virt_to_page(pages[i]);
	area->base = vmap(list, count, VM_MAP, PAGE_KERNEL);
	area->size = (unsigned long)count << PAGE_SHIFT;
	area->snapshot = overwrite;
	if (!area->base)
		goto failed;
	kfree(list);
	return area;
failed:
	kfree(list);
	kfree(area);
	return NULL;
}

static void free_aux(void *data)
{
	struct area *area = data;

	vunmap(area->base);
	kfree(area);
}

static void put(struct tracer *tracer, const void *bytes, size_t size)
{
	const u8 *from = bytes;

	while (size--) {
		tracer->area->base[tracer->at++ & (tracer->area->size - 1)] = *from++;
		tracer->written++;
	}
}

/* ── Packets (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3, "Intel Processor Trace") ── */

enum { PSB_SIZE = 16 + 8 + 2 + 2, PIECE_MAX = PSB_SIZE + 9 + 11 + 9 + 1 };

static void put_ip(struct tracer *tracer, u8 header, u64 ip)
{
	put(tracer, &header, 1);
	put(tracer, &ip, 8);
}

static void put_piece(struct tracer *tracer, u64 ip)
{
	static const u8 psb[] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
	u64 tsc = (u64)rdtsc() << 8 | 0x19, value = atomic64_inc_return(&number);

	put(tracer, psb, sizeof(psb));
	put(tracer, &tsc, 8);
	put(tracer, (const u8[]){0x99, 0x01, 0x02, 0x23}, 4); /* 64-bit code; PSBEND */
	put_ip(tracer, 0x11 | 6 << 5, ip);		      /* PGE */
	put(tracer, (const u8[]){0x02, 0xc3, 0x88}, 3);	      /* MNT: bytes of no meaning */
	put(tracer, &value, 8);
	put_ip(tracer, 0x1d | 6 << 5, ip); /* FUP, and PGD: tracing ends there */
	put(tracer, (const u8[]){0x01}, 1);
}

/* ── Tracing ── */

static bool begin(struct tracer *tracer, struct perf_event *event)
{
	tracer->area = perf_aux_output_begin(&tracer->handle, event);
	if (!tracer->area)
		return false;
	tracer->at = tracer->handle.head & (tracer->area->size - 1);
	tracer->written = 0;
	return true;
}

/* In an area that is overwritten the head is a place in it. */
static void end(struct tracer *tracer)
{
	unsigned long size = tracer->written;

	if (tracer->area->snapshot) {
		tracer->handle.head = tracer->at & (tracer->area->size - 1);
		size = min(size, tracer->area->size);
	}
	perf_aux_output_end(&tracer->handle, size);
	tracer->area = NULL;
}

/* ── Filters of addresses ── */

struct filters {
	unsigned int count, wanted; /* wanted: ranges outside of which nothing is traced */
	struct traced_range {
		unsigned long start, size;
		bool stops;
	} ranges[FILTERS_MAX];
};

static int validate_filters(struct list_head *filters)
{
	struct perf_addr_filter *filter;

	list_for_each_entry(filter, filters,
			    entry) if (!filter->size || filter->action == PERF_ADDR_FILTER_ACTION_START) return -EOPNOTSUPP;
	return 0;
}

/* The kernel has found out where the files are mapped. */
static void sync_filters(struct perf_event *event)
{
	struct perf_addr_filters_head *head = perf_event_addr_filters(event);
	struct filters *filters = event->hw.addr_filters;
	struct perf_addr_filter *filter;
	unsigned int i = 0;

	filters->wanted = 0;
	list_for_each_entry(filter, &head->list, entry)
	{
		filters->ranges[i].start = event->addr_filter_ranges[i].start;
		filters->ranges[i].size = event->addr_filter_ranges[i].size;
		filters->ranges[i].stops = filter->action == PERF_ADDR_FILTER_ACTION_STOP;
		filters->wanted += !filters->ranges[i].stops;
		i++;
	}
	filters->count = i;
}

static bool is_traced(const struct filters *filters, u64 ip)
{
	bool wanted = !filters->wanted;
	unsigned int i;

	for (i = 0; i < filters->count; i++) {
		const struct traced_range *range = &filters->ranges[i];
		if (ip - range->start >= range->size)
			continue;
		if (range->stops)
			return false;
		wanted = true;
	}
	return wanted;
}

static void write_pieces(struct tracer *tracer)
{
	u64 ip = current->mm ? instruction_pointer(task_pt_regs(current)) : 0;
	unsigned int i;

	if (!is_traced(tracer->event->hw.addr_filters, ip))
		return;
	for (i = 0; ip && i < burst; i++) {
		if (!tracer->area->snapshot && tracer->written + PIECE_MAX > tracer->handle.size) {
			perf_aux_output_flag(&tracer->handle, PERF_AUX_FLAG_TRUNCATED);
			return;
		}
		put_piece(tracer, ip);
	}
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct tracer *tracer = container_of(timer, struct tracer, timer);
	struct perf_event *event = tracer->event;

	if (!event || !tracer->area)
		return HRTIMER_NORESTART;
	write_pieces(tracer);
	if (!tracer->area->snapshot) {
		end(tracer);
		if (!begin(tracer, event))
			return HRTIMER_NORESTART;
	}
	hrtimer_forward_now(timer, ms_to_ktime(1));
	return HRTIMER_RESTART;
}

static void start(struct perf_event *event, int flags)
{
	struct tracer *tracer = this_cpu_ptr(&tracers);

	if (!begin(tracer, event)) {
		event->hw.state = PERF_HES_STOPPED;
		return;
	}
	event->hw.state = 0;
	tracer->event = event;
	perf_event_addr_filters_sync(event);
	hrtimer_start(&tracer->timer, ms_to_ktime(1), HRTIMER_MODE_REL_PINNED_HARD);
}

static void stop(struct perf_event *event, int flags)
{
	struct tracer *tracer = this_cpu_ptr(&tracers);

	if (event->hw.state & PERF_HES_STOPPED)
		return;
	event->hw.state |= PERF_HES_STOPPED;
	hrtimer_try_to_cancel(&tracer->timer);
	if (tracer->area) {
		write_pieces(tracer);
		end(tracer);
	}
	tracer->event = NULL;
}

static int add(struct perf_event *event, int flags)
{
	if (this_cpu_ptr(&tracers)->event)
		return -EBUSY;
	event->hw.state = PERF_HES_STOPPED;
	if (flags & PERF_EF_START)
		start(event, 0);
	return 0;
}

static void del(struct perf_event *event, int flags)
{
	stop(event, PERF_EF_UPDATE);
}

static void read_nothing(struct perf_event *event)
{
}

static void free_filters(struct perf_event *event)
{
	kfree(event->hw.addr_filters);
}

static int event_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	event->hw.addr_filters = kzalloc(sizeof(struct filters), GFP_KERNEL);
	if (!event->hw.addr_filters)
		return -ENOMEM;
	event->destroy = free_filters;
	return 0;
}

/* ── Traces in samples ── */

/* The kernel's copier, which it doesn't offer to modules. */
static long (*copy_aux)(struct perf_output_handle *from, struct perf_output_handle *to, unsigned long begin, unsigned long end);

static void *find_function(const char *symbol)
{
	struct kprobe probe = {.symbol_name = symbol};
	void *address;

	if (register_kprobe(&probe) < 0)
		return NULL;
	address = probe.addr;
	unregister_kprobe(&probe);
	return address;
}

/* The newest `size` bytes, which may be in an interrupt of this CPU. */
static long snapshot_aux(struct perf_event *event, struct perf_output_handle *handle, unsigned long size)
{
	struct tracer *tracer = this_cpu_ptr(&tracers);
	unsigned long from, flags;
	long copied = 0;

	local_irq_save(flags);
	if (copy_aux && tracer->area && tracer->written >= size) {
		from = (tracer->at - size) & (tracer->area->size - 1);
		copied = copy_aux(&tracer->handle, handle, from, tracer->at & (tracer->area->size - 1));
	}
	local_irq_restore(flags);
	return copied;
}

/* ── What sysfs tells ── */

PMU_FORMAT_ATTR(pt, "config:0");
PMU_FORMAT_ATTR(cyc, "config:1");
PMU_FORMAT_ATTR(mtc, "config:9");
PMU_FORMAT_ATTR(tsc, "config:10");
PMU_FORMAT_ATTR(noretcomp, "config:11");
PMU_FORMAT_ATTR(ptw, "config:12");
PMU_FORMAT_ATTR(branch, "config:13");
PMU_FORMAT_ATTR(mtc_period, "config:14-17");
PMU_FORMAT_ATTR(cyc_thresh, "config:19-22");
PMU_FORMAT_ATTR(psb_period, "config:24-27");

static struct attribute *formats[] = {
	&format_attr_pt.attr,
	&format_attr_cyc.attr,
	&format_attr_mtc.attr,
	&format_attr_tsc.attr,
	&format_attr_noretcomp.attr,
	&format_attr_ptw.attr,
	&format_attr_branch.attr,
	&format_attr_mtc_period.attr,
	&format_attr_cyc_thresh.attr,
	&format_attr_psb_period.attr,
	NULL,
};
static const struct attribute_group format_group = {.name = "format", .attrs = formats};

#define CAPABILITY(_name, _text)                                                                             \
	static ssize_t show_##_name(struct device *device, struct device_attribute *attribute, char *buffer) \
	{                                                                                                    \
		return sysfs_emit(buffer, _text "\n");                                                       \
	}                                                                                                    \
	static struct device_attribute capability_##_name = __ATTR(_name, 0444, show_##_name, NULL)
CAPABILITY(psb_cyc, "1");
CAPABILITY(mtc, "1");
CAPABILITY(mtc_periods, "249");
CAPABILITY(psb_periods, "3f");
CAPABILITY(cycle_thresholds, "3fff");
CAPABILITY(max_nonturbo_ratio, "20");

static struct attribute *capabilities[] = {
	&capability_psb_cyc.attr,
	&capability_mtc.attr,
	&capability_mtc_periods.attr,
	&capability_psb_periods.attr,
	&capability_cycle_thresholds.attr,
	&capability_max_nonturbo_ratio.attr,
	NULL,
};
static const struct attribute_group capability_group = {.name = "caps", .attrs = capabilities};
static const struct attribute_group *groups[] = {&format_group, &capability_group, NULL};

static struct pmu fake = {
	.module = THIS_MODULE,
	.capabilities = PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE,
	.task_ctx_nr = perf_sw_context,
	.attr_groups = groups,
	.event_init = event_init,
	.add = add,
	.del = del,
	.start = start,
	.stop = stop,
	.read = read_nothing,
	.setup_aux = setup_aux,
	.free_aux = free_aux,
	.snapshot_aux = snapshot_aux,
	.nr_addr_filters = FILTERS_MAX,
	.addr_filters_validate = validate_filters,
	.addr_filters_sync = sync_filters,
};

static int __init fake_trace_init(void)
{
	int cpu;

	copy_aux = find_function("perf_output_copy_aux");
	for_each_possible_cpu(cpu)
	{
		struct tracer *tracer = per_cpu_ptr(&tracers, cpu);
		hrtimer_init(&tracer->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
		tracer->timer.function = tick;
	}
	return perf_pmu_register(&fake, name, -1);
}

static void __exit fake_trace_exit(void)
{
	perf_pmu_unregister(&fake);
}

module_init(fake_trace_init);
module_exit(fake_trace_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("a PMU with an AUX area and a made-up trace");
