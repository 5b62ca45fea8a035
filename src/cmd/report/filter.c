/* perf report: which samples count, and which rows are shown.
 *
 * By pid, tid, socket and time windows (--switch-on, --switch-off) samples are left out. By command, file and symbol they only aren't
 * shown: percentages relate to all (--percentage absolute) or to those that are left (relative). */
#include "cmd/report/report.h"

#include "base/number.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool list_has_number(const struct name_list *list, uint32_t number)
{
	for (size_t i = 0; i < list->names.len; i++) {
		uint32_t value;
		if (number_parse_u32(list->names.data[i], &value) && value == number)
			return true;
	}
	return false;
}

static struct error *check_numbers(const struct name_list *list, const char *option)
{
	uint32_t value;
	for (size_t i = 0; i < list->names.len; i++)
		if (!number_parse_u32(list->names.data[i], &value))
			return error_new_kind(ERROR_USAGE, "%s %s: not a number", option, list->names.data[i]);
	return NULL;
}

static bool names_event(const struct event *event, const char *name)
{
	size_t length = strlen(name);
	return !strcmp(event->name, name) || (!strncmp(event->name, name, length) && event->name[length] == ':');
}

struct error *report_find_switches(const struct report *report, const struct event **ret_on, const struct event **ret_off)
{
	const struct report_options *options = report->options;
	const struct event *on = NULL, *off = NULL;
	const struct event_list *events = &report->session->reader->events;
	for (size_t i = 0; i < events->events.len; i++) {
		if (options->switch_on && names_event(events->events.data[i], options->switch_on))
			on = events->events.data[i];
		if (options->switch_off && names_event(events->events.data[i], options->switch_off))
			off = events->events.data[i];
	}
	if ((options->switch_on && !on) || (options->switch_off && !off))
		return error_new_kind(ERROR_USAGE, "--switch-%s: %s no event '%s'", options->switch_on && !on ? "on" : "off",
				      report->live ? "-e names" : "the recording has",
				      options->switch_on && !on ? options->switch_on : options->switch_off);
	*ret_on = on;
	*ret_off = off;
	return NULL;
}

/* The times between an event of --switch-on and one of --switch-off. */
static struct error *find_windows(struct report *report)
{
	const struct report_options *options = report->options;
	const struct event *on, *off;
	struct error *error = report_find_switches(report, &on, &off);
	if (error)
		return error;
	VEC(struct time_range) windows = {0};
	bool open = !on;
	uint64_t begin = 0;
	struct record record;
	while (session_next(report->session, &record, &error) > 0) {
		if (record.header->type != RECORD_SAMPLE)
			continue;
		if (!open && record.event == on) {
			open = true;
			begin = options->show_on_off ? record.model_time : record.model_time + 1;
		} else if (open && off && record.event == off) {
			open = false;
			vec_push(&windows, (struct time_range){.begin = begin,
							       .end = options->show_on_off ? record.model_time : record.model_time - 1});
			if (!on)
				break;
		}
	}
	if (open)
		vec_push(&windows, (struct time_range){.begin = begin, .end = UINT64_MAX});
	report->windows = windows.data;
	report->window_count = windows.len;
	return error;
}

struct error *report_setup_filter(struct report *report)
{
	const struct report_options *options = report->options;
	struct error *error = check_numbers(&options->pids, "--pid");
	if (!error)
		error = check_numbers(&options->tids, "--tid");
	if (!error && (options->switch_on || options->switch_off) && !report->live)
		error = find_windows(report);
	return error;
}

static bool in_window(const struct report *report, uint64_t time)
{
	for (size_t i = 0; i < report->window_count; i++)
		if (time >= report->windows[i].begin && time <= report->windows[i].end)
			return true;
	return false;
}

bool report_accept(void *context, const struct fold_sample *sample)
{
	const struct report *report = context;
	const struct report_options *options = report->options;
	if (report->windows && !in_window(report, sample->model_time))
		return false;
	if (options->socket >= 0) {
		const struct features *features = &report->session->reader->features;
		uint32_t cpu = sample->sample->cpu;
		if (cpu >= features->cpus.len || features->cpus.data[cpu].socket_id != options->socket)
			return false;
	}
	return true;
}

void report_extra(void *context, const struct fold_sample *sample, uint64_t *words)
{
	const struct report *report = context;
	unsigned int word = 0;
	for (size_t i = 0; i < report->extras.keys.len; i++) {
		const struct key *key = report->extras.keys.data[i];
		if (report->group || !key->event || key->event == sample->event)
			key->extract(&report->context, key, sample, words + word++);
	}
	while (word < report->extra_words)
		words[word++] = 0;
}

static bool dso_listed(const struct name_list *list, const struct fold_frame *place)
{
	return place->map && (name_list_has(list, place->map->dso->short_name) || name_list_has(list, place->map->dso->name));
}

static bool symbol_listed(const struct name_list *list, const struct fold_frame *place)
{
	if (!place->symbol)
		return false;
	if (name_list_has(list, place->symbol->name))
		return true;
	char address[32];
	uint64_t start = place->symbol->start;
	if (place->map && !place->map->identity)
		start = start - place->map->pgoff + place->map->start;
	snprintf(address, sizeof(address), "0x%lx", start);
	return name_list_has(list, address);
}

bool report_shown(void *context, const struct fold *fold, const struct fold_entry *entry)
{
	const struct report *report = context;
	const struct report_options *options = report->options;
	const struct fold_actor *actor = &fold->actors[entry->actor];
	if (!sides_have(options->sides, entry->cpumode, actor->thread))
		return false;
	if (options->comms.names.len && !name_list_has(&options->comms, untrusted_raw(actor->comm)))
		return false;
	if (options->pids.names.len && !list_has_number(&options->pids, actor->thread->pid))
		return false;
	if (options->tids.names.len && !list_has_number(&options->tids, actor->thread->tid))
		return false;
	const struct fold_frame *place = &fold->frames[entry->leaf];
	if (options->dsos.names.len && !dso_listed(&options->dsos, place))
		return false;
	return !options->symbols.names.len || symbol_listed(&options->symbols, place);
}

bool report_place_shown(void *context, const struct fold_frame *place)
{
	const struct report *report = context;
	return place->symbol && strstr(place->symbol->name, report->options->symbol_filter);
}
