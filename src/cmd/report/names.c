/* perf report: filters by names that nothing has are mistyped more often than not. */
#include "cmd/report/report.h"

#include "base/number.h"
#include "cmd/known_names.h"
#include "cmd/sampling/sampled_ids.h"

#include <stdlib.h>
#include <string.h>

static void check_list(const struct name_list *wanted, struct known_names *names, const char *option, const char *what)
{
	known_names_check(names, wanted->names.data, wanted->names.len, option, what);
	known_names_deinit(names);
	*names = (struct known_names){0};
}

static void add_symbols(const struct fold *fold, struct known_names *names)
{
	for (size_t i = 0; i < fold->frame_count; i++)
		if (fold->frames[i].symbol)
			known_names_add(names, fold->frames[i].symbol->name);
}

static void check_ids(const struct sampled_ids *sampled, const struct name_list *list, enum sampled_kind kind)
{
	VEC(uint32_t) wanted = {0};
	for (size_t i = 0; i < list->names.len; i++) {
		uint32_t id;
		if (number_parse_u32(list->names.data[i], &id))
			vec_push(&wanted, id);
	}
	sampled_ids_warn(sampled, kind, wanted.data, wanted.len);
	vec_deinit(&wanted);
}

static void ids_hint(const struct report *report)
{
	const struct fold *fold = report->fold;
	struct sampled_ids sampled = {0};
	for (size_t i = 0; i < fold->entry_count; i++) {
		const struct thread *thread = fold->actors[fold->entries[i].actor].thread;
		sampled_ids_add(&sampled, thread->process->machine, thread->pid, thread->tid, fold->entries[i].count);
	}
	check_ids(&sampled, &report->options->pids, SAMPLED_PROCESS);
	check_ids(&sampled, &report->options->tids, SAMPLED_THREAD);
	sampled_ids_deinit(&sampled);
}

void report_names_hint(const struct report *report)
{
	const struct report_options *options = report->options;
	const struct fold *fold = report->fold;
	struct known_names names = {0};
	if (options->comms.names.len) {
		for (size_t i = 0; i < fold->actor_count; i++)
			known_names_add_untrusted(&names, fold->actors[i].comm);
		check_list(&options->comms, &names, "--comms", "thread");
	}
	if (options->pids.names.len || options->tids.names.len)
		ids_hint(report);
	if (options->dsos.names.len) {
		for (size_t i = 0; i < fold->frame_count; i++) {
			const struct map *map = fold->frames[i].map;
			if (!map)
				continue;
			known_names_add(&names, map->dso->name);
			known_names_add(&names, map->dso->short_name);
		}
		check_list(&options->dsos, &names, "--dsos", "file");
	}
	if (options->symbols.names.len) {
		add_symbols(fold, &names);
		check_list(&options->symbols, &names, "--symbols", "function");
	}
	if (options->symbol_filter) {
		add_symbols(fold, &names);
		known_names_check_part(&names, options->symbol_filter, "--symbol-filter", "function with a part");
		known_names_deinit(&names);
	}
}
