/* Filters of `perf script`. A sample is judged by its own address, not by its stack. */
#include "analysis/script/filter.h"
#include "analysis/itrace/flow.h"
#include "analysis/script/flow.h"

#include "base/mem.h"
#include "base/number.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void script_filter_deinit(struct script_filter *filter)
{
	vec_deinit(&filter->comms);
	vec_deinit(&filter->pids);
	vec_deinit(&filter->tids);
	vec_deinit(&filter->dsos);
	vec_deinit(&filter->symbols);
	vec_deinit(&filter->stop_at);
	vec_deinit(&filter->graphed);
	map64_deinit(&filter->within);
	vec_deinit(&filter->addresses);
	arena_deinit(&filter->arena);
}

static struct error *add_names_of_file(struct script_filter *filter, const char *path, struct script_names *list)
{
	FILE *file = fopen(path, "re");
	if (!file)
		return error_system(errno, "%s", path);
	char *line = NULL;
	size_t size = 0;
	for (ssize_t length; (length = getline(&line, &size, file)) >= 0;) {
		while (length && (line[length - 1] == '\n' || line[length - 1] == ' '))
			line[--length] = '\0';
		if (length && line[0] != '#')
			vec_push(list, arena_strdup(&filter->arena, line));
	}
	free(line);
	fclose(file);
	return NULL;
}

struct error *script_filter_add_names(struct script_filter *filter, const char *text, struct script_names *list)
{
	static const char file_prefix[] = "file://";
	char *rest = NULL;
	for (char *word = strtok_r(arena_strdup(&filter->arena, text), ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		if (strncmp(word, file_prefix, strlen(file_prefix)) != 0) {
			vec_push(list, word);
			continue;
		}
		struct error *error = add_names_of_file(filter, word + strlen(file_prefix), list);
		if (error)
			return error;
	}
	return list->len ? NULL : error_new_kind(ERROR_USAGE, "the list is empty");
}

struct error *script_filter_add_ids(const char *text, struct script_ids *list)
{
	char *words = mem_strdup(text), *rest = NULL;
	struct error *error = NULL;
	for (char *word = strtok_r(words, ",", &rest); word && !error; word = strtok_r(NULL, ",", &rest)) {
		uint32_t id;
		if (number_parse_u32(word, &id))
			vec_push(list, id);
		else
			error = error_new_kind(ERROR_USAGE, "invalid number \"%s\"", word);
	}
	free(words);
	return error;
}

struct error *script_filter_add_symbols(struct script_filter *filter, const char *text)
{
	struct error *error = script_filter_add_names(filter, text, &filter->symbols);
	for (size_t i = 0; i < filter->symbols.len; i++) {
		uint64_t address;
		if (number_parse_hex(filter->symbols.data[i], &address))
			vec_push(&filter->addresses, address);
	}
	return error;
}

static struct error *find_event(const struct event_list *events, const char *name, const char *option, const struct event **ret)
{
	for (size_t i = 0; name && i < events->events.len; i++)
		if (strcmp(events->events.data[i]->name, name) == 0) {
			*ret = events->events.data[i];
			return NULL;
		}
	return name ? error_new("%s %s: the recording has no such event; 'perf evlist' lists its events", option, name) : NULL;
}

struct error *script_filter_set_switches(struct script_filter *filter, const struct event_list *events, const char *on, const char *off)
{
	struct error *error = find_event(events, on, "--switch-on", &filter->on);
	filter->discarding = filter->on;
	return error ? error : find_event(events, off, "--switch-off", &filter->off);
}

bool script_filter_is_empty(const struct script_filter *filter)
{
	return !filter->comms.len && !filter->pids.len && !filter->tids.len && !filter->dsos.len && !filter->symbols.len &&
	       !filter->graphed.len && !filter->on && !filter->off;
}

bool script_filter_is_ordered(const struct script_filter *filter)
{
	return filter->on || filter->off || filter->graphed.len;
}

static bool has_name(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static bool has_id(const uint32_t *ids, size_t count, uint32_t id)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static bool passes_thread(const struct script_filter *filter, const struct thread *thread, uint64_t time)
{
	if (filter->comms.len && !has_name(filter->comms.data, filter->comms.len, untrusted_raw(thread_comm(thread, time))))
		return false;
	if (filter->pids.len && !has_id(filter->pids.data, filter->pids.len, thread->pid))
		return false;
	return !filter->tids.len || has_id(filter->tids.data, filter->tids.len, thread->tid);
}

static bool has_dso(const struct script_filter *filter, const struct map *map)
{
	return map && (has_name(filter->dsos.data, filter->dsos.len, map->dso->name) ||
		       has_name(filter->dsos.data, filter->dsos.len, map->dso->short_name));
}

static bool has_address(const struct script_filter *filter, uint64_t address)
{
	for (size_t i = 0; i < filter->addresses.len; i++)
		if (address - filter->addresses.data[i] < (filter->address_range ? filter->address_range : 1))
			return true;
	return false;
}

static bool has_symbol(const struct script_filter *filter, const struct frame *frame)
{
	if (frame->symbol && has_name(filter->symbols.data, filter->symbols.len, frame->symbol->name))
		return true;
	if (!frame->map)
		return false;
	return (frame->symbol && has_address(filter, frame->ip - frame->dso_addr + frame->symbol->start)) || has_address(filter, frame->ip);
}

/* Between --switch-on and --switch-off. */
static bool passes_switches(struct script_filter *filter, const struct event *event)
{
	if (filter->discarding) {
		if (!filter->on || event != filter->on)
			return false;
		filter->discarding = false;
		return filter->show_on_off;
	}
	if (filter->off && event == filter->off) {
		filter->discarding = true;
		return filter->show_on_off;
	}
	return true;
}

/* From the branch that calls, begins or leaves one of the functions until the calls are no deeper than they were then. */
static bool passes_graph(struct script_filter *filter, struct resolver *resolver, const struct flow_place *place)
{
	uint64_t address;
	uint64_t *entered = map64_insert(&filter->within, (uintptr_t)place->thread, NULL);
	const uint64_t depth = (uint64_t)sample_flow_of(place->event, place->sample).depth + 1;
	if (*entered) {
		const bool still = depth > *entered;
		if (!still)
			*entered = 0;
		return still;
	}
	const char *name = flow_function(resolver, place, &address);
	if (!name || !has_name(filter->graphed.data, filter->graphed.len, name))
		return false;
	*entered = depth;
	return true;
}

bool script_filter_passes(struct script_filter *filter, const struct machine *machine, struct resolver *resolver,
			  const struct record *record, const struct sample *sample, const struct thread *thread)
{
	if (thread && !passes_thread(filter, thread, record->model_time))
		return false;
	if (filter->dsos.len || filter->symbols.len) {
		struct frame frame;
		const struct maps *maps = thread ? machine_maps(machine, thread, sample->cpumode) : NULL;
		resolver_frame(resolver, maps, sample->cpumode, sample->ip, record->model_time, &frame);
		if ((filter->dsos.len && !has_dso(filter, frame.map)) || (filter->symbols.len && !has_symbol(filter, &frame)))
			return false;
	}
	if (!passes_switches(filter, record->event))
		return false;
	const struct flow_place place = {record->event, sample, thread, record->model_time};
	return !filter->graphed.len || passes_graph(filter, resolver, &place);
}
