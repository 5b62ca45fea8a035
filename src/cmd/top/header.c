/* What perf top says above the rows, as text and on its screen: how much came, of what it is made, what was lost. */
#include "cmd/top/top.h"

#include "base/clock.h"
#include "base/text.h"

#include <string.h>

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

/* "(target_pid: 4711)", "(all, CPUs: 0-3)", "(all, 8 CPUs)" */
void top_add_target(const struct top *top, struct strbuf *out)
{
	const struct targets *targets = &top->options->targets;
	if (targets->pids)
		strbuf_printf(out, " (target_pid: %s", targets->pids);
	else if (targets->tids)
		strbuf_printf(out, " (target_tid: %s", targets->tids);
	else if (targets->user)
		strbuf_printf(out, " (uid: %s", targets->user);
	else
		strbuf_add_str(out, " (all");
	size_t cpus = top->place.measured ? top->place.measured_count : top->place.cpu_count;
	if (targets->cpus)
		strbuf_printf(out, ", CPU%s: %s", cpus > 1 ? "s" : "", targets->cpus);
	else if (!targets_are_tasks(targets))
		strbuf_printf(out, ", %zu CPU%s", cpus, cpus > 1 ? "s" : "");
	strbuf_add_char(out, ')');
}

void top_add_event(const struct event *event, bool rate, struct strbuf *out)
{
	strbuf_add_char(out, '[');
	if (rate)
		strbuf_printf(out, "%llu%s ", (unsigned long long)event->attr.sample_period, event->attr.freq ? "Hz" : "");
	text_add_safe(out, event->name, strlen(event->name));
	strbuf_add_char(out, ']');
}

static uint64_t lost_until_now(const struct session *session)
{
	uint64_t lost_samples = 0;
	for (size_t i = 0; i < session->reader->events.events.len; i++)
		lost_samples += session->event_counts[i].lost_samples;
	return session->lost > lost_samples ? session->lost : lost_samples;
}

struct top_rates top_rates_take(struct top *top)
{
	const struct top_interval *interval = &top->interval;
	uint64_t now = clock_now_ns(CLOCK_MONOTONIC), lost = lost_until_now(top->report.session);
	double seconds = (double)(now - interval->begin_ns) / 1e9;
	const struct top_rates rates = {.samples_per_s = seconds > 0 ? (double)interval->samples / seconds : 0,
					.kernel_percent = percent(interval->kernel_samples, interval->samples),
					.exact_percent = percent(interval->exact_samples, interval->samples),
					.lost_now = lost - top->lost,
					.lost = lost};
	top->interval = (struct top_interval){.begin_ns = now};
	top->lost = lost;
	return rates;
}
