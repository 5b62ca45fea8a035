/* --convert-callchain: copies of stacks are unwound once and for all, and become call chains.
 *
 *	in    … | chain: kernel part | … | registers, 8 KB of stack | …
 *	out   … | chain: kernel part, user marker, addresses | …
 *
 * Addresses are those that readers of the original show: a caller's is in its call. What told why a stack ends early is gone with the
 * copy. */
#include "cmd/inject/inject.h"

#include <linux/perf_event.h>
#include <string.h>

enum { COPY = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER };

static bool has_copy(const struct event_attr *attr)
{
	return (attr->sample_type & COPY) == COPY && (attr->sample_type & PERF_SAMPLE_CALLCHAIN);
}

struct error *inject_chain_init(struct inject *inject)
{
	size_t count = 0;
	for (size_t i = 0; i < inject->events.events.len; i++) {
		struct event_attr *attr = &inject->events.events.data[i]->attr;
		if (!has_copy(attr))
			continue;
		attr->sample_type &= ~(uint64_t)COPY;
		attr->sample_regs_user = 0;
		attr->sample_stack_user = 0;
		attr->exclude_callchain_user = 0;
		count++;
	}
	if (!count)
		return error_new("--convert-callchain: this recording has no stack copies; record with --call-graph dwarf");
	struct symbol_options symbols = {
		.buildid_dir = inject->buildid_dir,
		.force = inject->options->force,
		.same_machine = inject->same_machine,
	};
	inject->resolver = resolver_create(inject->session->machine, &symbols);
	return NULL;
}

bool inject_chain(struct inject *inject, struct record *record)
{
	const struct session *session = inject->session;
	const struct event_attr *attr = &record->event->attr;
	struct sample sample;
	struct sample_parts parts;
	if (!inject->resolver || !has_copy(attr) || !session_decode(inject->session, record, &sample) ||
	    sample_find_parts(&session->reader->layouts[record->event->index], record->header, &parts))
		return false;
	const struct thread *thread = session_sample_thread(session->machine, &sample, record->model_time);
	stack_addresses(inject->resolver, session->machine, thread, record->event, &sample, record->model_time, &(struct stack_options){0},
			&inject->stack);
	struct strbuf *out = &inject->sample;
	strbuf_clear(out);
	if (!sample_put_user_chain(&sample, &parts, inject->stack.ips.data, inject->stack.ips.len, out))
		return false;
	struct record_header *header = (struct record_header *)out->data;
	inject->bytes_saved += record->header->size > out->len ? record->header->size - out->len : 0;
	record->header = header;
	return true;
}

void inject_chain_deinit(struct inject *inject)
{
	stack_deinit(&inject->stack);
	strbuf_deinit(&inject->sample);
	resolver_destroy(inject->resolver);
}
