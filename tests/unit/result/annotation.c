/* Annotations: shares, sums by source line, rows. */
#include "result/annotation.h"
#include "result/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char file_a[] = "/src/a.c", file_b[] = "/src/b.c";

static void add(struct annotation *annotation, uint64_t address, const char *file, uint32_t line)
{
	vec_push(&annotation->lines, (struct annotation_line){.kind = ANNOTATION_INSTRUCTION,
							      .address = address,
							      .size = 1,
							      .bytes = (const uint8_t *)"\x90",
							      .mnemonic = "nop",
							      .operands = "",
							      .target_line = ANNOTATION_NO_LINE,
							      .file = file,
							      .line = line});
}

/* Two events in five instructions and a note. */
static struct annotation *make(void)
{
	static const uint64_t samples[][2] = {{1, 0}, {4, 2}, {0, 0}, {0, 0}, {3, 5}, {2, 3}};
	struct annotation *annotation = annotation_create();
	add(annotation, 0x1000, file_a, 10);
	add(annotation, 0x1001, file_b, 7);
	vec_push(&annotation->lines, (struct annotation_line){.kind = ANNOTATION_NOTE, .text = "f():"});
	add(annotation, 0x1002, file_a, 10);
	add(annotation, 0x1003, file_a, 10);
	add(annotation, 0x1004, NULL, 0);
	annotation->function = "f";
	annotation->path = "/bin/x";
	annotation->events_name = "a, b";
	annotation->start = 0x1000;
	annotation->event_count = 2;
	annotation->events = arena_zalloc(&annotation->arena, 2 * sizeof(*annotation->events));
	annotation->events[0] = (struct annotation_event){"a", {10, 1000}, {20, 4000}};
	annotation->events[1] = (struct annotation_event){"b", {10, 1000}, {100, 100000}};
	annotation->values = arena_zalloc(&annotation->arena, annotation->lines.len * 2 * sizeof(*annotation->values));
	for (size_t i = 0; i < annotation->lines.len; i++)
		for (size_t event = 0; event < 2; event++)
			annotation->values[i * 2 + event] = (struct annotation_value){samples[i][event], samples[i][event] * 100};
	return annotation;
}

static void shares_of_what_is_asked_for(void **state)
{
	struct annotation *annotation = make();
	const struct annotation_value value = {.samples = 2, .period = 100};
	static const struct {
		bool global, hits;
		double expected;
	} cases[] = {{false, false, 10}, {false, true, 20}, {true, false, 2.5}, {true, true, 10}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		annotation->style = (struct annotation_style){.global = cases[i].global, .hits = cases[i].hits};
		assert_float_equal(annotation_percent(annotation, &value, 0), cases[i].expected, 1e-9);
	}
	annotation->events[1] = (struct annotation_event){0};
	assert_float_equal(annotation_percent(annotation, &value, 1), 0, 0);
	annotation_destroy(annotation);
}

static void lines_are_summed_hottest_first(void **state)
{
	struct annotation *annotation = make();
	annotation_sum_sources(annotation);
	/* Both have four samples of the first event; the second decides. Without a line nothing is summed. */
	assert_int_equal(annotation->source_count, 2);
	assert_ptr_equal(annotation->sources[0].file, file_a);
	assert_int_equal(annotation->sources[0].line, 10);
	assert_int_equal(annotation->sources[0].values[0].samples, 4);
	assert_int_equal(annotation->sources[0].values[1].period, 500);
	assert_ptr_equal(annotation->sources[1].file, file_b);
	assert_int_equal(annotation->sources[1].values[1].samples, 2);
	annotation_destroy(annotation);
}

static void a_row_for_each_instruction(void **state)
{
	struct annotation *annotation = make();
	struct table *table = annotation_table(annotation);
	assert_int_equal(table->rows.len, 5);
	assert_int_equal(table->columns.len, 14);
	assert_string_equal(table->columns.data[8].id, "percent:a");
	assert_string_equal(table->columns.data[13].id, "period:b");
	const union cell *cells = table->rows.data[1].cells;
	assert_int_equal(cells[2].integer, 0x1001);
	assert_int_equal(cells[3].integer, 1);
	assert_string_equal(cells[4].text, "nop");
	assert_float_equal(cells[8].real, 40, 1e-9);
	assert_int_equal(cells[13].integer, 200);
	table_destroy(table);
	annotation_destroy(annotation);
}

int result_annotation_tests(void);
int result_annotation_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_of_what_is_asked_for),
		cmocka_unit_test(lines_are_summed_hottest_first),
		cmocka_unit_test(a_row_for_each_instruction),
	};
	return cmocka_run_group_tests_name("result/annotation", tests, NULL, NULL);
}
