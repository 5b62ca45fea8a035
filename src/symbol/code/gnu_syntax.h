/* AT&T assembly of x86 as the GNU tools write it: what people know from objdump and from the kernel's perf. */
#pragma once

#include "base/strbuf.h"

/* Adds a mnemonic without the letter of the operands' size where a register tells it: "movq %rax, %rbx" is "mov %rax,%rbx". */
void gnu_syntax_add_mnemonic(const char *mnemonic, const char *operands, struct strbuf *out);
/* Adds operands without blanks behind commas, their numbers hexadecimal: "$1, 8(%rsp)" is "$0x1,0x8(%rsp)". */
void gnu_syntax_add_operands(const char *operands, struct strbuf *out);
