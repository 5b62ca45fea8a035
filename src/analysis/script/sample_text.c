/* What several ways to show a sample have in common. */
#include "analysis/script/sample_text.h"

#include "arch/arch.h"

#include <linux/perf_event.h>

void sample_text_add_registers(const struct sample_regs *regs, const char *arch, struct strbuf *out)
{
	const uint64_t *value = regs->values;
	for (unsigned int number = 0; value && number < ARCH_SAMPLE_REGISTERS; number++) {
		if (!(regs->mask >> number & 1))
			continue;
		const char *name = arch_register_name(arch, number);
		strbuf_printf(out, "%5s:0x%llx ", name ? name : "unknown", (unsigned long long)*value++);
	}
}

static bool is_page_fault(const struct event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE &&
	       (attr->config == PERF_COUNT_SW_PAGE_FAULTS || attr->config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
		attr->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ);
}

bool sample_is_branch(const struct event_attr *attr)
{
	return attr->type == PERF_TYPE_HARDWARE && attr->config & PERF_COUNT_HW_BRANCH_INSTRUCTIONS && attr->sample_period == 1;
}

bool sample_addr_is_symbol(const struct event_attr *attr)
{
	return is_page_fault(attr) || sample_is_branch(attr);
}

uint64_t sample_data_source(const struct event_attr *attr, const struct sample *sample)
{
	return attr->sample_type & PERF_SAMPLE_DATA_SRC ? sample->data_src : 0x5080021;
}

void sample_resolve(struct resolver *resolver, const struct thread *thread, uint8_t cpumode, uint64_t addr, uint64_t model_time,
		    struct frame *ret)
{
	const struct maps *maps = thread ? machine_maps(resolver_machine(resolver), thread, cpumode) : NULL;
	resolver_frame(resolver, maps, cpumode, addr, model_time, ret);
}

void sample_resolve_data(struct resolver *resolver, const struct thread *thread, uint8_t cpumode, uint64_t addr, uint64_t model_time,
			 struct frame *ret)
{
	bool kernel = machine_is_kernel_address(resolver_machine(resolver), addr);
	if (cpumode == CPUMODE_KERNEL || cpumode == CPUMODE_USER)
		cpumode = kernel ? CPUMODE_KERNEL : CPUMODE_USER;
	else if (cpumode == CPUMODE_GUEST_KERNEL || cpumode == CPUMODE_GUEST_USER)
		cpumode = kernel ? CPUMODE_GUEST_KERNEL : CPUMODE_GUEST_USER;
	sample_resolve(resolver, thread, cpumode, addr, model_time, ret);
}

char sample_text_mode(uint8_t cpumode)
{
	static const char letters[] = {[CPUMODE_UNKNOWN] = 'H',	   [CPUMODE_KERNEL] = 'k',	 [CPUMODE_USER] = '.',
				       [CPUMODE_HYPERVISOR] = 'H', [CPUMODE_GUEST_KERNEL] = 'g', [CPUMODE_GUEST_USER] = 'u'};
	return cpumode < sizeof(letters) ? letters[cpumode] : 'H';
}

void sample_text_add_page_size(uint64_t size, struct strbuf *out)
{
	if (!size)
		strbuf_add_str(out, "N/A");
	else if (size >> 30 && !(size & ((1 << 30) - 1)))
		strbuf_printf(out, "%luG", size >> 30);
	else if (size >> 20 && !(size & ((1 << 20) - 1)))
		strbuf_printf(out, "%luM", size >> 20);
	else if (size >> 10 && !(size & 1023))
		strbuf_printf(out, "%luK", size >> 10);
	else
		strbuf_printf(out, "%luB", size);
}
