/* perf report: what a person should know before the table: which files lacked symbols and what fixes it, what was lost, what was wrong with
 * the recording. One sentence each, on standard error. */
#include "cmd/report/report.h"

#include "analysis/leaf_callers.h"
#include "analysis/stack_ends.h"
#include "app/hint.h"
#include "base/log.h"
#include "base/text.h"
#include "cmd/hidden_kernel.h"
#include "symbol/remedy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ENDS = 12, MOST_LEAVES = 3 };

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

/* With -v, of a file whose names were asked for: where they are from, and what would be better. */
static void tell_origin(struct resolver *resolver, const struct dso *dso)
{
	struct strbuf text = {0}, remedy = {0};
	bool carried;
	enum symbol_source source = resolver_source(resolver, dso);
	const char *path = resolver_origin(resolver, dso, &carried);
	text_add_safe(&text, dso->name, strlen(dso->name));
	strbuf_add_str(&text, carried ? ": names from the recording" : path ? ": names from " : ": no file with names");
	strbuf_add_str(&text, carried && path ? ", whose recorder had them from " : "");
	if (path)
		text_add_safe(&text, path, strlen(path));
	strbuf_printf(&text, " (%s%s)", symbol_source_text(source),
		      source != SYMBOLS_FULL				    ? ""
		      : resolver_has_functions(resolver, (struct dso *)dso) ? ", with source lines"
									    : ", without source lines");
	resolver_remedy(resolver, dso, &remedy);
	if (remedy.len)
		strbuf_printf(&text, "; better: %s", strbuf_str(&remedy));
	log_info("%s", strbuf_str(&text));
	strbuf_deinit(&text);
	strbuf_deinit(&remedy);
}

static void tell_origins(struct report *report)
{
	const struct machine *machine = report->session->machine;
	struct resolver *resolver = report->opening.resolver;
	machine_each_dso (dso, machine)
		if (resolver_source(resolver, dso) != SYMBOLS_NOT_LOADED)
			tell_origin(resolver, dso);
}

/* "no unwind information (libfoo.so, 12%: install libfoo-dbgsym)". */
static void add_end(struct report *report, const struct stack_ends *ends, const struct stack_end *end, struct strbuf *out)
{
	struct strbuf remedy = {0};
	strbuf_add_str(out, stack_end_text(end->reason));
	strbuf_add_str(out, " (");
	if (end->dso) {
		text_add_safe(out, end->dso->name, strlen(end->dso->name));
		strbuf_add_str(out, ", ");
	}
	strbuf_printf(out, "%.1f%%", 100.0 * (double)end->count / (double)ends->stacks);
	stack_end_remedy(report->opening.resolver, stack_ends_copied(report->session), end, &remedy);
	if (remedy.len)
		strbuf_printf(out, ": %s", strbuf_str(&remedy));
	strbuf_add_char(out, ')');
	strbuf_deinit(&remedy);
}

static void find_ends(struct report *report, struct fold *fold, struct stack_ends *ret)
{
	*ret = (struct stack_ends){0};
	stack_ends_merge(ret, fold->ends);
	stack_ends_add_recorded(ret, fold, report->opening.resolver, (unsigned int)report->options->max_stack);
	stack_ends_sort(ret);
}

/* Stacks whose outermost functions are missing, if there are more than a few. */
static void stacks_hint(struct report *report)
{
	struct stack_ends ends;
	find_ends(report, report->fold, &ends);
	if (ends.early * 50 >= ends.stacks && ends.early) {
		struct strbuf text = {0};
		strbuf_printf(&text, "%.0f%% of the stacks end early, before main() or the start of their thread: ",
			      100.0 * (double)ends.early / (double)ends.stacks);
		for (size_t i = 0; i < ends.list.len && i < 3 && (!i || ends.list.data[i].count * 50 >= ends.stacks); i++) {
			strbuf_add_str(&text, i ? "; " : "");
			add_end(report, &ends, &ends.list.data[i], &text);
		}
		log_warning("%s", strbuf_str(&text));
		strbuf_deinit(&text);
	}
	stack_ends_deinit(&ends);
}

/* "memcpy in libc.so.6, 3.2%; …": the functions whose callers are lacking most often. */
static void add_leaves(const struct leaf_callers *callers, struct strbuf *out)
{
	for (size_t i = 0; i < callers->functions.len && i < MOST_LEAVES; i++) {
		const struct leaf_function *function = &callers->functions.data[i];
		strbuf_add_str(out, i ? "; " : "");
		if (function->symbol) {
			text_add_safe(out, function->symbol->name, strlen(function->symbol->name));
			strbuf_add_str(out, " in ");
		}
		text_add_safe(out, function->dso->short_name, strlen(function->dso->short_name));
		strbuf_printf(out, ", %.1f%%", 100.0 * (double)function->count / (double)callers->stacks);
	}
}

/* Stacks in which frame pointers led past a caller, if there are more than a few. */
static void leaves_hint(struct report *report)
{
	struct leaf_callers callers;
	leaf_callers_find(report->fold, report->opening.resolver, false, &callers);
	if (callers.lacking * 50 >= callers.stacks && callers.lacking) {
		struct strbuf text = {0};
		add_leaves(&callers, &text);
		log_warning("%.0f%% of the stacks lack a caller: the innermost function has no stack frame, so frame pointers skip its "
			    "caller (%s). To see all callers, record with -g alone, which records complete stacks",
			    100.0 * (double)callers.lacking / (double)callers.stacks, strbuf_str(&text));
		strbuf_deinit(&text);
	}
	leaf_callers_deinit(&callers);
}

/* Returns how many lines it took. */
static size_t print_leaves(struct report *report)
{
	struct leaf_callers callers;
	struct strbuf text = {0};
	leaf_callers_find(report->fold, report->opening.resolver, true, &callers);
	if (callers.lacking) {
		add_leaves(&callers, &text);
		printf("\nStacks that lack the caller of their innermost function: %" PRIu64 " of %" PRIu64
		       " (record with -g alone to have it)\n%16" PRIu64 "  no frame set up (%s)\n",
		       callers.lacking, callers.stacks, callers.lacking, strbuf_str(&text));
	}
	size_t lines = callers.lacking ? 2 : 0;
	strbuf_deinit(&text);
	leaf_callers_deinit(&callers);
	return lines;
}

struct error *report_stack_stats(struct report *report)
{
	const struct fold_options options = {.chains = true, .by_address = true, .max_stack = (unsigned int)report->options->max_stack};
	struct stack_ends ends;
	struct strbuf text = {0};
	struct error *error = fold_of_session(report->session, report->opening.resolver, &options, &report->fold);
	if (error)
		return error;
	size_t most = MOST_ENDS - print_leaves(report);
	find_ends(report, report->fold, &ends);
	printf("\nStacks that end early: %" PRIu64 " of %" PRIu64 "\n", ends.early, ends.stacks);
	size_t shown = ends.list.len > most ? most - 1 : ends.list.len;
	uint64_t others = ends.early;
	for (size_t i = 0; i < shown; i++) {
		strbuf_clear(&text);
		add_end(report, &ends, &ends.list.data[i], &text);
		printf("%16" PRIu64 "  %s\n", ends.list.data[i].count, strbuf_str(&text));
		others -= ends.list.data[i].count;
	}
	if (shown < ends.list.len)
		printf("%16" PRIu64 "  at %zu other places (%.1f%%)\n", others, ends.list.len - shown,
		       100.0 * (double)others / (double)ends.stacks);
	strbuf_deinit(&text);
	stack_ends_deinit(&ends);
	return NULL;
}

void report_hints(struct report *report)
{
	if (report->options->output.quiet)
		return;
	bool wanted = hint_is_wanted(STDERR_FILENO);
	if (report->fold && !report->branch_mode)
		hidden_kernel_warn(report->fold);
	if (report->fold && report->fold->entry_count)
		report_names_hint(report);
	if (wanted && report->fold && !report->branch_mode)
		symbol_hint(report);
	if (wanted && report->fold && !report->branch_mode && report->fold->ends)
		stacks_hint(report);
	if (wanted && report->fold && !report->branch_mode && report->chains)
		leaves_hint(report);
	if (log_level() >= LOG_INFO)
		tell_origins(report);
	opening_warn(&report->opening);
}
