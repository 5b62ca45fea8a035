/* Header features that are rows of fields: what is written is read again, in both byte orders, and cut short it is refused. */
#include "perfdata/features/features_fields.h"
#include "perfdata/features/features_read.h"
#include "perfdata/features/features_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char a_text[] = "a text";

/* Another value for each field. */
static void fill(struct features *features, const struct feature_field *field)
{
	static const uint64_t value = 0x0102030405060708;
	for (uint64_t i = 0; field->kind != FEATURE_FIELD_END; field++, i++) {
		void *member = (uint8_t *)features + field->offset;
		if (field->kind == FEATURE_FIELD_TEXT)
			*(const char **)member = a_text;
		else if (field->kind == FEATURE_FIELD_NUMBER && field->size == sizeof(uint64_t))
			*(uint64_t *)member = value + i;
		else if (field->kind == FEATURE_FIELD_NUMBER)
			*(uint32_t *)member = (uint32_t)(value + i);
	}
}

static void check_same(const struct features *a, const struct features *b, const struct feature_field *field)
{
	for (; field->kind != FEATURE_FIELD_END; field++) {
		const uint8_t *left = (const uint8_t *)a + field->offset, *right = (const uint8_t *)b + field->offset;
		if (field->kind == FEATURE_FIELD_TEXT)
			assert_string_equal(*(const char *const *)left, *(const char *const *)right);
		else if (field->kind == FEATURE_FIELD_NUMBER)
			assert_memory_equal(left, right, field->size);
	}
}

static void test_fields(void **state)
{
	unsigned int rows = 0, with_fields = 0;
	for (unsigned int feature = 0; feature < FEATURE_COUNT; feature++) {
		const struct feature_field *fields = feature_fields(feature);
		struct features written = {0}, read = {0};
		struct strbuf out = {0};
		rows += feature_name(feature) != NULL;
		if (!fields)
			continue;
		with_fields++;
		fill(&written, fields);
		assert_true(features_write(&written, feature, NULL, 0, &out));
		assert_true(features_read(&read, feature, out.data, out.len, false));
		check_same(&written, &read, fields);
		features_deinit(&read);
		if (fields->kind != FEATURE_FIELD_END) {
			assert_false(features_read(&read, feature, out.data, out.len - 1, false));
			assert_true(features_has(&read, feature));
		}
		features_deinit(&read);
		strbuf_deinit(&out);
	}
	assert_int_equal(rows, FEATURE_PMU_CAPS + 1); /* and ours */
	assert_true(with_fields > 0);
}

static void test_versions(void **state)
{
	const uint32_t wanted[] = {1, 4, 0, 0, 0, 0}, other[] = {2, 4, 0, 0, 0, 0}, foreign[] = {1u << 24, 4u << 24, 0, 0, 0, 0};
	struct features features = {0};
	assert_true(features_read(&features, FEATURE_CLOCK_DATA, wanted, sizeof(wanted), false));
	assert_int_equal(features.clock_id, 4);
	features_deinit(&features);
	assert_true(features_read(&features, FEATURE_CLOCK_DATA, other, sizeof(other), false));
	assert_int_equal(features.clock_id, 0);
	features_deinit(&features);
	assert_true(features_read(&features, FEATURE_CLOCK_DATA, foreign, sizeof(foreign), true));
	assert_int_equal(features.clock_id, 4);
	features_deinit(&features);
}

int perfdata_features_tests(void);
int perfdata_features_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_versions),
	};
	return cmocka_run_group_tests_name("perfdata/features", tests, NULL, NULL);
}
