/* Names and numbers of system calls (syscalls.h). */
#include "arch/syscalls_internal.h"

#include <string.h>

enum syscall_abi syscall_abi_of(const char *machine)
{
	static const struct {
		const char *machine;
		enum syscall_abi abi;
	} machines[] = {
		{"x86_64", SYSCALL_ABI_X86_64},	      {"i386", SYSCALL_ABI_I386},	{"i686", SYSCALL_ABI_I386},
		{"x86", SYSCALL_ABI_X86_64},	      {"aarch64", SYSCALL_ABI_GENERIC}, {"riscv64", SYSCALL_ABI_GENERIC},
		{"loongarch64", SYSCALL_ABI_GENERIC},
	};

	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (!strcmp(machine, machines[i].machine))
			return machines[i].abi;
	return SYSCALL_ABI_NONE;
}

enum syscall_abi syscall_abi_compat(enum syscall_abi abi)
{
	return abi == SYSCALL_ABI_X86_64 ? SYSCALL_ABI_I386 : SYSCALL_ABI_NONE;
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
