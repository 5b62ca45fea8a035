/* x86-64 and i386. Sources: System V psABI x86-64 figure 3.36 and i386 table 2.14 (DWARF's numbers), arch/x86/include/uapi/asm/perf_regs.h
 * (samples), arch/x86/kernel/ptrace.c (names for probes). */
#include "arch/arch.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <linux/audit.h>
#include <stdio.h>
#include <string.h>

#define NONE ARCH_NO_REGISTER
#define NONE_8 NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* clang-format off */
static const char *const sample_names[ARCH_SAMPLE_REGISTERS] = {
	"AX", "BX", "CX", "DX", "SI", "DI", "BP", "SP", "IP", "FLAGS", "CS", "SS", "DS", "ES", "FS", "GS",
	"R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15",
	/* Vector registers take two numbers each, from 32 on. */
	[32] = "XMM0", "XMM0", "XMM1", "XMM1", "XMM2", "XMM2", "XMM3", "XMM3", "XMM4", "XMM4", "XMM5", "XMM5", "XMM6", "XMM6",
	"XMM7", "XMM7", "XMM8", "XMM8", "XMM9", "XMM9", "XMM10", "XMM10", "XMM11", "XMM11", "XMM12", "XMM12", "XMM13", "XMM13",
	"XMM14", "XMM14", "XMM15", "XMM15",
};

static const char *const probe_dwarf[] = {
	"%ax", "%dx", "%cx", "%bx", "%si", "%di", "%bp", "%sp", "%r8", "%r9", "%r10", "%r11", "%r12", "%r13", "%r14", "%r15",
};
static const char *const probe_parameters[] = {"%di", "%si", "%dx", "%cx", "%r8", "%r9"};
/* clang-format on */

/* "rdi", "edi", "di" and "dil" are one register; "r10", "r10d", "r10w", "r10b", too; "al" is ax. */
static const char *probe_of_assembler(const char *name)
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
	for (size_t i = 0; i < COUNT(probe_dwarf); i++)
		if (!strcmp(wanted, probe_dwarf[i]))
			return probe_dwarf[i];
	return NULL;
}

/* FF 25 and a distance, maybe behind endbr64, bnd or cs prefixes: jmp *slot(%rip). */
static bool plt_slot(const uint8_t *code, size_t size, uint64_t address, uint64_t *ret)
{
	for (size_t i = 0; i + 6 <= size && i < 8; i++) {
		int32_t distance;
		if (code[i] != 0xff || code[i + 1] != 0x25)
			continue;
		memcpy(&distance, code + i + 2, sizeof(distance));
		*ret = address + i + 6 + (uint64_t)(int64_t)distance;
		return true;
	}
	return false;
}

/* A jump through a table (jmp *…), perhaps behind endbr or with a prefix. */
static bool begins_stub(const uint8_t *code, size_t size)
{
	static const uint8_t starts[][4] = {
		{0xff, 0x25}, {0xff, 0xa3}, {0xf2, 0xff, 0x25}, {0xf3, 0x0f, 0x1e, 0xfa}, {0xf3, 0x0f, 0x1e, 0xfb}};
	for (size_t i = 0; i < COUNT(starts); i++) {
		size_t length = starts[i][2] ? starts[i][3] ? 4 : 3 : 2;
		if (size >= length && !memcmp(code, starts[i], length))
			return true;
	}
	return false;
}

/* [endbr64] sub $8,%rsp … add $8,%rsp; ret. Between them are calls of what a program has there. */
static int init_pushed(const uint8_t *code, size_t size, size_t at)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa}, begin[] = {0x48, 0x83, 0xec, 0x08}, end[] = {0x48, 0x83, 0xc4, 0x08, 0xc3};
	size_t first = size >= sizeof(endbr) && !memcmp(code, endbr, sizeof(endbr)) ? sizeof(endbr) : 0;

	if (size < first + sizeof(begin) + sizeof(end) || memcmp(code + first, begin, sizeof(begin)) != 0 ||
	    memcmp(code + size - sizeof(end), end, sizeof(end)) != 0)
		return -1;
	return at < first + sizeof(begin) || at >= size - 1 ? 0 : 8;
}

const struct arch arch_i386 = {
	.name = "i686",
	.also = {"i?86"},
	.elf_machine = EM_386,
	.syscalls = SYSCALL_ABI_I386,
	.sample_names = sample_names,
	.user_registers = 0xfff,
	.call_argument = 1, /* bx */
	.frames = {{.sp = 4, .fp = 5, .ip = 8, .third = NONE}, 4, false, 8, {0, 2, 3, 1, 7, 6, 4, 5, 8, NONE_8, NONE_8, NONE_8}},
	.code = {.capstone = CS_ARCH_X86,
		 .mode = CS_MODE_32,
		 .unit = 1,
		 .has_att_syntax = true,
		 .plt_header = 16,
		 .plt_entry = 16,
		 .begins_stub = begins_stub},
	.probes = {.of_assembler = probe_of_assembler},
};

const struct arch arch_x86_64 = {
	.name = "x86_64",
	.also = {"x86*", "amd64"},
	.elf_machine = EM_X86_64,
	.is_64bit = true,
	.compat = &arch_i386,
	.syscalls = SYSCALL_ABI_X86_64,
	.sample_names = sample_names,
	.user_registers = 0xff0fff, /* the kernel refuses ds, es, fs and gs */
	.call_argument = 5,	    /* di */
	.frames = {{.sp = 7, .fp = 6, .ip = 16, .third = 3}, 8, false, 8, {0,	 3,    2,    1,	   4,	 5,    6,    7,	    16,
									   17,	 18,   19,   20,   21,	 22,   23,   8,	    NONE,
									   NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE_8}},
	.code = {.capstone = CS_ARCH_X86,
		 .mode = CS_MODE_64,
		 .unit = 1,
		 .has_att_syntax = true,
		 .plt_header = 16,
		 .plt_entry = 16,
		 .reloc_64 = R_X86_64_64,
		 .reloc_32 = {R_X86_64_32, R_X86_64_32S},
		 .plt_slot = plt_slot,
		 .begins_stub = begins_stub,
		 .init_pushed = init_pushed},
	.probes = {.dwarf = probe_dwarf,
		   .dwarf_count = COUNT(probe_dwarf),
		   .parameters = probe_parameters,
		   .parameter_count = COUNT(probe_parameters),
		   .of_assembler = probe_of_assembler},
	.has_code_below_kernel = true,
	.notes_dies = true,
	.audit = AUDIT_ARCH_X86_64,
	.foreign_calls = 0x40000000,
};
