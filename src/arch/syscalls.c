/* Names and numbers of system calls (syscalls.h). */
#include "arch/arch.h"
#include "arch/syscalls_internal.h"

#include <string.h>

enum syscall_abi syscall_abi_of(const char *machine)
{
	const struct arch *arch = arch_find(machine);
	return arch ? arch->syscalls : SYSCALL_ABI_NONE;
}

enum syscall_abi syscall_abi_compat(const char *machine)
{
	const struct arch *arch = arch_find(machine);
	return arch && arch->compat ? arch->compat->syscalls : SYSCALL_ABI_NONE;
}

static const char *const *table_of(enum syscall_abi abi)
{
	switch (abi) {
	case SYSCALL_ABI_X86_64:
		return syscalls_x86_64;
	case SYSCALL_ABI_I386:
		return syscalls_i386;
	case SYSCALL_ABI_GENERIC:
		return syscalls_generic;
	case SYSCALL_ABI_NONE:
		break;
	}
	return NULL;
}

const char *syscall_name(enum syscall_abi abi, unsigned int number)
{
	const char *const *table = table_of(abi);

	return table && number < SYSCALL_NUMBERS ? table[number] : NULL;
}

int syscall_number(enum syscall_abi abi, const char *name)
{
	const char *const *table = table_of(abi);

	for (int i = 0; table && i < SYSCALL_NUMBERS; i++)
		if (table[i] && !strcmp(table[i], name))
			return i;
	return -1;
}
