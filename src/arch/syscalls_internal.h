/* The tables that tools/gen-calls makes. */
#pragma once

#include "arch/syscalls.h"

#include <stddef.h>

extern const char *const syscalls_x86_64[SYSCALL_NUMBERS];
extern const char *const syscalls_i386[SYSCALL_NUMBERS];
extern const char *const syscalls_generic[SYSCALL_NUMBERS];
