/* What the agent says that it costs: of what the kernel writes, samples that we make ourselves are no part. */
#include "base/clock.h"
#include "capture/off_cpu_samples.h"
#include "cmd/agent/agent.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void take(struct agent *agent, const char *event_name, unsigned int count)
{
	struct event event = {.name = event_name ? (char *)event_name : (char *)""};
	const struct record record = {.is_sample = event_name != NULL, .event = event_name ? &event : NULL};
	for (unsigned int i = 0; i < count; i++)
		agent_window_count(agent, &record);
}

/* They come thousands at a time, at the end of a window; what was counted never becomes less. */
static void made_samples_are_not_written(void **state)
{
	struct agent agent = {0};
	take(&agent, "cpu-clock", 3);
	take(&agent, NULL, 2);
	assert_int_equal(agent.written.all, 5);
	assert_int_equal(agent.written.samples, 3);
	take(&agent, OFF_CPU_EVENT, 5000);
	assert_int_equal(agent.written.all, 5);
	assert_int_equal(agent.written.samples, 3);
}

/* Of a program that is gone the kernel tells no time any more: what all have used is less than before. */
static void programs_that_are_gone(void **state)
{
	const struct agent_settings settings = {.budget_percent = 100};
	struct agent_cost cost;
	agent_cost_init(&cost, &settings);
	cost.bpf_age = 0; /* nothing is measured for all programs of the machine */
	agent_cost_begin(&cost, (struct agent_records){10, 5});
	cost.bpf_stats = open("/dev/null", O_RDONLY | O_CLOEXEC);
	cost.bpf_at_begin = 1000000000;
	while (clock_now_ns(CLOCK_MONOTONIC) == cost.begun_ns)
		;
	agent_cost_end(&cost, (struct agent_records){10, 5});
	assert_true(cost.kernel_percent == 0);
	agent_cost_deinit(&cost);
}

static bool has(const struct agent_numbers *numbers, const char *line)
{
	const struct agent_identity identity = {.host = "box"};
	const agent_sinks sinks = {0};
	struct agent_status status = {.numbers = *numbers, .identity = &identity, .sinks = &sinks};
	struct strbuf text = {0};
	agent_status_init(&status);
	agent_status_add_text(&status, &text);
	bool found = strstr(strbuf_str(&text), line);
	agent_status_deinit(&status);
	strbuf_deinit(&text);
	return found;
}

/* Waits of which nothing is known are no secret. */
static void waits_that_are_missing(void **state)
{
	assert_false(has(&(struct agent_numbers){0}, "waits:"));
	assert_true(has(&(struct agent_numbers){.waits = {.missed = 3}},
			"\nwaits:   3 missing for want of room, 0 because the kernel did not report their ends\n"));
	assert_true(has(&(struct agent_numbers){.waits = {.unseen = 2}},
			"\nwaits:   0 missing for want of room, 2 because the kernel did not report their ends\n"));
}

int cmd_agent_cost_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(made_samples_are_not_written),
		cmocka_unit_test(programs_that_are_gone),
		cmocka_unit_test(waits_that_are_missing),
	};
	return cmocka_run_group_tests_name("cmd/agent_cost", tests, NULL, NULL);
}
