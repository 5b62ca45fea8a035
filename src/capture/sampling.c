/* From options to attributes. The order matters: what an event's own text says (terms between slashes) comes last and wins; then the ids,
 * which all events of a recording must carry at the same place as soon as there is more than one. */
#include "capture/sampling.h"

#include "capture/stacks/stack_walker.h"
#include "event/defaults.h"
#include "event/modifiers.h"
#include "event/parse/parse.h"
#include "kernel/limits.h"

#include <linux/perf_event.h>
#include <string.h>

static void set_bit(struct event_attr *attr, uint64_t bit)
{
	attr->sample_type |= bit;
}

/* One event listens to side-band for all: the dummy if we added one, else the first. */
struct tracking {
	const struct event *event;
	bool added; /* we added it: enabled at once */
};

static void configure_tracking(struct event_attr *attr, const struct sampling *sampling)
{
	attr->mmap = attr->mmap2 = attr->comm = attr->comm_exec = attr->task = 1;
	attr->ksymbol = 1;
	attr->bpf_event = !sampling->no_bpf_event;
	attr->mmap_data = sampling->address;
	attr->namespaces = sampling->namespaces;
	attr->context_switch = sampling->switch_events;
	attr->text_poke = sampling->text_poke;
	attr->build_id = sampling->build_id_mmap;
	attr->cgroup = sampling->cgroups;
}

/* `stack_size` 0: stacks aren't copied. */
static void configure_callgraph(struct event_attr *attr, const struct sampling *sampling, enum callchain_mode mode, uint32_t stack_size)
{
	if (mode == CALLCHAIN_UNSET || mode == CALLCHAIN_NONE)
		return;
	set_bit(attr, PERF_SAMPLE_CALLCHAIN);
	attr->exclude_callchain_user = sampling->kernel_callchains;
	attr->exclude_callchain_kernel = sampling->user_callchains;
	attr->sample_max_stack = (uint16_t)sampling->max_stack;
	if (mode == CALLCHAIN_LBR) {
		set_bit(attr, PERF_SAMPLE_BRANCH_STACK);
		attr->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_NO_CYCLES |
					   PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_HW_INDEX;
		attr->exclude_callchain_user = 1;
	} else if (mode == CALLCHAIN_AUTO && !stack_size) {
		attr->exclude_callchain_user = 1; /* comes from elsewhere */
	} else if (mode == CALLCHAIN_DWARF || mode == CALLCHAIN_AUTO) {
		set_bit(attr, PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
		attr->sample_regs_user |= sampling_unwind_regs();
		attr->sample_stack_user = stack_size;
		attr->exclude_callchain_user = 1;
	} else if (mode == CALLCHAIN_FP && sampling_link_regs() && !attr->exclude_callchain_user) {
		set_bit(attr, PERF_SAMPLE_REGS_USER);
		attr->sample_regs_user |= sampling_link_regs();
	}
}

static bool is_walked(const struct event *event, const struct sampling *sampling)
{
	return sampling->walks_stacks && !event_is_dummy(event) && stack_walker_suits(event);
}

/* Whether an event that -g was meant for has its stacks by frame pointers all the same: no program walks them, and it is too frequent for
 * copies that nobody asked for. */
static bool stays_with_frame_pointers(const struct event *event, const struct sampling *sampling)
{
	enum { BEARABLE_FREQ = 10000, BEARABLE_PERIOD = 100000 };
	const struct event_attr *attr = &event->attr;

	if (!sampling->callgraph_implied || event->callgraph_given || event_is_dummy(event) || is_walked(event, sampling))
		return false;
	return attr->type == PERF_TYPE_TRACEPOINT ||
	       (attr->freq ? attr->sample_freq > BEARABLE_FREQ : attr->sample_period < BEARABLE_PERIOD);
}

/* How much is copied of stacks that are unwound at once, at first: by the size of rings, and whether it is for ever. */
static uint32_t stack_size_unwound(const struct event *event)
{
	bool grouped = event->leader != event->index || event->members > 1;

	if (!limits_has_perfmon())
		return SAMPLING_STACK_DEFAULT;
	return grouped ? SAMPLING_STACK_UNWOUND / 2 : SAMPLING_STACK_UNWOUND;
}

static struct error *configure_event_callgraph(struct event *event, const struct sampling *sampling)
{
	enum callchain_mode mode = sampling->callgraph;
	uint32_t stack_size = sampling->stack_size ? sampling->stack_size : SAMPLING_STACK_DEFAULT;

	if (event->callgraph_given) {
		if (!strcmp(event->callgraph, "no")) {
			mode = CALLCHAIN_NONE;
		} else {
			struct sampling own = {0};
			struct error *error = sampling_parse_callgraph(event->callgraph, &own);
			if (error)
				return error_wrap(error, "%s", event->name);
			mode = own.callgraph;
			stack_size = SAMPLING_STACK_DEFAULT;
			if (mode == CALLCHAIN_DWARF)
				set_bit(&event->attr, PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC);
		}
	}
	if (mode == CALLCHAIN_UNSET && event->max_stack)
		mode = CALLCHAIN_FP; /* who limits the stack wants one */
	if (mode == CALLCHAIN_AUTO && sampling->kernel_callchains)
		mode = CALLCHAIN_FP; /* without the user's part nothing is to be unwound */
	if (mode == CALLCHAIN_AUTO && stays_with_frame_pointers(event, sampling))
		mode = CALLCHAIN_FP;
	if (mode == CALLCHAIN_AUTO)
		stack_size = stack_size_unwound(event);
	if (event->stack_size)
		stack_size = (event->stack_size + 7) & ~7u;
	event->stack_unwound = mode == CALLCHAIN_AUTO;
	event->stack_walked = event->stack_unwound && is_walked(event, sampling);
	configure_callgraph(&event->attr, sampling, mode, event->stack_walked ? 0 : stack_size);
	if (event->stack_unwound && sampling->user_regs)
		return error_new_kind(ERROR_USAGE, "--call-graph auto cannot be combined with --user-regs; use --call-graph dwarf");
	bool grows = mode == CALLCHAIN_DWARF || (mode == CALLCHAIN_AUTO && event->leader == event->index && event->members <= 1);
	bool wanted = event->callgraph_given ? mode == CALLCHAIN_AUTO : sampling->stack_grows;
	event->stack_grows = wanted && grows && !event->stack_size && !event_is_dummy(event) && !event->stack_walked;
	if (event->stack_grows && (event->leader != event->index || event->members > 1))
		return error_new_kind(ERROR_USAGE,
				      "%s: --call-graph dwarf,auto does not support groups; omit the group, or give a size: dwarf,%d",
				      event->name, SAMPLING_STACK_DEFAULT);
	return NULL;
}

static void configure_rate(struct event *event, const struct sampling *sampling)
{
	struct event_attr *attr = &event->attr;

	if (!attr->sample_period) {
		if (sampling->freq) {
			attr->freq = 1;
			attr->sample_freq = sampling->freq;
		} else {
			attr->sample_period = sampling->period;
		}
	} else if (!event->period_given && sampling->period) {
		attr->sample_period = sampling->period; /* -c and -F count for tracepoints, too */
		attr->freq = 0;
	} else if (!event->period_given && sampling->freq_given) {
		attr->sample_freq = sampling->freq;
		attr->freq = 1;
	}
	if (attr->freq)
		set_bit(attr, PERF_SAMPLE_PERIOD);
	if (sampling->no_samples)
		attr->sample_freq = 0;
}

static void configure_content(struct event *event, const struct sampling *sampling)
{
	struct event_attr *attr = &event->attr;
	bool dummy = event_is_dummy(event);
	static const struct {
		size_t flag;
		uint64_t bits;
	} bits[] = {
		{offsetof(struct sampling, address), PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC},
		{offsetof(struct sampling, phys_address), PERF_SAMPLE_PHYS_ADDR},
		{offsetof(struct sampling, data_page_size), PERF_SAMPLE_DATA_PAGE_SIZE},
		{offsetof(struct sampling, code_page_size), PERF_SAMPLE_CODE_PAGE_SIZE},
		{offsetof(struct sampling, cpu), PERF_SAMPLE_CPU},
		{offsetof(struct sampling, by_cpu), PERF_SAMPLE_CPU},
		{offsetof(struct sampling, raw), PERF_SAMPLE_TIME | PERF_SAMPLE_RAW | PERF_SAMPLE_CPU},
		{offsetof(struct sampling, weight), PERF_SAMPLE_WEIGHT_STRUCT},
		{offsetof(struct sampling, transaction), PERF_SAMPLE_TRANSACTION},
		{offsetof(struct sampling, cgroups), PERF_SAMPLE_CGROUP},
	};

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		if (*((const bool *)sampling + bits[i].flag))
			set_bit(attr, bits[i].bits);
	if (sampling->period_bit == EVENT_YES)
		set_bit(attr, PERF_SAMPLE_PERIOD);
	if (!sampling->no_time && (!sampling->per_thread || sampling->time))
		set_bit(attr, PERF_SAMPLE_TIME);
	if (sampling->branch_type) {
		set_bit(attr, PERF_SAMPLE_BRANCH_STACK);
		attr->branch_sample_type = sampling->branch_type;
		/* Where it isn't said, the kernel takes the event's own levels, and asks for the right to see the kernel for that of the
		 * hypervisor. */
		if (attr->exclude_kernel && !attr->exclude_hv && !(sampling->branch_type & PERF_SAMPLE_BRANCH_PLM_ALL))
			attr->branch_sample_type |= PERF_SAMPLE_BRANCH_USER;
	}
	if (sampling->user_regs && !dummy) {
		set_bit(attr, PERF_SAMPLE_REGS_USER);
		attr->sample_regs_user |= sampling->user_regs;
	}
	if (sampling->intr_regs && !dummy) {
		set_bit(attr, PERF_SAMPLE_REGS_INTR);
		attr->sample_regs_intr |= sampling->intr_regs;
	}
}

static void configure_scope(struct event *event, const struct sampling *sampling)
{
	struct event_attr *attr = &event->attr;

	if (sampling->all_kernel) {
		attr->exclude_kernel = 0;
		attr->exclude_user = 1;
	}
	if (sampling->all_user) {
		attr->exclude_kernel = 1;
		attr->exclude_user = 0;
	}
	if (sampling->clockid_given) {
		attr->use_clockid = 1;
		attr->clockid = sampling->clockid;
	}
	if (sampling->no_buffering) {
		attr->watermark = 0;
		attr->wakeup_events = 1;
	}
}

/* The branch_type= term: "no" or kinds of branches, instead of those of -b and -j. */
static struct error *configure_event_branches(struct event *event)
{
	struct event_attr *attr = &event->attr;
	uint64_t kinds = 0;

	if (strcmp(event->branch_type, "no")) {
		struct error *error = sampling_parse_branch(event->branch_type, &kinds);
		if (error)
			return error_wrap(error, "%s", event->name);
	}
	attr->sample_type &= ~(uint64_t)PERF_SAMPLE_BRANCH_STACK;
	attr->sample_type |= kinds ? PERF_SAMPLE_BRANCH_STACK : 0;
	attr->branch_sample_type = kinds;
	return NULL;
}

static struct error *configure_event(struct event *event, const struct sampling *sampling, const struct tracking *tracking)
{
	struct event_attr *attr = &event->attr;
	bool leads = event->leader == event->index;

	attr->size = PERF_ATTR_SIZE_VER7;
	if (attr->config3)
		attr->size = EVENT_ATTR_SIZE_V8;
	attr->sample_id_all = 1;
	attr->inherit = !sampling->no_inherit && !sampling->per_thread;
	attr->write_backward = sampling->overwrite;
	attr->read_format |= PERF_FORMAT_ID | EVENT_FORMAT_LOST;
	set_bit(attr, PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	configure_content(event, sampling);
	if (sampling->thread_counts || sampling->running_time)
		attr->read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr->inherit_stat = sampling->thread_counts;
	struct error *error = configure_event_callgraph(event, sampling);
	if (error)
		return error;
	configure_scope(event, sampling);
	if (event == tracking->event) {
		configure_tracking(attr, sampling);
		attr->mmap_data |= (attr->sample_type & PERF_SAMPLE_STACK_USER) != 0 && !event->stack_unwound;
	}
	if (event->precise_max)
		attr->precise_ip = 3;

	bool immediate = event == tracking->event && tracking->added && !(sampling->delayed && sampling->workload);
	attr->disabled = leads && !immediate;
	attr->enable_on_exec = leads && !immediate && sampling->workload && (!sampling->delayed || tracking->added);
	if (sampling->delayed && event != tracking->event)
		attr->enable_on_exec = 0;
	event_apply_terms(event);
	if (event->branch_type && (error = configure_event_branches(event)))
		return error;
	if (sampling->period_bit == EVENT_NO)
		attr->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
	if (event_is_dummy(event))
		attr->sample_type &= ~(uint64_t)PERF_SAMPLE_BRANCH_STACK;
	return NULL;
}

/* {…}:S: only the leader samples, and members whose text says how often; each sample carries the counts of all. */
static void configure_group_reading(struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++) {
		struct event *event = events->events.data[i], *leader = events->events.data[event->leader];
		if (!leader->sample_read)
			continue;
		set_bit(&event->attr, PERF_SAMPLE_READ);
		if (leader->members > 1) {
			event->attr.read_format |= PERF_FORMAT_GROUP;
			event->attr.inherit = 0;
		}
		if (event != leader) {
			if (!event->period_given) {
				event->attr.freq = 0;
				event->attr.sample_freq = 0;
			}
			event->attr.sample_type = leader->attr.sample_type;
		}
	}
}

static void configure_ids(struct event_list *events, bool identifier)
{
	size_t count = events->events.len;
	const struct event *first = events->events.data[0];

	for (size_t i = 1; i < count; i++)
		identifier |= events->events.data[i]->attr.sample_type != first->attr.sample_type;
	if (count == 1 && !identifier && !(first->attr.sample_type & PERF_SAMPLE_READ))
		return;
	for (size_t i = 0; i < count; i++) {
		struct event_attr *attr = &events->events.data[i]->attr;
		attr->sample_type &= ~(uint64_t)(PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER);
		set_bit(attr, identifier ? PERF_SAMPLE_IDENTIFIER : PERF_SAMPLE_ID);
	}
}

static struct event *find_dummy(const struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++)
		if (event_is_dummy(events->events.data[i]))
			return events->events.data[i];
	return NULL;
}

/* The dummy event measures nothing and listens to side-band from the beginning, whole CPUs or before a delayed start. */
static struct event *add_tracking(struct event_list *events, const struct sampling *sampling)
{
	struct event *event = event_list_add(events, "dummy:HG");

	event->attr.type = PERF_TYPE_SOFTWARE;
	event->attr.config = PERF_COUNT_SW_DUMMY;
	event->attr.sample_period = 1;
	configure_rate(event, sampling);
	return event;
}

/* What happens on other CPUs is unknown to an event of one kind of cores. */
static bool is_bound_to_cores(const struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++)
		if (events->events.data[i]->core_kind)
			return true;
	return false;
}

/* The first event whose records aren't overwritten: the others would lose side-band with what is old. */
static const struct event *first_lasting(const struct event_list *events, const struct sampling *sampling)
{
	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		if (event->overwrite == EVENT_NO || (!event->overwrite && !sampling->overwrite))
			return event;
	}
	return events->events.data[0];
}

/* Whether the stacks of an event are unwound here, from copies that may grow. */
static bool may_grow(const struct event_list *events, const struct sampling *sampling)
{
	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		bool wanted = event->callgraph_given ? !strcmp(event->callgraph, "auto") : sampling->stack_grows;
		if (wanted && !is_walked(event, sampling))
			return true;
	}
	return false;
}

/* Nothing is unwound of events that all stay with frame pointers: then everything is as with --call-graph fp. */
static void settle_callgraph(const struct event_list *events, struct sampling *sampling)
{
	bool unwound = !sampling->callgraph_implied;

	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		unwound |= !event_is_dummy(event) && !stays_with_frame_pointers(event, sampling);
	}
	if (!unwound || (sampling->callgraph_implied && sampling->kernel_callchains)) {
		sampling->callgraph = CALLCHAIN_FP;
		sampling->callgraph_implied = sampling->stack_grows = false;
	}
}

struct error *sampling_configure(struct event_list *events, const struct sampling *given)
{
	struct sampling settled = *given;
	const struct sampling *sampling = &settled;
	struct tracking tracking = {0};
	struct event *listener = NULL;

	if (sampling->group && events->events.len > 1) {
		for (size_t i = 0; i < events->events.len; i++) {
			events->events.data[i]->leader = 0;
			events->events.data[i]->members = i ? 0 : (unsigned int)events->events.len;
		}
	}
	for (size_t i = 0; i < events->events.len; i++)
		configure_rate(events->events.data[i], sampling);
	settle_callgraph(events, &settled);
	/* Where sizes of stacks change, counters are switched off, and a disabled one hears nothing. */
	if (sampling->by_cpu || sampling->delayed || sampling->listener || may_grow(events, sampling) || is_bound_to_cores(events)) {
		listener = find_dummy(events) ?: add_tracking(events, sampling);
		listener->everywhere = sampling->by_cpu;
		tracking.event = listener;
		tracking.added = true;
	} else {
		tracking.event = first_lasting(events, sampling);
	}
	for (size_t i = 0; i < events->events.len; i++) {
		struct event *event = events->events.data[i];
		struct error *error = configure_event(event, sampling, &tracking);
		if (error)
			return error;
	}
	configure_group_reading(events);
	/* Records of stacks are told from samples by their ids. */
	configure_ids(events, sampling->identifier || sampling->walks_stacks);
	return NULL;
}

struct error *sampling_add_default(struct event_list *events, struct event_catalog *catalog, bool exclude_kernel)
{
	size_t first = events->events.len;
	struct error *error = event_parse(events, catalog, "cycles");

	for (size_t i = first; i < events->events.len; i++) {
		struct event *event = events->events.data[i];
		event->attr.exclude_kernel = exclude_kernel;
		event->precise_max = true;
		event->is_default = !event->pmu_name;
		if (event->is_default && exclude_kernel)
			event->name = "cycles:u";
	}
	return error;
}

void sampling_rename(struct event_list *events, struct event *event, const char *base)
{
	struct strbuf name = {0};

	strbuf_add_str(&name, base);
	event_add_modifiers(&event->attr, &name);
	event->name = arena_strdup(&events->arena, strbuf_str(&name));
	strbuf_deinit(&name);
}

bool sampling_fall_back_to_clock(struct event_list *events, struct event *event)
{
	if (event->attr.type != PERF_TYPE_HARDWARE || event->attr.config != PERF_COUNT_HW_CPU_CYCLES)
		return false;
	event->attr.type = PERF_TYPE_SOFTWARE;
	event->attr.config = PERF_COUNT_SW_CPU_CLOCK;
	if (event->is_default)
		event->attr.exclude_guest = 0;
	sampling_rename(events, event, "cpu-clock");
	return true;
}

bool sampling_fall_back_to_user(struct event_list *events, struct event *event)
{
	if (event->attr.exclude_kernel || event->user_modified || event->attr.exclude_user)
		return false;
	event->attr.exclude_kernel = 1;
	event->attr.exclude_hv = 1;
	event->name = arena_printf(&events->arena, strchr(event->name, ':') ? "%su" : "%s:u", event->name);
	return true;
}

uint64_t sampling_default_freq(void)
{
	uint64_t most = limits_max_sample_rate();

	return most && most < SAMPLING_FREQ_DEFAULT ? most : SAMPLING_FREQ_DEFAULT;
}
