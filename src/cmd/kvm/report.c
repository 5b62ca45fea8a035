/* perf kvm stat report: why guests left guest mode, how often, and for how long. */
#include "cmd/kvm/kvm.h"

#include "app/format_option.h"
#include "app/pager.h"
#include "base/log.h"
#include "base/number.h"
#include "view/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct report_command {
	struct kvm_choice choice;
	struct input_options input;
	struct output_options output;
	const char *format;
};

/* ---- options ---- */

struct error *kvm_option_event(const struct option *option, const char *argument, bool negated, void *field)
{
	for (enum kvm_event event = 0; event < KVM_EVENTS; event++)
		if (!strcmp(argument, kvm_event_name(event))) {
			*(enum kvm_event *)field = event;
			return NULL;
		}
	return error_new_kind(ERROR_USAGE, "unknown event '%s'; the events are vmexit, mmio, ioport and msr", argument);
}

struct error *kvm_option_key(const struct option *option, const char *argument, bool negated, void *field)
{
	*(bool *)field = !strcmp(argument, "time");
	if (*(bool *)field || !strcmp(argument, "sample"))
		return NULL;
	return error_new_kind(ERROR_USAGE, "unknown key '%s'; the keys are sample and time", argument);
}

struct error *kvm_option_vcpu(const struct option *option, const char *argument, bool negated, void *field)
{
	struct kvm_choice *choice = field;
	choice->one_vcpu = true;
	if (number_parse_u64(argument, &choice->vcpu) && choice->vcpu <= INT32_MAX)
		return NULL;
	return error_new_kind(ERROR_USAGE, "'%s' is not the number of a virtual processor", argument);
}

struct error *kvm_choose(const struct kvm_choice *choice, struct kvm_process_ids *ids, struct kvm_options *ret)
{
	int *list;
	size_t count;
	ret->event = choice->event;
	ret->by_time = choice->by_time;
	ret->vcpu = choice->one_vcpu ? (int64_t)choice->vcpu : -1;
	if (!choice->pids)
		return NULL;
	if (!number_parse_list(choice->pids, &list, &count))
		return error_new_kind(ERROR_USAGE, "-p %s: expected the ids of processes, such as 4711,4712", choice->pids);
	for (size_t i = 0; i < count; i++)
		vec_push(&ids->list, (uint32_t)list[i]);
	free(list);
	ret->pids = ids->list.data;
	ret->pid_count = ids->list.len;
	return NULL;
}

/* ---- text ---- */

enum { KEY_COLUMNS = 20, KEY_BYTES = 19 };

static double microseconds(uint64_t ns)
{
	return (double)ns / 1e3;
}

static void print_row(const struct kvm_row *row, uint64_t count, uint64_t time)
{
	struct strbuf key = {0};
	kvm_add_key(&key, &row->key);
	printf("%*.*s %10" PRIu64 " %8.2f%% %8.2f%% %9.2fus %9.2fus %9.2fus ( +-%7.2f%% )\n", KEY_COLUMNS, KEY_BYTES, strbuf_str(&key),
	       row->count, 100 * (double)row->count / (double)count, time ? 100 * (double)row->time / (double)time : 0,
	       microseconds(row->shortest), microseconds(row->longest), microseconds(row->time) / (double)row->count,
	       statistics_relative(&row->times));
	strbuf_deinit(&key);
}

void kvm_print(const struct kvm_exits *exits, const struct kvm_choice *choice)
{
	size_t row_count;
	uint64_t count = 0, time = 0;
	struct kvm_row *rows = kvm_exits_rows(exits, &row_count);
	for (size_t i = 0; i < row_count; i++) {
		count += rows[i].count;
		time += rows[i].time;
	}
	printf("\n\nAnalyze events for ");
	if (choice->pids)
		printf("pid(s) %s, ", choice->pids);
	else
		printf("all VMs, ");
	if (choice->one_vcpu)
		printf("VCPU %" PRIu64 ":\n\n", choice->vcpu);
	else
		printf("all VCPUs:\n\n");
	printf("%*s %10s %9s %9s %11s %11s %16s \n\n", KEY_COLUMNS, kvm_event_title(choice->event), "Samples", "Samples%", "Time%",
	       "Min Time", "Max Time", "Avg time");
	for (size_t i = 0; i < row_count; i++)
		print_row(&rows[i], count, time);
	printf("\nTotal Samples:%" PRIu64 ", Total events handled time:%.2fus.\n\n", count, microseconds(time));
	free(rows);
}

/* ---- for programs ---- */

static struct error *print_table(const struct kvm_exits *exits, const struct report_command *command)
{
	static const struct column columns[] = {
		{"event", "Event", COLUMN_TEXT},
		{"key", "Key", COLUMN_TEXT},
		{"count", "Samples", COLUMN_COUNT, ALIGN_RIGHT},
		{"time", "Time", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"min", "Min time", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"max", "Max time", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{"avg", "Avg time", COLUMN_NANOSECONDS, ALIGN_RIGHT},
		{.id = "deviation", .title = "Deviation", .kind = COLUMN_REAL, .align = ALIGN_RIGHT, .decimals = 2},
	};
	enum { COLUMNS = sizeof(columns) / sizeof(*columns) };
	struct table *table = table_create_columns("kvm_stat", columns, COLUMNS);
	size_t count;
	struct kvm_row *rows = kvm_exits_rows(exits, &count);
	for (size_t i = 0; i < count; i++) {
		struct strbuf key = {0};
		kvm_add_key(&key, &rows[i].key);
		const union cell cells[COLUMNS] = {
			{.text = kvm_event_name(command->choice.event)},
			{.text = arena_strdup(&table->arena, strbuf_str(&key))},
			{.integer = rows[i].count},
			{.integer = rows[i].time},
			{.integer = rows[i].shortest},
			{.integer = rows[i].longest},
			{.integer = rows[i].time / rows[i].count},
			{.real = statistics_relative(&rows[i].times)},
		};
		table_add_row(table, cells);
		strbuf_deinit(&key);
	}
	free(rows);
	return view_print_table(command->format, table, stdout);
}

/* ---- */

static const struct option options[] = {
	KVM_CHOICE(struct report_command),
	OPTION_CUSTOM_FLAGS(0, "format", struct report_command, format, "FORMAT", "machine-readable output: csv or json",
			    option_table_format, OPTION_NO_NEGATION),
	OPTION_JSON('j', struct report_command, format),
	OPTION_GROUP(input_option_group, struct report_command, input),
	OPTION_GROUP(output_option_group, struct report_command, output),
	OPTION_SANDBOX(struct report_command, input.sandbox),
	OPTION_END,
};

static struct error *show(struct opening *opening, const struct report_command *command, const struct kvm_options *wanted)
{
	struct kvm_exits *exits;
	struct error *error = kvm_exits_create(opening->session, wanted, &exits);
	if (error)
		return error;
	error = kvm_exits_run(exits);
	if (!error && command->format) {
		error = print_table(exits, command);
	} else if (!error) {
		pager_start("kvm");
		kvm_print(exits, &command->choice);
	}
	if (!error)
		opening_warn(opening);
	kvm_exits_destroy(exits);
	return error;
}

struct error *kvm_stat_report(const struct kvm_files *files, int argc, char **argv)
{
	struct report_command command = {0};
	struct kvm_options wanted = {0};
	struct kvm_process_ids ids = {0};
	struct opening opening = {0};
	input_options_init(&command.input);
	command.input.input = kvm_file(files);
	struct error *error = options_parse_alone(options, argc, argv, &command, ": give the recording with -i");
	if (!error)
		error = kvm_choose(&command.choice, &ids, &wanted);
	const struct opening_options how = {.input = &command.input, .confined = "kvm", .recorder = "perf kvm stat record"};
	if (!error)
		error = opening_begin(&opening, &how);
	if (!error)
		error = show(&opening, &command, &wanted);
	opening_end(&opening);
	vec_deinit(&ids.list);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	return kvm_stat_report(&(struct kvm_files){0}, argc, argv);
}

static const char *const usage[] = {"[--event EVENT] [--vcpu N] [-k KEY] [-p PID,…] [-i FILE]", NULL};
const struct command cmd_kvm_stat_report = {"kvm stat report",	"Show why guests left guest mode, and for how long", usage, options, run,
					    .own_options = true};
