/* One row a field, in the order in which the kernel's perf shows them. */
#include "perfdata/attr_print.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

struct bit_name {
	uint64_t bit;
	const char *name;
};

#define SAMPLE(name)                      \
	{                                 \
		PERF_SAMPLE_##name, #name \
	}
#define BRANCH(name)                             \
	{                                        \
		PERF_SAMPLE_BRANCH_##name, #name \
	}

static const struct bit_name sample_bits[] = {
	SAMPLE(IP),
	SAMPLE(TID),
	SAMPLE(TIME),
	SAMPLE(ADDR),
	SAMPLE(READ),
	SAMPLE(CALLCHAIN),
	SAMPLE(ID),
	SAMPLE(CPU),
	SAMPLE(PERIOD),
	SAMPLE(STREAM_ID),
	SAMPLE(RAW),
	SAMPLE(BRANCH_STACK),
	SAMPLE(REGS_USER),
	SAMPLE(STACK_USER),
	SAMPLE(IDENTIFIER),
	SAMPLE(REGS_INTR),
	SAMPLE(DATA_SRC),
	SAMPLE(WEIGHT),
	SAMPLE(PHYS_ADDR),
	SAMPLE(AUX),
	SAMPLE(CGROUP),
	SAMPLE(DATA_PAGE_SIZE),
	SAMPLE(CODE_PAGE_SIZE),
	SAMPLE(WEIGHT_STRUCT),
	{0, NULL},
};

static const struct bit_name branch_bits[] = {
	BRANCH(USER),
	BRANCH(KERNEL),
	BRANCH(HV),
	BRANCH(ANY),
	BRANCH(ANY_CALL),
	BRANCH(ANY_RETURN),
	BRANCH(IND_CALL),
	BRANCH(ABORT_TX),
	BRANCH(IN_TX),
	BRANCH(NO_TX),
	BRANCH(COND),
	BRANCH(CALL_STACK),
	BRANCH(IND_JUMP),
	BRANCH(CALL),
	BRANCH(NO_FLAGS),
	BRANCH(NO_CYCLES),
	BRANCH(TYPE_SAVE),
	BRANCH(HW_INDEX),
	{1u << 18, "PRIV_SAVE"},
	{EVENT_BRANCH_COUNTERS, "COUNTERS"},
	{0, NULL},
};

static const struct bit_name read_bits[] = {
	{PERF_FORMAT_TOTAL_TIME_ENABLED, "TOTAL_TIME_ENABLED"},
	{PERF_FORMAT_TOTAL_TIME_RUNNING, "TOTAL_TIME_RUNNING"},
	{PERF_FORMAT_ID, "ID"},
	{PERF_FORMAT_GROUP, "GROUP"},
	{EVENT_FORMAT_LOST, "LOST"},
	{0, NULL},
};

struct printer {
	struct strbuf *out;
	const char *before, *other, *assign;
};

static void print_name(struct printer *printer, const char *name)
{
	strbuf_add_str(printer->out, printer->before);
	strbuf_add_str(printer->out, name);
	strbuf_add_str(printer->out, printer->assign);
	printer->before = printer->other;
}

static void print_number(struct printer *printer, const char *name, uint64_t value)
{
	if (!value)
		return;
	print_name(printer, name);
	strbuf_add_u64(printer->out, value, 0);
}

static void print_hex(struct printer *printer, const char *name, uint64_t value)
{
	if (!value)
		return;
	print_name(printer, name);
	strbuf_printf(printer->out, "0x%llx", (unsigned long long)value);
}

static void print_bits(struct printer *printer, const char *name, uint64_t value, const struct bit_name *bits)
{
	bool first = true;
	if (!value)
		return;
	print_name(printer, name);
	for (; bits->name; bits++) {
		if (!(value & bits->bit))
			continue;
		if (!first)
			strbuf_add_char(printer->out, '|');
		strbuf_add_str(printer->out, bits->name);
		first = false;
	}
}

#define FLAG(name) print_number(&p, #name, attr->name)

static void print_flags(struct printer *printer, const struct event_attr *attr)
{
	struct printer p = *printer;
	FLAG(disabled);
	FLAG(inherit);
	FLAG(pinned);
	FLAG(exclusive);
	FLAG(exclude_user);
	FLAG(exclude_kernel);
	FLAG(exclude_hv);
	FLAG(exclude_idle);
	FLAG(mmap);
	FLAG(comm);
	FLAG(freq);
	FLAG(inherit_stat);
	FLAG(enable_on_exec);
	FLAG(task);
	FLAG(watermark);
	FLAG(precise_ip);
	FLAG(mmap_data);
	FLAG(sample_id_all);
	FLAG(exclude_host);
	FLAG(exclude_guest);
	FLAG(exclude_callchain_kernel);
	FLAG(exclude_callchain_user);
	FLAG(mmap2);
	FLAG(comm_exec);
	FLAG(use_clockid);
	FLAG(context_switch);
	FLAG(write_backward);
	FLAG(namespaces);
	FLAG(ksymbol);
	FLAG(bpf_event);
	FLAG(aux_output);
	FLAG(cgroup);
	FLAG(text_poke);
	FLAG(build_id);
	FLAG(inherit_thread);
	FLAG(remove_on_exec);
	FLAG(sigtrap);
	FLAG(defer_callchain);
	FLAG(defer_output);
	*printer = p;
}

void attr_print(const struct event_attr *attr, const char *first, const char *other, const char *assign, struct strbuf *out)
{
	struct printer p = {.out = out, .before = first, .other = other, .assign = assign};
	print_number(&p, "type", attr->type);
	print_number(&p, "size", attr->size);
	print_hex(&p, "config", attr->config);
	print_number(&p, "{ sample_period, sample_freq }", attr->sample_period);
	print_bits(&p, "sample_type", attr->sample_type, sample_bits);
	print_bits(&p, "read_format", attr->read_format, read_bits);
	print_flags(&p, attr);
	print_number(&p, "{ wakeup_events, wakeup_watermark }", attr->wakeup_events);
	print_number(&p, "bp_type", attr->bp_type);
	print_hex(&p, "{ bp_addr, config1 }", attr->bp_addr);
	print_hex(&p, "{ bp_len, config2 }", attr->bp_len);
	print_bits(&p, "branch_sample_type", attr->branch_sample_type, branch_bits);
	print_hex(&p, "sample_regs_user", attr->sample_regs_user);
	print_number(&p, "sample_stack_user", attr->sample_stack_user);
	if (attr->clockid) {
		print_name(&p, "clockid");
		strbuf_printf(out, "%d", attr->clockid);
	}
	print_hex(&p, "sample_regs_intr", attr->sample_regs_intr);
	print_number(&p, "aux_watermark", attr->aux_watermark);
	print_number(&p, "sample_max_stack", attr->sample_max_stack);
	print_number(&p, "aux_sample_size", attr->aux_sample_size);
	print_number(&p, "aux_start_paused", attr->aux_action >> 0 & 1);
	print_number(&p, "aux_pause", attr->aux_action >> 1 & 1);
	print_number(&p, "aux_resume", attr->aux_action >> 2 & 1);
	print_number(&p, "sig_data", attr->sig_data);
}
