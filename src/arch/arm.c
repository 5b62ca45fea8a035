/* arm64 and arm. Sources: DWARF for AArch64 section 4.1, AAPCS64 (parameters), arch/arm64/include/uapi/asm/perf_regs.h and that of arm
 * (samples), arch/arm64/kernel/ptrace.c (names for probes). */
#include "arch/arch.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <linux/audit.h>
#include <string.h>

/* clang-format off */
static const char *const arm64_names[ARCH_SAMPLE_REGISTERS] = {
	"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",
	"x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "lr", "sp", "pc", [46] = "vg",
};

static const char *const arm_names[ARCH_SAMPLE_REGISTERS] = {
	"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "fp", "ip", "sp", "lr", "pc",
};

static const char *const probe_dwarf[] = {
	"%x0", "%x1", "%x2", "%x3", "%x4", "%x5", "%x6", "%x7", "%x8", "%x9", "%x10", "%x11", "%x12", "%x13", "%x14", "%x15",
	"%x16", "%x17", "%x18", "%x19", "%x20", "%x21", "%x22", "%x23", "%x24", "%x25", "%x26", "%x27", "%x28", "%x29", "%x30", "%sp",
};
/* clang-format on */

enum { PROBE_COUNT = sizeof(probe_dwarf) / sizeof(probe_dwarf[0]), PARAMETERS = 8 };

static const char *probe_of_assembler(const char *name)
{
	for (size_t i = 0; i < PROBE_COUNT; i++)
		if (!strcmp(name, probe_dwarf[i] + 1) ||
		    (*name == 'w' && probe_dwarf[i][1] == 'x' && !strcmp(name + 1, probe_dwarf[i] + 2)))
			return probe_dwarf[i];
	return NULL;
}

const struct arch arch_arm = {
	.name = "armv7l",
	.also = {"arm*"},
	.elf_machine = EM_ARM,
	.sample_names = arm_names,
	.code = {.capstone = CS_ARCH_ARM,
		 .mode = CS_MODE_ARM,
		 .unit = 4,
		 .function_flags = 1,
		 .markers = "adtx",
		 .plt_header = 20,
		 .plt_entry = 12},
};

const struct arch arch_aarch64 = {
	.name = "aarch64",
	.also = {"arm64*"},
	.elf_machine = EM_AARCH64,
	.is_64bit = true,
	.compat = &arch_arm,
	.syscalls = SYSCALL_ABI_GENERIC,
	.sample_names = arm64_names,
	.user_registers = 0x1ffffffff,
	.frames = {{.sp = 31, .fp = 29, .ip = 30, .third = ARCH_NO_REGISTER},
		   8,
		   true,
		   32,
		   {0,	1,  2,	3,  4,	5,  6,	7,  8,	9,  10,
		    11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
		    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, ARCH_NO_REGISTER}},
	.code = {.capstone = CS_ARCH_ARM64,
		 .mode = CS_MODE_LITTLE_ENDIAN,
		 .unit = 4,
		 .markers = "adtx",
		 .plt_header = 32,
		 .plt_entry = 16,
		 .reloc_64 = R_AARCH64_ABS64,
		 .reloc_32 = {R_AARCH64_ABS32}},
	.probes = {.dwarf = probe_dwarf,
		   .dwarf_count = PROBE_COUNT,
		   .parameters = probe_dwarf,
		   .parameter_count = PARAMETERS,
		   .of_assembler = probe_of_assembler},
	.audit = AUDIT_ARCH_AARCH64,
	.breakpoint_on_code = 4,
};

/* Its files have little-endian instructions and are arch_aarch64's. */
const struct arch arch_aarch64_be = {
	.name = "aarch64_be",
	.also = {"aarch64*"},
	.big_endian = true,
	.is_64bit = true,
	.sample_names = arm64_names,
	.code = {.capstone = CS_ARCH_ARM64, .mode = (int)CS_MODE_BIG_ENDIAN, .unit = 4},
};
