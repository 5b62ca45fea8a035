/* The dump of a record with what only the machine knows: thread and file. */
#include "cmd/dumping.h"

#include "analysis/itrace/itrace.h"
#include "arch/arch.h"
#include "base/text.h"
#include "perfdata/dump/dump.h"

#include <stdio.h>
#include <string.h>

static void add_file(const struct machine *machine, const struct thread *thread, const struct sample *sample, uint64_t time,
		     struct strbuf *out)
{
	const struct maps *maps = thread ? machine_maps(machine, thread, sample->cpumode) : NULL;
	const struct map *map = maps ? maps_find(maps, sample->ip, time) : NULL;
	const char *name = map ? map->dso->name : sample->cpumode == CPUMODE_HYPERVISOR ? "[hypervisor]" : "<not found>";
	strbuf_add_str(out, " ...... dso: ");
	text_add_safe(out, name, strlen(name));
	strbuf_add_char(out, '\n');
}

void dumping_add_record(const struct session *session, const struct record *record, uint64_t *offset, struct strbuf *out)
{
	const struct reader *reader = session->reader;
	const struct dump_options options = {.register_name = arch_register_name};
	struct sample sample;
	if (record->offset != *offset) {
		dump_record(reader, record->header, record->offset, record->event, &options, out);
		itrace_dump_record(session->reader, record->header, record->offset, out);
	}
	*offset = record->offset;
	if (record->header->type != RECORD_SAMPLE ||
	    sample_decode_fixed(&reader->layouts[record->event->index], &record->event->attr, record->header, &sample))
		return;
	const struct thread *thread = session_sample_thread(session->machine, &sample, record->model_time);
	const struct untrusted *comm = thread ? thread_comm(thread, record->model_time) : untrusted(":-1");
	strbuf_add_str(out, " ... thread: ");
	text_add_untrusted(out, comm);
	strbuf_printf(out, ":%d\n", (int)sample.tid);
	add_file(session->machine, thread, &sample, record->model_time, out);
}

struct error *dumping_all(struct session *session)
{
	struct strbuf text = {0};
	struct record record;
	struct error *error = NULL;
	uint64_t offset = UINT64_MAX;
	while (session_next(session, &record, &error) > 0) {
		dumping_add_record(session, &record, &offset, &text);
		fwrite(strbuf_str(&text), 1, text.len, stdout);
		strbuf_clear(&text);
	}
	strbuf_deinit(&text);
	return error;
}
