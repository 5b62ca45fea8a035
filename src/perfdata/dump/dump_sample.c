/* The fields of a sample, one block a field, as the kernel's perf orders them. */
#include "perfdata/dump/dump_internal.h"
#include "perfdata/dump/record_text.h"

#include <inttypes.h>
#include <linux/perf_event.h>

static const char *branch_type_name(unsigned int type, unsigned int new_type)
{
	static const char *const names[] = {"",	      "COND",	   "UNCOND",   "IND",  "CALL", "IND_CALL", "RET",  "SYSCALL",
					    "SYSRET", "COND_CALL", "COND_RET", "ERET", "IRQ",  "SERROR",   "NO_TX"};
	static const char *const new_names[] = {"FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1", "ARCH_2", "ARCH_3", "ARCH_4", "ARCH_5"};
	enum { EXTENDED = 15 };
	if (type == EXTENDED)
		return new_type < 8 ? new_names[new_type] : "";
	return names[type];
}

static void dump_branches(struct dump *dump)
{
	const struct sample *sample = &dump->sample;
	strbuf_printf(dump->out, "... branch stack: nr:%" PRIu64 "\n", sample->branch_count);
	for (uint64_t i = 0; i < sample->branch_count; i++) {
		const struct branch_entry *entry = &sample->branches[i];
		uint64_t flags = entry->flags;
		strbuf_printf(dump->out, "..... %2" PRIu64 ": %016" PRIx64 " -> %016" PRIx64 " %u cycles %s%s%s%s %x %s\n", i, entry->from,
			      entry->to, branch_cycles(entry), flags & 1 ? "M" : " ", flags & 2 ? "P" : " ", flags & 8 ? "A" : " ",
			      flags & 4 ? "T" : " ", (unsigned int)(flags >> 33), branch_type_name(flags >> 20 & 15, flags >> 26 & 15));
	}
}

static void dump_regs(struct dump *dump, const char *title, const struct sample_regs *regs)
{
	const uint64_t *value = regs->values;
	if (!value)
		return;
	strbuf_printf(dump->out, "... %s regs: mask 0x%" PRIx64 " ABI %s\n", title, regs->mask,
		      regs->abi == 2   ? "64-bit"
		      : regs->abi == 1 ? "32-bit"
				       : "none");
	for (unsigned int bit = 0; bit < 64; bit++) {
		if (!(regs->mask >> bit & 1))
			continue;
		const char *name = NULL;
		if (dump->options && dump->options->register_name)
			name = dump->options->register_name(dump->reader->features.arch, bit);
		strbuf_printf(dump->out, ".... %-5s 0x%016" PRIx64 "\n", name ? name : "unknown", *value++);
	}
}

static void dump_page_size(struct dump *dump, const char *title, uint64_t size)
{
	unsigned int unit = 0;
	if (!size) {
		strbuf_printf(dump->out, " .. %s: N/A\n", title);
		return;
	}
	while (size / 1024 > 1 && unit < 3) {
		size /= 1024;
		unit++;
	}
	strbuf_printf(dump->out, " .. %s: %" PRIu64 "%c\n", title, size, "BKMG"[unit]);
}

static void dump_counters(struct dump *dump, const struct sample_layout *layout)
{
	const struct sample *sample = &dump->sample;
	uint64_t format = layout->read_format;
	strbuf_add_str(dump->out, "... sample_read:\n");
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		strbuf_printf(dump->out, "...... time enabled %016" PRIx64 "\n", sample->time_enabled);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		strbuf_printf(dump->out, "...... time running %016" PRIx64 "\n", sample->time_running);
	if (format & PERF_FORMAT_GROUP)
		strbuf_printf(dump->out, ".... group nr %" PRIu64 "\n", sample->counter_count);
	for (uint64_t i = 0; i < sample->counter_count; i++) {
		struct sample_counter counter = sample_counter(layout, sample, i);
		strbuf_printf(dump->out, "..... id %016" PRIx64 ", value %016" PRIx64, counter.id, counter.value);
		if (format & EVENT_FORMAT_LOST)
			strbuf_printf(dump->out, ", lost %" PRIu64, counter.lost);
		strbuf_add_char(dump->out, '\n');
	}
}

static void dump_weight(struct dump *dump, uint64_t type)
{
	strbuf_printf(dump->out, "... weight: %" PRIu64, dump->sample.weight);
	if (type & PERF_SAMPLE_WEIGHT_STRUCT)
		strbuf_printf(dump->out, ",0x%x,0x%x", dump->sample.ins_lat, dump->sample.p_stage_cyc);
	strbuf_add_char(dump->out, '\n');
}

static void dump_fields(struct dump *dump, const struct sample_layout *layout)
{
	const struct sample *sample = &dump->sample;
	uint64_t type = layout->sample_type;
	if (type & PERF_SAMPLE_CALLCHAIN)
		record_text_add_chain(dump->out, sample->chain, sample->chain_count);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		dump_branches(dump);
	if (type & PERF_SAMPLE_REGS_USER)
		dump_regs(dump, "user", &sample->regs_user);
	if (type & PERF_SAMPLE_REGS_INTR)
		dump_regs(dump, "intr", &sample->regs_intr);
	if (type & PERF_SAMPLE_STACK_USER) {
		/* of the size, which lies before the bytes */
		uint64_t offset = (uint64_t)((const uint8_t *)sample->stack - (const uint8_t *)dump->header) - 8;
		strbuf_printf(dump->out, "... ustack: size %" PRIu64 ", offset 0x%" PRIx64 "\n", sample->stack_valid, offset);
	}
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		dump_weight(dump, type);
	if (type & PERF_SAMPLE_DATA_SRC)
		strbuf_printf(dump->out, " . data_src: 0x%" PRIx64 "\n", sample->data_src);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		strbuf_printf(dump->out, " .. phys_addr: 0x%" PRIx64 "\n", sample->phys_addr);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		dump_page_size(dump, "data page size", sample->data_page_size);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		dump_page_size(dump, "code page size", sample->code_page_size);
	if (type & PERF_SAMPLE_TRANSACTION)
		strbuf_printf(dump->out, "... transaction: %" PRIx64 "\n", sample->transaction);
	if (type & PERF_SAMPLE_READ)
		dump_counters(dump, layout);
}

void dump_sample(struct dump *dump)
{
	const struct sample *sample = &dump->sample;
	if (!dump->event || dump->broken) {
		strbuf_printf(dump->out, ": %s\n", dump->broken ? dump->broken : "of an unknown event");
		return;
	}
	strbuf_printf(dump->out, "(IP, 0x%x): %d/%d: %#" PRIx64 " period: %" PRIu64 " addr: %#" PRIx64 "\n", dump->header->misc,
		      (int)sample->pid, (int)sample->tid, sample->ip, sample->period, sample->addr);
	dump_fields(dump, &dump->reader->layouts[dump->event->index]);
}
