/* Arguments of static tracepoints, as the compiler noted them: words SIZE@OPERAND, the operand in the assembler's form, SIZE negative when
 * signed.
 *
 *	x86-64   8@%rdi   -4@$5   4@-20(%rbp)   8@counter(%rip)   8@(%rax,%rbx,8)
 *	arm64    8@x0     -4@5    4@[sp, 20]
 *
 * They become arg1, arg2, …; an operand with two registers or a symbol can't be fetched by the kernel. Source of the form: the SystemTap
 * wiki, "UserSpaceProbeImplementation". */
#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "probe/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct arch *arch_of(const struct probe_target *target)
{
	return target->files.runtime ? elf_arch(target->files.runtime) : arch_own();
}

/* "-20(%rbp)" */
static bool add_x86_memory(const struct arch *arch, const char *operand, struct strbuf *out)
{
	const char *bracket = strchr(operand, '(');
	cleanup_free char *number = mem_strndup(operand, (size_t)(bracket - operand));
	size_t len = strcspn(bracket + 1, ",)");
	cleanup_free char *name = mem_strndup(bracket + 1, len);
	int64_t offset = 0;
	const char *reg = *name == '%' ? arch_probe_by_assembler(arch, name + 1) : NULL;

	if (!reg || bracket[1 + len] != ')' || (*number && !number_parse_s64(number, &offset)))
		return false;
	strbuf_printf(out, "%+lld(%s)", (long long)offset, reg);
	return true;
}

/* "[sp, 20]" */
static bool add_arm_memory(const struct arch *arch, const char *operand, struct strbuf *out)
{
	char name[16];
	long long offset = 0;

	if (sscanf(operand, "[%15[a-z0-9]%*[, ]%lld]", name, &offset) < 1)
		return false;
	const char *reg = arch_probe_by_assembler(arch, name);
	if (!reg)
		return false;
	strbuf_printf(out, "%+lld(%s)", offset, reg);
	return true;
}

static bool add_operand(const struct arch *arch, const char *operand, struct strbuf *out)
{
	int64_t number;
	const char *plain = operand + (*operand == '$' || *operand == '%');

	if (strchr(operand, '('))
		return add_x86_memory(arch, operand, out);
	if (*operand == '[')
		return add_arm_memory(arch, operand, out);
	if (number_parse_s64(plain, &number)) {
		strbuf_printf(out, "\\%lld", (long long)number);
		return true;
	}
	const char *reg = arch_probe_by_assembler(arch, plain);
	if (!reg)
		return false;
	strbuf_add_str(out, reg);
	return true;
}

static void add_argument(struct probe_target *target, const char *word, unsigned int number, const char *name, struct strbuf *out)
{
	int size = 0, read = 0;
	struct strbuf operand = {0};
	bool ok = sscanf(word, "%d@%n", &size, &read) == 1 && read && add_operand(arch_of(target), word + read, &operand);
	int bits = abs(size) * 8;

	if (!read && add_operand(arch_of(target), word, &operand)) { /* without a size */
		ok = true;
		bits = 64;
	}
	if (ok && (bits == 8 || bits == 16 || bits == 32 || bits == 64))
		strbuf_printf(out, " arg%u=%s:%c%d", number, strbuf_str(&operand), size < 0 ? 's' : 'u', bits);
	else
		log_warning("argument %u of the static tracepoint %s is omitted: the kernel cannot fetch '%s'", number, name, word);
	strbuf_deinit(&operand);
}

/* The end of an operand: brackets may have spaces in them. */
static size_t operand_length(const char *text)
{
	size_t len = 0;
	bool bracket = false;

	for (; text[len] && (bracket || text[len] != ' '); len++)
		bracket = text[len] == '[' || (bracket && text[len] != ']');
	return len;
}

void probe_static_arguments(struct probe_target *target, const struct probe_point *point, struct strbuf *out)
{
	unsigned int number = 1;

	for (const char *at = point->operands; *at;) {
		size_t len = operand_length(at);
		cleanup_free char *word = mem_strndup(at, len);
		if (len)
			add_argument(target, word, number++, point->function, out);
		at += len + (at[len] == ' ');
	}
}
