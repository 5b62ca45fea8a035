/* perf kwork: what the kernel does on its own: interrupts, soft interrupts, items of work queues.
 *
 *	perf kwork record -- COMMAND        records their events on all CPUs
 *	perf kwork report                   how long each ran
 *	perf kwork latency                  how long each waited until it ran
 *	perf kwork timehist                 each run
 *	perf kwork top                      how much of the CPUs' time went to interrupts and to each thread
 *	perf kwork report -b -- COMMAND     the same of what happens now (live.c)
 *
 * The trackers are in src/analysis/kwork; each subcommand is its page here. This file has what they share, and what runs other commands. */
#include "cmd/kwork/kwork.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "view/view.h"

#include <string.h>

/* ---- shared ---- */

static const char *const class_events[] = {
	[KWORK_IRQ] = "irq:irq_handler_entry,irq:irq_handler_exit",
	[KWORK_SOFTIRQ] = "irq:softirq_raise,irq:softirq_entry,irq:softirq_exit",
	[KWORK_WORKQUEUE] = "workqueue:workqueue_activate_work,workqueue:workqueue_execute_start,workqueue:workqueue_execute_end",
	[KWORK_SCHED] = "sched:sched_switch",
};

void kwork_add_events(struct strbuf *out, const enum kwork_class *classes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		strbuf_printf(out, "%s%s", i ? "," : "", class_events[classes[i]]);
}

struct error *kwork_parse_kinds(const char *text, enum kwork_class allowed, struct kwork_options *ret)
{
	enum kwork_class most = allowed < KWORK_SCHED ? allowed : KWORK_SCHED;
	if (!text)
		for (enum kwork_class class = 0; class < most; class ++)
			ret->classes[ret->class_count++] = class;
	while (text && *text) {
		size_t length = strcspn(text, ", ");
		enum kwork_class class = 0;
		while (class < allowed &&
		       (strlen(kwork_class_name(class)) != length || strncmp(text, kwork_class_name(class), length) != 0))
			class ++;
		if (class == allowed && length)
			return error_new_kind(ERROR_USAGE, "-k: unknown kind of work '%.*s'; the kinds are irq, softirq%s", (int)length,
					      text, allowed > KWORK_SCHED ? ", workqueue and sched" : " and workqueue");
		bool known = false;
		for (size_t i = 0; i < ret->class_count; i++)
			known |= ret->classes[i] == class;
		if (length && !known)
			ret->classes[ret->class_count++] = class;
		text += length + (text[length] != '\0');
	}
	return ret->class_count ? NULL : error_new_kind(ERROR_USAGE, "-k names no kind of work");
}

struct error *kwork_parse_scope(const struct kwork_input *input, uint64_t *cpus, struct sched_scope *ret)
{
	struct error *error = sched_parse_bits("-C", input->common.cpus, SCHED_CPUS, cpus);
	ret->cpus = input->common.cpus ? cpus : NULL;
	ret->cpu_words = SCHED_CPUS / 64;
	if (!error && input->common.time)
		error = sched_parse_time(input->common.time, ret);
	return error;
}

struct error *kwork_parse_input(const struct kwork_input *input, uint64_t *cpus, struct kwork_options *ret)
{
	struct error *error = kwork_parse_kinds(input->kinds, KWORK_SCHED, ret);
	if (!error)
		error = kwork_parse_scope(input, cpus, &ret->scope);
	ret->name = input->name;
	ret->sort = input->sort;
	return error;
}

const char *kwork_name_for_table(struct table *table, const struct kwork_work *work)
{
	struct strbuf text = {0};
	kwork_add_name(&text, work);
	const char *name = arena_strdup(&table->arena, strbuf_str(&text));
	strbuf_deinit(&text);
	return name;
}

/* ---- perf kwork record ---- */

static struct error *run_record(const char *kinds, int argc, char **argv, int *ret_status)
{
	struct kwork_options chosen = {0};
	struct strbuf events = {0};
	struct error *error = kwork_parse_kinds(kinds, KWORK_CLASSES, &chosen);
	kwork_add_events(&events, chosen.classes, chosen.class_count);
	const char *const before[] = {"record", "-a", "-R", "-m", "1024", "-c", "1", "-e", strbuf_str(&events)};
	if (!error)
		error = command_run_with(before, sizeof(before) / sizeof(*before), argv + 1, argc - 1, ret_status);
	strbuf_deinit(&events);
	return error;
}

struct kwork_record_options {
	const char *kinds;
};

static const struct option record_table[] = {
	KWORK_KINDS(struct kwork_record_options, kinds),
	OPTION_END,
};

/* -k before the options of `perf record`, where the letter is another one's. */
static struct error *record(int argc, char **argv, int *ret_status)
{
	struct kwork_record_options options = {0};
	int span = argc > 1 ? options_span(record_table, argv + 1) : 0;
	if (span <= 0)
		return run_record(NULL, argc, argv, ret_status);
	char *own[] = {argv[0], argv[1], span > 1 ? argv[2] : NULL, NULL};
	int words;
	struct error *error = options_parse(record_table, OPTIONS_STOP_AT_FIRST_WORD, span + 1, own, &options, &words);
	return error ? error : run_record(options.kinds, argc - span, argv + span, ret_status);
}

static const char *const record_usage[] = {"[-k LIST] [<record options>] [--] [<command>]", NULL};

/* ---- */

struct options_before {
	struct kwork_input shared;
};

static const struct option options[] = {
	KWORK_KINDS(struct options_before, shared.kinds),
	KWORK_OPTIONS(struct options_before),
	OPTION_END,
};

/* Where no subcommand comes first: `perf kwork -k irq record`, or a mistake. */
static struct error *run(int argc, char **argv, int *ret_status)
{
	struct options_before values = {0};
	int words;
	input_options_init(&values.shared.common.input);
	struct error *error = options_parse(options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &values, &words);
	if (error)
		return error;
	if (!words || strncmp(argv[0], "rec", 3) != 0)
		return error_new_kind(ERROR_USAGE, words ? "unknown subcommand '%s'" : "which subcommand?", argv[0]);
	if (values.shared.common.input.input || values.shared.common.cpus || values.shared.common.time)
		return error_new_kind(ERROR_USAGE, "only -k may stand before 'record'; its other options follow its name");
	return run_record(values.shared.kinds, words, argv, ret_status);
}

const struct command cmd_kwork_record = {
	"kwork record", "Record kernel work on all CPUs", record_usage, record_table, record, .runs = "record", .own_options = true};
static const char *const usage[] = {"[-k LIST] {record|report|latency|timehist|top}", NULL};
const struct command cmd_kwork = {"kwork", "Analyse interrupts, soft interrupts and work queues of the kernel",
				  usage,   options,
				  run,	   .subcommands = kwork_subcommands};
