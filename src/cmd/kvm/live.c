/* perf kvm stat live: what perf kvm stat report tells, of what happens now, shown again and again. */
#include "cmd/kvm/kvm.h"

#include "app/pager.h"
#include "base/clock.h"
#include "capture/attached.h"
#include "capture/live.h"
#include "cmd/sampling_options.h"
#include "cmd/targets.h"
#include "event/parse/parse.h"
#include "perfdata/records.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

struct live_command {
	struct kvm_choice choice;
	bool system_wide;
	uint64_t display_s, slow_us, map_timeout_ms;
	size_t ring_pages;
	struct output_options output;
};

/* All zero is closed. */
struct live_source {
	struct event_catalog *catalog;
	struct event_list events;
	struct targets_place place;
	struct live *live;
	struct opening opening;
};

static const struct option options[] = {
	OPTION_FLAG('a', "all-cpus", struct live_command, system_wide, "all virtual machines (default without -p)"),
	KVM_CHOICE(struct live_command),
	OPTION_U64('d', "display", struct live_command, display_s, "SECONDS", "time between two tables (default 1)"),
	OPTION_U64(0, "duration", struct live_command, slow_us, "MICROSECONDS",
		   "also show, when it ends, each event that took longer than that; not those for which a guest had nothing to do"),
	OPTION_CUSTOM_FLAGS('m', "mmap-pages", struct live_command, ring_pages, "PAGES", "size of each buffer in pages, or such as 64K, 1M",
			    option_ring_pages, OPTION_NO_NEGATION),
	OPTION_U64(0, "proc-map-timeout", struct live_command, map_timeout_ms, "MS",
		   "give up reading the maps of a process after this time (default 500)"),
	OPTION_GROUP(output_option_group, struct live_command, output),
	OPTION_END,
};

/* --duration */
static void tell_slow(void *context, const struct kvm_visit *visit)
{
	enum { NS_PER_US = 1000 };
	const struct live_command *command = context;
	if (!command->slow_us || visit->length <= command->slow_us * NS_PER_US || kvm_is_idle(visit->key))
		return;
	struct strbuf key = {0};
	kvm_add_key(&key, visit->key);
	printf("%" PRIu64 " VM %" PRIu32 ", vcpu %" PRIu32 ": %s event took %" PRIu64 "usec\n", visit->time, visit->pid, visit->vcpu,
	       strbuf_str(&key), visit->length / NS_PER_US);
	strbuf_deinit(&key);
}

static struct error *open_source(const struct live_command *command, struct live_source *source)
{
	enum { RING_PAGES = 1024, NS_PER_MS = 1000000 };
	const struct targets targets = {.system_wide = !command->choice.pids, .pids = command->choice.pids};
	const struct sampling sampling = {.period = 1, .raw = true, .by_cpu = targets.system_wide};
	source->catalog = event_catalog_create("");
	struct error *error = event_parse(&source->events, source->catalog, kvm_event_tracepoints(command->choice.event));
	if (!error)
		error = targets_place(&targets, &sampling, 0, &source->place);
	if (error)
		return error;
	attached_warn(&source->events, NULL);
	const struct live_options live = {.name = "kvm",
					  .events = &source->events,
					  .catalog = source->catalog,
					  .sampling = &sampling,
					  .target = &source->place.target,
					  .map_timeout_ns = command->map_timeout_ms * NS_PER_MS,
					  .ring_pages = command->ring_pages ? command->ring_pages : RING_PAGES};
	error = live_open(&live, &source->live);
	if (error)
		return error;
	struct input_options input;
	input_options_init(&input);
	const struct opening_options opening = {
		.input = &input, .reader = live_take_reader(source->live), .remembers = true, .streaming = true};
	return opening_begin(&source->opening, &opening);
}

static void close_source(struct live_source *source)
{
	opening_end(&source->opening);
	live_close(source->live, true);
	event_list_deinit(&source->events);
	targets_place_deinit(&source->place);
	event_catalog_destroy(source->catalog);
}

static void show(struct kvm_exits *exits, const struct live_command *command)
{
	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	kvm_print(exits, &command->choice);
	fflush(stdout);
	kvm_exits_clear(exits);
}

/* To the end, which is Ctrl-C or that of all processes of -p. */
static struct error *follow(struct live_source *source, const struct live_command *command, struct kvm_exits *exits)
{
	const uint64_t ns_per_s = 1000000000;
	struct error *error = NULL;
	struct record record;
	uint64_t shown = clock_now_ns(CLOCK_MONOTONIC);
	while (session_next(source->opening.session, &record, &error) > 0) {
		kvm_exits_give(exits, &record);
		if (record.header->type != RECORD_FINISHED_ROUND || clock_now_ns(CLOCK_MONOTONIC) - shown < command->display_s * ns_per_s)
			continue;
		show(exits, command);
		shown = clock_now_ns(CLOCK_MONOTONIC);
	}
	if (!error)
		show(exits, command);
	return error;
}

static struct error *measure(struct live_command *command)
{
	struct live_source source = {0};
	struct kvm_exits *exits = NULL;
	struct kvm_process_ids ids = {0};
	struct kvm_options wanted = {.visit = tell_slow, .context = command};
	struct error *error = kvm_choose(&command->choice, &ids, &wanted);
	if (!error)
		error = open_source(command, &source);
	if (!error)
		error = kvm_exits_create(source.opening.session, &wanted, &exits);
	if (!error)
		error = follow(&source, command, exits);
	if (!error)
		opening_warn(&source.opening);
	kvm_exits_destroy(exits);
	close_source(&source);
	vec_deinit(&ids.list);
	return error;
}

struct error *kvm_stat_live(int argc, char **argv, int *ret_status)
{
	struct live_command command = {.display_s = 1, .map_timeout_ms = 500};
	struct error *error = options_parse_alone(options, argc, argv, &command, "");
	if (!error && command.system_wide && command.choice.pids)
		error = error_new_kind(ERROR_USAGE, "-a and -p cannot be combined");
	if (!error && !command.display_s)
		error = error_new_kind(ERROR_USAGE, "-d: the time between two tables is at least a second");
	return error ? error : measure(&command);
}

static const char *const usage[] = {"[-a | -p PID,…] [--event EVENT] [--vcpu N] [-k KEY] [-d SECONDS] [--duration MICROSECONDS]", NULL};
const struct command cmd_kvm_stat_live = {"kvm stat live",    "Show why guests leave guest mode now", usage, options, kvm_stat_live,
					  .own_options = true};
