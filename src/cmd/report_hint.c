/* perf report: what a person should know after the table: which files lacked symbols and what mends it, what was lost, what was wrong with the recording. One
 * sentence each, on standard error. */
#include "cmd/report.h"

#include "base/log.h"
#include "base/text.h"
#include "symbol/remedy.h"

#include <stdlib.h>
#include <string.h>

struct lacking {
	const struct dso *dso;
	uint64_t count;
};

static int by_count(const void *a, const void *b)
{
	const struct lacking *x = a, *y = b;
	return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

/* Samples whose own address has no name, by file. */
static void symbol_hint(struct report *report)
{
	const struct fold *fold = report->fold;
	size_t dsos = report->session->machine->dsos.len;
	struct lacking *lacking = mem_zalloc_array(dsos + 1, sizeof(*lacking));
	uint64_t all = 0, unnamed = 0;
	for (size_t i = 0; i < fold->entry_count; i++) {
		const struct fold_frame *frame = &fold->frames[fold->entries[i].leaf];
		all += fold->entries[i].count;
		if (frame->symbol || !frame->map)
			continue;
		lacking[frame->map->dso->index].dso = frame->map->dso;
		lacking[frame->map->dso->index].count += fold->entries[i].count;
		unnamed += fold->entries[i].count;
	}
	qsort(lacking, dsos, sizeof(*lacking), by_count);
	if (all && unnamed * 20 >= all && lacking[0].count) {
		struct strbuf text = {0}, remedy = {0};
		strbuf_printf(&text, "%.0f%% of the samples have no function name:", 100.0 * (double)unnamed / (double)all);
		for (size_t i = 0; i < dsos && i < 3 && lacking[i].count * 50 >= all; i++) {
			strbuf_add_str(&text, i ? "; " : " ");
			text_add_safe(&text, lacking[i].dso->name, strlen(lacking[i].dso->name));
			strbuf_printf(&text, " (%.0f%%: %s", 100.0 * (double)lacking[i].count / (double)all,
				      symbol_source_text(resolver_source(report->opening.resolver, lacking[i].dso)));
			resolver_remedy(report->opening.resolver, lacking[i].dso, &remedy);
			if (remedy.len)
				strbuf_printf(&text, "; %s", strbuf_str(&remedy));
			strbuf_clear(&remedy);
			strbuf_add_char(&text, ')');
		}
		log_warning("%s", strbuf_str(&text));
		strbuf_deinit(&text);
		strbuf_deinit(&remedy);
	}
	free(lacking);
}

void report_hints(struct report *report)
{
	if (report->options->output.quiet)
		return;
	if (report->fold && !report->branch_mode)
		symbol_hint(report);
	opening_warn(&report->opening);
}
