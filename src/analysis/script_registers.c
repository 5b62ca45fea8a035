/* Registers of a sample, in the order of their numbers. */
#include "analysis/script_internal.h"
#include "arch/registers.h"

static void add_registers(const struct script_text *text, const struct sample_regs *regs, struct strbuf *out)
{
	if (!regs->values)
		return;
	strbuf_printf(out, " ABI:%llu ", (unsigned long long)regs->abi);
	const uint64_t *value = regs->values;
	for (unsigned int number = 0; number < REGISTER_LIMIT; number++) {
		if (!(regs->mask >> number & 1))
			continue;
		const char *name = register_name(text->machine->arch, number);
		strbuf_printf(out, "%5s:0x%llx ", name ? name : "unknown", (unsigned long long)*value++);
	}
}

void script_print_iregs(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	add_registers(text, &at->sample->regs_intr, out);
}

void script_print_uregs(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	add_registers(text, &at->sample->regs_user, out);
}
