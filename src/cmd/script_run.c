/* The loop of `perf script`: records in time order, filtered, made into text, written. */
#include "cmd/script.h"
#include "cmd/script_output.h"

#include "base/log.h"
#include "base/mem.h"

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
	struct script_text *text;
	struct script_filter filter; /* a copy: it has a state */
	bool filtered;
	struct script_output output;
	struct map64 counters; /* id → value, of events whose samples read their counters */
	struct event_dump *dumps; /* by event index, or NULL */
	size_t dump_count;
};

static bool wants_record(const struct script_options *options, uint32_t type)
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
	default:
		return false;
	}
}

static struct script_output *output_for(struct run *run, const struct event *event)
{
	if (!run->dumps || event->index >= run->dump_count)
		return &run->output;
	run->dumps[event->index].samples++;
	return &run->dumps[event->index].output;
}

static struct error *show_sample(struct run *run, const struct record *record, const struct sample *sample)
{
	struct thread *thread = machine_thread_or_new(run->session->machine, sample->pid, sample->tid, record->model_time);
	if (run->filtered && !script_filter_passes(&run->filter, run->session->machine, run->resolver, record, sample, thread))
		return NULL;
	struct script_output *output = output_for(run, record->event);
	script_text_sample(run->text, record, sample, thread, &output->text);
	return script_output_flush_full(output);
}

/* A sample that read its group's counters stands for one sample of each counter that has moved since it was read before. */
static struct error *show_counters(struct run *run, const struct record *record, const struct sample *sample)
{
	const struct sample_layout *layout = &run->session->reader->layouts[record->event->index];
	struct error *error = NULL;
	for (uint64_t i = 0; i < sample->counter_count && !error; i++) {
		struct sample_counter counter = sample_counter(layout, sample, i);
		struct sample one = *sample;
		struct record as_member = *record;
		if (layout->read_format & PERF_FORMAT_ID) {
			as_member.event = reader_event_by_id(run->session->reader, counter.id);
			one.id = counter.id;
		}
		uint64_t *before = map64_insert(&run->counters, one.id, NULL);
		one.period = counter.value - *before;
		*before = counter.value;
		if (as_member.event && one.period)
			error = show_sample(run, &as_member, &one);
	}
	return error;
}

static struct error *show_record(struct run *run, const struct record *record)
{
	if (record->header->type == RECORD_SAMPLE) {
		struct sample sample;
		if (!session_decode(run->session, record, &sample))
			return NULL;
		bool counters = record->event->attr.sample_type & PERF_SAMPLE_READ;
		return counters ? show_counters(run, record, &sample) : show_sample(run, record, &sample);
	}
	if (!wants_record(run->options, record->header->type))
		return NULL;
	script_text_record(run->text, record, &run->output.text);
	return script_output_flush_full(&run->output);
}

static struct error *open_dump(struct event_dump *dump, const char *recording, const struct event *event)
{
	dump->path = mem_printf("%s.%s.dump", recording, event->name);
	for (char *at = dump->path + strlen(recording); *at; at++)
		if (*at == '/')
			*at = '_';
	int fd = open(dump->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return error_system(errno, "%s", dump->path);
	script_output_init(&dump->output, fd, true);
	return NULL;
}

static struct error *open_dumps(struct run *run)
{
	const struct event_list *events = &run->session->reader->events;
	const char *recording = run->options->input.input ? run->options->input.input : "perf.data";
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

static struct error *close_dumps(struct run *run)
{
	struct error *error = NULL;
	for (size_t i = 0; i < run->dump_count; i++) {
		struct event_dump *dump = &run->dumps[i];
		if (dump->output.fd >= 0 && !error)
			error = script_output_flush(&dump->output);
		if (dump->output.fd >= 0 && !error)
			printf("[ perf script: Wrote %.3f MB %s (%llu samples) ]\n", (double)dump->output.written / 1024.0 / 1024.0, dump->path,
			       (unsigned long long)dump->samples);
		if (dump->output.fd >= 0)
			close(dump->output.fd);
		script_output_deinit(&dump->output);
		free(dump->path);
	}
	free(run->dumps);
	return error;
}

static struct error *show_all(struct run *run)
{
	struct error *error = run->options->per_event_dump ? open_dumps(run) : NULL;
	struct record record;
	while (!error && !run->output.closed && session_next(run->session, &record, &error) > 0)
		error = show_record(run, &record);
	if (!error)
		error = script_output_flush(&run->output);
	struct error *dump_error = close_dumps(run);
	if (error)
		error_free(dump_error);
	return error ? error : dump_error;
}

/* Names for the kernel addresses that tracepoints print (%pS). */
static const char *name_kernel_function(void *context, uint64_t address, uint64_t *ret_start, const char **ret_module)
{
	struct run *run = context;
	struct frame frame;
	resolver_frame(run->resolver, run->session->machine->kernel_maps, CPUMODE_KERNEL, address, UINT64_MAX, &frame);
	if (!frame.symbol)
		return NULL;
	*ret_start = address - (frame.dso_addr - frame.symbol->start);
	*ret_module = frame.map->dso->kind == DSO_KERNEL_MODULE ? frame.map->dso->short_name : NULL;
	return frame.symbol->name;
}

static struct script_text *create_text(const struct script_options *options, struct opening *opening)
{
	const struct script_text_options text_options = {
		.fields = options->fields,
		.callchains = !options->hide_call_graph,
		.nanoseconds = options->nanoseconds,
		.relative = options->relative,
		.delta = options->delta,
		.kernel_path = options->kernel_path,
		.max_stack = (unsigned int)options->max_stack,
		.stop_at = options->filter.stop_at.len ? options->filter.stop_at.data : NULL,
	};
	return script_text_create(opening->session, opening->resolver, &text_options);
}

/* What is missing in the output, to standard error. */
static void tell_losses(const struct session *session)
{
	struct strbuf text = {0};
	session_loss_text(session, &text);
	if (text.len)
		log_warning("%s", text.data);
	strbuf_clear(&text);
	session_trouble_text(session, &text);
	if (text.len)
		log_warning("%s", text.data);
	strbuf_deinit(&text);
}

struct error *script_run(const struct script_options *options, struct opening *opening)
{
	struct run run = {.options = options, .session = opening->session, .resolver = opening->resolver, .filter = options->filter};
	run.filtered = !script_filter_is_empty(&run.filter);
	run.text = create_text(options, opening);
	if (run.session->reader->formats)
		tracepoint_formats_set_resolver(run.session->reader->formats, name_kernel_function, &run);
	script_output_init(&run.output, STDOUT_FILENO, !run.session->reader->stable);
	struct error *error = show_all(&run);
	if (!error)
		tell_losses(run.session);
	script_output_deinit(&run.output);
	map64_deinit(&run.counters);
	script_text_destroy(run.text);
	return error;
}
