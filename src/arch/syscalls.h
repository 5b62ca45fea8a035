/* System calls by number and name, for each table of numbers that Linux has. */
#pragma once

/* A machine has one table for its own programs, and maybe another for 32-bit ones. */
enum syscall_abi {
	SYSCALL_ABI_NONE,
	SYSCALL_ABI_X86_64,
	SYSCALL_ABI_I386,
	SYSCALL_ABI_GENERIC, /* arm64, riscv64, loongarch64: asm-generic/unistd.h */
};

enum { SYSCALL_NUMBERS = 512 }; /* all numbers are below */

/* The table of a machine, as uname calls it, and of the 32-bit programs on it; NULL is what perf is built for. */
enum syscall_abi syscall_abi_of(const char *machine);
enum syscall_abi syscall_abi_compat(const char *machine);

/* The name of a call, or NULL. */
const char *syscall_name(enum syscall_abi abi, unsigned int number);
/* The number of a call, or -1. */
int syscall_number(enum syscall_abi abi, const char *name);
