/* What was lost and what was wrong, in plain sentences for the end of an output. */
#include "base/number.h"
#include "base/text.h"
#include "session/session_internal.h"

#include <string.h>

enum count { COUNT_LOST, COUNT_LOST_SAMPLES, COUNT_THROTTLES };

static uint64_t event_count(const struct session *session, size_t index, enum count what)
{
	const struct event_counts *counts = &session->event_counts[index];
	return what == COUNT_LOST ? counts->lost : what == COUNT_LOST_SAMPLES ? counts->lost_samples : counts->throttles;
}

/* " (cycles 5, sched:sched_switch 7)"; nothing for a single event. */
static void add_events(const struct session *session, enum count what, struct strbuf *out)
{
	const struct event_list *list = &session->reader->events;
	char number[32];
	const char *between = " (";
	if (session->private->known_events < 2)
		return;
	for (size_t i = 0; i < session->private->known_events; i++) {
		uint64_t count = event_count(session, i, what);
		if (!count)
			continue;
		const char *name = list->events.data[i]->name;
		strbuf_add_str(out, between);
		text_add_safe(out, name, strlen(name));
		strbuf_printf(out, " %s", number_format_grouped(count, number));
		between = ", ";
	}
	if (between[0] == ',')
		strbuf_add_char(out, ')');
}

/* A ring is stopped while what was overwritten in it is read. Options by the names that they have in all commands that record. */
static const char *reason_of_loss(const struct event_list *events)
{
	bool has_frequency = false;
	for (size_t i = 0; i < events->events.len; i++) {
		if (events->events.data[i]->attr.write_backward)
			return "buffers that overwrite what is oldest take nothing while they are read (--overwrite)";
		has_frequency |= events->events.data[i]->attr.freq;
	}
	return has_frequency ? "the buffers were full; use larger buffers (--mmap-pages) or a lower frequency (-F)"
			     : "the buffers were full; use larger buffers (--mmap-pages)";
}

static void add_loss(const struct session *session, struct strbuf *out)
{
	char lost_text[32], kept_text[32];
	uint64_t lost = session->lost_samples ? session->lost_samples : session->lost;
	uint64_t kept = session->record_counts[RECORD_SAMPLE];
	double share = 100.0 * (double)lost / ((double)lost + (double)kept);
	strbuf_printf(out, "%s %s lost", number_format_grouped(lost, lost_text), session->lost_samples ? "samples were" : "records were");
	add_events(session, session->lost_samples ? COUNT_LOST_SAMPLES : COUNT_LOST, out);
	strbuf_printf(out, ", %s samples were recorded (%.*f%% lost): %s", number_format_grouped(kept, kept_text), share < 1 ? 2 : 0, share,
		      reason_of_loss(&session->reader->events));
}

static void begin_sentence(struct strbuf *out)
{
	if (out->len)
		strbuf_add_char(out, '\n');
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

void session_loss_text(const struct session *session, struct strbuf *out)
{
	char number[32];
	uint64_t throttles = session->record_counts[RECORD_THROTTLE];
	if (session->lost_samples || session->lost)
		add_loss(session, out);
	if (!throttles)
		return;
	begin_sentence(out);
	strbuf_printf(out, "the kernel paused sampling %s time%s", number_format_grouped(throttles, number), plural(throttles));
	add_events(session, COUNT_THROTTLES, out);
	strbuf_add_str(out, ", because samples came too fast (throttling): use a lower frequency (-F) or a larger period (-c)");
}

void session_diagnostics_text(const struct session *session, struct strbuf *out)
{
	const struct reader_diagnostics *diagnostics = &session->reader->diagnostics;
	char number[32];
	if (diagnostics->unfinished) {
		begin_sentence(out);
		strbuf_add_str(out, "the recorder did not finish this file: showing what it had written");
	}
	if (diagnostics->truncated) {
		begin_sentence(out);
		strbuf_add_str(out, "the file is truncated");
	}
	if (reader_changed(session->reader)) {
		begin_sentence(out);
		strbuf_add_str(out, READER_CHANGED);
		session->reader->diagnostics.changed_told = true;
	}
	if (diagnostics->broken_records) {
		begin_sentence(out);
		strbuf_printf(out, "skipped %s broken record%s, the first at 0x%llx: %s",
			      number_format_grouped(diagnostics->broken_records, number), plural(diagnostics->broken_records),
			      (unsigned long long)diagnostics->first_broken_offset,
			      diagnostics->first_broken ? diagnostics->first_broken : "not a record");
	}
	if (diagnostics->unknown_records) {
		begin_sentence(out);
		strbuf_printf(out, "skipped %s record%s of unknown types: made by a newer perf?",
			      number_format_grouped(diagnostics->unknown_records, number), plural(diagnostics->unknown_records));
	}
	if (diagnostics->auxtrace_bytes) {
		begin_sentence(out);
		strbuf_printf(out, "skipped %s of hardware trace data (AUX area)",
			      number_format_bytes(diagnostics->auxtrace_bytes, number));
	}
}
