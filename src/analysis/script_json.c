/* Samples as JSON, one object a line, for programs: everything that was recorded of a sample, with names instead of bit masks. Addresses are text ("0x…"), since
 * many readers keep numbers as doubles; what a sample doesn't have has no key. */
#include "analysis/sample_text.h"
#include "analysis/script_internal.h"
#include "analysis/source_lines.h"
#include "arch/registers.h"
#include "base/text.h"
#include "event/tracepoint.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>

enum { FLAG_MISPREDICTED = 1, CYCLES_SHIFT = 4, CYCLES_MASK = 0xffff };

/* A member's name with what comes before it. */
static void add_key(struct strbuf *out, const char *key)
{
	if (out->data[out->len - 1] != '{')
		strbuf_add_char(out, ',');
	text_add_json(out, key, strlen(key));
	strbuf_add_char(out, ':');
}

static void add_number(struct strbuf *out, const char *key, uint64_t value)
{
	add_key(out, key);
	strbuf_add_u64(out, value, 0);
}

static void add_hex(struct strbuf *out, const char *key, uint64_t value)
{
	add_key(out, key);
	strbuf_add_str(out, "\"0x");
	strbuf_add_hex(out, value, 0);
	strbuf_add_char(out, '"');
}

static void add_text(struct strbuf *out, const char *key, const char *text, size_t length)
{
	add_key(out, key);
	text_add_json(out, text, length);
}

static void add_string(struct strbuf *out, const char *key, const char *text)
{
	add_text(out, key, text, strlen(text));
}

static void add_untrusted(struct strbuf *out, const char *key, const struct untrusted *name)
{
	add_key(out, key);
	text_add_untrusted_json(out, name);
}

/* ---- where ---- */

static void add_place(const struct frame *frame, struct strbuf *out)
{
	if (frame->symbol) {
		add_string(out, "symbol", frame->symbol->name);
		add_number(out, "offset", frame->dso_addr - frame->symbol->start);
	}
	if (frame->map)
		add_string(out, "file", frame->map->dso->script_name);
}

static void add_frame(const struct script_text *text, const struct script_plan *plan, const struct frame *frame, struct strbuf *out)
{
	strbuf_add_char(out, '{');
	add_hex(out, "ip", frame->ip);
	add_place(frame, out);
	if (frame->symbol && frame->symbol->inlined) {
		add_key(out, "inlined");
		strbuf_add_str(out, "true");
	}
	const struct code_function *function =
		script_shows(plan, SCRIPT_SRCLINE) && frame->map ? source_find(text->resolver, frame, plan->own_lines) : NULL;
	if (function && function->file) {
		add_string(out, "source", source_file(function->file, text->options.source_path));
		add_number(out, "line", function->line);
	}
	strbuf_add_char(out, '}');
}

static void add_stack(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	const struct stack_options options = {.max_depth = text->options.max_stack, .inlines = text->options.inlines, .stitcher = text->options.stitcher};
	struct stack *stack = &text->stack;
	stack->frames.len = 0;
	stack_resolve(text->resolver, text->machine, at->thread, at->event, at->sample, at->model_time, &options, stack);
	add_key(out, "stack");
	strbuf_add_char(out, '[');
	for (size_t i = 0; i < stack->frames.len; i++) {
		if (i)
			strbuf_add_char(out, ',');
		add_frame(text, at->plan, &stack->frames.data[i], out);
	}
	strbuf_add_char(out, ']');
}

static void add_address(struct script_text *text, const struct script_sample *at, const char *key, uint64_t addr, struct strbuf *out)
{
	struct frame frame;
	script_resolve_data(text, at, addr, &frame);
	add_key(out, key);
	strbuf_add_char(out, '{');
	add_hex(out, "address", addr);
	add_place(&frame, out);
	strbuf_add_char(out, '}');
}

static void add_branches(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	add_key(out, "branches");
	strbuf_add_char(out, '[');
	for (uint64_t i = 0; i < at->sample->branch_count; i++) {
		const struct branch_entry *branch = &at->sample->branches[i];
		strbuf_add_str(out, i ? ",{" : "{");
		add_address(text, at, "from", branch->from, out);
		add_address(text, at, "to", branch->to, out);
		add_key(out, "mispredicted");
		strbuf_add_str(out, branch->flags & FLAG_MISPREDICTED ? "true" : "false");
		add_number(out, "cycles", branch->flags >> CYCLES_SHIFT & CYCLES_MASK);
		strbuf_add_char(out, '}');
	}
	strbuf_add_char(out, ']');
}

/* ---- fields of tracepoints ---- */

static void add_integer(const struct tracepoint_field *field, const struct sample *sample, struct strbuf *out)
{
	uint64_t value = tracepoint_read(field, sample->raw, sample->raw_size);
	if (field->flags & TRACEPOINT_FIELD_SIGNED)
		strbuf_printf(out, "%" PRId64, (int64_t)value);
	else
		strbuf_add_u64(out, value, 0);
}

static void add_elements(const struct tracepoint_field *field, const struct sample *sample, struct strbuf *out)
{
	size_t length;
	const uint8_t *bytes = tracepoint_read_bytes(field, sample->raw, sample->raw_size, &length);
	struct tracepoint_field element = *field;
	element.size = field->element_size && field->element_size <= sizeof(uint64_t) ? field->element_size : 1;
	element.element_size = element.size;
	element.flags &= ~(uint32_t)(TRACEPOINT_FIELD_ARRAY | TRACEPOINT_FIELD_DYNAMIC | TRACEPOINT_FIELD_RELATIVE);
	strbuf_add_char(out, '[');
	for (size_t done = 0; bytes && done + element.size <= length; done += element.size) {
		element.offset = (uint32_t)(bytes - (const uint8_t *)sample->raw + done);
		if (done)
			strbuf_add_char(out, ',');
		add_integer(&element, sample, out);
	}
	strbuf_add_char(out, ']');
}

static void add_field(const struct tracepoint_field *field, const struct sample *sample, struct strbuf *out)
{
	size_t length;
	add_key(out, field->name);
	if (field->flags & TRACEPOINT_FIELD_STRING) {
		const struct untrusted *value = tracepoint_read_string(field, sample->raw, sample->raw_size, &length);
		text_add_json(out, untrusted_raw(value), length);
	} else if (field->flags & (TRACEPOINT_FIELD_ARRAY | TRACEPOINT_FIELD_DYNAMIC)) {
		add_elements(field, sample, out);
	} else {
		add_integer(field, sample, out);
	}
}

static void add_tracepoint(const struct tracepoint *tracepoint, const struct sample *sample, struct strbuf *out)
{
	struct strbuf line = {0};
	add_key(out, "fields");
	strbuf_add_char(out, '{');
	for (size_t i = 0; i < tracepoint->field_count; i++)
		if (!(tracepoint->fields[i].flags & TRACEPOINT_FIELD_COMMON))
			add_field(&tracepoint->fields[i], sample, out);
	strbuf_add_char(out, '}');
	tracepoint_print(tracepoint, sample->raw, sample->raw_size, &line);
	add_text(out, "text", strbuf_str(&line), line.len);
	strbuf_deinit(&line);
}

/* ---- the rest ---- */

static void add_counters(const struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	const struct sample_layout *layout = &text->session->reader->layouts[at->event->index];
	add_key(out, "counters");
	strbuf_add_char(out, '[');
	for (uint64_t i = 0; i < at->sample->counter_count; i++) {
		struct sample_counter counter = sample_counter(layout, at->sample, i);
		strbuf_add_str(out, i ? ",{" : "{");
		add_number(out, "id", counter.id);
		add_number(out, "value", counter.value);
		strbuf_add_char(out, '}');
	}
	strbuf_add_char(out, ']');
}

static void add_registers(const struct script_text *text, const char *key, const struct sample_regs *regs, struct strbuf *out)
{
	const uint64_t *value = regs->values;
	add_key(out, key);
	strbuf_add_char(out, '{');
	for (unsigned int number = 0; number < REGISTER_LIMIT; number++) {
		const char *name = register_name(text->machine->arch, number);
		if (regs->mask >> number & 1)
			add_hex(out, name ? name : "unknown", *value++);
	}
	strbuf_add_char(out, '}');
}

static void add_memory(struct script_text *text, const struct script_sample *at, uint64_t type, struct strbuf *out)
{
	const struct sample *sample = at->sample;
	struct strbuf words = {0};
	if (type & PERF_SAMPLE_ADDR)
		add_address(text, at, "addr", sample->addr, out);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		add_hex(out, "phys_addr", sample->phys_addr);
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		add_number(out, "weight", sample->weight);
	if (type & PERF_SAMPLE_DATA_SRC) {
		sample_text_add_data_source(sample->data_src, &words);
		add_hex(out, "data_src", sample->data_src);
		add_text(out, "data_src_text", strbuf_str(&words), words.len);
	}
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		add_number(out, "data_page_size", sample->data_page_size);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		add_number(out, "code_page_size", sample->code_page_size);
	strbuf_deinit(&words);
}

static void add_who(struct script_text *text, const struct script_sample *at, uint64_t type, struct strbuf *out)
{
	const struct sample *sample = at->sample;
	add_string(out, "event", at->event->name);
	if (sample->time)
		add_number(out, "time_ns", sample->time);
	if (type & PERF_SAMPLE_TID) {
		add_untrusted(out, "comm", thread_comm(at->thread, at->model_time));
		add_number(out, "pid", sample->pid);
		add_number(out, "tid", sample->tid);
	}
	if (type & PERF_SAMPLE_CPU)
		add_number(out, "cpu", sample->cpu);
	add_number(out, "period", sample->period);
	const struct untrusted *cgroup = type & PERF_SAMPLE_CGROUP ? machine_cgroup(text->machine, sample->cgroup) : NULL;
	if (cgroup)
		add_untrusted(out, "cgroup", cgroup);
}

void script_json_sample(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	const struct sample *sample = at->sample;
	uint64_t type = at->event->attr.sample_type;
	strbuf_add_char(out, '{');
	add_who(text, at, type, out);
	if (at->event->tracepoint && sample->raw)
		add_tracepoint(at->event->tracepoint, sample, out);
	add_memory(text, at, type, out);
	if (type & PERF_SAMPLE_READ)
		add_counters(text, at, out);
	if (text->options.callchains && type & (PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN))
		add_stack(text, at, out);
	if (sample->branch_count)
		add_branches(text, at, out);
	if (sample->regs_intr.values)
		add_registers(text, "registers", &sample->regs_intr, out);
	if (sample->regs_user.values)
		add_registers(text, "user_registers", &sample->regs_user, out);
	strbuf_add_str(out, "}\n");
}

void script_json_count(const struct counted_row *row, struct strbuf *out)
{
	strbuf_add_char(out, '{');
	add_string(out, "event", row->event->name);
	add_number(out, "time", row->time_ns);
	if (row->cpu >= 0)
		add_number(out, "cpu", (uint64_t)row->cpu);
	if (row->thread >= 0)
		add_number(out, "tid", (uint64_t)row->thread);
	add_number(out, "value", row->value);
	add_number(out, "enabled", row->enabled_ns);
	add_number(out, "running", row->running_ns);
	strbuf_add_str(out, "}\n");
}
