/* perf stat report: shows the counts of a recording, as they were shown live or kept apart in another way. */
#include "cmd/stat/stat.h"

#include "base/mem.h"
#include "base/number.h"
#include "cmd/opening.h"
#include "event/builtin.h"
#include "perfdata/reader.h"
#include "perfdata/stat_maps.h"

#include <stdlib.h>
#include <string.h>

struct stat_report_options {
	struct output_options verbosity;
	struct stat_display display;
	const char *input;
	bool force;
	bool sandbox;
};

static const struct option report_option_table[] = {
	OPTION_HEADING("Input"),
	OPTION_STRING('i', "input", struct stat_report_options, input, "FILE",
		      "recording to read (default perf.data, or standard input where that is a pipe; - for standard input)"),
	OPTION_FLAG('f', "force", struct stat_report_options, force, "read the recording even if another user owns it"),
	OPTION_SANDBOX(struct stat_report_options, sandbox),
	OPTION_GROUP(stat_display_group, struct stat_report_options, display),
	OPTION_GROUP(output_option_group, struct stat_report_options, verbosity),
	OPTION_END,
};

/* Which numbering of aggregations a recording has: it changed with Linux 6.4 (which added the fourth term) and 6.9. */
static enum stat_per recorded_per(uint64_t mode, bool has_level, const char *version)
{
	static const enum stat_per until_6_3[] = {STAT_PER_CPU,	 STAT_PER_ALL,	  STAT_PER_SOCKET, STAT_PER_DIE,
						  STAT_PER_CORE, STAT_PER_THREAD, STAT_PER_ALL,	   STAT_PER_NODE};
	static const enum stat_per until_6_8[] = {STAT_PER_CPU,	 STAT_PER_ALL,	  STAT_PER_SOCKET, STAT_PER_DIE, STAT_PER_CACHE,
						  STAT_PER_CORE, STAT_PER_THREAD, STAT_PER_ALL,	   STAT_PER_NODE};
	static const enum stat_per newest[] = {STAT_PER_CPU,   STAT_PER_ALL,  STAT_PER_SOCKET, STAT_PER_DIE, STAT_PER_CLUSTER,
					       STAT_PER_CACHE, STAT_PER_CORE, STAT_PER_THREAD, STAT_PER_ALL, STAT_PER_NODE};
	bool middle = has_level && version && version[0] == '6' && version[1] == '.' && version[2] >= '4' && version[2] <= '8' &&
		      (version[3] < '0' || version[3] > '9');
	size_t count = !has_level ? sizeof(until_6_3) / sizeof(until_6_3[0])
		       : middle	  ? sizeof(until_6_8) / sizeof(until_6_8[0])
				  : sizeof(newest) / sizeof(newest[0]);

	if (mode >= count)
		return STAT_PER_ALL;
	return !has_level ? until_6_3[mode] : middle ? until_6_8[mode] : newest[mode];
}

static void take_config(struct stat_run *run, const struct reader *reader, const struct record_header *header)
{
	uint64_t mode, value, level = 0;
	bool has_level = stat_map_config(header, STAT_CONFIG_AGGR_LEVEL, &level);

	if (stat_map_config(header, STAT_CONFIG_INTERVAL, &value))
		run->options.interval_ms = value;
	if (stat_map_config(header, STAT_CONFIG_SCALE, &value))
		run->options.no_scale = !value;
	if (has_level && !run->options.display.cache_level && level <= 9)
		run->options.display.cache_level = (int)level;
	if (stat_map_config(header, STAT_CONFIG_AGGR_MODE, &mode) && !run->options.display.per_given)
		run->options.display.per = recorded_per(mode, has_level, reader->features.version);
}

static void take_threads(struct stat_run *run, const struct record_header *header)
{
	struct stat_map_thread thread;

	run->threads.len = 0;
	run->thread_names.len = 0;
	for (size_t i = 0; stat_map_thread(header, i, &thread); i++) {
		vec_push(&run->threads, (pid_t)thread.tid);
		vec_push(&run->thread_names, arena_strndup(&run->name_arena, thread.name, thread.name_length));
	}
}

static void take_cpus(struct stat_run *run, const struct record_header *header)
{
	free(run->cpus);
	run->cpus = stat_map_cpus(header, &run->cpu_count);
}

/* A counter's cell, or NULL for one that the recording doesn't describe. */
static struct counter_value *cell_of(const struct stat_run *run, const struct reader *reader, const struct record_stat *record)
{
	const struct event *event = reader_event_by_id(reader, record->id);
	size_t cpu = 0;

	while (cpu < run->cells.cpus && run->cpus[cpu] != record->cpu)
		cpu++;
	if (!event || cpu == run->cells.cpus || record->thread < 0 || (size_t)record->thread >= run->cells.threads)
		return NULL;
	return counter_cell(&run->cells, event->index, cpu, (size_t)record->thread);
}

/* More counters of an event than any recorder opens. */
enum { MOST_CELLS = 1 << 20 };

/* Maps and configuration have been read: cells can be made. */
static struct error *begin(struct stat_run *run, const struct reader *reader)
{
	if (!run->cpu_count || !run->threads.len)
		return error_new_kind(ERROR_FORMAT, "%s does not contain the CPUs and threads that were counted", reader_name(reader));
	if (run->cpu_count * run->threads.len > MOST_CELLS)
		return error_new_kind(ERROR_FORMAT, "%s: invalid size: %zu CPUs times %zu threads", reader_name(reader), run->cpu_count,
				      run->threads.len);
	if (run->options.display.per != STAT_PER_ALL && run->options.display.per != STAT_PER_THREAD && run->cpus[0] < 0)
		return error_new_kind(ERROR_USAGE, "%s: processes were counted, not CPUs: aggregation is possible by thread only",
				      reader_name(reader));
	struct error *error = stat_choose_places(run, &reader->features);
	if (error)
		return error;
	stat_prepare_counts(run);
	run->counters.absent = mem_zalloc_array(run->events->events.len + 1, sizeof(bool));
	for (size_t i = 0; i < run->events->events.len; i++)
		run->counters.absent[i] = !run->events->events.data[i]->ids.len && !run->events->events.data[i]->tool;
	counter_cells_allocate(&run->cells, run->events->events.len, run->cpu_count, run->threads.len);
	return NULL;
}

static void end_round(struct stat_run *run, const struct record_stat_round *round)
{
	if (run->options.interval_ms)
		stat_end_interval(run, round->time_ns);
	if (round->is_final)
		stat_end(run, round->time_ns);
}

static struct error *walk(struct stat_run *run, struct reader *reader)
{
	uint64_t offset = reader->data_offset;
	const struct record_header *header;
	bool begun = false, ended = false;
	struct error *error = NULL;

	while (!error && (header = reader_record(reader, &offset, true))) {
		struct counter_value *cell;
		if (header->type == RECORD_STAT_CONFIG)
			take_config(run, reader, header);
		else if (header->type == RECORD_THREAD_MAP && !begun)
			take_threads(run, header);
		else if (header->type == RECORD_CPU_MAP && !begun)
			take_cpus(run, header);
		if (header->type != RECORD_STAT && header->type != RECORD_STAT_ROUND)
			continue;
		if (!begun)
			error = begin(run, reader);
		begun = true;
		if (error)
			break;
		const struct record_stat *stat = (const void *)header;
		if (header->type == RECORD_STAT_ROUND) {
			end_round(run, (const void *)header);
			ended |= ((const struct record_stat_round *)header)->is_final;
		} else if ((cell = cell_of(run, reader, stat))) {
			*cell = (struct counter_value){
				.value = stat->value, .enabled_ns = stat->enabled_ns, .running_ns = stat->running_ns, .open = true};
		}
	}
	if (!error && !begun)
		error = error_new_kind(ERROR_FORMAT,
				       "%s contains no counts; 'perf stat record' records counts, 'perf report' shows samples",
				       reader_name(reader));
	if (!error && ended)
		stat_show(run);
	return error;
}

static void describe(struct stat_run *run, const struct reader *reader)
{
	struct strbuf text = {0};

	strbuf_add_char(&text, '\'');
	for (uint32_t i = 0; i < reader->features.command_line_count; i++)
		strbuf_printf(&text, "%s%s", i ? " " : "", reader->features.command_line[i]);
	strbuf_add_char(&text, '\'');
	run->what = strbuf_detach(&text);
}

static struct error *report(struct stat_run *run, const struct stat_report_options *options)
{
	struct reader_options input = {.path = options->input, .force = options->force};
	struct reader *reader = NULL;

	if (options->sandbox)
		opening_sandbox(&(struct input_options){.input = options->input}, options->display.output, NULL);
	struct error *error = reader_open(&input, &reader);

	if (error)
		return error;
	run->events = &reader->events;
	for (size_t i = 0; i < run->events->events.len; i++) {
		struct event *event = run->events->events.data[i];
		const struct builtin_event *builtin = builtin_find(event->name, strlen(event->name));
		event->tool = builtin ? builtin->tool : EVENT_TOOL_NONE;
		counting_set_unit(event);
	}
	if (reader->pipe) /* whose header isn't known to say by which command */
		run->what = mem_strdup("'pipe'");
	else
		describe(run, reader);
	error = stat_open_output(run);
	if (!error)
		error = walk(run, reader);
	if (!error)
		error = stat_close_output(run);
	stat_run_deinit(run);
	reader_close(reader);
	return error;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct stat_report_options options = {.display.log_fd = -1, .sandbox = true};
	struct stat_run run = {0};

	struct error *error = options_parse_alone(report_option_table, argc, argv, &options, ": give the recording with -i");
	if (!error)
		error = stat_display_check(&options.display);
	if (error)
		return error;
	stat_options_init(&run.options);
	run.options.display = options.display;
	run.options.display.no_advice = true;
	run.options.verbosity = options.verbosity;
	return report(&run, &options);
}

static const char *const usage[] = {"[-i FILE] [OPTIONS]", NULL};
const struct command cmd_stat_report = {"stat report", "Show the counts of a recording", usage, report_option_table, run};
