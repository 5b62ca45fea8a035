/* perf agent run: the loop. */
#include "cmd/agent/agent.h"

#include "analysis/samples.h"
#include "base/clock.h"
#include "base/files/mapping.h"
#include "base/log.h"
#include "base/mem.h"
#include "kernel/limits.h"
#include "perfdata/records.h"

#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RING_BYTES = 1 << 20, MAP_TIMEOUT_NS = 500000000, CLOSING_MS = 5000 };
/* Of --memory: for the symbols of files from window to window; for windows that a disk is slow to take; for names of Python. */
enum { SYMBOLS_PART = 8, WAITING_PART = 8, PYTHON_PART = 8, PYTHON_LEAST = 2 << 20 };
/* What waits in rings costs nothing: they are emptied when one is half full, and once a second. */
static const uint64_t tick_ns = 1000000000;
static const uint64_t long_wait_ns = 500000000;

/* ---- opening ---- */

/* While a CPU has nothing to do there is nothing to be told, and it stays asleep. */
static struct error *choose_events(struct agent *agent)
{
	struct error *error = event_words_apply(&agent->settings->words, &agent->events, agent->catalog, true);
	if (error || agent->events.events.len)
		return error;
	error = sampling_add_default(&agent->events, agent->catalog, !limits_can_profile_kernel());
	for (size_t i = 0; i < agent->events.events.len && !error; i++)
		agent->events.events.data[i]->attr.exclude_idle = 1;
	return error;
}

static struct error *take_counters(void *context, const struct event_list *events, const struct counter_set *counters)
{
	struct agent *agent = context;
	(void)events;
	agent->counters = counters;
	agent->lost_told = !(counters->state.missing & PERF_FEATURE_READ_LOST);
	return NULL;
}

/* SIGHUP means: read the configuration anew. The others end us, but for SIGUSR2: a flight recording, please. */
static bool take_signal(void *context, int number, pid_t sender)
{
	struct agent *agent = context;
	struct flight_cause cause = {.pid = (uint32_t)sender, .asked = true};
	agent->reload |= number == SIGHUP;
	if (number == SIGUSR2) {
		snprintf(cause.what, sizeof(cause.what), "SIGUSR2 from process %d", sender);
		agent_recorder_want(agent, &cause);
	}
	return number == SIGHUP || number == SIGUSR2;
}

static void begin(void *context)
{
	((struct agent *)context)->begun = true;
}

static struct error *open_live(struct agent *agent)
{
	const struct agent_settings *settings = agent->settings;
	const struct targets targets = {.system_wide = true};
	struct error *error = choose_events(agent);
	if (!error)
		error = targets_place(&targets, &settings->sampling, 0, &agent->place);
	if (error)
		return error;
	const struct live_options live = {
		.name = "agent",
		.events = &agent->events,
		.catalog = agent->catalog,
		.sampling = &settings->sampling,
		.target = &agent->place.target,
		.ring_pages = RING_BYTES / (size_t)sysconf(_SC_PAGESIZE),
		.tick_ns = tick_ns,
		.map_timeout_ns = MAP_TIMEOUT_NS,
		.synth_jobs = 1,
		.off_cpu = settings->off_cpu,
		.off_cpu_ns = settings->flight.folder ? flight_wait_ns(&settings->flight) : long_wait_ns,
		.off_cpu_every_ns = settings->window_ns / 2,
		.python_bytes = settings->memory / PYTHON_PART > PYTHON_LEAST ? settings->memory / PYTHON_PART : PYTHON_LEAST,
		.opened = take_counters,
		.begun = begin,
		.signal = take_signal,
		.context = agent,
	};
	return live_open(&live, &agent->live);
}

static struct error *open_session(struct agent *agent)
{
	input_options_init(&agent->input);
	agent->input.debuginfod_seconds = 0; /* nothing is fetched: what measures doesn't wait for servers */
	const struct opening_options opening = {
		.input = &agent->input, .reader = live_take_reader(agent->live), .remembers = true, .streaming = true};
	struct error *error = opening_begin(&agent->opening, &opening);
	if (error)
		return error;
	agent->opening.session->machine->drops_files = true;
	struct fold_options options;
	samples_fold_options(SAMPLES_STACKS | SAMPLES_ADDRESSES, &options);
	options.records = FOLD_RECORDS_DROPPED;
	options.inlines = STACK_INLINES_NONE;
	agent->fold = fold_create(agent->opening.session, agent->opening.resolver, &options);
	agent->feed = fold_feed_open(agent->fold);
	return NULL;
}

/* ---- memory ---- */

/* Pages of files that were looked into count as ours, too, though they cost nobody anything. */
static void give_back_memory(void)
{
	mapping_forget_all();
	malloc_trim(0);
}

/* For months: what is freed goes back to the system, whichever thread had it, instead of to what the next one may need. */
static void prepare_memory(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
}

/* What costs least goes first. */
static void shed_memory(struct agent *agent)
{
	agent->shed = true;
	give_back_memory();
	if (agent_cost_memory(&agent->cost) <= AGENT_MEMORY_TIGHT)
		return;
	live_shed(agent->live);
	give_back_memory();
}

/* Between two windows nobody has a symbol: those of files can go as well. To read them again is what costs most where programs come and go,
 * so that some stay unless there is nothing else that can. */
static void shed_symbols(struct agent *agent)
{
	if (agent_cost_memory(&agent->cost) <= AGENT_MEMORY_TIGHT)
		return;
	resolver_shed(agent->opening.resolver, agent->settings->memory / SYMBOLS_PART);
	give_back_memory();
	if (agent_cost_memory(&agent->cost) <= AGENT_MEMORY_ALL)
		return;
	resolver_shed(agent->opening.resolver, 0);
	give_back_memory();
}

/* Symbols and rules have to be read again: so once a window. Pages of files are only mapped again. Rather a window that tells less, and
 * says so, than a machine that has no memory left. */
static void watch_memory(struct agent *agent)
{
	unsigned int used = agent_cost_memory(&agent->cost);
	if (agent->full || used <= AGENT_MEMORY_TIGHT)
		return;
	if (!agent->shed)
		shed_memory(agent);
	else if (used > AGENT_MEMORY_NEAR)
		give_back_memory();
	agent->full = agent_cost_memory(&agent->cost) > AGENT_MEMORY_FULL;
	if (agent->full)
		log_warning("no memory is left: samples are dropped until the window ends");
}

/* ---- numbers ---- */

static void tell_numbers(struct agent *agent)
{
	struct agent_numbers *numbers = &agent->status.numbers;
	const struct agent_cost *cost = &agent->cost;
	pthread_mutex_lock(&agent->status.lock);
	numbers->wanted_hz = cost->wanted_hz;
	numbers->hz = cost->hz;
	numbers->lowered = cost->lowered;
	numbers->raised = cost->raised;
	numbers->budget_percent = cost->budget_percent;
	numbers->memory_budget = cost->memory_budget;
	numbers->percent = cost->percent;
	numbers->kernel_percent = cost->kernel_percent;
	numbers->rss = cost->rss;
	numbers->exceeds = cost->exceeds;
	numbers->exceeds_memory = cost->exceeds_memory;
	pthread_mutex_unlock(&agent->status.lock);
}

/* ---- the configuration anew ---- */

/* What can change while it runs: labels, the window, the budget, the sinks. The rest is that of the process. */
static void warn_of_rest(const struct agent_settings *old, const struct agent_settings *new)
{
	bool same = old->off_cpu == new->off_cpu && old->words.len == new->words.len && old->sampling.freq == new->sampling.freq &&
		    old->sampling.callgraph == new->sampling.callgraph && old->sandbox == new->sandbox &&
		    !strcmp(old->socket, new->socket) && !strcmp(old->metrics ? old->metrics : "", new->metrics ? new->metrics : "");
	for (size_t i = 0; i < old->words.len && same; i++)
		same = !strcmp(old->words.data[i].text, new->words.data[i].text);
	if (!same)
		log_warning(
			"what is measured, and where the agent answers, stays as it is until it is restarted ('systemctl restart perf-agent')");
}

static bool is_same_recorder(const struct flight_settings *old, const struct flight_settings *new)
{
	if (!old->folder || !new->folder)
		return old->folder == new->folder;
	bool same = !strcmp(old->folder, new->folder) && old->before_ns == new->before_ns && old->after_ns == new->after_ns &&
		    old->quiet_ns == new->quiet_ns && old->keep == new->keep && old->limit == new->limit &&
		    old->triggers.len == new->triggers.len;
	for (size_t i = 0; i < old->triggers.len && same; i++)
		same = !strcmp(old->triggers.data[i].text, new->triggers.data[i].text);
	return same;
}

static struct error *reload(struct agent *agent)
{
	struct agent_settings *settings = mem_zalloc(sizeof(*settings));
	agent_sinks sinks = {0};
	struct error *error = agent_settings_read(agent->argc, agent->argv, settings);
	if (!error) {
		/* Two senders can't have one folder. */
		outbox_flush(agent->outbox);
		pthread_mutex_lock(&agent->status.lock);
		agent_sinks_close(&agent->sinks, 0);
		error = agent_sinks_open(settings, &sinks);
		struct error *again = error ? agent_sinks_open(agent->settings, &sinks) : NULL;
		if (again)
			log_warning("nothing is sent until the next reload: %s", error_message(again));
		error_free(again);
		agent->sinks = sinks;
		pthread_mutex_unlock(&agent->status.lock);
	}
	if (error) {
		agent_settings_deinit(settings);
		free(settings);
		return error;
	}
	warn_of_rest(agent->settings, settings);
	if (!is_same_recorder(&agent->flight_settings, &settings->flight))
		log_warning("the flight recorder stays as it is until the agent is restarted ('systemctl restart perf-agent')");
	agent_settings_deinit(agent->settings);
	free(agent->settings);
	agent->settings = settings;
	agent->cost.budget_percent = settings->budget_percent;
	agent->cost.memory_budget = settings->memory;
	pthread_mutex_lock(&agent->status.lock);
	agent_identity_read(settings->host, &agent->identity);
	pthread_mutex_unlock(&agent->status.lock);
	return NULL;
}

static void obey_reload(struct agent *agent)
{
	agent_notify("RELOADING=1");
	struct error *error = reload(agent);
	pthread_mutex_lock(&agent->status.lock);
	agent->status.numbers.reloads += !error;
	agent->status.numbers.reloads_failed += error != NULL;
	pthread_mutex_unlock(&agent->status.lock);
	if (error)
		log_warning("the configuration stays as it was: %s", error_message(error));
	error_free(error);
	agent->reload = false;
	agent_notify("READY=1");
}

/* ---- rounds ---- */

static void carry(void *context, struct carrying *carrying)
{
	fold_carry(((const struct agent *)context)->fold, carrying);
}

static void end_window(struct agent *agent, bool reload)
{
	agent_window_end(agent);
	shed_symbols(agent);
	if (agent_cost_end(&agent->cost, agent->written))
		agent_rate_set(agent);
	tell_numbers(agent);
	if (reload)
		obey_reload(agent);
	agent_window_begin(agent);
}

/* The first round comes when all is known of what runs. */
static void start(struct agent *agent)
{
	agent->status.numbers.start_s = (double)clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
	agent_window_begin(agent);
	tell_numbers(agent);
	give_back_memory();
	agent_server_start(agent->server);
	agent_notify("READY=1");
}

static void forget_what_ended(struct agent *agent)
{
	const struct machine *machine = agent->opening.session->machine;
	uint64_t drops = machine->drops;
	if (!session_forget(agent->opening.session, &(struct machine_holder){carry, agent}))
		return;
	resolver_forget(agent->opening.resolver);
	if (machine->drops != drops)
		log_debug("samples: files that nobody maps any more are forgotten");
}

static void take_round(struct agent *agent, const struct record *round)
{
	agent_notify("WATCHDOG=1");
	agent_recorder_take_round(agent, round);
	watch_memory(agent);
	/* To close sinks and to open others waits for the disk of the spool: not while that hangs. */
	bool reload = agent->reload && outbox_is_empty(agent->outbox);
	if (reload || agent_window_is_over(agent))
		end_window(agent, reload);
	forget_what_ended(agent);
}

static struct error *loop(struct agent *agent)
{
	struct record record;
	struct error *error = NULL;
	bool started = false;
	while (session_next(agent->opening.session, &record, &error) > 0) {
		agent_window_count(agent, &record);
		if (agent->begun && !started) {
			start(agent);
			started = true;
		}
		if (record.is_sample)
			agent_window_add(agent, &record);
		else
			agent_recorder_add(agent, &record, NULL);
		if (record.header->type == RECORD_FINISHED_ROUND && started)
			take_round(agent, &record);
	}
	agent_notify("STOPPING=1");
	agent_recorder_end(agent);
	if (started)
		agent_window_end(agent);
	const struct agent_numbers *numbers = &agent->status.numbers;
	log_info("%" PRIu64 " windows: %" PRIu64 " samples taken = %" PRIu64 " stored + %" PRIu64 " lost + %" PRIu64 " dropped",
		 numbers->windows, numbers->taken, numbers->stored, numbers->lost, numbers->dropped);
	return error;
}

/* ---- */

static struct error *open_all(struct agent *agent)
{
	struct agent_settings *settings = agent->settings;
	struct error *error = agent_server_open(settings, &agent->status, &agent->server);
	if (!error)
		error = agent_recorder_open(agent);
	if (!error)
		error = open_live(agent);
	if (error)
		return error;
	agent_rights_drop(settings);
	error = agent_sinks_open(settings, &agent->sinks);
	if (!error)
		error = outbox_open(settings->memory / WAITING_PART, &agent->outbox);
	pthread_mutex_lock(&agent->status.lock);
	agent->status.outbox = agent->outbox;
	pthread_mutex_unlock(&agent->status.lock);
	if (!error)
		error = open_session(agent);
	if (!error)
		agent_recorder_start(agent);
	return error;
}

static void close_all(struct agent *agent)
{
	agent_server_close(agent->server);
	outbox_close(agent->outbox);
	agent_sinks_close(&agent->sinks, CLOSING_MS);
	agent_labelling_deinit(&agent->labelling);
	agent_recorder_close(agent);
	if (agent->feed)
		fold_feed_close(agent->feed);
	fold_destroy(agent->fold);
	opening_end(&agent->opening);
	live_close(agent->live, true);
	event_list_deinit(&agent->events);
	targets_place_deinit(&agent->place);
	event_catalog_destroy(agent->catalog);
	agent_cost_deinit(&agent->cost);
	agent_status_deinit(&agent->status);
	agent_settings_deinit(agent->settings);
	free(agent->settings);
}

struct error *agent_run(int argc, char **argv, int *ret_status)
{
	struct agent agent = {.argc = argc, .argv = argv, .settings = mem_zalloc(sizeof(*agent.settings))};
	(void)ret_status;
	prepare_memory();
	agent.catalog = event_catalog_create("");
	agent_status_init(&agent.status);
	struct error *error = agent_settings_read(argc, argv, agent.settings);
	agent_cost_init(&agent.cost, agent.settings);
	agent_rate_init(&agent);
	agent_identity_read(agent.settings->host, &agent.identity);
	agent.status.identity = &agent.identity;
	agent.status.sinks = &agent.sinks;
	agent.status.numbers.started_wall_ns = clock_now_ns(CLOCK_REALTIME);
	if (!error && !agent.settings->sinks.len && !agent.settings->flight.folder)
		log_warning("there is no sink: what is measured goes nowhere ('perf agent check' says more)");
	if (!error)
		error = open_all(&agent);
	if (!error)
		error = loop(&agent);
	close_all(&agent);
	return error;
}

static const char *const usage[] = {"[--config FILE] [OPTIONS]", NULL};
const struct command cmd_agent_run = {"agent run", "Measure and send, until it is told to stop", usage, agent_option_table, agent_run};
