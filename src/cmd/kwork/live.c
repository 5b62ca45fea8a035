/* perf kwork report, latency and top of what happens now (-b): their events from a live source in place of a recording. */
#include "cmd/kwork/kwork.h"

#include "app/hint.h"
#include "app/pager.h"
#include "capture/attached.h"
#include "cmd/dumping.h"
#include "event/parse/parse.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The command ends it, else a signal. */
static struct error *open_live(struct kwork_source *source, const struct kwork_input *input, const char *events)
{
	enum { RING_PAGES = 1024 };
	const struct targets targets = {.system_wide = true};
	const struct sampling sampling = {.period = 1, .raw = true, .by_cpu = true};
	source->catalog = event_catalog_create("");
	struct error *error = event_parse(&source->events, source->catalog, events);
	if (!error && input->command)
		error = workload_start(&source->workload, input->command, input->common.format != NULL);
	if (!error)
		error = targets_place(&targets, &sampling, source->workload.pid, &source->place);
	if (error)
		return error;
	attached_warn(&source->events, NULL);
	const struct live_options options = {
		.name = "kwork",
		.events = &source->events,
		.catalog = source->catalog,
		.sampling = &sampling,
		.target = &source->place.target,
		.workload = source->workload.pid ? &source->workload : NULL,
		.ring_pages = RING_PAGES,
	};
	error = live_open(&options, &source->live);
	if (!error && !input->command && hint_is_wanted(STDERR_FILENO))
		fprintf(stderr, "Measuring until Ctrl-C.\n");
	return error;
}

struct error *kwork_open(struct kwork_source *source, const struct kwork_input *input, const char *events, bool streaming,
			 enum kwork_needs needs, bool *ret_done)
{
	*ret_done = input->common.dump;
	if (input->live) {
		struct error *error = open_live(source, input, events);
		if (error)
			return error;
	}
	const struct opening_options options = {.input = &input->common.input,
						.reader = source->live ? live_take_reader(source->live) : NULL,
						.remembers = true,
						.confined = source->live ? NULL : "kwork",
						.recorder = "perf kwork record",
						.streaming = streaming || source->live,
						.kernel_only = needs < KWORK_STACKS && !input->common.dump,
						.threadless = needs < KWORK_THREADS && !input->common.dump};
	struct error *error = opening_begin(&source->opening, &options);
	if (error || !input->common.dump)
		return error;
	pager_start("kwork");
	return dumping_all(source->opening.session);
}

void kwork_close(struct kwork_source *source)
{
	workload_stop(&source->workload);
	opening_end(&source->opening);
	live_close(source->live, true);
	event_list_deinit(&source->events);
	targets_place_deinit(&source->place);
	workload_deinit(&source->workload);
	event_catalog_destroy(source->catalog);
}

struct error *kwork_parse_live(const struct option *options, int argc, char **argv, void *values, struct kwork_input *input)
{
	int words;
	struct error *error = options_parse(options, OPTIONS_STOP_AT_FIRST_WORD, argc, argv, values, &words);
	if (error)
		return error;
	if (words && !input->live)
		return error_new_kind(ERROR_USAGE, "unexpected argument '%s': a command is measured with -b", argv[0]);
	if (input->live && (input->common.input.input || input->common.dump || input->common.time))
		return error_new_kind(ERROR_USAGE, "-b measures what happens now: it cannot be combined with -i, -D and --time");
	input->command = words ? argv : NULL;
	return NULL;
}
