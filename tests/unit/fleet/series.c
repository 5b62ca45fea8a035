/* Series of a window: one for each set of labels and event, whose threads are added up; names of labels as engines take them. */
#include "fleet/series.h"

#include "base/formats/leb128.h"
#include "base/formats/pprof.h"
#include "base/formats/protobuf.h"
#include "made/windows.h"
#include "symbol/elf/inflate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct seen {
	unsigned int series;
	struct strbuf text; /* "NAME{LABEL=VALUE,…} SAMPLES: COUNT PERIOD\n" of each */
};

/* How many samples a profile has, and the sums of their two values. */
static void add_sums(struct cursor profile, struct strbuf *out)
{
	struct protobuf_field field, part;
	uint64_t samples = 0, sums[2] = {0};
	while (protobuf_next(&profile, &field)) {
		if (field.number != PPROF_SAMPLE)
			continue;
		samples++;
		while (protobuf_next(&field.message, &part))
			for (size_t i = 0; part.number == PPROF_SAMPLE_VALUE && cursor_left(&part.message); i++) {
				uint64_t value = leb128_unsigned(&part.message);
				assert_true(i < 2);
				sums[i] += value;
			}
	}
	strbuf_printf(out, " %llu: %llu %llu\n", (unsigned long long)samples, (unsigned long long)sums[0], (unsigned long long)sums[1]);
}

static void add(void *context, const struct series *series)
{
	struct seen *seen = context;
	size_t size;
	seen->series++;
	strbuf_printf(&seen->text, "%s{", series->profile_name);
	for (size_t i = 0; i < series->labels.list.len; i++)
		strbuf_printf(&seen->text, "%s%s=%s", i ? "," : "", series->labels.list.data[i].name, series->labels.list.data[i].value);
	strbuf_add_str(&seen->text, "}");
	const uint8_t *data = (const uint8_t *)series->profile.data;
	void *plain = inflate_buffer(INFLATE_GZIP, data, series->profile.len, 1 << 20, &size);
	assert_non_null(plain);
	add_sums(cursor_init(plain, size, false), &seen->text);
	free(plain);
}

static void expect(const struct window *window, const char *text)
{
	struct seen seen = {0};
	series_for_each(window, add, &seen);
	assert_string_equal(strbuf_str(&seen.text), text);
	strbuf_deinit(&seen.text);
}

#define HOST "host=web1,host_id=00112233445566778899aabbccddeeff,region=north,"

static void threads_are_added_up(void **state)
{
	struct window *window = made_window(1);
	made_window_add(window, 0, 1, 0, "main;work", 2, 300);
	made_window_add(window, 0, 2, 0, "main;work", 3, 500);
	made_window_add(window, 0, 2, 0, "main", 1, 7);
	made_window_add(window, 0, 3, 1, "main;work", 4, 11);
	made_window_add(window, 1, 3, 1, "", 5, 5);
	expect(window, "process_cpu{" HOST "service_name=unknown_service} 2: 6 807\n"
		       "process_cpu{" HOST "service_name=a.service,unit=a.service} 1: 4 11\n"
		       "page_faults{" HOST "service_name=a.service,unit=a.service} 1: 5 5\n");
	window_destroy(window);
}

static void names_of_labels(void **state)
{
	struct window *window = made_window(1);
	window->host_id = "";
	window->labels.list.data[0] = (struct window_label){"9a.b", "x"};
	vec_push(&window->labels.list, (struct window_label){"service", "shop"});
	vec_push(&window->sets.data[1].list, (struct window_label){"z", ""});
	window->sets.data[1].list.data[0] = (struct window_label){"service", "inner"};
	made_window_add(window, 1, 3, 1, "main", 1, 1);
	made_window_add(window, 1, 4, 0, "main", 1, 1);
	window->samples->events.data[1].name = "offcpu-time";
	expect(window, "off_cpu{_9a_b=x,host=web1,service=shop,service_name=shop} 1: 1 1\n"
		       "off_cpu{_9a_b=x,host=web1,service=inner,service_name=inner} 1: 1 1\n");
	window_destroy(window);
}

static void nothing(void **state)
{
	struct window *window = made_window(1);
	expect(window, "");
	window_destroy(window);
}

int fleet_series_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_added_up),
		cmocka_unit_test(names_of_labels),
		cmocka_unit_test(nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
