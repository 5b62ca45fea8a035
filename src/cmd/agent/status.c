/* What the agent tells of itself: one set of numbers, in three forms. */
#include "cmd/agent/agent.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

void agent_status_init(struct agent_status *status)
{
	pthread_mutex_init(&status->lock, NULL);
}

void agent_status_deinit(struct agent_status *status)
{
	pthread_mutex_destroy(&status->lock);
}

/* All numbers but those of sinks. */
struct figure {
	const char *name, *help;
	bool total; /* grows; else it is how things are now */
	double value;
	bool exact; /* a whole number */
};

enum { FIGURES_MAX = 32 };

static size_t list_figures(const struct agent_status *status, struct figure figures[FIGURES_MAX])
{
	const struct agent_numbers *n = &status->numbers;
	const struct figure all[] = {
		{"windows", "Windows that were completed.", true, (double)n->windows, true},
		{"samples_taken", "Samples that the kernel took.", true, (double)n->taken, true},
		{"samples_stored", "Samples in windows.", true, (double)n->stored, true},
		{"samples_lost", "Samples that the kernel had to drop.", true, (double)n->lost, true},
		{"samples_dropped", "Samples that the agent dropped.", true, (double)n->dropped, true},
		{"records_lost", "Records of any kind that the kernel had to drop.", true, (double)n->records_lost, true},
		{"waits_missed", "Waits off the CPU for which there was no room.", true, (double)n->waits.missed, true},
		{"waits_unseen", "Waits off the CPU whose end the kernel did not report.", true, (double)n->waits.unseen, true},
		{"windows_before_disk", "Windows that the disk has not taken yet.", false, (double)outbox_waiting(status->outbox), true},
		{"suspensions", "How often the machine slept.", true, (double)n->suspensions, true},
		{"clock_jumps", "How often the machine's clock was set.", true, (double)n->clock_jumps, true},
		{"reloads", "Configurations that were read anew.", true, (double)n->reloads, true},
		{"reloads_failed", "Configurations that were not taken.", true, (double)n->reloads_failed, true},
		{"flight_triggers", "How often the flight recorder was wanted.", true, (double)n->flight.triggers, true},
		{"flight_recordings", "Recordings that it has written.", true, (double)n->flight.recordings, true},
		{"flight_failed", "Recordings that it could not write.", true, (double)n->flight.failed, true},
		{"rate_lowered", "How often the rate was lowered to keep the budget.", true, (double)n->lowered, true},
		{"rate_raised", "How often it was raised again.", true, (double)n->raised, true},
		{"rate_hertz", "Samples a second and CPU that are asked for now.", false, (double)n->hz, true},
		{"rate_wanted_hertz", "… and that are wanted.", false, (double)n->wanted_hz, true},
		{"cpu_ratio", "CPU time, as a part of one CPU, that the agent uses, in the kernel as well.", false, n->percent / 100,
		 false},
		{"cpu_kernel_ratio", "The part of it that the kernel spends on samples, records and BPF programs.", false,
		 n->kernel_percent / 100, false},
		{"cpu_budget_ratio", "CPU time that it may use.", false, n->budget_percent / 100, false},
		{"memory_bytes", "Memory that the agent has.", false, (double)n->rss, true},
		{"memory_budget_bytes", "Memory that it may have.", false, (double)n->memory_budget, true},
		{"budget_exceeded", "1 = the CPU budget cannot be kept, even at the lowest rate.", false, n->exceeds, true},
		{"memory_budget_exceeded", "1 = the memory budget is not kept.", false, n->exceeds_memory, true},
		{"start_seconds", "CPU time that the agent took to start.", false, n->start_s, false},
	};
	memcpy(figures, all, sizeof(all));
	return sizeof(all) / sizeof(*all);
}

static struct sender_counts counts_of(const struct agent_sink *sink)
{
	struct sender_counts counts;
	sender_counts(sink->sender, &counts);
	counts.why[sizeof(counts.why) - 1] = '\0';
	return counts;
}

/* ---- JSON ---- */

static void add_figure(struct json *json, const struct figure *figure)
{
	json_name(json, figure->name);
	if (figure->exact)
		json_value(json, "%.0f", figure->value);
	else
		json_value(json, "%.6f", figure->value);
}

static void add_sink(struct json *json, const struct agent_sink *sink)
{
	const struct sender_counts counts = counts_of(sink);
	json_begin_object(json);
	json_add_string(json, "name", sink->name);
	json_add_u64(json, "found_batches", counts.found_batches);
	json_add_u64(json, "found_samples", counts.found_samples);
	json_add_u64(json, "batches", counts.batches);
	json_add_u64(json, "samples", counts.samples);
	json_add_u64(json, "sent_batches", counts.sent_batches);
	json_add_u64(json, "sent_samples", counts.sent_samples);
	json_add_u64(json, "dropped_batches", counts.dropped_batches);
	json_add_u64(json, "dropped_samples", counts.dropped_samples);
	json_add_u64(json, "ever_dropped_batches", counts.ever_dropped_batches);
	json_add_u64(json, "ever_dropped_samples", counts.ever_dropped_samples);
	json_add_u64(json, "waiting_batches", counts.waiting_batches);
	json_add_u64(json, "waiting_samples", counts.waiting_samples);
	json_add_u64(json, "waiting_bytes", counts.waiting_bytes);
	json_add_u64(json, "attempts_failed", counts.attempts_failed);
	json_add_string(json, "why", counts.why);
	json_end_object(json);
}

void agent_status_add_json(struct agent_status *status, struct strbuf *out)
{
	struct json json = {.out = out};
	struct figure figures[FIGURES_MAX];
	pthread_mutex_lock(&status->lock);
	size_t count = list_figures(status, figures);
	json_begin_object(&json);
	json_add_string(&json, "host", status->identity->host);
	json_add_string(&json, "host_id", status->identity->id);
	for (size_t i = 0; i < count; i++)
		add_figure(&json, &figures[i]);
	json_name(&json, "sinks");
	json_begin_array(&json);
	for (size_t i = 0; i < status->sinks->len; i++)
		add_sink(&json, &status->sinks->data[i]);
	json_end_array(&json);
	json_end_object(&json);
	strbuf_add_char(out, '\n');
	pthread_mutex_unlock(&status->lock);
}

/* ---- for people ---- */

static void add_sink_text(const struct agent_sink *sink, struct strbuf *out)
{
	const struct sender_counts counts = counts_of(sink);
	strbuf_printf(out, "  %s: %" PRIu64 " of %" PRIu64 " windows sent, %" PRIu64 " waiting (%" PRIu64 " bytes), %" PRIu64 " dropped",
		      sink->name, counts.sent_batches, counts.found_batches + counts.batches, counts.waiting_batches, counts.waiting_bytes,
		      counts.dropped_batches);
	if (*counts.why) {
		strbuf_printf(out, "; %" PRIu64 " attempts failed: ", counts.attempts_failed);
		text_add_safe(out, counts.why, strlen(counts.why));
	}
	strbuf_add_char(out, '\n');
}

static void add_cost(const struct agent_numbers *n, struct strbuf *out)
{
	strbuf_printf(out, "cost:    %.3f%% of one CPU (the kernel's part: %.3f%%), the budget is %g%%%s\n", n->percent, n->kernel_percent,
		      n->budget_percent, n->exceeds ? ": it cannot be kept here" : "");
	strbuf_printf(out, "memory:  %" PRIu64 " MB of %" PRIu64 " MB\n", n->rss >> 20, n->memory_budget >> 20);
	if (!n->wanted_hz)
		return;
	strbuf_printf(out, "rate:    %" PRIu64 " samples a second and CPU", n->hz);
	if (n->hz < n->wanted_hz)
		strbuf_printf(out, ", lowered from %" PRIu64 " to keep the budget", n->wanted_hz);
	strbuf_add_char(out, '\n');
}

void agent_status_add_text(struct agent_status *status, struct strbuf *out)
{
	pthread_mutex_lock(&status->lock);
	const struct agent_numbers *n = &status->numbers;
	uint64_t now = clock_now_ns(CLOCK_REALTIME);
	strbuf_add_str(out, "host:    ");
	text_add_safe(out, status->identity->host, strlen(status->identity->host));
	strbuf_printf(out, " (%s)\n", status->identity->id);
	strbuf_printf(out, "runs:    %" PRIu64 " s, %" PRIu64 " windows\n",
		      now > n->started_wall_ns ? (now - n->started_wall_ns) / 1000000000 : 0, n->windows);
	strbuf_printf(out, "samples: %" PRIu64 " taken = %" PRIu64 " stored + %" PRIu64 " lost + %" PRIu64 " dropped\n", n->taken,
		      n->stored, n->lost, n->dropped);
	if (n->waits.missed || n->waits.unseen)
		strbuf_printf(out,
			      "waits:   %" PRIu64 " missing for want of room, %" PRIu64 " because the kernel did not report their ends\n",
			      n->waits.missed, n->waits.unseen);
	if (status->has_flight)
		strbuf_printf(out, "flight:  %" PRIu64 " recordings, %" PRIu64 " triggers, %" PRIu64 " could not be written\n",
			      n->flight.recordings, n->flight.triggers, n->flight.failed);
	add_cost(n, out);
	size_t waiting = outbox_waiting(status->outbox);
	if (waiting)
		strbuf_printf(out, "disk:    %zu window%s that it has not taken yet\n", waiting, waiting == 1 ? "" : "s");
	strbuf_add_str(out, status->sinks->len ? "sinks:\n" : "sinks:   none\n");
	for (size_t i = 0; i < status->sinks->len; i++)
		add_sink_text(&status->sinks->data[i], out);
	pthread_mutex_unlock(&status->lock);
}

/* ---- OpenMetrics 1.0 ---- */

static void add_metric(const struct figure *figure, struct strbuf *out)
{
	strbuf_printf(out, "# TYPE perf_agent_%s %s\n# HELP perf_agent_%s %s\n", figure->name, figure->total ? "counter" : "gauge",
		      figure->name, figure->help);
	strbuf_printf(out, figure->exact ? "perf_agent_%s%s %.0f\n" : "perf_agent_%s%s %.6f\n", figure->name, figure->total ? "_total" : "",
		      figure->value);
}

static const struct sink_metric {
	const char *name, *help;
	bool total;
	size_t offset;
} sink_metrics[] = {
	{"sink_found_batches", "Windows that an earlier process had left.", true, offsetof(struct sender_counts, found_batches)},
	{"sink_found_samples", "Samples in them.", true, offsetof(struct sender_counts, found_samples)},
	{"sink_batches", "Windows that were put.", true, offsetof(struct sender_counts, batches)},
	{"sink_samples", "Samples in them.", true, offsetof(struct sender_counts, samples)},
	{"sink_sent_batches", "Windows that the engine has taken.", true, offsetof(struct sender_counts, sent_batches)},
	{"sink_sent_samples", "Samples in them.", true, offsetof(struct sender_counts, sent_samples)},
	{"sink_dropped_batches", "Windows that were dropped.", true, offsetof(struct sender_counts, dropped_batches)},
	{"sink_dropped_samples", "Samples in them.", true, offsetof(struct sender_counts, dropped_samples)},
	{"sink_waiting_batches", "Windows that wait.", false, offsetof(struct sender_counts, waiting_batches)},
	{"sink_waiting_samples", "Samples in them.", false, offsetof(struct sender_counts, waiting_samples)},
	{"sink_waiting_bytes", "What they take in the spool.", false, offsetof(struct sender_counts, waiting_bytes)},
	{"sink_attempts_failed", "Attempts to send that failed.", true, offsetof(struct sender_counts, attempts_failed)},
};

static void add_sink_metric(const agent_sinks *sinks, const struct sink_metric *metric, struct strbuf *out)
{
	strbuf_printf(out, "# TYPE perf_agent_%s %s\n# HELP perf_agent_%s %s\n", metric->name, metric->total ? "counter" : "gauge",
		      metric->name, metric->help);
	for (size_t i = 0; i < sinks->len; i++) {
		const struct sender_counts counts = counts_of(&sinks->data[i]);
		const uint64_t *value = (const void *)((const char *)&counts + metric->offset);
		strbuf_printf(out, "perf_agent_%s%s{sink=\"%s\"} %" PRIu64 "\n", metric->name, metric->total ? "_total" : "",
			      sinks->data[i].name, *value);
	}
}

void agent_status_add_metrics(struct agent_status *status, struct strbuf *out)
{
	struct figure figures[FIGURES_MAX];
	pthread_mutex_lock(&status->lock);
	size_t count = list_figures(status, figures);
	for (size_t i = 0; i < count; i++)
		add_metric(&figures[i], out);
	for (size_t i = 0; i < sizeof(sink_metrics) / sizeof(*sink_metrics); i++)
		add_sink_metric(status->sinks, &sink_metrics[i], out);
	strbuf_add_str(out, "# EOF\n");
	pthread_mutex_unlock(&status->lock);
}
