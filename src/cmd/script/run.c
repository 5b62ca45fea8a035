/* The loop of `perf script`: records in time order, filtered, made into text, written. */
#include "cmd/dumping.h"
#include "cmd/known_names.h"
#include "cmd/sampling/sampled_ids.h"
#include "cmd/script/batch.h"
#include "cmd/script/output.h"
#include "cmd/script/script.h"

#include "base/files/replacement.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One file an event (--per-event-dump). */
struct event_dump {
	struct script_output output;
	char *path;
	uint64_t samples;
};

struct run {
	const struct script_options *options;
	struct session *session;
	struct resolver *resolver;
	struct script_text_options text_options;
	struct script_text *text;
	struct script_filter filter; /* a copy: it has a state */
	bool filtered;
	bool counts_ids; /* --pid, --tid */
	struct sampled_ids ids;
	struct dlfilter *dlfilter; /* or NULL */
	const uint64_t *cpu_bits;  /* -C, or NULL: side-band isn't filtered by the session */
	size_t cpu_words;
	struct script_output output;
	struct event_dump *dumps; /* by event index, or NULL */
	size_t dump_count;
	uint64_t last_time, misplaced; /* -d */
};

/* Which option asks for records of a type. */
static bool wants_type(const struct script_options *options, uint32_t type)
{
	switch (type) {
	case RECORD_COMM:
	case RECORD_FORK:
	case RECORD_EXIT:
		return options->show_tasks;
	case RECORD_MMAP:
	case RECORD_MMAP2:
		return options->show_mmaps;
	case RECORD_NAMESPACES:
		return options->show_namespaces;
	case RECORD_SWITCH:
	case RECORD_SWITCH_CPU_WIDE:
		return options->show_switches;
	case RECORD_LOST:
		return options->show_lost;
	case RECORD_FINISHED_ROUND:
		return options->show_rounds;
	case RECORD_KSYMBOL:
		return options->show_bpf || options->show_text_pokes;
	case RECORD_BPF_EVENT:
		return options->show_bpf;
	case RECORD_CGROUP:
		return options->show_cgroups;
	case RECORD_TEXT_POKE:
		return options->show_text_pokes;
	case RECORD_AUXTRACE_ERROR:
		return true;
	default:
		return false;
	}
}

/* Counts always are; side-band by type, and by CPU where its trailer tells one. */
static bool wants_record(const struct run *run, const struct record *record)
{
	if (script_text_is_count(record))
		return true;
	if (!wants_type(run->options, record->header->type))
		return false;
	if (!run->cpu_bits || !record->event)
		return true;
	struct sample_id id;
	sample_id_decode(&run->session->reader->layouts[record->event->index], record->header, &id);
	return id.cpu == (uint32_t)-1 || (id.cpu / 64 < run->cpu_words && run->cpu_bits[id.cpu / 64] >> id.cpu % 64 & 1);
}

/* Where an event's lines go. Events that a pipe brings later than its head go to the common output. */
static struct script_output *output_for(struct run *run, const struct event *event)
{
	if (!run->dumps || event->index >= run->dump_count)
		return &run->output;
	run->dumps[event->index].samples++;
	return &run->dumps[event->index].output;
}

/* -d: after sorting no time should go back. */
static void check_order(struct run *run, const struct sample *sample)
{
	if (sample->time < run->last_time) {
		fprintf(stderr, "Samples misordered, previous: %llu this: %llu\n", (unsigned long long)run->last_time,
			(unsigned long long)sample->time);
		run->misplaced++;
	}
	run->last_time = sample->time;
}

/* Filters in the order of their price: the early one of --dlfilter, ours, then the other one of --dlfilter. */
static struct error *show_sample(struct run *run, const struct record *record, const struct sample *sample)
{
	if (run->options->check_order) {
		check_order(run, sample);
		return NULL;
	}
	struct thread *thread = session_sample_thread(run->session->machine, sample, record->model_time);
	const struct language_sample at = {record, sample, thread};
	if (run->counts_ids)
		sampled_ids_add(&run->ids, machine_of_guest(run->session->machine, sample->guest.machine_pid), sample->pid, sample->tid, 1);
	bool keep = true;
	struct error *error = run->dlfilter ? dlfilter_passes(run->dlfilter, &at, true, &keep) : NULL;
	if (error || !keep)
		return error;
	if (run->filtered && !script_filter_passes(&run->filter, run->session->machine, run->resolver, record, sample, thread))
		return NULL;
	error = run->dlfilter ? dlfilter_passes(run->dlfilter, &at, false, &keep) : NULL;
	if (error || !keep)
		return error;
	struct script_output *output = output_for(run, record->event);
	script_text_sample(run->text, record, sample, thread, &output->text);
	return script_output_flush_full(output);
}

static struct error *show_record(struct run *run, const struct record *record)
{
	if (record->header->type == RECORD_SAMPLE) {
		struct sample sample;
		if (!session_decode(run->session, record, &sample))
			return NULL;
		return show_sample(run, record, &sample);
	}
	if (!wants_record(run, record))
		return NULL;
	script_text_record(run->text, record, &run->output.text);
	return script_output_flush_full(&run->output);
}

/* RECORDING.EVENT.dump. The name comes from the recording: it can't lead to another folder. */
static struct error *open_dump(struct event_dump *dump, const char *recording, const struct event *event)
{
	struct strbuf path = {0};
	strbuf_printf(&path, "%s.", recording);
	text_add_safe(&path, event->name, strlen(event->name));
	strbuf_add_str(&path, ".dump");
	dump->path = strbuf_detach(&path);
	for (char *at = dump->path + strlen(recording); *at; at++)
		if (*at == '/')
			*at = '_';
	int fd;
	struct error *error = output_file_open(dump->path, false, &fd);
	if (error)
		return error;
	script_output_init(&dump->output, fd, true);
	return NULL;
}

static struct error *open_dumps(struct run *run)
{
	const struct event_list *events = &run->session->reader->events;
	const char *recording = run->options->input.input ? run->options->input.input : reader_default_path();
	run->dumps = mem_zalloc_array(events->events.len + 1, sizeof(*run->dumps));
	run->dump_count = events->events.len;
	for (size_t i = 0; i < run->dump_count; i++)
		run->dumps[i].output.fd = -1;
	for (size_t i = 0; i < run->dump_count; i++) {
		struct error *error = open_dump(&run->dumps[i], recording, events->events.data[i]);
		if (error)
			return error;
	}
	return NULL;
}

/* Tells what was written. All are closed, whatever fails. */
static struct error *close_dumps(struct run *run)
{
	struct error *error = NULL;
	for (size_t i = 0; i < run->dump_count; i++) {
		struct event_dump *dump = &run->dumps[i];
		if (dump->output.fd >= 0 && !error)
			error = script_output_flush(&dump->output);
		if (dump->output.fd >= 0 && !error)
			printf("[ perf script: Wrote %.3f MB %s (%llu samples) ]\n", (double)dump->output.written / 1024.0 / 1024.0,
			       dump->path, (unsigned long long)dump->samples);
		if (dump->output.fd >= 0)
			close(dump->output.fd);
		script_output_deinit(&dump->output);
		free(dump->path);
	}
	free(run->dumps);
	return error;
}

/* On this thread, with files for events or a dump of the records if wanted. */
static struct error *show_one_by_one(struct run *run)
{
	struct error *error = run->options->per_event_dump ? open_dumps(run) : NULL;
	struct record record;
	uint64_t dumped = UINT64_MAX;
	while (!error && !run->output.closed && session_next(run->session, &record, &error) > 0) {
		if (run->options->dump)
			dumping_add_record(run->session, &record, &dumped, &run->output.text);
		error = show_record(run, &record);
	}
	if (!error)
		error = script_output_flush(&run->output);
	struct error *dump_error = close_dumps(run);
	if (error)
		error_free(dump_error);
	return error ? error : dump_error;
}

static struct script_text *create_text(void *context)
{
	struct run *run = context;
	return script_text_create(run->session, run->resolver, &run->text_options);
}

/* For a batch: text of side-band, made on the main thread. */
static void add_record(void *context, const struct record *record, struct strbuf *out)
{
	struct run *run = context;
	if (wants_record(run, record))
		script_text_record(run->text, record, out);
}

static struct error *show_in_batches(struct run *run)
{
	return script_batch_show(&(struct script_batch_options){
		.session = run->session,
		.resolver = run->resolver,
		.filter = &run->filter,
		.output = &run->output,
		.ids = run->counts_ids ? &run->ids : NULL,
		.create_text = create_text,
		.add_record = add_record,
		.context = run,
	});
}

/* Several threads can make the text when each line stands for itself and the records stay where they are. */
static bool can_batch(const struct run *run)
{
	const struct event_list *events = &run->session->reader->events;
	for (size_t i = 0; i < events->events.len; i++)
		if (events->events.data[i]->attr.sample_type & PERF_SAMPLE_READ)
			return false;
	return !run->text_options.stitcher && run->session->jobs > 1 && run->session->reader->stable && !run->options->per_event_dump &&
	       !run->options->dump && !run->options->check_order && !run->dlfilter && !script_text_ordered(run->text) &&
	       !script_filter_is_ordered(&run->filter);
}

static void init_text_options(struct script_text_options *ret, const struct script_options *options)
{
	*ret = (struct script_text_options){
		.fields = options->fields,
		.json = options->json,
		.callchains = !options->hide_call_graph,
		.nanoseconds = options->nanoseconds,
		.relative = options->relative,
		.delta = options->delta,
		.latency = options->latency,
		.max_blocks = options->max_blocks,
		.kernel_path = options->kernel_path,
		.source_path = options->source_path,
		.file_width = options->file_width,
		.disassemble = options->disassemble,
		.verbose = options->output.verbose > 0,
		.max_stack = (unsigned int)options->max_stack,
		.inlines = options->inlines,
		.stop_at = options->filter.stop_at.len ? options->filter.stop_at.data : NULL,
	};
}

/* Numbers of --pid and --tid that no sample had. */
static void warn_of_ids(const struct run *run)
{
	sampled_ids_warn(&run->ids, SAMPLED_PROCESS, run->filter.pids.data, run->filter.pids.len);
	sampled_ids_warn(&run->ids, SAMPLED_THREAD, run->filter.tids.data, run->filter.tids.len);
}

/* Names of --comms that no thread had. */
static void warn_of_names(const struct run *run)
{
	const struct machine *machine = run->session->machine;
	struct known_names names = {0};
	for (size_t i = 0; i < machine->threads.len; i++)
		for (uint32_t j = 0; j < machine->threads.data[i]->comm_count; j++)
			known_names_add(&names, machine->threads.data[i]->comms[j].name);
	known_names_check(&names, run->filter.comms.data, run->filter.comms.len, "--comms", "thread");
	known_names_deinit(&names);
}

static void warn_of_filters(const struct run *run)
{
	if (run->counts_ids)
		warn_of_ids(run);
	if (run->filter.comms.len)
		warn_of_names(run);
	if (run->filter.symbols.len && !run->dumps && !run->output.written && !run->output.text.len)
		log_warning("-S: no sample is in such a function; 'perf report -s sym' lists the functions that have samples");
}

struct error *script_run(const struct script_options *options, struct opening *opening)
{
	struct run run = {.options = options, .session = opening->session, .resolver = opening->resolver, .filter = options->filter};
	run.cpu_bits = opening->cpu_bits;
	run.cpu_words = opening->cpu_words;
	run.filtered = !script_filter_is_empty(&run.filter);
	run.counts_ids = run.filter.pids.len || run.filter.tids.len;
	init_text_options(&run.text_options, options);
	run.text_options.stitcher = options->stitch_lbr ? opening_stitcher(opening) : NULL;
	run.text = create_text(&run);
	script_output_init(&run.output, STDOUT_FILENO, !run.session->reader->stable);
	struct error *error = script_open_dlfilter(options, opening, &run.dlfilter);
	if (!error)
		error = can_batch(&run) ? show_in_batches(&run) : show_one_by_one(&run);
	if (!error && options->check_order)
		fprintf(stderr, "Misordered timestamps: %llu\n", (unsigned long long)run.misplaced);
	const uint64_t *counts = run.session->record_counts;
	if (!error && !counts[RECORD_SAMPLE] && !counts[RECORD_STAT])
		log_warning("%s has no samples", reader_name(run.session->reader));
	else if (!error && !run.output.closed)
		warn_of_filters(&run);
	if (!error)
		opening_warn(opening);
	struct error *stopped = dlfilter_close(run.dlfilter);
	if (error)
		error_free(stopped);
	else
		error = stopped;
	sampled_ids_deinit(&run.ids);
	map64_deinit(&run.filter.within);
	script_output_deinit(&run.output);
	script_text_destroy(run.text);
	stitcher_destroy(run.text_options.stitcher);
	return error;
}
