/* The list of architectures, and what is found by it. Those of which little is known have their rows here. */
#include "arch/arch.h"

#include "arch/own.h"
#include "base/text.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/utsname.h>

#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258 /* which <elf.h> has had since glibc 2.35 */
#endif
#define BIG_ENDIAN_CODE ((int)CS_MODE_BIG_ENDIAN)

/* clang-format off */
static const char *const riscv_names[ARCH_SAMPLE_REGISTERS] = {
	"pc", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0",  "a1",  "a2", "a3", "a4", "a5",
	"a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
};

static const struct arch
riscv64 = {.name = "riscv64", .elf_machine = EM_RISCV, .is_64bit = true, .syscalls = SYSCALL_ABI_GENERIC, .sample_names = riscv_names,
	   .code = {.markers = "dx", .plt_header = 32, .plt_entry = 16, .reloc_64 = R_RISCV_64, .reloc_32 = {R_RISCV_32}}},
riscv32 = {.name = "riscv32", .also = {"riscv*"}, .sample_names = riscv_names},
loongarch64 = {.name = "loongarch64", .elf_machine = EM_LOONGARCH, .is_64bit = true, .syscalls = SYSCALL_ABI_GENERIC},
ppc64le = {.name = "ppc64le", .elf_machine = EM_PPC64, .is_64bit = true, .tells_stages = true,
	   .code = {.capstone = CS_ARCH_PPC, .mode = CS_MODE_64, .unit = 4}},
ppc64 = {.name = "ppc64", .elf_machine = EM_PPC64, .big_endian = true, .is_64bit = true, .tells_stages = true,
	 .code = {.capstone = CS_ARCH_PPC, .mode = CS_MODE_64 | BIG_ENDIAN_CODE, .unit = 4}},
ppc = {.name = "ppc", .also = {"ppc*"}, .elf_machine = EM_PPC, .big_endian = true, .tells_stages = true,
       .code = {.capstone = CS_ARCH_PPC, .mode = CS_MODE_32 | BIG_ENDIAN_CODE, .unit = 4}},
s390x = {.name = "s390x", .elf_machine = EM_S390, .big_endian = true, .is_64bit = true, .notes_dies = true,
	 .code = {.capstone = CS_ARCH_SYSZ, .mode = BIG_ENDIAN_CODE, .unit = 2}},
s390 = {.name = "s390", .also = {"s390*"}, .big_endian = true, .code = {.capstone = CS_ARCH_SYSZ, .mode = BIG_ENDIAN_CODE, .unit = 2}},
mips64 = {.name = "mips64", .also = {"mips64*"}, .is_64bit = true, .code = {.capstone = CS_ARCH_MIPS, .mode = CS_MODE_MIPS64, .unit = 4}},
mips = {.name = "mips", .also = {"mips*"}, .elf_machine = EM_MIPS, .code = {.capstone = CS_ARCH_MIPS, .mode = CS_MODE_MIPS32, .unit = 4}},
sparc64 = {.name = "sparc64", .elf_machine = EM_SPARCV9, .big_endian = true, .is_64bit = true,
	   .code = {.capstone = CS_ARCH_SPARC, .mode = BIG_ENDIAN_CODE | CS_MODE_V9, .unit = 4, .plt_header = 128, .plt_entry = 32}},
sparc = {.name = "sparc", .also = {"sparc*"}, .elf_machine = EM_SPARC, .big_endian = true,
	 .code = {.capstone = CS_ARCH_SPARC, .mode = BIG_ENDIAN_CODE | CS_MODE_V9, .unit = 4, .plt_header = 48, .plt_entry = 12}};
/* clang-format on */

/* Where names of several fit, the first is meant. */
static const struct arch *const arch_table[] = {
	&arch_x86_64, &arch_i386, &arch_aarch64, &arch_aarch64_be, &arch_arm, &riscv64, &riscv32, &loongarch64, &ppc64le, &ppc64,
	&ppc,	      &s390x,	  &s390,	 &mips64,	   &mips,     &sparc64, &sparc,
};
enum { ARCH_COUNT = sizeof(arch_table) / sizeof(arch_table[0]), PATTERNS = sizeof(arch_x86_64.also) / sizeof(arch_x86_64.also[0]) };

/* ---- finding ---- */

static const struct arch *by_name(const char *machine)
{
	for (size_t i = 0; i < ARCH_COUNT; i++)
		if (!strcmp(arch_table[i]->name, machine))
			return arch_table[i];
	for (size_t i = 0; i < ARCH_COUNT; i++)
		for (size_t k = 0; k < PATTERNS && arch_table[i]->also[k]; k++)
			if (str_glob_match(arch_table[i]->also[k], machine))
				return arch_table[i];
	return NULL;
}

const struct arch *arch_own(void)
{
#ifdef ARCH_OWN
	return ARCH_OWN;
#else
	struct utsname here;
	return uname(&here) == 0 ? by_name(here.machine) : NULL;
#endif
}

const struct arch *arch_find(const char *machine)
{
	return machine ? by_name(machine) : arch_own();
}

const struct arch *arch_of_elf(uint16_t machine, bool big_endian)
{
	const struct arch *found = NULL;
	for (size_t i = 0; machine && i < ARCH_COUNT; i++)
		if (arch_table[i]->elf_machine == machine && (!found || arch_table[i]->big_endian == big_endian))
			found = arch_table[i];
	return found;
}

const struct arch_frames *arch_frames_of(const struct arch *arch, uint64_t abi)
{
	if (arch && abi == PERF_SAMPLE_REGS_ABI_32 && arch->is_64bit)
		arch = arch->compat;
	else if (!arch || abi != (arch->is_64bit ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_32))
		return NULL;
	return arch && arch->frames.word ? &arch->frames : NULL;
}

/* ---- registers ---- */

const char *arch_register_name(const char *machine, unsigned int number)
{
	const struct arch *arch = arch_find(machine);
	return arch && arch->sample_names && number < ARCH_SAMPLE_REGISTERS ? arch->sample_names[number] : NULL;
}

uint64_t arch_link_bit(const struct arch_frames *frames)
{
	return frames && frames->link ? (uint64_t)1 << frames->sample[frames->numbers.ip] : 0;
}

const char *arch_probe_by_dwarf(const struct arch *arch, uint64_t number)
{
	return arch && number < arch->probes.dwarf_count ? arch->probes.dwarf[number] : NULL;
}

const char *arch_probe_by_assembler(const struct arch *arch, const char *name)
{
	return arch && arch->probes.of_assembler && *name ? arch->probes.of_assembler(name) : NULL;
}

const char *arch_probe_of_parameter(const struct arch *arch, unsigned int index)
{
	return arch && index < arch->probes.parameter_count ? arch->probes.parameters[index] : NULL;
}
