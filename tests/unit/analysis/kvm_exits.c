/* What single exits of guests are called, and which mean that a guest had nothing to do. */
#include "analysis/kvm/exits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void idle_guests(void **state)
{
	static const struct {
		struct kvm_key key;
		const char *name;
		bool idle;
	} cases[] = {
		{{KVM_VMEXIT, KVM_REASON_VMX, 12, false}, "HLT", true},
		{{KVM_VMEXIT, KVM_REASON_SVM, 0x78, false}, "hlt", true},
		{{KVM_VMEXIT, KVM_REASON_ARM_CLASS, 1, false}, "WFx", true},
		{{KVM_VMEXIT, KVM_REASON_VMX, 0x78, false}, "UNKNOWN(120)", false},
		{{KVM_VMEXIT, KVM_REASON_SVM, 12, false}, "UNKNOWN(12)", false},
		{{KVM_VMEXIT, KVM_REASON_ARM, 1, false}, "EL1_SERROR", false},
		{{KVM_VMEXIT, KVM_REASON_VMX, 30, false}, "IO_INSTRUCTION", false},
		{{KVM_IOPORT, KVM_REASON_VMX, 12, true}, "0xc:POUT", false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct strbuf text = {0};
		kvm_add_key(&text, &cases[i].key);
		assert_string_equal(strbuf_str(&text), cases[i].name);
		assert_int_equal(kvm_is_idle(&cases[i].key), cases[i].idle);
		strbuf_deinit(&text);
	}
}

int analysis_kvm_exits_tests(void);
int analysis_kvm_exits_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(idle_guests)};
	return cmocka_run_group_tests_name("analysis/kvm_exits", tests, NULL, NULL);
}
