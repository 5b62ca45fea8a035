/* Registers of a sample, in the order of their numbers. */
#include "analysis/script/internal.h"
#include "analysis/script/sample_text.h"

static void add_registers(const struct script_text *text, const struct sample_regs *regs, struct strbuf *out)
{
	if (!regs->values)
		return;
	strbuf_printf(out, " ABI:%llu ", (unsigned long long)regs->abi);
	sample_text_add_registers(regs, text->machine->arch, out);
}

void script_print_iregs(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	add_registers(text, &at->sample->regs_intr, out);
}

void script_print_uregs(struct script_text *text, const struct script_sample *at, struct strbuf *out)
{
	add_registers(text, &at->sample->regs_user, out);
}
