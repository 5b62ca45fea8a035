/* `struct script_text`: how the samples of each event are printed, worked out once, and then sample by sample.
 *
 * For each event a plan holds the print functions of its fields in the order of the line; a sample is one pass over them. Everything that
 * is the same for all samples of an event (its padded name, whether stacks follow) is in the plan. The fields' own text is in line.c
 * and its neighbours. */
#include "analysis/script/internal.h"
#include "analysis/script/sample_text.h"
#include "analysis/script/stacks.h"

#include "base/mem.h"
#include "base/text.h"
#include "symbol/source_file.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define BIT(field) SCRIPT_BIT(SCRIPT_##field)

/* The beginning of a line that side-band records share with samples: who, where, when. */
#define PREFIX (BIT(MACHINE_PID) | BIT(VCPU) | BIT(COMM) | BIT(PID) | BIT(TID) | BIT(CPU) | BIT(MISC) | BIT(TOD) | BIT(TIME))

static void add_step(struct script_plan *plan, script_field_print *print)
{
	plan->steps[plan->steps_used++] = (struct script_step){.print = print};
}

/* Behind the usual fields. */
static void plan_prints_branch(struct script_plan *plan)
{
	if (plan->fields & BIT(CALLINDENT))
		add_step(plan, script_print_callindent);
	add_step(plan, script_print_branch);
	if (plan->fields & BIT(INSNLEN))
		add_step(plan, script_print_insnlen);
	if (plan->fields & BIT(INSN))
		add_step(plan, script_print_insn);
	if (plan->fields & BIT(DISASM))
		add_step(plan, script_print_disasm);
}

static void plan_prints(struct script_plan *plan)
{
	uint64_t fields = plan->fields;
	if (plan->branch_trace)
		fields &= PREFIX | BIT(PERIOD) | BIT(EVENT) | BIT(FLAGS);
	/* Of several ways to show the same, the first. */
	if (fields & BIT(BRSTACK))
		fields &= ~(BIT(BRSTACKSYM) | BIT(BRSTACKOFF));
	if (fields & BIT(BRSTACKSYM))
		fields &= ~BIT(BRSTACKOFF);
	if (fields & BIT(PID))
		fields &= ~BIT(TID);
	for (size_t field = 0; field < SCRIPT_FIELD_COUNT; field++) {
		const struct script_field_row *row = &script_field_table[field];
		if (!(fields & SCRIPT_BIT(field)) || (!row->put && !row->print))
			continue;
		plan->steps[plan->steps_used++] = (struct script_step){row->put, row->print};
		if (PREFIX & SCRIPT_BIT(field))
			plan->prefix = plan->steps_used;
	}
	if (plan->branch_trace)
		plan_prints_branch(plan);
}

static void plan_init(struct script_plan *plan, const struct event *event, const struct machine *machine,
		      const struct script_text_options *options, size_t name_width)
{
	const struct event_attr *attr = &event->attr;
	plan->type = script_type_of(event);
	plan->fields = options->fields.shown[plan->type];
	plan->stacks = options->callchains && attr->sample_type & PERF_SAMPLE_CALLCHAIN;
	plan->comm_aligned = !(plan->stacks && plan->fields & BIT(IP));
	plan->branch_trace = sample_is_branch(attr);
	plan->addr_is_symbol = sample_addr_is_symbol(attr);
	plan->own_lines = (attr->sample_type & (PERF_SAMPLE_STACK_USER | PERF_SAMPLE_BRANCH_STACK)) ||
			  (plan->stacks && options->inlines == STACK_INLINES_ALL);
	plan->plain_chain = !(attr->sample_type & PERF_SAMPLE_BRANCH_STACK) && !stack_exceeds_chain(machine, attr);
	if (plan->type != SCRIPT_SOFTWARE || attr->config != PERF_COUNT_SW_BPF_OUTPUT)
		plan->fields &= ~BIT(BPF_OUTPUT);
	if (plan->branch_trace && attr->sample_type & PERF_SAMPLE_ADDR && !options->fields.chosen[plan->type])
		plan->fields |= BIT(ADDR);
	size_t length = strlen(event->name);
	strbuf_add_chars(&plan->name, ' ', name_width > length ? name_width - length : 0);
	text_add_safe(&plan->name, event->name, length);
	strbuf_add_str(&plan->name, ": ");
	if (plan->fields)
		plan_prints(plan);
}

/* Names are filled up to the width of the longest one. A hostile file's could be too long for that. */
enum { NAME_WIDTH_MAX = 256 };

/* Events of a pipe can come after the first samples. */
static void look_at_events(struct script_text *text)
{
	const struct event_list *events = &text->session->reader->events;
	size_t count = events->events.len;
	text->plans = mem_resize(text->plans, (count ? count : 1) * sizeof(*text->plans));
	for (; text->plan_count < count; text->plan_count++) {
		size_t length = strlen(events->events.data[text->plan_count]->name);
		if (length > text->name_width && length <= NAME_WIDTH_MAX)
			text->name_width = length;
		text->plans[text->plan_count] = NULL;
	}
}

static const struct script_plan *plan_of(struct script_text *text, const struct event *event)
{
	if (event->index >= text->plan_count)
		look_at_events(text);
	struct script_plan **plan = &text->plans[event->index];
	if (!*plan) {
		*plan = mem_zalloc(sizeof(**plan));
		plan_init(*plan, event, text->machine, &text->options, text->name_width);
	}
	return *plan;
}

struct script_text *script_text_create(const struct session *session, struct resolver *resolver, const struct script_text_options *options)
{
	struct script_text *text = mem_zalloc(sizeof(*text));
	text->session = session;
	text->machine = session->machine;
	text->resolver = resolver;
	text->options = *options;
	look_at_events(text);
	return text;
}

void script_text_destroy(struct script_text *text)
{
	if (!text)
		return;
	for (size_t i = 0; i < text->plan_count; i++) {
		if (text->plans[i])
			strbuf_deinit(&text->plans[i]->name);
		free(text->plans[i]);
	}
	free(text->plans);
	script_metrics_destroy(text->metrics);
	script_code_destroy(text->code);
	counted_destroy(text->counted);
	source_files_destroy(text->sources);
	map64_deinit(&text->last_lines);
	script_stacks_destroy(text->stacks);
	stack_deinit(&text->stack);
	free(text);
}

bool script_text_ordered(const struct script_text *text)
{
	uint64_t shown = 0;
	const struct event_list *events = &text->session->reader->events;
	for (size_t i = 0; i < events->events.len; i++)
		shown |= text->options.fields.shown[script_type_of(events->events.data[i])];
	return !text->options.json &&
	       (text->options.relative || text->options.delta || shown & (BIT(DATA_SRC) | BIT(SRCCODE) | BIT(CALLINDENT)));
}

static void take_steps(struct script_text *text, const struct script_sample *at, unsigned int steps, struct strbuf *out)
{
	const struct script_step *step = at->plan->steps, *end = step + steps;
	while (step < end) {
		if (!step->put) {
			step++->print(text, at, out);
			continue;
		}
		char *start = strbuf_reserve(out, SCRIPT_PUT_ROOM * SCRIPT_FIELD_COUNT), *to = start;
		while (step < end && step->put)
			to = step++->put(text, at, to);
		strbuf_advance(out, (size_t)(to - start));
	}
}

void script_text_sample(struct script_text *text, const struct record *record, const struct sample *sample, struct thread *thread,
			struct strbuf *out)
{
	const struct script_plan *plan = plan_of(text, record->event);
	if (!plan->fields && !text->options.json)
		return;
	const struct script_sample at = {
		.event = record->event,
		.sample = sample,
		.thread = thread,
		.model_time = record->model_time,
		.plan = plan,
		.type = record->header->type,
		.misc = record->header->misc,
		.is_last_member = record->is_last_member,
	};
	if (text->options.json) {
		script_json_sample(text, &at, out);
		return;
	}
	take_steps(text, &at, plan->steps_used, out);
	strbuf_add_char(out, '\n');
	if (script_shows(plan, SCRIPT_SRCCODE))
		script_add_source_code(text, &at, out);
	if (script_shows(plan, SCRIPT_METRIC) && record->is_member)
		script_add_metrics(text, &at, out);
}

void script_text_prefix(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	take_steps(text, at, at->plan->prefix, out);
}

const struct script_plan *script_plan_of(struct script_text *text, const struct event *event)
{
	return plan_of(text, event);
}
