/* Architectures are found by their names, files and samples. */
#include "arch/arch.h"

#include <elf.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void names(void **state)
{
	static const struct {
		const char *machine, *name; /* NULL = unknown */
	} rows[] = {
		{"x86_64", "x86_64"},	{"amd64", "x86_64"},	{"i386", "i686"},     {"i686", "i686"},	    {"aarch64", "aarch64"},
		{"arm64", "aarch64"},	{"armv7l", "armv7l"},	{"armv8l", "armv7l"}, {"s390x", "s390x"},   {"aarch64_be", "aarch64_be"},
		{"ppc64le", "ppc64le"}, {"ppc64", "ppc64"},	{"ppc", "ppc"},	      {"mips64", "mips64"}, {"sparc64", "sparc64"},
		{"riscv64", "riscv64"}, {"riscv32", "riscv32"}, {"alpha", NULL},      {"", NULL},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct arch *arch = arch_find(rows[i].machine);
		assert_int_equal(arch != NULL, rows[i].name != NULL);
		if (arch)
			assert_string_equal(arch->name, rows[i].name);
	}
	assert_ptr_equal(arch_find(NULL), arch_own());
}

static void files(void **state)
{
	assert_ptr_equal(arch_of_elf(EM_X86_64, false), &arch_x86_64);
	assert_ptr_equal(arch_of_elf(EM_AARCH64, false), &arch_aarch64);
	assert_ptr_equal(arch_of_elf(EM_AARCH64, true), &arch_aarch64);
	assert_string_equal(arch_of_elf(EM_PPC64, true)->name, "ppc64");
	assert_string_equal(arch_of_elf(EM_PPC64, false)->name, "ppc64le");
	assert_string_equal(arch_of_elf(EM_S390, true)->name, "s390x");
	assert_null(arch_of_elf(EM_NONE, false));
	assert_null(arch_of_elf(EM_ALPHA, false));
}

static void processes(void **state)
{
	const struct arch *riscv = arch_find("riscv64");
	assert_ptr_equal(arch_frames_of(&arch_x86_64, PERF_SAMPLE_REGS_ABI_64), &arch_x86_64.frames);
	assert_ptr_equal(arch_frames_of(&arch_x86_64, PERF_SAMPLE_REGS_ABI_32), &arch_i386.frames);
	assert_ptr_equal(arch_frames_of(&arch_i386, PERF_SAMPLE_REGS_ABI_32), &arch_i386.frames);
	assert_null(arch_frames_of(&arch_i386, PERF_SAMPLE_REGS_ABI_64));
	assert_ptr_equal(arch_frames_of(&arch_aarch64, PERF_SAMPLE_REGS_ABI_64), &arch_aarch64.frames);
	assert_null(arch_frames_of(&arch_aarch64, PERF_SAMPLE_REGS_ABI_32));
	assert_null(arch_frames_of(&arch_x86_64, PERF_SAMPLE_REGS_ABI_NONE));
	assert_null(arch_frames_of(riscv, PERF_SAMPLE_REGS_ABI_64));
	assert_null(arch_frames_of(NULL, PERF_SAMPLE_REGS_ABI_64));
}

static void registers(void **state)
{
	assert_string_equal(arch_register_name("x86_64", 8), "IP");
	assert_string_equal(arch_register_name("aarch64", 30), "lr");
	assert_string_equal(arch_register_name("riscv64", 2), "sp");
	assert_null(arch_register_name("x86_64", 24));
	assert_null(arch_register_name("x86_64", ARCH_SAMPLE_REGISTERS));
	assert_null(arch_register_name("alpha", 0));
	assert_int_equal(arch_link_bit(&arch_x86_64.frames), 0);
	assert_int_equal(arch_link_bit(&arch_aarch64.frames), 1 << 30);
	assert_int_equal(arch_link_bit(NULL), 0);
	/* Both tables say where the stack and the code are. */
	assert_string_equal(arch_register_name("x86_64", arch_x86_64.frames.sample[arch_x86_64.frames.numbers.sp]), "SP");
	assert_string_equal(arch_register_name("x86_64", arch_x86_64.frames.ip_sample), "IP");
	assert_string_equal(arch_register_name("aarch64", arch_aarch64.frames.sample[arch_aarch64.frames.numbers.sp]), "sp");
	assert_string_equal(arch_register_name("aarch64", arch_aarch64.frames.ip_sample), "pc");
}

static void probes(void **state)
{
	assert_string_equal(arch_probe_by_dwarf(&arch_x86_64, 5), "%di");
	assert_string_equal(arch_probe_by_dwarf(&arch_aarch64, 31), "%sp");
	assert_null(arch_probe_by_dwarf(&arch_x86_64, 16));
	assert_null(arch_probe_by_dwarf(&arch_i386, 0));
	assert_string_equal(arch_probe_by_assembler(&arch_x86_64, "r10d"), "%r10");
	assert_string_equal(arch_probe_by_assembler(&arch_x86_64, "dil"), "%di");
	assert_string_equal(arch_probe_by_assembler(&arch_x86_64, "al"), "%ax");
	assert_string_equal(arch_probe_by_assembler(&arch_i386, "ebp"), "%bp");
	assert_string_equal(arch_probe_by_assembler(&arch_aarch64, "w3"), "%x3");
	assert_null(arch_probe_by_assembler(&arch_x86_64, ""));
	assert_null(arch_probe_by_assembler(NULL, "x0"));
	assert_string_equal(arch_probe_of_parameter(&arch_x86_64, 2), "%dx");
	assert_null(arch_probe_of_parameter(&arch_x86_64, 6));
	assert_string_equal(arch_probe_of_parameter(&arch_aarch64, 7), "%x7");
	assert_null(arch_probe_of_parameter(&arch_aarch64, 8));
}

static void calls(void **state)
{
	assert_int_equal(syscall_number(syscall_abi_of("x86_64"), "openat"), 257);
	assert_int_equal(syscall_number(syscall_abi_of("aarch64"), "openat"), 56);
	assert_int_equal(syscall_abi_compat("x86_64"), SYSCALL_ABI_I386);
	assert_int_equal(syscall_abi_compat("aarch64"), SYSCALL_ABI_NONE);
	assert_int_equal(syscall_abi_of("alpha"), SYSCALL_ABI_NONE);
}

/* As crti.o and crtn.o make them, with a call between. */
static void initialization(void **state)
{
	static const uint8_t code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x08, 0xe8, 1, 2, 3, 4, 0x48, 0x83, 0xc4, 0x08, 0xc3};
	int (*pushed)(const uint8_t *, size_t, size_t) = arch_x86_64.code.init_pushed;
	uint8_t other[sizeof(code)];

	for (size_t i = 0; i < 2; i++) { /* and without endbr64 */
		const uint8_t *begin = code + 4 * i;
		size_t size = sizeof(code) - 4 * i, first = 8 - 4 * i;
		assert_int_equal(pushed(begin, size, 0), 0);
		assert_int_equal(pushed(begin, size, first - 4), 0);
		assert_int_equal(pushed(begin, size, first), 8);
		assert_int_equal(pushed(begin, size, size - 2), 8);
		assert_int_equal(pushed(begin, size, size - 1), 0);
	}
	memcpy(other, code, sizeof(code));
	other[7] = 0x10;
	assert_int_equal(pushed(other, sizeof(other), 8), -1);
	assert_int_equal(pushed(code, 8, 0), -1);
	assert_null(arch_i386.code.init_pushed);
}

int arch_arch_tests(void);
int arch_arch_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),  cmocka_unit_test(files), cmocka_unit_test(processes),	     cmocka_unit_test(registers),
		cmocka_unit_test(probes), cmocka_unit_test(calls), cmocka_unit_test(initialization),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
