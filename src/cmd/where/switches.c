/* Switches of threads as a BPF program reports them, where one may run: for less than half of what the events of the scheduler cost. */
#include "cmd/where/where.h"

#include "base/log.h"
#include "bpf/switches/switches.h"
#include "event/parse/parse.h"

#include <string.h>

/* The program knows nothing of interrupts: what they wake up has an event (bits of common_flags: include/linux/trace_events.h), which is
 * read before the switch, with the kernel's stack: whether the interrupt was of what the thread there has sent. */
static const char by_interrupts[] = "common_flags & 0x18";

static const char whole[] = "stacks";
static const char parts[] = "kernel-stacks";

struct bpf_switches *where_switches_open(void)
{
	struct bpf_switches *switches = NULL;
	struct error *error = bpf_switches_open(&switches);
	if (error)
		log_info("switches of threads are taken from events, at more cost: %s", error_message(error));
	error_free(error);
	return switches;
}

struct error *where_switches_add_events(struct event_list *events, struct event_catalog *catalog)
{
	char text[100];
	snprintf(text, sizeof(text), "bpf-output/name=%s,call-graph=dwarf,stack-size=4096,no-inherit,period=1/", whole);
	struct error *error = event_parse(events, catalog, text);
	snprintf(text, sizeof(text), "bpf-output/name=%s,call-graph=no,no-inherit,period=1/", parts);
	if (!error)
		error = event_parse(events, catalog, text);
	if (!error)
		error = event_parse(events, catalog, "sched:sched_waking/call-graph=fp/");
	if (!error)
		(*vec_last(&events->events))->filter = by_interrupts;
	return error;
}

static struct error *direct(struct bpf_switches *switches, enum switches_output output, const struct counter *counter,
			    const struct counter_target *target)
{
	struct error *error = NULL;
	for (size_t slot = 0; slot < counter_slots(counter) && !error; slot++)
		if (counter->fds[slot] >= 0)
			error = bpf_switches_direct(switches, output, target->cpus[slot / counter->thread_count], counter->fds[slot]);
	return error;
}

struct error *where_switches_direct(void *context, const struct event_list *events, const struct counter_set *counters)
{
	struct bpf_switches *switches = context;
	struct error *error = NULL;
	for (size_t i = 0; i < counters->count && !error; i++) {
		const char *name = events->events.data[i]->name;
		if (!strcmp(name, whole))
			error = direct(switches, SWITCHES_WHOLE, &counters->each[i], &counters->target);
		else if (!strcmp(name, parts))
			error = direct(switches, SWITCHES_PARTS, &counters->each[i], &counters->target);
	}
	return error;
}

void where_switches_begin(void *context)
{
	bpf_switches_start(context);
}

bool where_switches_next(struct bpf_switches *switches, uint64_t until, struct where_switch *ret)
{
	struct bpf_switch told;
	uint32_t cpu;
	if (!bpf_switches_next(switches, until, &told, &cpu))
		return false;
	*ret = (struct where_switch){
		.time = told.time,
		.known = told.time + told.took,
		.cpu = cpu,
		.previous = told.previous,
		.next = told.next,
		.goes_on = told.what == SWITCHES_GOES_ON,
		.is_waking = told.what == SWITCHES_WOKEN,
		.waking = {told.waking.time, told.waking.pid, told.waking.tid, false, false},
		.stack = told.stack,
		.argument = told.argument,
		.ip = told.ip,
	};
	return true;
}

bool where_switches_read_stack(const struct sample *sample, struct where_told_stack *ret)
{
	enum { HEAD = offsetof(struct bpf_switch_stack, kernel) };
	struct bpf_switch_stack told;
	if (sample->raw_size < HEAD)
		return false;
	memcpy(&told, sample->raw, HEAD); /* raw data is not aligned */
	*ret = (struct where_told_stack){
		.number = told.number, .ip = told.ip, .kernel = (const char *)sample->raw + HEAD, .kernel_count = told.count};
	return told.count <= (sample->raw_size - HEAD) / sizeof(uint64_t);
}
