/* Arguments of static tracepoints, in the forms that compilers write. */
#include "base/log.h"
#include "probe/probe.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void check(uint16_t machine, const char *operands, const char *expected)
{
	struct elf_file image = {.machine = machine};
	struct probe_target target = {.files.runtime = &image};
	struct probe_point point = {.function = "provider:name", .operands = operands};
	struct strbuf out = {0};

	probe_static_arguments(&target, &point, &out);
	assert_string_equal(strbuf_str(&out), expected);
	strbuf_deinit(&out);
}

static void of_x86(void **state)
{
	check(EM_X86_64, "", "");
	check(EM_X86_64, "8@%rdi -4@$5", " arg1=%di:u64 arg2=\\5:s32");
	check(EM_X86_64, "4@-20(%rbp) -1@%al", " arg1=-20(%bp):u32 arg2=%ax:s8");
	check(EM_X86_64, "2@(%rsp)", " arg1=+0(%sp):u16");
	check(EM_X86_64, "%rdi", " arg1=%di:u64"); /* old ones have no sizes */
}

static void of_arm(void **state)
{
	check(EM_AARCH64, "8@x0 -4@5 4@[sp, 20]", " arg1=%x0:u64 arg2=\\5:s32 arg3=+20(%sp):u32");
	check(EM_AARCH64, "8@[x1]", " arg1=+0(%x1):u64");
}

/* What can't be fetched is left out, and the others keep their numbers. */
static void left_out(void **state)
{
	enum log_level level = log_level();

	log_set_level(LOG_QUIET);
	check(EM_X86_64, "8@(%rax,%rbx,8) 8@%rdi", " arg2=%di:u64");
	check(EM_X86_64, "8@counter(%rip) 8@%nothing 3@%rdi 8@%rsi", " arg4=%si:u64");
	check(EM_X86_64, "8@( 8@[", "");
	log_set_level(level);
}

int probe_sdt_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(of_x86), cmocka_unit_test(of_arm), cmocka_unit_test(left_out)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
