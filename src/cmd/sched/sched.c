/* perf sched: what the scheduler did: who waited for a CPU, for how long, and who ran where and when.
 *
 *	perf sched record -- COMMAND        records the scheduler's events on all CPUs
 *	perf sched latency                  delays from being runnable until running, by task
 *	perf sched timehist                 each switch: how long the task had waited and run
 *	perf sched map                      a column for each CPU, a line for each switch
 *	perf sched replay                   the same pattern again, done by threads
 *	perf sched runqlat                  histograms of delays, measured now
 *	perf sched stats                    what the kernel counts by itself
 *
 * Each subcommand that reads is a tracker of src/analysis/sched and its page here. This file has what they share, and what runs other
 * commands. */
#include "cmd/sched/sched.h"

#include "app/pager.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "cmd/dumping.h"
#include "kernel/tracing/tracefs.h"
#include "view/view.h"

#include <stdlib.h>
#include <string.h>

/* ---- shared ---- */

void sched_input_init(struct sched_input *common)
{
	*common = (struct sched_input){0};
	input_options_init(&common->input);
}

void sched_tell_nothing(const struct opening *opening, const char *options)
{
	if (opening->session->record_counts[RECORD_SAMPLE])
		log_warning("No context switch in the recording matches %s.", options);
	else
		log_warning("There are no context switches in the recording.");
}

struct error *sched_parse_time(const char *text, struct sched_scope *ret)
{
	cleanup_free char *begin = mem_strdup(text);
	char *end = strchr(begin, ',');
	if (end)
		*end++ = '\0';
	if ((*begin && !number_parse_timestamp(begin, &ret->begin)) || (end && *end && !number_parse_timestamp(end, &ret->end)))
		return error_new_kind(ERROR_USAGE, "--time %s: expected START,STOP in seconds, such as 10.5,12", text);
	if (ret->end && ret->end < ret->begin)
		return error_new_kind(ERROR_USAGE, "--time %s: the range ends before it begins", text);
	return NULL;
}

struct error *sched_parse_bits(const char *option, const char *text, int most, uint64_t bits[])
{
	int *list;
	size_t count;
	if (!text)
		return NULL;
	if (!number_parse_list(text, &list, &count))
		return error_new_kind(ERROR_USAGE, "%s %s: expected a list such as 0,4-7", option, text);
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++) {
		if (list[i] < most)
			bits[list[i] / 64] |= 1ull << list[i] % 64;
		else
			error = error_new_kind(ERROR_USAGE, "%s %s: %d is too large, at most %d", option, text, list[i], most - 1);
	}
	free(list);
	return error;
}

struct error *sched_open(struct opening *opening, const struct sched_input *common, bool with_stacks, bool *ret_done)
{
	const struct opening_options options = {
		.input = &common->input,
		.confined = "sched",
		.recorder = "perf sched record",
		.streaming = true,
		.kernel_only = !with_stacks && !common->dump,
	};
	struct error *error = opening_begin(opening, &options);
	*ret_done = common->dump;
	if (error || !common->dump)
		return error;
	pager_start("sched");
	return dumping_all(opening->session);
}

/* ---- text: made by hand, a line may come for each of millions of events ---- */

enum { CPU_ROOM = 4 };

void sched_add_fraction(struct strbuf *out, uint64_t whole, unsigned int width, uint64_t part, unsigned int digits)
{
	char *text = strbuf_reserve(out, width + digits + 1 + DIGITS_ROOM);
	char *end = digits_put_u64(text, whole, width);
	*end++ = '.';
	end = digits_put_fraction(end, (uint32_t)part, digits);
	strbuf_advance(out, (size_t)(end - text));
}

void sched_add_time(struct strbuf *out, uint64_t time, unsigned int width)
{
	char *to = strbuf_reserve(out, width + DIGITS_ROOM);
	strbuf_advance(out, (size_t)(sched_put_time(to, time, width) - to));
}

void sched_add_cpu(struct strbuf *out, uint32_t cpu)
{
	char *to = strbuf_reserve(out, CPU_ROOM + DIGITS_ROOM);
	strbuf_advance(out, (size_t)(sched_put_cpu(to, cpu) - to));
}

/* ---- perf sched record, perf sched script ---- */

/* The events of the kernel's tool. Those of sched_stat_* are there with CONFIG_SCHEDSTATS only; older kernels have no sched_waking. */
static struct error *record(int argc, char **argv, int *ret_status)
{
	static const char *const always[] = {"sched_switch", "sched_stat_runtime", "sched_process_fork", "sched_wakeup_new",
					     "sched_migrate_task"};
	static const char *const where_known[] = {"sched_stat_wait", "sched_stat_sleep", "sched_stat_iowait"};
	cleanup_free char *tracefs = NULL;
	struct strbuf events = {0};
	int id;
	struct error *error = tracefs_find("", &tracefs);
	if (error)
		return error;
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		strbuf_printf(&events, "%ssched:%s", i ? "," : "", always[i]);
	for (size_t i = 0; i < sizeof(where_known) / sizeof(*where_known); i++)
		if (tracefs_event_id(tracefs, "sched", where_known[i], &id))
			strbuf_printf(&events, ",sched:%s", where_known[i]);
	strbuf_printf(&events, ",sched:%s", tracefs_event_id(tracefs, "sched", "sched_waking", &id) ? "sched_waking" : "sched_wakeup");
	const char *const before[] = {"record", "-a", "-R", "-m", "1024", "-c", "1", "-e", strbuf_str(&events)};
	error = command_run_with(before, sizeof(before) / sizeof(*before), argv + 1, argc - 1, ret_status);
	strbuf_deinit(&events);
	return error;
}

static struct error *script(int argc, char **argv, int *ret_status)
{
	static const char *const before[] = {"script"};
	return command_run_with(before, 1, argv + 1, argc - 1, ret_status);
}

static const char *const record_usage[] = {"[<record options>] [--] [<command>]", NULL};
static const char *const script_usage[] = {"[<script options>]", NULL};

/* ---- */

static const struct option options[] = {
	OPTION_GROUP(input_option_group, struct sched_input, input),
	OPTION_GROUP(output_option_group, struct sched_input, output),
	OPTION_FLAG('D', "dump-raw-trace", struct sched_input, dump, "dump the records of the recording instead"),
	OPTION_END,
};

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct sched_input values;
	int words;
	sched_input_init(&values);
	struct error *error = options_parse(options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &values, &words);
	if (error)
		return error;
	if (words && !strncmp(argv[0], "rec", 3))
		return error_new_kind(ERROR_USAGE, "options of 'perf sched record' follow its name");
	return error_new_kind(ERROR_USAGE, words ? "unknown subcommand '%s'" : "which subcommand?", argv[0]);
}

const struct command cmd_sched_record = {
	"sched record", "Record scheduler events on all CPUs", record_usage, NULL, record, .runs = "record", .own_options = true};
const struct command cmd_sched_script = {"sched script", "Print all events as text", script_usage, NULL, script, .runs = "script"};
static const char *const usage[] = {"[<options>] {record|latency|map|replay|runqlat|stats|timehist|script}", NULL};
const struct command cmd_sched = {
	"sched", "Analyse scheduling: CPU wait times, and what ran where", usage, options, run, .subcommands = sched_subcommands};
