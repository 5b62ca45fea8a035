/* Recording of memory accesses is record with -W and -d, and with events that sysfs names. */
#include "cmd/sampling/memory_record.h"

#include "app/command.h"
#include "event/memory_events.h"

#include <stdio.h>
#include <string.h>

void words_split(char **argv, const struct option *own, const struct option *others, struct split_words *ret)
{
	vec_push(&ret->own, *argv++);
	while (*argv) {
		bool help = !strcmp(*argv, "-h") || !strcmp(*argv, "--help");
		int mine = help ? 1 : options_span(own, argv);
		int theirs = mine ? 0 : options_span(others, argv);
		if (!mine && !theirs)
			break;
		for (; mine && *argv; mine--)
			vec_push(&ret->own, *argv++);
		for (; theirs && *argv; theirs--)
			vec_push(&ret->rest, *argv++);
	}
	while (*argv)
		vec_push(&ret->rest, *argv++);
	vec_push(&ret->own, NULL);
}

void words_deinit(struct split_words *words)
{
	vec_deinit(&words->own);
	vec_deinit(&words->rest);
}

static void list_events(const struct memory_events *events)
{
	for (size_t i = 0; i < events->events.len; i++)
		printf("%-13s: available  %s\n", events->events.data[i].name, events->events.data[i].text);
}

static struct error *run(const struct memory_recording *wanted, const char *events, char *const *words, size_t word_count, int *ret_status)
{
	VEC(const char *) before = {0};
	static const char *const always[] = {"record", "-W", "-d", "-e"};
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		vec_push(&before, always[i]);
	vec_push(&before, events);
	if (wanted->phys)
		vec_push(&before, "--phys-data");
	if (wanted->data_page)
		vec_push(&before, "--data-page-size");
	if (wanted->cpu)
		vec_push(&before, "--sample-cpu");
	if (wanted->all_user)
		vec_push(&before, "--all-user");
	if (wanted->all_kernel)
		vec_push(&before, "--all-kernel");
	struct error *error = command_run_with(before.data, before.len, words, (int)word_count, ret_status);
	vec_deinit(&before);
	return error;
}

struct error *memory_record(const struct memory_recording *wanted, char *const *words, size_t word_count, int *ret_status)
{
	struct event_catalog *catalog = event_catalog_create("");
	struct memory_events events;
	struct strbuf chosen = {0};
	struct error *error = NULL;
	memory_events_find(catalog, wanted->latency, &events);
	bool list = wanted->events && !strcmp(wanted->events, "list") && events.events.len;
	if (list)
		list_events(&events);
	else if (wanted->events && strcmp(wanted->events, "list") != 0)
		error = memory_events_named(&events, wanted->events, &chosen);
	else
		error = memory_events_choose(&events, wanted->kinds, &chosen);
	if (!error && !list)
		error = run(wanted, strbuf_str(&chosen), words, word_count, ret_status);
	strbuf_deinit(&chosen);
	memory_events_deinit(&events);
	event_catalog_destroy(catalog);
	return error;
}
