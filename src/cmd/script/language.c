/* The loop of `perf script -s`: records in time order, filtered, handed to a script's functions. */
#include "cmd/script/language.h"

#include "app/places.h"
#include "base/cleanup.h"
#include "base/files/replacement.h"
#include "base/log.h"
#include "base/mem.h"
#include "language/language.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct feeding {
	struct session *session;
	struct resolver *resolver;
	struct script_filter filter; /* a copy: it has a state */
	bool filtered;
	struct language *language;
	struct dlfilter *dlfilter; /* or NULL */
	struct counted *counted;
};

static struct error *feed_sample(struct feeding *feeding, const struct record *record)
{
	struct sample sample;
	if (!session_decode(feeding->session, record, &sample))
		return NULL;
	struct thread *thread = session_sample_thread(feeding->session->machine, &sample, record->model_time);
	const struct language_sample at = {record, &sample, thread};
	bool keep = true;
	struct error *error = feeding->dlfilter ? dlfilter_passes(feeding->dlfilter, &at, true, &keep) : NULL;
	if (error || !keep)
		return error;
	if (feeding->filtered &&
	    !script_filter_passes(&feeding->filter, feeding->session->machine, feeding->resolver, record, &sample, thread))
		return NULL;
	error = feeding->dlfilter ? dlfilter_passes(feeding->dlfilter, &at, false, &keep) : NULL;
	if (error || !keep)
		return error;
	return feeding->language->ops->sample(feeding->language, &at);
}

/* Counts of `perf stat record` reach the script when their round ends. */
static struct error *feed_round(struct feeding *feeding, uint64_t time_ns)
{
	struct language *language = feeding->language;
	struct counted_row row;
	struct error *error = NULL;
	while (!error && !language->ended && language->ops->count && counted_next(feeding->counted, &row))
		error = language->ops->count(language, &row);
	if (!error && !language->ended && language->ops->interval)
		error = language->ops->interval(language, time_ns);
	return error;
}

static struct error *feed_record(struct feeding *feeding, const struct record *record)
{
	uint64_t time_ns;
	if (record->header->type == RECORD_SAMPLE)
		return feed_sample(feeding, record);
	if (counted_take(feeding->counted, record->header, &time_ns))
		return feed_round(feeding, time_ns);
	return feeding->language->ops->record(feeding->language, record);
}

static volatile sig_atomic_t interrupted;

static void note_interrupt(int number)
{
	interrupted = 1;
}

/* Ctrl-C ends the records, so that the script can still tell what it has found; a second one ends us. */
static void watch_interrupts(void)
{
	struct sigaction now, action = {.sa_handler = note_interrupt, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
	if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
		sigaction(SIGINT, &action, NULL);
}

static struct error *feed(struct feeding *feeding)
{
	struct language *language = feeding->language;
	watch_interrupts();
	struct error *error = language->ops->begin(language);
	struct record record;
	while (!error && !language->ended && !interrupted && session_next(feeding->session, &record, &error) > 0)
		error = feed_record(feeding, &record);
	if (!error && !language->ended)
		error = language->ops->end(language);
	return error;
}

struct error *script_open_dlfilter(const struct script_options *options, const struct opening *opening, struct dlfilter **ret)
{
	cleanup_free char *root = places_root(), *folder = mem_printf("%s/dlfilters", root);
	const struct dlfilter_setup setup = {
		.session = opening->session,
		.resolver = opening->resolver,
		.file = options->dlfilter,
		.folder = folder,
		.arguments = options->dlfilter_arguments.data,
		.argument_count = (int)options->dlfilter_arguments.len,
	};
	*ret = NULL;
	return options->dlfilter ? dlfilter_open(&setup, ret) : NULL;
}

struct error *script_run_language(const struct script_options *options, struct opening *opening, int *ret_status)
{
	struct feeding feeding = {.session = opening->session, .resolver = opening->resolver, .filter = options->filter};
	cleanup_free char *perl_plugin = places_plugin("perf-perl.so");
	struct stitcher *stitcher = options->stitch_lbr ? opening_stitcher(opening) : NULL;
	const struct language_setup setup = {
		.perl_plugin = perl_plugin,
		.session = opening->session,
		.resolver = opening->resolver,
		.script = options->script_path,
		.arguments = options->script_arguments,
		.max_stack = (unsigned int)options->max_stack,
		.inlines = options->inlines != STACK_INLINES_NONE,
		.stitcher = stitcher,
	};
	feeding.counted = counted_create(opening->session->reader, true);
	feeding.filtered = !script_filter_is_empty(&feeding.filter);
	places_export();
	struct error *error = script_open_dlfilter(options, opening, &feeding.dlfilter);
	if (!error)
		error = options->language->open(&setup, &feeding.language);
	if (feeding.language) {
		if (!feeding.language->ended)
			error = feed(&feeding);
		struct error *unwritten = feeding.language->ops->close(feeding.language, ret_status);
		if (error)
			error_free(unwritten);
		else
			error = unwritten;
	}
	stitcher_destroy(stitcher);
	counted_destroy(feeding.counted);
	struct error *stopped = dlfilter_close(feeding.dlfilter);
	if (error)
		error_free(stopped);
	else
		error = stopped;
	if (!error)
		opening_warn(opening);
	return error;
}

struct error *script_generate(const struct script_options *options, const struct opening *opening)
{
	struct strbuf text = {0};
	size_t skipped;
	cleanup_free char *path = mem_printf("perf-script.%s", options->generated->suffix);
	options->generated->skeleton(&opening->session->reader->events, &text, &skipped);
	if (skipped)
		log_warning("omitted %zu events whose names are not valid in a script", skipped);
	FILE *file;
	struct error *error = output_stream_open(path, false, &file);
	bool written = !error && fwrite(text.data, 1, text.len, file) == text.len;
	if (!error && (fclose(file) || !written))
		error = error_system(errno, "%s", path);
	strbuf_deinit(&text);
	if (!error)
		printf("generated %s script: %s\n", options->generated->title, path);
	return error;
}
