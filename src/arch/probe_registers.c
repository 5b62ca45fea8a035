/* Names of registers for the kernel's probes, one table a processor. */
#include "arch/probe_registers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

static const char *const x86_dwarf[] = {"%ax", "%dx", "%cx",  "%bx",  "%si",  "%di",  "%bp",  "%sp",
					"%r8", "%r9", "%r10", "%r11", "%r12", "%r13", "%r14", "%r15"};
static const char *const x86_parameters[] = {"%di", "%si", "%dx", "%cx", "%r8", "%r9"};
static const char *const arm64_dwarf[] = {"%x0",  "%x1",  "%x2",  "%x3",  "%x4",  "%x5",  "%x6",  "%x7",  "%x8",  "%x9",  "%x10",
					  "%x11", "%x12", "%x13", "%x14", "%x15", "%x16", "%x17", "%x18", "%x19", "%x20", "%x21",
					  "%x22", "%x23", "%x24", "%x25", "%x26", "%x27", "%x28", "%x29", "%x30", "%sp"};

enum { X86_COUNT = sizeof(x86_dwarf) / sizeof(x86_dwarf[0]), ARM64_COUNT = sizeof(arm64_dwarf) / sizeof(arm64_dwarf[0]) };

static bool is_arch(const char *arch, const char *wanted)
{
	struct utsname name;

	if (!arch)
		arch = uname(&name) == 0 ? name.machine : "";
	return !strcmp(arch, wanted);
}

const char *probe_register_of_dwarf(const char *arch, uint64_t number)
{
	if (is_arch(arch, "x86_64"))
		return number < X86_COUNT ? x86_dwarf[number] : NULL;
	if (is_arch(arch, "aarch64"))
		return number < ARM64_COUNT ? arm64_dwarf[number] : NULL;
	return NULL;
}

/* "rdi", "edi", "di" and "dil" are one register; "r10", "r10d", "r10w", "r10b", too; "al" is ax. */
static const char *x86_register(const char *name)
{
	char wanted[8];
	size_t len = strlen(name);

	if (name[0] == 'r' && len > 1 && strchr("123456789", name[1])) {
		if (strchr("dwb", name[len - 1]))
			len--;
		snprintf(wanted, sizeof(wanted), "%%%.*s", (int)len, name);
	} else if (len == 2 && name[1] == 'l') {
		snprintf(wanted, sizeof(wanted), "%%%cx", name[0]);
	} else if (len == 3 && name[2] == 'l') {
		snprintf(wanted, sizeof(wanted), "%%%.2s", name);
	} else {
		snprintf(wanted, sizeof(wanted), "%%%s", len == 3 && (*name == 'r' || *name == 'e') ? name + 1 : name);
	}
	for (size_t i = 0; i < X86_COUNT; i++)
		if (!strcmp(wanted, x86_dwarf[i]))
			return x86_dwarf[i];
	return NULL;
}

static const char *arm64_register(const char *name)
{
	for (size_t i = 0; i < ARM64_COUNT; i++)
		if (!strcmp(name, arm64_dwarf[i] + 1) ||
		    (*name == 'w' && arm64_dwarf[i][1] == 'x' && !strcmp(name + 1, arm64_dwarf[i] + 2)))
			return arm64_dwarf[i];
	return NULL;
}

const char *probe_register_of_assembler(const char *arch, const char *name)
{
	if (!*name)
		return NULL;
	if (is_arch(arch, "x86_64"))
		return x86_register(name);
	return is_arch(arch, "aarch64") ? arm64_register(name) : NULL;
}

const char *probe_register_of_parameter(const char *arch, unsigned int index)
{
	if (is_arch(arch, "x86_64"))
		return index < sizeof(x86_parameters) / sizeof(x86_parameters[0]) ? x86_parameters[index] : NULL;
	return is_arch(arch, "aarch64") && index < 8 ? arm64_dwarf[index] : NULL;
}
