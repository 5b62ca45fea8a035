/* perf record: samples events into a perf.data. What is measured is decided here; moving the bytes is capture/recorder.h's. */
#include "cmd/record/record.h"

#include "app/command.h"
#include "app/ending.h"
#include "app/hint.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/text.h"
#include "capture/afterwards.h"
#include "capture/attached.h"
#include "capture/gather/gather.h"
#include "capture/stack_sizes.h"
#include "capture/stack_way.h"
#include "cmd/record/self_contained.h"
#include "event/parse/parse.h"
#include "kernel/fix.h"
#include "kernel/hardware/cpus.h"
#include "kernel/limits.h"
#include "kernel/proc.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Everything a recording needs, released together. */
struct recording {
	struct record_options options;
	struct event_catalog *catalog;
	struct event_list events;
	struct counter_set counters;
	struct record_filters filters;
	struct off_cpu_samples *off_cpu; /* or NULL */
	struct event_list switch_events; /* --switch-output-event */
	struct counter_set switch_counters;
	struct workload workload;
	struct recorder *recorder;
	struct stack_walker *walker; /* or NULL */
	struct targets_place place;
	char **arguments; /* of the command line, for the header */
	struct features features;
	struct record_summary summary;
	bool examined; /* the summary is known */
};

static void recording_deinit(struct recording *recording)
{
	recorder_destroy(recording->recorder);
	off_cpu_samples_close(recording->off_cpu);
	record_filters_close(&recording->filters);
	counters_abandon(&recording->counters);
	workload_deinit(&recording->workload);
	features_deinit(&recording->features);
	strbuf_deinit(&recording->summary.losses);
	stack_walker_close(recording->walker);
	python_frames_destroy(recording->options.sampling.python);
	event_list_deinit(&recording->events);
	counters_abandon(&recording->switch_counters);
	event_list_deinit(&recording->switch_events);
	event_catalog_destroy(recording->catalog);
	targets_place_deinit(&recording->place);
	vec_deinit(&recording->options.words);
	vec_deinit(&recording->options.recorder.edges_ms);
	vec_deinit(&recording->options.recorder.places);
	free(recording->arguments);
}

/* What is only for other commands, or not for recordings. */
static struct error *refuse(const struct event *event)
{
	if (event->max_events)
		return error_new_kind(
			ERROR_UNSUPPORTED,
			"%s: nr= limits what 'perf trace' shows; a recording ends with its command, by Ctrl-C or at --max-size",
			event->name);
	return sampling_refuse(event, true);
}

/* Those of -e, else the default one, which this user may sample. */
static struct error *choose_events(struct recording *recording)
{
	struct event_list *events = &recording->events;

	recording->catalog = event_catalog_create("");
	struct error *error = event_words_apply(&recording->options.words, events, recording->catalog, recording->options.sampling.by_cpu);
	for (size_t i = 0; i < events->events.len && !error; i++)
		error = refuse(events->events.data[i]);
	if (!error && !events->events.len)
		error = sampling_add_default(events, recording->catalog, !limits_can_profile_kernel());
	if (!error && recording->options.off_cpu)
		error = off_cpu_samples_add_event(events, recording->catalog);
	return error;
}

/* --switch-output-event: every single one of these is a sample that wakes us up. */
static struct error *open_switch_event(struct recording *recording, const struct counter_target *target)
{
	struct event_list *events = &recording->switch_events;
	const char *text = recording->options.switch_event;
	struct error *error = event_parse(events, recording->catalog, text);

	for (size_t i = 0; i < events->events.len && !error; i++) {
		struct event_attr *attr = &events->events.data[i]->attr;
		attr->disabled = events->events.data[i]->leader == i;
		attr->sample_type |= PERF_SAMPLE_TID;
		attr->inherit = !recording->options.sampling.no_inherit;
		attr->wakeup_events = 1;
		if (!attr->sample_period)
			attr->sample_period = 1;
	}
	if (!error)
		error = counter_set_open(&recording->switch_counters, events, target);
	recording->options.recorder.trigger = &recording->switch_counters;
	recording->options.recorder.trigger_events = events;
	return error_wrap(error, "--switch-output-event %s", text);
}

/* For the header. What cannot be had is left out. */
static void note_machine(struct recording *recording)
{
	struct gather_options gather = {.arguments = (const char *const *)recording->arguments, .catalog = recording->catalog};

	gather_features(&gather, &recording->features);
	/* Also when empty, as the kernel's perf does. */
	static const enum feature always[] = {FEATURE_PMU_CAPS, FEATURE_BPF_PROG_INFO, FEATURE_BPF_BTF};
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		features_set(&recording->features, always[i]);
	error_free(gather_tracing_data(recording->catalog, &recording->events, &recording->features));
	if (recording->options.recorder.places.len) {
		recording->features.dir_version = 1;
		features_set(&recording->features, FEATURE_DIR_FORMAT);
	}
	if (recording->options.recorder.traces)
		features_set(&recording->features, FEATURE_AUXTRACE);
	if (recording->options.sampling.clockid_given)
		gather_clock(recording->options.sampling.clockid, &recording->features);
	if (!recording->options.sampling.no_bpf_event)
		gather_bpf(&recording->features);
}

/* Called when all data are written: the recording is read once for build-ids, times and losses. */
static struct error *describe(void *context, const char *path, const struct features **ret)
{
	struct recording *recording = context;
	struct stat output;

	*ret = &recording->features;
	if (stat(path, &output) == 0 && S_ISCHR(output.st_mode)) /* /dev/null */
		return NULL;
	struct error *error = record_examine(path, &recording->options, &recording->features, &recording->summary);
	if (error) {
		/* The recording is whole without it. */
		log_warning("Cannot read the recording back to complete its header: %s", error_message(error));
		error_free(error);
		return NULL;
	}
	record_keep_python(recording->options.sampling.python, &recording->features);
	error = recording->options.self_contained ? self_contained_gather(path, false, &recording->features) : NULL;
	if (error) {
		log_warning("--self-contained: %s", error_message(error));
		error_free(error);
	}
	recording->examined = true;
	return NULL;
}

/* For a pipe, whose head comes first: what is known before the data. */
static const struct features *describe_ahead(void *context)
{
	struct recording *recording = context;

	return &recording->features;
}

/* The default event of a user who may not profile the kernel. */
static bool default_is_of_users(const struct event_list *events)
{
	return events->events.len && events->events.data[0]->is_default && events->events.data[0]->attr.exclude_kernel;
}

/* What is sampled instead of what was asked for. */
static void tell_fallbacks(const struct counter_set *counters, const struct event_list *events)
{
	struct strbuf remedy = {0};

	if (counters->fell_back_to_clock && hint_is_due("no-cycles"))
		log_warning("no hardware counters: sampling cpu-clock instead of cycles");
	fix_paranoid(&remedy, 1);
	if (counters->fell_back_to_user || default_is_of_users(events))
		log_warning("kernel.perf_event_paranoid is %d: only user space is sampled, not the kernel. To sample both:  %s",
			    limits_paranoid(), strbuf_str(&remedy));
	strbuf_deinit(&remedy);
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* The lines that end a recording; scripts look for them, so the words are those of the kernel's perf. */
static void tell_totals(const struct recording *recording)
{
	const struct recorder_totals *totals = recorder_totals(recording->recorder);
	char ratio[96] = "", samples[64] = "", *name = totals->last_path;

	if (totals->reached_max_size)
		fprintf(stderr, "[ perf record: perf size limit reached (%llu KB), stopping session ]\n",
			(unsigned long long)(totals->written.data_bytes >> 10));
	fprintf(stderr, "[ perf record: Woken up %llu times to write data ]\n", (unsigned long long)totals->wakeups);
	if (totals->stack_copies)
		fprintf(stderr,
			"[ perf record: Copied %.1f KB of stack for each of %llu samples, at most %.0f KB; %llu of them may end early ]\n",
			(double)totals->stack_bytes / 1024 / (double)totals->stack_copies, (unsigned long long)totals->stack_copies,
			(double)totals->largest_stack / 1024, (unsigned long long)totals->stacks_cut);
	record_tell_stacks(recording->recorder, recording->options.sampling.python);
	if (totals->written.compressed_bytes)
		snprintf(ratio, sizeof(ratio), ", compressed (original %.3f MB, ratio is %.3f)",
			 (double)totals->written.appended_bytes / 1048576,
			 (double)totals->written.appended_bytes / (double)totals->written.compressed_bytes);
	if (recording->examined && recording->summary.samples)
		snprintf(samples, sizeof(samples), " (%llu samples)", (unsigned long long)recording->summary.samples);
	fprintf(stderr, "[ perf record: Captured and wrote %.3f MB %s%s%s ]\n", (double)totals->written.data_bytes / 1048576, name, samples,
		ratio);
}

/* Samples in the kernel can't be named afterwards either. */
static void tell_hidden_addresses(void)
{
	struct strbuf remedy = {0};
	int restricted = limits_kptr_restrict();

	fix_kernel_addresses(&remedy);
	log_warning("Kernel addresses are hidden (kernel.kptr_restrict is %d%s): kernel samples will have no function names. To show "
		    "them:  %s",
		    restricted, restricted ? "" : ", but kernel.perf_event_paranoid is above 1", strbuf_str(&remedy));
	strbuf_deinit(&remedy);
}

/* Events of which each would have been a sample did not occur at all. */
static void tell_rare_events(const struct event_list *events)
{
	const struct event *first = NULL;
	bool several = false, each = true;

	for (size_t i = 0; i < events->events.len; i++) {
		const struct event *event = events->events.data[i];
		if (event_is_dummy(event))
			continue;
		several |= first != NULL;
		first = first ? first : event;
		each &= !event->attr.freq && event->attr.sample_period <= 1;
	}
	if (!first)
		return;
	log_warning("No samples were recorded: %s%s%s did not occur%s", several ? "the events, such as " : "", first->name,
		    several ? "," : "", each ? " while it ran." : " often enough. Measure longer, or sample more often (-F, -c).");
}

/* Whose absence would otherwise be found out by report only. */
static void tell_absence(const struct recording *recording)
{
	const struct record_options *options = &recording->options;
	uint64_t dropped = record_filters_dropped(&recording->filters);
	size_t lost = record_filters_lost(&recording->filters);

	if (lost)
		log_warning(
			"--filter: the pinned program has room for the filters of %d counters, and newer ones have displaced those of %zu of "
			"this recording: it has all of their later samples. Filters of root are not pinned.",
			SAMPLE_FILTER_PINNED_MAX, lost);
	if (dropped)
		log_info("--filter dropped %llu sample%s", (unsigned long long)dropped, plural(dropped));

	bool is_trace = recorder_totals(recording->recorder)->trace_bytes > 0;
	if (!recording->examined || recording->summary.samples || options->sampling.no_samples || options->verbosity.quiet || is_trace)
		return;
	if (dropped) {
		log_warning("No samples were recorded: --filter dropped all %llu.", (unsigned long long)dropped);
		return;
	}
	tell_rare_events(&recording->events);
}

/* What is missing in the recording, each with what helps. */
static void tell_losses(const struct recording *recording)
{
	const struct recorder_totals *totals = recorder_totals(recording->recorder);

	if (totals->addresses_hidden)
		tell_hidden_addresses();
	if (totals->map_timeouts)
		log_warning("Reading the maps of %u process%s took longer than --proc-map-timeout; they are incomplete.",
			    totals->map_timeouts, totals->map_timeouts == 1 ? "" : "es");
	if (recording->summary.losses.len)
		log_warning("%s", strbuf_str(&recording->summary.losses));
	for (size_t i = 0; !recording->examined && totals->lost && i < recording->events.events.len; i++)
		if (totals->lost_by_event[i])
			log_warning("%s: %llu sample%s lost because the buffers were full. Use larger buffers (-m 2M) or a lower "
				    "frequency (-F).",
				    recording->events.events.data[i]->name, (unsigned long long)totals->lost_by_event[i],
				    plural(totals->lost_by_event[i]));
}

/* A mode behind -g, which takes none, is taken for the command. */
static struct error *start_command(struct recording *recording, char **command)
{
	const struct record_options *options = &recording->options;
	struct error *error =
		workload_start(&recording->workload, command, options->recorder.output && !strcmp(options->recorder.output, "-"));
	struct sampling mode = {0};

	if (!error || options->sampling.callgraph == CALLCHAIN_UNSET)
		return error;
	struct error *other = sampling_parse_callgraph(command[0], &mode);
	if (other) {
		error_free(other);
		return error;
	}
	other = error_new("%s (did you mean --call-graph %s?)", error_message(error), command[0]);
	error_free(error);
	return other;
}

/* --call-graph auto and dwarf,auto: stacks that are too long for the first size of copies are seen so soon. */
static void look_at_stacks(struct recording *recording)
{
	enum { LOOK_AT_STACKS_NS = 20000000 };
	struct recorder_options *recorder = &recording->options.recorder;

	if (stack_sizes_wanted(&recording->events) && !recorder->drain_every_ns)
		recorder->drain_every_ns = LOOK_AT_STACKS_NS;
}

/* --call-graph auto, and -g. */
static struct error *choose_way(struct recording *recording)
{
	struct record_options *options = &recording->options;
	const char *obstacle = options->recorder.places.len ? "--threads" : NULL;
	struct error *why = NULL;

	options->sampling.python = options->recorder.python = record_open_python(options);
	struct error *error =
		stack_way_choose(&recording->events, &options->sampling, &recording->place.target, obstacle, &recording->walker, &why);
	if (why && hint_is_due("frame-pointers"))
		log_warning("%s", error_message(why));
	error_free(why);
	if (!error)
		record_off_cpu_choose_way(options, &recording->place, &recording->walker);
	options->recorder.walker = recording->walker;
	return error;
}

/* From the options to the finished file. The command is started first, and held: counters are opened on it. */
static struct error *record(struct recording *recording, char **command, int *ret_status)
{
	struct record_options *options = &recording->options;
	struct error *error = choose_events(recording);

	if (!error)
		error = record_plan_traces(options, &recording->events, recording->catalog);
	if (!error && options->dry_run) {
		*ret_status = 0;
		return NULL;
	}
	if (!error && *command)
		error = start_command(recording, command);
	if (!error)
		error = targets_place(&options->targets, &options->sampling, recording->workload.pid, &recording->place);
	if (!error)
		error = choose_way(recording);
	if (!error)
		error = sampling_configure(&recording->events, &options->sampling);
	if (!error)
		record_off_cpu_configure(options, &recording->events);
	look_at_stacks(recording);
	if (!error)
		error = counter_set_open(&recording->counters, &recording->events, &recording->place.target);
	if (!error)
		error = record_filters_open(&recording->filters, &recording->events, &recording->counters);
	if (!error && options->off_cpu)
		error = record_off_cpu_open(options, &recording->events, &recording->place, &recording->off_cpu);
	if (!error && options->switch_event)
		error = open_switch_event(recording, &recording->place.target);
	if (error)
		return error;
	attached_warn(&recording->events, &recording->counters);
	note_machine(recording);
	options->recorder.context = recording;
	options->recorder.describe = describe;
	if (options->sampling.build_id_mmap)
		options->recorder.build_id = record_read_build_id;
	options->recorder.describe_ahead = describe_ahead;
	options->recorder.synth_jobs = options->synth_jobs > 0 ? (unsigned int)options->synth_jobs : pool_default_jobs();
	error = recorder_create(&options->recorder, &recording->events, &recording->counters,
				recording->workload.pid ? &recording->workload : NULL, &recording->recorder);
	if (error)
		return error;
	tell_fallbacks(&recording->counters, &recording->events);
	if (options->recorder.directory)
		error = record_keep_code(options->recorder.output);
	if (error)
		return error;
	error = recorder_run(recording->recorder);
	workload_stop(&recording->workload);
	struct error *finish_error = recorder_finish(recording->recorder);
	if (!error)
		error = finish_error;
	else
		error_free(finish_error);
	if (!options->verbosity.quiet)
		tell_totals(recording);
	tell_absence(recording);
	tell_losses(recording);
	record_tell_traces(options, recorder_totals(recording->recorder), &recording->summary);
	if (options->self_contained && !recording->examined)
		log_warning("--self-contained: a stream has no place for it; when it is a file, 'perf inject --self-contained -i FILE -o "
			    "OUTPUT' adds it");
	record_off_cpu_tell(recording->off_cpu);
	if (!error)
		*ret_status = ending_status(ENDING_RECORD, &recording->workload, recorder_totals(recording->recorder)->signal);
	/* From here on signals end us: filling the cache may take long. */
	recorder_destroy(recording->recorder);
	recording->recorder = NULL;
	if (!options->no_buildid_cache)
		record_fill_cache(&recording->features, options);
	if (afterwards_is_needed(&recording->events))
		afterwards_leave(&recording->counters);
	return error;
}

/* --setup-filter */
static struct error *set_up_filter(const char *action)
{
	struct error *error = *action == 'p' ? bpf_sample_filter_pin() : bpf_sample_filter_unpin();
	return error ? error_wrap(error, "--setup-filter %s", action) : NULL;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct recording recording = {0};
	int words = 0;

	record_options_init(&recording.options);
	recording.arguments = mem_zalloc_array((size_t)argc + 1, sizeof(*recording.arguments));
	memcpy(recording.arguments, argv, (size_t)argc * sizeof(*argv));
	struct error *error = record_options_configure(&recording.options);
	if (!error)
		error = options_parse(record_option_table, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, &recording.options, &words);
	if (!error && recording.options.setup_filter) {
		error = set_up_filter(recording.options.setup_filter);
		recording_deinit(&recording);
		return error;
	}
	if (!error)
		error = record_options_check(&recording.options, words > 0);
	if (!error && recording.options.realtime) {
		struct sched_param priority = {.sched_priority = recording.options.realtime};
		if (sched_setscheduler(0, SCHED_FIFO, &priority) < 0)
			error = error_system(errno, "cannot set real-time priority %d (-r; 1 to 99, requires root or CAP_SYS_NICE)",
					     recording.options.realtime);
	}
	if (!error)
		error = record(&recording, argv, ret_status);
	recording_deinit(&recording);
	return error;
}

static const char *const usage[] = {"[OPTIONS] [--] COMMAND [ARGUMENTS]",
				    "[OPTIONS] -a | -p PID | -t TID | -C CPUS | -u USER [-- COMMAND [ARGUMENTS]]", NULL};

const struct command cmd_record = {
	.name = "record",
	.summary = "Sample events of a command, of processes or of the whole system into perf.data",
	.usage = usage,
	.options = record_option_table,
	.run = run,
};
