/* perf stat: counts events of a command, of processes or of everything. */
#include "cmd/stat/stat.h"

#include "app/command.h"
#include "app/ending.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "capture/afterwards.h"
#include "kernel/hardware/cpus.h"
#include "kernel/hardware/smi_freeze.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void stat_run_deinit(struct stat_run *run)
{
	counter_cells_deinit(&run->cells);
	counts_deinit(&run->counts);
	counts_deinit(&run->total);
	vec_deinit(&run->each_elapsed);
	stat_bpf_close(run);
	if (run->smi_thawed)
		smi_freeze_end();
	counters_abandon(&run->counters);
	workload_deinit(&run->workload);
	stat_record_close(run->recording);
	arena_deinit(&run->place_arena);
	arena_deinit(&run->name_arena);
	metric_plan_deinit(&run->metrics);
	event_list_deinit(&run->own_events);
	event_catalog_destroy(run->catalog);
	vec_deinit(&run->threads);
	vec_deinit(&run->thread_names);
	vec_deinit(&run->options.words);
	vec_deinit(&run->options.metric_words);
	free(run->cpus);
	free(run->scheduled_before);
	free(run->what);
	error_free(stat_close_output(run));
}

/* Which CPUs and which threads. */
static struct error *choose_target(struct stat_run *run)
{
	const struct stat_options *options = &run->options;
	struct error *error = NULL;

	if (options->targets.cpus)
		error = cpus_parse(options->targets.cpus, &run->cpus, &run->cpu_count);
	else if (options->targets.system_wide)
		cpus_online(&run->cpus, &run->cpu_count);
	if (!error)
		error = targets_find_threads(&options->targets, &run->threads);
	if (!error && options->targets.system_wide && options->display.per == STAT_PER_THREAD)
		error = proc_all_threads(&run->threads);
	return error;
}

/* As the title says it. */
static char *describe_target(const struct stat_run *run)
{
	const struct stat_options *options = &run->options;
	struct strbuf text = {0};

	if (options->bpf_programs)
		strbuf_printf(&text, "'BPF program(s) %s'", options->bpf_programs);
	else if (options->targets.cpus)
		strbuf_printf(&text, "'CPU(s) %s'", options->targets.cpus);
	else if (options->targets.system_wide)
		strbuf_add_str(&text, "'system wide'");
	else if (options->targets.pids)
		strbuf_printf(&text, "process id '%s'", options->targets.pids);
	else if (options->targets.tids)
		strbuf_printf(&text, "thread id '%s'", options->targets.tids);
	else if (options->targets.user)
		strbuf_printf(&text, "user '%s'", options->targets.user);
	for (char **word = run->command; word && *word && !text.len; word++) {
		strbuf_printf(&text, "'%s", *word);
		while (*++word)
			strbuf_printf(&text, " %s", *word);
		strbuf_add_char(&text, '\'');
		break;
	}
	return strbuf_detach(&text);
}

static struct error *run_around(const char *option, const char *command)
{
	if (!command)
		return NULL;
	int status = system(command);
	if (status == -1 || !WIFEXITED(status) || WEXITSTATUS(status))
		return error_new("%s '%s' failed", option, command);
	return NULL;
}

static struct error *measure_once(struct stat_run *run)
{
	struct error *error = run_around("--pre", run->options.pre);

	if (error)
		return error;
	if (run->options.sync)
		sync();
	error = stat_measure(run);
	return error ? error : run_around("--post", run->options.post);
}

static struct error *measure(struct stat_run *run)
{
	const struct stat_options *options = &run->options;
	struct error *error = stat_choose_events(run);

	if (!error)
		error = choose_target(run);
	if (!error)
		error = stat_choose_places(run, NULL);
	if (!error)
		error = stat_open_output(run);
	if (error)
		return error;
	run->what = describe_target(run);
	stat_prepare_counts(run);
	for (int done = 0; !run->stop && !error && (!options->repeat || done < options->repeat); done++) {
		error = measure_once(run);
		if (error || options->repeat)
			continue;
		stat_show(run);
		counts_clear(&run->counts);
		counts_clear(&run->total);
		run->each_elapsed.len = 0;
		run->scheduled = (struct proc_scheduled){0};
	}
	if (!error && options->repeat)
		stat_show(run);
	if (!error)
		error = stat_record_end(run);
	if (afterwards_is_needed(run->events))
		afterwards_leave(&run->counters);
	return error;
}

/* `recorded`: argv[0] is the word "record". */
static struct error *count(bool recorded, int argc, char **argv, int *ret_status)
{
	struct stat_run run = {0};
	int words = 0;

	run.arguments = mem_zalloc_array((size_t)argc + 2, sizeof(*run.arguments));
	run.arguments[0] = "stat";
	memcpy(run.arguments + recorded, argv, (size_t)argc * sizeof(*argv));
	stat_options_init(&run.options);
	run.options.recorded = recorded;
	struct error *error = options_parse(stat_option_table, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &run.options, &words);
	run.command = words ? argv : NULL;
	if (!error)
		error = stat_options_check(&run.options, words > 0);
	if (!error)
		error = measure(&run);
	if (!error)
		error = stat_close_output(&run);
	if (!error && (!run.cut || run.timed_out))
		*ret_status = ending_status(ENDING_STAT, &run.workload, run.signal);
	free(run.arguments);
	stat_run_deinit(&run);
	return error;
}

static struct error *run_stat(int argc, char **argv, int *ret_status)
{
	return count(false, argc, argv, ret_status);
}

static struct error *run_record(int argc, char **argv, int *ret_status)
{
	return count(true, argc, argv, ret_status);
}

static const char *const record_usage[] = {"[-o FILE] [OPTIONS] [--] [COMMAND [ARGUMENTS]]", NULL};
static const struct command cmd_stat_record = {"stat record", "Count events, and store the counts in a recording", record_usage,
					       stat_option_table, run_record};
static const struct command *const subcommands[] = {&cmd_stat_record, &cmd_stat_report, NULL};
static const char *const usage[] = {"[OPTIONS] [--] COMMAND [ARGUMENTS]",
				    "[OPTIONS] -a | -p PID | -t TID | -C CPUS | -u USER [-- COMMAND [ARGUMENTS]]",
				    "{record|report} [OPTIONS]", NULL};
const struct command cmd_stat = {"stat",   "Count events of a command, of processes or of the whole system",
				 usage,	   stat_option_table,
				 run_stat, .subcommands = subcommands};
