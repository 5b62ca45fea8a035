/* Names that stand for more than anyone can read: work and text are bounded, and the end says so. Names that compilers write stay whole. */
#include "symbol/demangle.h"
#include "symbol/demangle_cost.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include <cmocka.h>

/* Substitution `index`: S_, S0_ … S9_, SA_ … in base 36. */
static int put_substitution(char *to, int index)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	if (!index)
		return sprintf(to, "S_");
	index--;
	return index < 36 ? sprintf(to, "S%c_", digits[index]) : sprintf(to, "S%c%c_", digits[index / 36], digits[index % 36]);
}

/* f<A<int, int>, A<that, that>, A<that, that>, …>: each argument is twice the last one. */
static void cxx_doubled(char *to, int levels)
{
	to += sprintf(to, "_Z1fI1AIiiE");
	for (int i = 0; i < levels; i++) {
		to += sprintf(to, "S_I");
		to += put_substitution(to, i + 1);
		to += put_substitution(to, i + 1);
		to += sprintf(to, "E");
	}
	sprintf(to, "EvT_");
}

static size_t put_base_62(char *to, size_t value)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	value--;
	return (size_t)(value < 62 ? sprintf(to, "%c_", digits[value]) : sprintf(to, "%c%c_", digits[value / 62], digits[value % 62]));
}

/* The same in Rust: a tuple of two, a tuple of two of it, … */
static void rust_doubled(char *to, int levels)
{
	char *start = to + 2;
	size_t last = 0;
	to += sprintf(to, "_RINvC1a1f");
	for (int i = 0; i < levels; i++) {
		size_t here = (size_t)(to - start);
		to += sprintf(to, last ? "T" : "TiiE");
		for (int twice = 0; last && twice < 2; twice++) {
			to += sprintf(to, "B");
			to += put_base_62(to, last);
		}
		to += last ? sprintf(to, "E") : 0;
		last = here;
	}
	sprintf(to, "E");
}

static void expect_end(const char *name, const char *end)
{
	enum { LIMIT = 1000 };
	char *readable = demangle(name, LIMIT);
	assert_non_null(readable);
	size_t len = strlen(readable);
	assert_true(len <= LIMIT + strlen(end) && len >= strlen(end));
	assert_string_equal(readable + len - strlen(end), end);
	free(readable);
}

static void long_ones_are_cut(void **state)
{
	char name[4096];
	cxx_doubled(name, 12);
	char *whole = demangle(name, DEMANGLE_LIMIT), *theirs = cplus_demangle(name, DMGL_NO_OPTS);
	assert_string_equal(whole, theirs);
	assert_true(strlen(whole) > 2000);
	free(whole);
	free(theirs);
	expect_end(name, DEMANGLE_CUT);
	rust_doubled(name, 12);
	expect_end(name, DEMANGLE_CUT);
}

static void endless_ones_are_refused(void **state)
{
	char name[4096], *to;
	for (int levels = 40; levels <= 60; levels += 20) {
		cxx_doubled(name, levels);
		assert_false(demangle_cost_cxx(name));
		expect_end(name, DEMANGLE_REFUSED);
		rust_doubled(name, levels);
		assert_false(demangle_cost_rust(name));
		expect_end(name, DEMANGLE_REFUSED);
	}
	/* A constructor of what is endless. */
	memcpy(name, "_GLOBAL__I_", 11);
	cxx_doubled(name + 11, 40);
	expect_end(name, DEMANGLE_REFUSED);
	/* Arguments of a conversion, which are parsed twice at each level. */
	to = name + sprintf(name, "_ZN1AcvT_");
	for (int i = 0; i < 40; i++)
		to += sprintf(to, "IT_");
	to += sprintf(to, "i");
	for (int i = 0; i < 40; i++)
		to += sprintf(to, "E");
	sprintf(to, "Ev");
	assert_false(demangle_cost_cxx(name));
}

static void real_ones_stay(void **state)
{
	static const char *const names[] = {
		/* Lambdas within lambdas, whose parameters are of three functions. */
		"_ZNSt17_Function_handlerIFvvEZN4llvm8parallel6detail25parallel_transform_reduceIPSt8functionIFNS1_"
		"5ErrorEvEEP15LLVMOpaqueErrorZNS1_"
		"20parallelForEachErrorIRNS1_11SmallVectorIS8_Lj1EEEZNS1_12dwarf_linker8parallel8TypeUnit20finishCloningAndEmitERKNS1_"
		"6TripleEE3$_"
		"5EES6_OT_T0_EUlSB_SB_E_ZNSC_ISF_SM_EES6_SO_SP_EUlSO_E_EESP_SN_SN_SP_T1_T2_EUlvE_E9_M_invokeERKSt9_Any_data",
		"_ZSt13__adjust_heapIPN4llvm3cfg6UpdateIPNS0_10BasicBlockEEElS5_N9__gnu_cxx5__ops15_Iter_comp_iterIZNS1_"
		"15LegalizeUpdatesIS4_EEvNS0_"
		"8ArrayRefINS2_IT_EEEERNS0_15SmallVectorImplISD_EEbbEUlRKS5_SJ_E_EEEvSC_T0_SM_T1_T2_",
		"_RNvXs5_NtNtCs1234_4core3fmt3numlNtB7_5Debug3fmt",
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *readable = demangle(names[i], DEMANGLE_LIMIT), *theirs = cplus_demangle(names[i], DMGL_NO_OPTS);
		assert_string_equal(readable, theirs);
		free(readable);
		free(theirs);
	}
}

static void *demangle_all(void *names)
{
	for (char **name = names; *name; name++)
		free(demangle(*name, DEMANGLE_LIMIT));
	return NULL;
}

/* Types within types, as deep as names are long. */
static void deep_ones_need_little_stack(void **state)
{
	enum { DEEP = 60000, STACK = 2 << 20 };
	char *names[] = {malloc(1 << 16), malloc(1 << 16), NULL};
	pthread_attr_t attributes;
	pthread_t thread;
	char *to = names[0] + sprintf(names[0], "_Z1fI");
	memset(to, 'P', DEEP);
	strcpy(to + DEEP, "iS_S_S_S_S_S_S_S_S_S_S_S_S_EvT_");
	to = names[1] + sprintf(names[1], "_D1a1bF");
	memset(to, 'P', DEEP);
	strcpy(to + DEEP, "iZv");
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	assert_int_equal(pthread_create(&thread, &attributes, demangle_all, names), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	assert_true(demangle_cost_cxx(names[0]));
	free(names[0]);
	free(names[1]);
}

static void many_share(void **state)
{
	assert_int_equal(demangle_limit(1), DEMANGLE_LIMIT);
	assert_int_equal(demangle_limit(0), DEMANGLE_LIMIT);
	assert_int_equal(demangle_limit(100000), (512 << 20) / 100000);
	assert_int_equal(demangle_limit(SIZE_MAX), 1024);
}

int symbol_demangle_tests(void);
int symbol_demangle_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_ones_are_cut), cmocka_unit_test(endless_ones_are_refused),
		cmocka_unit_test(real_ones_stay),    cmocka_unit_test(deep_ones_need_little_stack),
		cmocka_unit_test(many_share),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
