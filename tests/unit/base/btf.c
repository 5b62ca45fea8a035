/* Names of types: kinds of different lengths, both byte orders, and what is cut off. */
#include "base/formats/btf.h"

#include "base/strbuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char strings[] = "\0int\0pair\0run";
enum { INT = 1, PAIR = 5, RUN = 10, KIND_INT = 1, KIND_STRUCT = 4, KIND_FUNC = 12, KIND_PROTO = 13 };

static void add(struct strbuf *out, uint32_t value, bool swap)
{
	value = swap ? __builtin_bswap32(value) : value;
	strbuf_add(out, (const char *)&value, sizeof(value));
}

static void add_type(struct strbuf *out, uint32_t name, uint32_t kind, uint32_t members, uint32_t words, bool swap)
{
	add(out, name, swap);
	add(out, kind << 24 | members, swap);
	for (uint32_t i = 0; i < 1 + words; i++)
		add(out, 0, swap);
}

static void make(struct strbuf *out, bool swap)
{
	struct strbuf types = {0};
	add_type(&types, INT, KIND_INT, 0, 1, swap);
	add_type(&types, PAIR, KIND_STRUCT, 2, 6, swap);
	add_type(&types, 0, KIND_PROTO, 1, 2, swap);
	add_type(&types, RUN, KIND_FUNC, 0, 0, swap);
	add_type(&types, 1000, KIND_FUNC, 0, 0, swap);
	add(out, 0xeb9f0100, swap);
	add(out, 24, swap);
	add(out, 0, swap);
	add(out, (uint32_t)types.len, swap);
	add(out, (uint32_t)types.len, swap);
	add(out, sizeof(strings), swap);
	strbuf_add(out, types.data, types.len);
	strbuf_add(out, strings, sizeof(strings));
	strbuf_deinit(&types);
}

static void names(void **state)
{
	for (int swap = 0; swap < 2; swap++) {
		struct strbuf data = {0};
		struct btf btf;
		make(&data, swap);
		btf_init(&btf, data.data, data.len, swap);
		assert_string_equal(btf_type_name(&btf, 1), "int");
		assert_string_equal(btf_type_name(&btf, 2), "pair");
		assert_string_equal(btf_type_name(&btf, 3), "");
		assert_string_equal(btf_type_name(&btf, 4), "run");
		assert_null(btf_type_name(&btf, 5)); /* its name lies outside */
		assert_null(btf_type_name(&btf, 0));
		assert_null(btf_type_name(&btf, 6));
		assert_int_equal(btf_find(&btf, BTF_FUNCTION, "run"), 4);
		assert_int_equal(btf_find(&btf, BTF_STRUCTURE, "pair"), 2);
		assert_int_equal(btf_find(&btf, BTF_FUNCTION, "pair"), 0);
		assert_int_equal(btf_find(&btf, BTF_TYPEDEF, "none"), 0);
		btf_deinit(&btf);
		for (size_t size = 0; size < data.len; size++) {
			btf_init(&btf, data.data, size, swap);
			assert_null(btf_type_name(&btf, 1));
			btf_deinit(&btf);
		}
		strbuf_deinit(&data);
	}
}

int base_btf_tests(void);
int base_btf_tests(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names)};
	return cmocka_run_group_tests_name("base/btf", tests, NULL, NULL);
}
