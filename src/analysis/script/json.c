/* Samples as JSON, one object a line, for programs: everything that was recorded of a sample, with names instead of bit masks. Addresses
 * are text ("0x…"), since many readers keep numbers as doubles; what a sample doesn't have has no key. */
#include "base/json.h"
#include "analysis/branch_counters.h"
#include "analysis/script/internal.h"
#include "analysis/script/sample_text.h"
#include "analysis/source_lines.h"
#include "arch/arch.h"
#include "event/tracepoint/tracepoint.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>

enum { FLAG_MISPREDICTED = 1 };

/* ---- where ---- */

static void add_place(const struct frame *frame, struct json *json)
{
	if (frame->symbol) {
		json_add_string(json, "symbol", frame->symbol->name);
		json_add_u64(json, "offset", frame->dso_addr - frame->symbol->start);
	}
	if (frame->map)
		json_add_string(json, "file", frame->map->dso->script_name);
}

static void add_frame(const struct script_text *text, const struct script_plan *plan, const struct frame *frame, struct json *json)
{
	json_begin_object(json);
	json_add_hex(json, "ip", frame->ip);
	add_place(frame, json);
	if (frame->symbol && frame->symbol->inlined) {
		json_name(json, "inlined");
		json_bool(json, true);
	}
	const struct code_function *function =
		script_shows(plan, SCRIPT_SRCLINE) && frame->map ? source_find(text->resolver, frame, plan->own_lines) : NULL;
	if (function && function->file) {
		json_add_string(json, "source", source_file(function->file, text->options.source_path));
		json_add_u64(json, "line", function->line);
	}
	json_end_object(json);
}

static void add_stack(struct script_text *text, const struct script_sample *at, struct json *json)
{
	const struct stack_options options = {
		.max_depth = text->options.max_stack, .inlines = text->options.inlines, .stitcher = text->options.stitcher};
	struct stack *stack = &text->stack;
	stack->frames.len = 0;
	stack_resolve(text->resolver, text->machine, at->thread, at->event, at->sample, at->model_time, &options, stack);
	json_name(json, "stack");
	json_begin_array(json);
	for (size_t i = 0; i < stack->frames.len; i++) {
		add_frame(text, at->plan, &stack->frames.data[i], json);
	}
	json_end_array(json);
}

static void add_address(struct script_text *text, const struct script_sample *at, const char *key, uint64_t addr, struct json *json)
{
	struct frame frame;
	script_resolve_data(text, at, addr, &frame);
	json_name(json, key);
	json_begin_object(json);
	json_add_hex(json, "address", addr);
	add_place(&frame, json);
	json_end_object(json);
}

/* "counters": [{"event": "cycles", "count": 2}, …] */
static void add_branch_counts(struct script_text *text, const struct script_sample *at, uint64_t counts, struct json *json)
{
	const struct reader *reader = text->session->reader;
	const struct event *event;
	unsigned int width = branch_counters_width(&reader->features), next = 0, shift = 0;
	char letter;
	json_name(json, "counters");
	json_begin_array(json);
	while ((event = branch_counters_next(&reader->events, at->event, &next, &letter))) {
		json_begin_object(json);
		json_name(json, "event");
		json_string(json, event->name);
		json_add_u64(json, "count", shift < 64 ? counts >> shift & ((1ull << width) - 1) : 0);
		json_end_object(json);
		shift += width;
	}
	json_end_array(json);
}

static void add_branches(struct script_text *text, const struct script_sample *at, struct json *json)
{
	json_name(json, "branches");
	json_begin_array(json);
	for (uint64_t i = 0; i < at->sample->branch_count; i++) {
		const struct branch_entry *branch = &at->sample->branches[i];
		json_begin_object(json);
		add_address(text, at, "from", branch->from, json);
		add_address(text, at, "to", branch->to, json);
		json_name(json, "mispredicted");
		json_bool(json, branch->flags & FLAG_MISPREDICTED);
		json_add_u64(json, "cycles", branch_cycles(branch));
		if (at->sample->branch_counters)
			add_branch_counts(text, at, at->sample->branch_counters[i], json);
		json_end_object(json);
	}
	json_end_array(json);
}

/* ---- fields of tracepoints ---- */

static void add_integer(const struct tracepoint_field *field, const struct sample *sample, struct json *json)
{
	uint64_t value = tracepoint_read(field, sample->raw, sample->raw_size);
	if (field->flags & TRACEPOINT_FIELD_SIGNED)
		json_value(json, "%" PRId64, (int64_t)value);
	else
		json_u64(json, value);
}

static void add_elements(const struct tracepoint_field *field, const struct sample *sample, struct json *json)
{
	size_t length;
	const uint8_t *bytes = tracepoint_read_bytes(field, sample->raw, sample->raw_size, &length);
	struct tracepoint_field element = *field;
	element.size = field->element_size && field->element_size <= sizeof(uint64_t) ? field->element_size : 1;
	element.element_size = element.size;
	element.flags &= ~(uint32_t)(TRACEPOINT_FIELD_ARRAY | TRACEPOINT_FIELD_DYNAMIC | TRACEPOINT_FIELD_RELATIVE);
	json_begin_array(json);
	for (size_t done = 0; bytes && done + element.size <= length; done += element.size) {
		element.offset = (uint32_t)(bytes - (const uint8_t *)sample->raw + done);
		add_integer(&element, sample, json);
	}
	json_end_array(json);
}

static void add_field(const struct tracepoint_field *field, const struct sample *sample, struct json *json)
{
	size_t length;
	json_name(json, field->name);
	if (field->flags & TRACEPOINT_FIELD_STRING) {
		const struct untrusted *value = tracepoint_read_string(field, sample->raw, sample->raw_size, &length);
		json_text(json, untrusted_raw(value), length);
	} else if (field->flags & (TRACEPOINT_FIELD_ARRAY | TRACEPOINT_FIELD_DYNAMIC)) {
		add_elements(field, sample, json);
	} else {
		add_integer(field, sample, json);
	}
}

static void add_tracepoint(const struct tracepoint *tracepoint, const struct sample *sample, struct json *json)
{
	struct strbuf line = {0};
	json_name(json, "fields");
	json_begin_object(json);
	for (size_t i = 0; i < tracepoint->field_count; i++)
		if (!(tracepoint->fields[i].flags & TRACEPOINT_FIELD_COMMON))
			add_field(&tracepoint->fields[i], sample, json);
	json_end_object(json);
	tracepoint_print(tracepoint, sample->raw, sample->raw_size, &line);
	json_add_text(json, "text", strbuf_str(&line), line.len);
	strbuf_deinit(&line);
}

/* ---- the rest ---- */

static void add_counters(const struct script_text *text, const struct script_sample *at, struct json *json)
{
	const struct sample_layout *layout = &text->session->reader->layouts[at->event->index];
	json_name(json, "counters");
	json_begin_array(json);
	for (uint64_t i = 0; i < at->sample->counter_count; i++) {
		struct sample_counter counter = sample_counter(layout, at->sample, i);
		json_begin_object(json);
		json_add_u64(json, "id", counter.id);
		json_add_u64(json, "value", counter.value);
		json_end_object(json);
	}
	json_end_array(json);
}

static void add_registers(const struct script_text *text, const char *key, const struct sample_regs *regs, struct json *json)
{
	const uint64_t *value = regs->values;
	json_name(json, key);
	json_begin_object(json);
	for (unsigned int number = 0; number < ARCH_SAMPLE_REGISTERS; number++) {
		const char *name = arch_register_name(text->machine->arch, number);
		if (regs->mask >> number & 1)
			json_add_hex(json, name ? name : "unknown", *value++);
	}
	json_end_object(json);
}

static void add_memory(struct script_text *text, const struct script_sample *at, uint64_t type, struct json *json)
{
	const struct sample *sample = at->sample;
	struct strbuf words = {0};
	if (type & PERF_SAMPLE_ADDR)
		add_address(text, at, "addr", sample->addr, json);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		json_add_hex(json, "phys_addr", sample->phys_addr);
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		json_add_u64(json, "weight", sample->weight);
	if (type & PERF_SAMPLE_DATA_SRC) {
		sample_text_add_data_source(sample->data_src, &words);
		json_add_hex(json, "data_src", sample->data_src);
		json_add_text(json, "data_src_text", strbuf_str(&words), words.len);
	}
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		json_add_u64(json, "data_page_size", sample->data_page_size);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		json_add_u64(json, "code_page_size", sample->code_page_size);
	strbuf_deinit(&words);
}

static void add_who(struct script_text *text, const struct script_sample *at, uint64_t type, struct json *json)
{
	const struct sample *sample = at->sample;
	json_add_string(json, "event", at->event->name);
	if (sample->time)
		json_add_u64(json, "time_ns", sample->time);
	if (type & PERF_SAMPLE_TID) {
		json_add_untrusted(json, "comm", thread_comm(at->thread, at->model_time));
		json_add_u64(json, "pid", sample->pid);
		json_add_u64(json, "tid", sample->tid);
	}
	if (type & PERF_SAMPLE_CPU)
		json_add_u64(json, "cpu", sample->cpu);
	if (sample->guest.machine_pid) {
		json_add_u64(json, "machine_pid", sample->guest.machine_pid);
		json_add_u64(json, "vcpu", sample->guest.vcpu);
	}
	json_add_u64(json, "period", sample->period);
	const struct untrusted *cgroup = type & PERF_SAMPLE_CGROUP ? script_cgroup(text, at) : NULL;
	if (cgroup)
		json_add_untrusted(json, "cgroup", cgroup);
}

void script_json_sample(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	struct json writer = {.out = out}, *json = &writer;
	const struct sample *sample = at->sample;
	uint64_t type = at->event->attr.sample_type;
	json_begin_object(json);
	add_who(text, at, type, json);
	if (at->event->tracepoint && sample->raw)
		add_tracepoint(at->event->tracepoint, sample, json);
	add_memory(text, at, type, json);
	if (type & PERF_SAMPLE_READ)
		add_counters(text, at, json);
	if (text->options.callchains && type & (PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN))
		add_stack(text, at, json);
	if (sample->branch_count)
		add_branches(text, at, json);
	if (sample->regs_intr.values)
		add_registers(text, "registers", &sample->regs_intr, json);
	if (sample->regs_user.values)
		add_registers(text, "user_registers", &sample->regs_user, json);
	json_end_object(json);
	strbuf_add_char(out, '\n');
}

void script_json_count(const struct counted_row *row, struct strbuf *out)
{
	struct json writer = {.out = out}, *json = &writer;
	json_begin_object(json);
	json_add_string(json, "event", row->event->name);
	json_add_u64(json, "time", row->time_ns);
	if (row->cpu >= 0)
		json_add_u64(json, "cpu", (uint64_t)row->cpu);
	if (row->thread >= 0)
		json_add_u64(json, "tid", (uint64_t)row->thread);
	json_add_u64(json, "value", row->value);
	json_add_u64(json, "enabled", row->enabled_ns);
	json_add_u64(json, "running", row->running_ns);
	json_end_object(json);
	strbuf_add_char(out, '\n');
}
