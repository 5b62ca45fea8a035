/* Samples of time off the CPU (off_cpu_samples.h). */
#include "capture/off_cpu_samples.h"

#include "base/mem.h"
#include "bpf/off_cpu.h"
#include "event/parse/parse.h"
#include "perfdata/records.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

struct off_cpu_samples {
	struct recorder_source source;
	struct bpf_off_cpu *bpf;
	uint64_t id;
	struct strbuf *out; /* while samples are taken */
};

struct error *off_cpu_samples_add_event(struct event_list *events, struct event_catalog *catalog)
{
	return event_parse(events, catalog, "bpf-output/name=" OFF_CPU_EVENT ",call-graph=fp,period=1/");
}

static struct event *find_event(const struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++)
		if (!strcmp(events->events.data[i]->name, OFF_CPU_EVENT))
			return events->events.data[i];
	return NULL;
}

void off_cpu_samples_configure(struct event_list *events)
{
	struct event_attr *attr = &find_event(events)->attr;
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			    PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
	attr->branch_sample_type = 0;
	attr->sample_regs_user = attr->sample_regs_intr = 0;
	attr->sample_stack_user = 0;
}

/* The fields of off_cpu_samples_configure(), in the order that perf_event_open(2) gives. */
static void add_sample(void *context, const struct bpf_off_cpu_wait *wait)
{
	struct off_cpu_samples *samples = context;
	uint32_t kernel = wait->kernel < OFF_CPU_KERNEL_FRAMES ? wait->kernel : OFF_CPU_KERNEL_FRAMES;
	uint32_t user = wait->user < OFF_CPU_USER_FRAMES ? wait->user : OFF_CPU_USER_FRAMES;
	uint64_t words[8 + 2 + OFF_CPU_KERNEL_FRAMES + OFF_CPU_USER_FRAMES], *at = words;
	const uint32_t ids[] = {wait->pid, wait->tid}, cpu[] = {wait->cpu, 0};
	*at++ = samples->id;
	*at++ = kernel ? wait->kernel_stack[0] : user ? wait->user_stack[0] : 0;
	memcpy(at++, ids, sizeof(ids));
	*at++ = wait->last;
	memcpy(at++, cpu, sizeof(cpu));
	*at++ = wait->total;
	*at++ = (kernel ? kernel + 1 : 0) + (user ? user + 1 : 0);
	if (kernel) {
		*at++ = PERF_CONTEXT_KERNEL;
		memcpy(at, wait->kernel_stack, kernel * sizeof(*at));
		at += kernel;
	}
	if (user) {
		*at++ = PERF_CONTEXT_USER;
		memcpy(at, wait->user_stack, user * sizeof(*at));
		at += user;
	}
	const struct record_header header = {.type = RECORD_SAMPLE,
					     .misc = kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
					     .size = (uint16_t)(sizeof(header) + (size_t)(at - words) * sizeof(*at))};
	strbuf_add(samples->out, &header, sizeof(header));
	strbuf_add(samples->out, words, (size_t)(at - words) * sizeof(*at));
}

/* ---- for the recorder ---- */

static void measure(void *context, bool on)
{
	bpf_off_cpu_switch(((struct off_cpu_samples *)context)->bpf, on);
}

static void begin(void *context)
{
	bpf_off_cpu_turn(((struct off_cpu_samples *)context)->bpf);
}

static struct error *take(void *context, struct strbuf *out)
{
	struct off_cpu_samples *samples = context;
	samples->out = out;
	return bpf_off_cpu_take(samples->bpf, add_sample, samples);
}

/* ---- life ---- */

static struct error *add_targets(struct bpf_off_cpu *bpf, const struct off_cpu_samples_options *options)
{
	struct error *error = NULL;
	for (size_t i = 0; !options->by_cpu && i < options->target->thread_count && !error; i++)
		error = bpf_off_cpu_add_target(bpf, options->target->threads[i]);
	return error;
}

struct error *off_cpu_samples_open(const struct off_cpu_samples_options *options, struct off_cpu_samples **ret)
{
	const struct event *event = find_event(options->events);
	const struct bpf_off_cpu_options program = {
		.config = {.threshold_ns = options->threshold_ns,
			   .by_target = !options->by_cpu,
			   .inherit = options->inherit,
			   .inherit_late = options->inherit_late,
			   .on_cpus = options->cpus != NULL,
			   .kernel_stacks = options->kernel_stacks,
			   .user_stacks = options->user_stacks},
		.cpus = options->cpus,
		.cpu_count = options->cpu_count,
		.targets = options->by_cpu ? 0 : options->target->thread_count,
	};
	struct bpf_off_cpu *bpf;
	struct error *error = bpf_off_cpu_open(&program, &bpf);
	if (error)
		return error;
	error = add_targets(bpf, options);
	if (!error)
		error = bpf_off_cpu_start(bpf);
	if (error) {
		bpf_off_cpu_close(bpf);
		return error;
	}
	struct off_cpu_samples *samples = mem_zalloc(sizeof(*samples));
	samples->bpf = bpf;
	samples->id = event->ids.len ? event->ids.data[0] : 0;
	samples->source = (struct recorder_source){bpf_off_cpu_fd(bpf), measure, begin, take, samples};
	*ret = samples;
	return NULL;
}

void off_cpu_samples_close(struct off_cpu_samples *samples)
{
	if (!samples)
		return;
	bpf_off_cpu_close(samples->bpf);
	free(samples);
}

const struct recorder_source *off_cpu_samples_source(const struct off_cpu_samples *samples)
{
	return &samples->source;
}

uint64_t off_cpu_samples_missed(const struct off_cpu_samples *samples)
{
	return bpf_off_cpu_missed(samples->bpf);
}

uint64_t off_cpu_samples_unseen(const struct off_cpu_samples *samples)
{
	return bpf_off_cpu_unseen(samples->bpf);
}
