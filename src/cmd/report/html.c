/* perf report --html: all of a recording as one page to look around in. */
#include "analysis/annotate/annotate.h"
#include "analysis/profile/profile.h"
#include "base/files/replacement.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "cmd/report/report.h"
#include "view/profile_html.h"

#include <stdio.h>
#include <string.h>

enum { FUNCTIONS = 20, NODES_MOST = 250000, EVENTS_MOST = 16 };

struct error *report_check_html(const struct report_options *options)
{
	if (options->format || options->dump || options->stats || options->tasks || options->mmaps || options->header_only ||
	    options->hierarchy || options->total_cycles || options->mem_mode || options->branch_history || options->sort || options->fields)
		return error_new_kind(
			ERROR_USAGE,
			"--html writes a page that shows stacks, functions and time: options for tables (-s, -F, --hierarchy, …), "
			"--format and other reports do not go with it");
	return NULL;
}

/* ---- what was recorded ---- */

__attribute__((format(printf, 3, 4))) static void add_fact(struct profile_page *profile, const char *name, const char *format, ...)
{
	struct strbuf text = {0};
	va_list arguments;
	va_start(arguments, format);
	strbuf_vprintf(&text, format, arguments);
	va_end(arguments);
	if (text.len)
		vec_push(&profile->facts, (struct profile_fact){name, arena_strdup(&profile->arena, strbuf_str(&text))});
	strbuf_deinit(&text);
}

static const char *command_line(struct profile_page *profile, const struct features *features)
{
	struct strbuf text = {0};
	for (uint32_t i = 0; i < features->command_line_count; i++)
		strbuf_printf(&text, "%s%s", i ? " " : "", features->command_line[i]);
	const char *copy = arena_strdup(&profile->arena, strbuf_str(&text));
	strbuf_deinit(&text);
	return copy;
}

static void add_facts(const struct report *report, struct profile_page *profile)
{
	const struct session *session = report->session;
	const struct features *features = &session->reader->features;
	struct strbuf losses = {0};
	const char *command = command_line(profile, features);
	profile->title = arena_strdup(&profile->arena, *command ? command : reader_name(session->reader));
	profile->duration_ns = session->last_time - session->first_time;
	add_fact(profile, "Recording", "%s", reader_name(session->reader));
	add_fact(profile, "Command", "%s", command);
	add_fact(profile, "Duration", "%.3f s", (double)profile->duration_ns / 1e9);
	add_fact(profile, "Machine", "%s", features->hostname ? features->hostname : "");
	add_fact(profile, "Kernel", "%s%s%s", features->os_release ? features->os_release : "", features->arch ? " " : "",
		 features->arch ? features->arch : "");
	add_fact(profile, "Processor", "%s", features->cpu_desc ? features->cpu_desc : "");
	if (features->cpus_online)
		add_fact(profile, "CPUs", "%u", features->cpus_online);
	if (features->total_memory_kb)
		add_fact(profile, "Memory", "%.1f GB", (double)features->total_memory_kb / (1 << 20));
	session_loss_text(session, &losses);
	add_fact(profile, "Loss", "%s", losses.len ? strbuf_str(&losses) : "nothing was lost");
	strbuf_clear(&losses);
	session_diagnostics_text(session, &losses);
	add_fact(profile, "Damage", "%s", strbuf_str(&losses));
	strbuf_deinit(&losses);
}

/* ---- stacks, time, lanes ---- */

static void add_words(void *context, const struct fold_sample *sample, uint64_t *words)
{
	const struct report *report = context;
	profile_words(report->session, sample, words);
}

static struct error *fold_samples(struct report *report)
{
	struct fold_options options;
	report_fold_options(report, &options);
	options.chains = report->chains;
	options.branches = options.branch_history = false;
	options.threads = true;
	options.by_file = true;
	options.by_address = options.by_line = false;
	options.extra_words = PROFILE_WORDS;
	options.extra = add_words;
	struct error *error = fold_of_session(report->session, report->opening.resolver, &options, &report->fold);
	if (!error)
		report_keep_shown(report);
	return error;
}

static void add_events(struct report *report, struct profile_page *profile)
{
	const struct event_list *events = &report->session->reader->events;
	bool *seen = mem_zalloc_array(events->events.len + 1, sizeof(*seen));
	size_t shown = 0;
	for (size_t i = 0; i < report->fold->entry_count; i++)
		seen[report->fold->entries[i].event] = true;
	for (size_t i = 0; i < events->events.len; i++)
		shown += seen[i];
	size_t left = EVENTS_MOST, most = NODES_MOST / (shown < EVENTS_MOST ? (shown ? shown : 1) : EVENTS_MOST);
	for (size_t i = 0; i < events->events.len && left; i++)
		if (seen[i]) {
			profile_add_event(profile, report->fold, events->events.data[i], most);
			left--;
		}
	if (shown > EVENTS_MOST)
		log_warning("the page has the first %d of %zu events with samples", EVENTS_MOST, shown);
	free(seen);
}

/* ---- code ---- */

static void add_code(struct profile_page *profile, struct annotate *annotate, const struct event *event)
{
	const unsigned int index = event->index;
	uint32_t *order = NULL;
	size_t count = annotate_order(annotate, &index, 1, &order);
	for (size_t i = 0; i < count && profile->annotations.len < FUNCTIONS; i++) {
		struct annotation *annotation;
		struct error *error = annotate_function(annotate, &annotate->functions[order[i]], &index, 1, &annotation);
		if (error) {
			error_free(error); /* a function without code has none on the page */
			continue;
		}
		annotation->events[0].name = event->name;
		vec_push(&profile->annotations, annotation);
	}
	free(order);
}

/* ---- the page ---- */

static struct error *write_page(const struct report *report, const struct profile_page *profile)
{
	struct replacement file;
	struct error *error = replacement_begin(report->options->html, &file);
	if (error)
		return error;
	struct sink out = sink_to_file(file.file);
	error = replacement_end(&file, profile_html_write(profile, &out));
	if (!error && log_level() >= LOG_WARNING)
		fprintf(stderr, "[ perf report: written to %s ]\n", report->options->html);
	return error;
}

struct error *report_html(struct report *report)
{
	const struct annotate_options code = code_options_annotate(&report->options->code, report->options->input.symfs);
	struct annotate *annotate = NULL;
	struct error *error = report_prepare(report);
	if (!error)
		error = fold_samples(report);
	if (!error && !report->fold->entry_count)
		error = error_new("the recording has no samples%s: nothing to show",
				  report->session->record_counts[RECORD_SAMPLE] ? " that pass the filter" : "");
	if (!error)
		error = annotate_create(report->session, report->opening.resolver, &code, &annotate);
	if (error)
		return error;
	struct profile_page *profile = mem_zalloc(sizeof(*profile));
	add_facts(report, profile);
	add_events(report, profile);
	for (size_t i = 0; i < report->session->reader->events.events.len && !profile->annotations.len; i++)
		add_code(profile, annotate, report->session->reader->events.events.data[i]);
	error = write_page(report, profile);
	profile_destroy(profile);
	annotate_destroy(annotate);
	report_hints(report);
	return error;
}
