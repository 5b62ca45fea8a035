/* perf mem report -D: a line for each sample, for programs that read fields: numbers as they were recorded, the code's file and
 * function. */
#include "cmd/mem/mem.h"

#include "analysis/script/sample_text.h"
#include "app/pager.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "cmd/opening.h"
#include "event/memory_events.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

struct mem_dump {
	const struct mem_report_options *options;
	struct opening opening;
	struct strbuf line;
	const char *between; /* fields */
};

static void add_code(struct mem_dump *dump, const struct frame *frame)
{
	const char *file = frame->map && frame->map->dso ? frame->map->dso->name : "???";
	text_add_safe(&dump->line, file, strlen(file));
	const char *symbol = frame->symbol ? frame->symbol->name : "???";
	strbuf_add_char(&dump->line, ':');
	text_add_safe(&dump->line, symbol, strlen(symbol));
}

/* -t: by the operation that the source of the data tells of. */
static bool is_chosen(const struct mem_common *common, const struct sample *sample)
{
	const union perf_mem_data_src source = {.val = sample->data_src};
	return !common->kinds || (common->kinds & MEMORY_LOADS && source.mem_op & PERF_MEM_OP_LOAD) ||
	       (common->kinds & MEMORY_STORES && source.mem_op & PERF_MEM_OP_STORE);
}

static void print_sample(struct mem_dump *dump, const struct record *record, const struct sample *sample)
{
	const struct mem_report_options *options = dump->options;
	const struct machine *machine = dump->opening.session->machine;
	const struct thread *thread = session_sample_thread((struct machine *)machine, sample, record->model_time);
	struct strbuf *line = &dump->line;
	const char *between = dump->between;
	struct frame frame;
	sample_resolve(dump->opening.resolver, thread, sample->cpumode, sample->ip, record->model_time, &frame);
	if (options->hide_unresolved && !frame.symbol)
		return;
	strbuf_clear(line);
	strbuf_printf(line, "%d%s%d%s0x%" PRIx64 "%s0x%" PRIx64 "%s", (int)sample->pid, between, (int)sample->tid, between, sample->ip,
		      between, sample->addr, between);
	if (options->common.phys)
		strbuf_printf(line, "0x%016" PRIx64 "%s", sample->phys_addr, between);
	if (options->common.data_page) {
		sample_text_add_page_size(sample->data_page_size, line);
		strbuf_add_str(line, between);
	}
	strbuf_printf(line, "%" PRIu64 "%s0x%" PRIx64 "%s", sample->weight, between, sample_data_source(&record->event->attr, sample),
		      between);
	add_code(dump, &frame);
	strbuf_add_char(line, '\n');
	fwrite(strbuf_str(line), 1, line->len, stdout);
}

static void print_titles(const struct mem_dump *dump)
{
	static const char *const titles[] = {"PID", "TID", "IP", "ADDR", "PHYS ADDR", "DATA PAGE SIZE", "LOCAL WEIGHT", "DSRC", "SYMBOL"};
	enum { PHYS = 4, DATA_PAGE = 5 };
	const struct mem_common *common = &dump->options->common;
	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
		if ((i != PHYS || common->phys) && (i != DATA_PAGE || common->data_page))
			printf("%s%s", i ? ", " : "# ", titles[i]);
	putchar('\n');
}

struct error *mem_dump(const struct mem_report_options *options)
{
	struct mem_dump dump = {.options = options, .between = options->separator ? options->separator : " "};
	const struct opening_options opening = {.input = &options->input,
						.cpus = options->cpus,
						.streaming = true,
						.itrace = &ITRACE_MEMORY,
						.confined = "mem",
						.recorder = "perf mem record"};
	struct error *error = opening_begin(&dump.opening, &opening);
	struct record record;
	struct sample sample;
	if (!error) {
		pager_start("mem");
		print_titles(&dump);
		while (session_next(dump.opening.session, &record, &error) > 0)
			if (record.is_sample && session_decode(dump.opening.session, &record, &sample) &&
			    is_chosen(&options->common, &sample))
				print_sample(&dump, &record, &sample);
	}
	if (!error)
		opening_warn(&dump.opening);
	strbuf_deinit(&dump.line);
	opening_end(&dump.opening);
	return error;
}
