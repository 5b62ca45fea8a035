/* Registers as the kernel's probes name them ("%di", "%x0"). Source of the facts: regs_query_register_offset() tables in
 * arch/x86/kernel/ptrace.c and arch/arm64/kernel/ptrace.c; numbers: the DWARF register tables of the System V psABI (x86-64) and of
 * AAPCS64.
 *
 * `arch` is uname's machine name; NULL = this machine's. NULL is returned for registers and processors that aren't known. */
#pragma once

#include <stdint.h>

/* By DWARF's number. */
const char *probe_register_of_dwarf(const char *arch, uint64_t number);
/* By the assembler's name without its %: "rdi", "edi", "x0", "w0". */
const char *probe_register_of_assembler(const char *arch, const char *name);
/* Of parameter `index`, from 0, of a function whose parameters are whole numbers and pointers. */
const char *probe_register_of_parameter(const char *arch, unsigned int index);
