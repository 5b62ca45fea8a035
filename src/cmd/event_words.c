/* -e, --pfm-events, --filter, --exclude-perf and -G in the order of the command line. */
#include "cmd/event_words.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cmd/sampling/sample_filter.h"
#include "cmd/sides.h"
#include "event/filter.h"
#include "event/parse/parse.h"
#include "event/trace_pmus.h"
#include "event/vendor.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct error *add_word(struct event_words *words, int kind, const char *text)
{
	vec_push(words, (struct event_word){.kind = kind, .text = text});
	return NULL;
}

struct error *event_words_parse_event(const struct option *option, const char *argument, bool negated, void *field)
{
	return add_word(field, WORD_EVENT, argument);
}

struct error *event_words_parse_pfm(const struct option *option, const char *argument, bool negated, void *field)
{
	return add_word(field, WORD_PFM, argument);
}

struct error *event_words_parse_filter(const struct option *option, const char *argument, bool negated, void *field)
{
	return add_word(field, WORD_FILTER, argument);
}

struct error *event_words_parse_sample_filter(const struct option *option, const char *argument, bool negated, void *field)
{
	return add_word(field, WORD_SAMPLE_FILTER, argument);
}

struct error *event_words_parse_exclude_perf(const struct option *option, const char *argument, bool negated, void *field)
{
	return add_word(field, WORD_EXCLUDE_PERF, NULL);
}

struct error *event_words_parse_cgroup(const struct option *option, const char *argument, bool negated, void *field)
{
	return add_word(field, WORD_CGROUP, argument);
}

/* A further condition, and'ed to what there is. */
static void add_filter(struct event_list *events, struct event *event, const char *filter)
{
	event->filter =
		event->filter ? arena_printf(&events->arena, "(%s) && (%s)", event->filter, filter) : arena_strdup(&events->arena, filter);
}

/* A further condition on the samples of an event that is no tracepoint. */
static struct error *add_sample_filter(struct event_list *events, struct event *event, const char *filter)
{
	struct sample_filter_config config;
	struct error *error = sample_filter_parse(filter, &config);

	if (!error)
		event->sample_filter = event->sample_filter ? arena_printf(&events->arena, "%s, %s", event->sample_filter, filter)
							    : arena_strdup(&events->arena, filter);
	return error;
}

/* Further addresses that are traced, or that are not. */
static void add_address_filter(struct event_list *events, struct event *event, const char *filter)
{
	event->address_filter = event->address_filter ? arena_printf(&events->arena, "%s %s", event->address_filter, filter)
						      : arena_strdup(&events->arena, filter);
}

/* --filter and --exclude-perf: on the events of the last -e. */
static struct error *filter_events(struct event_list *events, struct event_catalog *catalog, size_t first, const struct event_word *word)
{
	char own[64];
	bool exclude = word->kind == WORD_EXCLUDE_PERF;
	const char *option = exclude ? "--exclude-perf" : "--filter";

	if (!events->events.len)
		return error_new_kind(ERROR_USAGE, "%s must follow the -e of its %s", option,
				      word->kind == WORD_SAMPLE_FILTER ? "event" : "tracepoint");
	snprintf(own, sizeof(own), "common_pid != %d", getpid());
	for (size_t i = first; i < events->events.len; i++) {
		struct event *event = events->events.data[i];
		if (trace_pmu_kind(event->pmu_name) != TRACE_NONE && word->kind == WORD_SAMPLE_FILTER) {
			add_address_filter(events, event, word->text);
			continue;
		}
		if (event->attr.type != PERF_TYPE_TRACEPOINT && word->kind == WORD_SAMPLE_FILTER) {
			struct error *error = add_sample_filter(events, event, word->text);
			if (error)
				return error;
			continue;
		}
		if (event->attr.type != PERF_TYPE_TRACEPOINT)
			return error_new_kind(ERROR_USAGE, "%s applies to tracepoints only, not to %s", option, event->name);
		struct strbuf filter = {0};
		struct error *error = exclude ? NULL : filter_check_event(catalog, event, word->text, &filter);
		if (!error)
			add_filter(events, event, exclude ? own : strbuf_str(&filter));
		strbuf_deinit(&filter);
		if (error)
			return error;
	}
	return NULL;
}

/* -G a,b: the first events without a group get them in turn; a single one is for all. */
static struct error *assign_cgroups(struct event_list *events, const char *text)
{
	cleanup_free char *copy = mem_strdup(text);
	char *rest = copy, *word;
	size_t at = 0;
	bool single = !strchr(text, ',');

	if (!events->events.len)
		return error_new_kind(ERROR_USAGE, "-G must follow the -e of its events");
	while ((word = strsep(&rest, ","))) {
		for (; at < events->events.len && events->events.data[at]->cgroup; at++)
			;
		if (at == events->events.len)
			return error_new_kind(ERROR_USAGE, "-G gives more groups than there are events");
		for (; at < events->events.len; at++) {
			if (*word && !events->events.data[at]->cgroup)
				events->events.data[at]->cgroup = arena_strdup(&events->arena, word);
			if (!single) {
				at++;
				break;
			}
		}
	}
	return NULL;
}

struct error *event_words_apply(const struct event_words *words, struct event_list *events, struct event_catalog *catalog, bool by_cpu)
{
	size_t first = 0;
	struct error *error = NULL;

	for (size_t i = 0; i < words->len && !error; i++) {
		const struct event_word *word = &words->data[i];
		switch (word->kind) {
		case WORD_EVENT:
			first = events->events.len;
			error = event_parse(events, catalog, word->text);
			break;
		case WORD_PFM:
			first = events->events.len;
			error = vendor_parse(events, catalog, word->text);
			break;
		case WORD_FILTER:
		case WORD_SAMPLE_FILTER:
		case WORD_EXCLUDE_PERF:
			error = filter_events(events, catalog, first, word);
			break;
		case WORD_CGROUP:
			error = assign_cgroups(events, word->text);
			if (!error && !by_cpu)
				error = error_new_kind(ERROR_USAGE, "-G measures control groups on whole CPUs: it requires -a or -C");
			break;
		}
	}
	sides_apply(words->sides, events);
	return error;
}
