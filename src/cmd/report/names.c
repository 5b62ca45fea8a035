/* perf report: filters by names that nothing has are mistyped more often than not. */
#include "cmd/report/report.h"

#include "base/log.h"
#include "base/number.h"
#include "base/text.h"
#include "cmd/sampled_ids.h"

#include <stdlib.h>
#include <string.h>

/* What names are compared with: those of the recording, each several times. */
struct known_names {
	VEC(const char *) list;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_names(struct known_names *names)
{
	size_t kept = 0;
	if (!names->list.len)
		return;
	qsort(names->list.data, names->list.len, sizeof(*names->list.data), by_name);
	for (size_t i = 1; i < names->list.len; i++)
		if (strcmp(names->list.data[kept], names->list.data[i]) != 0)
			names->list.data[++kept] = names->list.data[i];
	names->list.len = kept + 1;
}

static bool has_name(const struct known_names *names, const char *name)
{
	return names->list.len && bsearch(&name, names->list.data, names->list.len, sizeof(*names->list.data), by_name);
}

static void tell(const struct known_names *names, const char *option, const char *what, const char *word)
{
	const char *near = str_nearest_part(word, names->list.data, names->list.len);
	struct strbuf text = {0};
	strbuf_printf(&text, "%s ", option);
	text_add_safe(&text, word, strlen(word));
	strbuf_printf(&text, ": nothing in the recording matches; it has no %s of this name", what);
	if (near) {
		strbuf_add_str(&text, ". Did you mean '");
		text_add_safe(&text, near, strlen(near));
		strbuf_add_str(&text, "'?");
	}
	log_warning("%s", strbuf_str(&text));
	strbuf_deinit(&text);
}

static void check_list(const struct name_list *wanted, struct known_names *names, const char *option, const char *what)
{
	sort_names(names);
	for (size_t i = 0; i < wanted->names.len; i++) {
		const char *word = wanted->names.data[i];
		if (!has_name(names, word) && !str_starts_with(word, "0x"))
			tell(names, option, what, word);
	}
	vec_deinit(&names->list);
}

static bool contains(const struct known_names *names, const char *part)
{
	for (size_t i = 0; i < names->list.len; i++)
		if (strstr(names->list.data[i], part))
			return true;
	return false;
}

static void add_symbols(const struct fold *fold, struct known_names *names)
{
	for (size_t i = 0; i < fold->frame_count; i++)
		if (fold->frames[i].symbol)
			vec_push(&names->list, fold->frames[i].symbol->name);
}

static void check_ids(const struct report *report, const struct sampled_ids *sampled, const struct name_list *list, enum sampled_kind kind)
{
	VEC(uint32_t) wanted = {0};
	for (size_t i = 0; i < list->names.len; i++) {
		uint32_t id;
		if (number_parse_u32(list->names.data[i], &id))
			vec_push(&wanted, id);
	}
	sampled_ids_warn(sampled, report->session->machine, kind, wanted.data, wanted.len);
	vec_deinit(&wanted);
}

static void ids_hint(const struct report *report)
{
	const struct fold *fold = report->fold;
	struct sampled_ids sampled = {0};
	for (size_t i = 0; i < fold->entry_count; i++) {
		const struct thread *thread = fold->actors[fold->entries[i].actor].thread;
		sampled_ids_add(&sampled, thread->pid, thread->tid, fold->entries[i].count);
	}
	check_ids(report, &sampled, &report->options->pids, SAMPLED_PROCESS);
	check_ids(report, &sampled, &report->options->tids, SAMPLED_THREAD);
	sampled_ids_deinit(&sampled);
}

void report_names_hint(const struct report *report)
{
	const struct report_options *options = report->options;
	const struct fold *fold = report->fold;
	struct known_names names = {0};
	if (options->comms.names.len) {
		for (size_t i = 0; i < fold->actor_count; i++)
			vec_push(&names.list, untrusted_raw(fold->actors[i].comm));
		check_list(&options->comms, &names, "--comms", "thread");
	}
	if (options->pids.names.len || options->tids.names.len)
		ids_hint(report);
	names = (struct known_names){0};
	if (options->dsos.names.len) {
		for (size_t i = 0; i < fold->frame_count; i++) {
			const struct map *map = fold->frames[i].map;
			if (!map)
				continue;
			vec_push(&names.list, map->dso->name);
			vec_push(&names.list, map->dso->short_name);
		}
		check_list(&options->dsos, &names, "--dsos", "file");
	}
	names = (struct known_names){0};
	if (options->symbols.names.len) {
		add_symbols(fold, &names);
		check_list(&options->symbols, &names, "--symbols", "function");
	}
	names = (struct known_names){0};
	if (options->symbol_filter) {
		add_symbols(fold, &names);
		sort_names(&names);
		if (!contains(&names, options->symbol_filter))
			tell(&names, "--symbol-filter", "function with a part", options->symbol_filter);
		vec_deinit(&names.list);
	}
}
