/* Adding probes to the kernel, or showing what would be added. What was added before an error stays out: all or nothing. */
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/probe/cache.h"
#include "cmd/probe/probe.h"
#include "kernel/tracing/tracefs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Some probes of one program, or the kernel. With --cache they are kept there. */
static struct error *define_in_target(const struct probe_options *options, const char *const *texts, size_t count,
				      struct probe_definitions *ret)
{
	struct probe_definitions list = {0};
	struct probe_target target;
	struct error *error = probe_target_open(&options->target, &target);

	if (error)
		return error;
	for (size_t i = 0; !error && i < count; i++)
		error = probe_define(&options->target, &target, texts[i], &list);
	if (!error && options->cache)
		error = probe_cached_add(options, &target, &list);
	for (size_t i = 0; !error && i < list.items.len; i++)
		vec_push(&ret->items, list.items.data[i]);
	if (error)
		probe_definitions_deinit(&list);
	else
		vec_deinit(&list.items);
	probe_target_close(&target);
	return error;
}

/* A static tracepoint without -x, in a program that the cache knows. */
struct found_static {
	const struct probe_options *options;
	const char *text;
	struct probe_definitions *list;
};

/* Defines it in a program that the cache has found. */
static struct error *define_static(void *context, const char *path)
{
	const struct found_static *found = context;
	struct probe_options options = *found->options;

	options.target.exec = path;
	return define_in_target(&options, &found->text, 1, found->list);
}

/* "%PROVIDER:NAME"; texts that can't be read are told of later. */
static bool is_static(const char *text)
{
	struct probe_spec spec;
	struct error *error = probe_spec_parse(text, &spec);
	bool is = !error && spec.provider;

	if (error)
		error_free(error);
	else
		probe_spec_deinit(&spec);
	return is;
}

/* With a program, a module or places that need the kernel, all in one target; else each where the cache finds it. */
static struct error *define_all(const struct probe_options *options, const struct probe_words *words, struct probe_definitions *ret)
{
	struct error *error = NULL;
	size_t others = 0;

	for (size_t i = 0; !options->target.exec && !options->target.module && i < words->items.len; i++)
		others += !is_static(words->items.data[i]);
	if (options->target.exec || options->target.module || others)
		return define_in_target(options, words->items.data, words->items.len, ret);
	for (size_t i = 0; !error && i < words->items.len; i++) {
		struct found_static found = {options, words->items.data[i], ret};
		error = probe_cached_visit_static(found.text, define_static, &found);
	}
	return error;
}

/* ---- -D ---- */

/* A line for the kernel's boot configuration. */
static void print_bootconfig(const struct probe_definition *one)
{
	printf("ftrace.event.kprobes.%s.probe = '%s%s'\n", one->event, one->line, one->is_return ? "%return" : "");
}

/* -D: the lines as tracefs would take them. Nothing is added. */
static struct error *show_definitions(const struct probe_options *options)
{
	struct probe_definitions list = {0};
	struct error *error = NULL;

	if (options->bootconfig && options->target.exec)
		return error_new_kind(ERROR_USAGE, "--bootconfig is for kernel probes only: no programs exist yet while the kernel boots");
	error = define_all(options, &options->define, &list);
	for (size_t i = 0; !error && i < list.items.len; i++) {
		cleanup_free char *text = probe_definition_text(&list.items.data[i]);
		if (options->bootconfig)
			print_bootconfig(&list.items.data[i]);
		else
			puts(text);
	}
	probe_definitions_deinit(&list);
	return error;
}

/* ---- -a ---- */

/* By what was there, or by another definition of now. */
static bool is_taken(const struct dynamic_events *there, const struct probe_definitions *list, size_t count)
{
	const struct probe_definition *one = &list->items.data[count];

	if (dynamic_events_has(there, one->group, one->event))
		return true;
	for (size_t i = 0; i < count; i++) {
		const struct probe_definition *other = &list->items.data[i];
		bool apart = other->source != one->source || strcmp(other->base, one->base);
		if (apart && !strcmp(other->group, one->group) && !strcmp(other->event, one->event))
			return true;
	}
	return false;
}

/* Gives each a name of its own, with -f by _1, _2, … behind it. Several places of one definition are one event. */
static struct error *choose_names(const struct probe_options *options, const struct dynamic_events *there, struct probe_definitions *list)
{
	for (size_t i = 0; i < list->items.len; i++) {
		struct probe_definition *one = &list->items.data[i];
		if (!options->force && dynamic_events_has(there, one->group, one->event))
			return error_new("event %s:%s already exists: delete it with 'perf probe -d %s:%s', use -f to add it under "
					 "another name, or choose a name with NAME=…",
					 one->group, one->event, one->group, one->event);
		one->base = mem_strdup(one->event);
		for (unsigned int number = 1; is_taken(there, list, i); number++) {
			free(one->event);
			one->event = mem_printf("%.56s_%u", one->base, number);
		}
	}
	return NULL;
}

/* What was added and how to use it, in the words of the kernel's perf. */
static void report(const struct probe_options *options, const struct probe_definitions *list)
{
	if (options->output.quiet || !list->items.len)
		return;
	fprintf(stderr, "%s event%s:\n", options->dry_run ? "This would add the" : "Added new", list->items.len > 1 ? "s" : "");
	for (size_t i = 0; i < list->items.len; i++) {
		const struct probe_definition *one = &list->items.data[i];
		cleanup_free char *name = mem_printf("%s:%s", one->group, one->event);
		cleanup_free char *place = text_safe_copy(one->place);
		fprintf(stderr, "  %-20s (on %s%s%s%s%s)\n", name, place, options->target.exec ? " in " : "",
			options->target.exec ? options->target.exec : "", *one->arguments ? " with " : "", one->arguments);
	}
	const struct probe_definition *last = vec_last(&list->items);
	if (!options->dry_run)
		fprintf(stderr, "\nTo use it:\n\n\tperf record -e %s:%s -aR sleep 1\n\n", last->group, last->event);
}

/* All or none: after an error those before it are deleted again. */
static struct error *write_all(const char *tracefs, const struct probe_definitions *list)
{
	struct error *error = NULL;

	for (size_t i = 0; !error && i < list->items.len; i++) {
		cleanup_free char *text = probe_definition_text(&list->items.data[i]);
		log_info("%s", text);
		error = dynamic_event_add(tracefs, list->items.data[i].user, text);
		while (error && i-- > 0)
			error_free(dynamic_event_delete(tracefs, list->items.data[i].user, list->items.data[i].group,
							list->items.data[i].event));
		if (error)
			break;
	}
	return error;
}

/* Chooses names and writes the lines; the status of a name that is taken is that of the kernel's perf. */
static struct error *add(const struct probe_options *options, struct probe_definitions *list, int *ret_status)
{
	cleanup_free char *tracefs = NULL;
	struct dynamic_events there = {0};
	struct error *error = tracefs_find("", &tracefs);

	if (!error)
		error = dynamic_events_read(tracefs, &there);
	if (!error && (error = choose_names(options, &there, list)))
		*ret_status = 256 - EEXIST;
	if (!error && !options->dry_run)
		error = write_all(tracefs, list);
	dynamic_events_deinit(&there);
	return error;
}

struct error *probe_add(const struct probe_options *options, int *ret_status)
{
	struct probe_definitions list = {0};
	struct error *error;

	if (options->define.items.len)
		return show_definitions(options);
	error = define_all(options, &options->add, &list);
	if (error && error_kind(error) != ERROR_USAGE)
		*ret_status = 256 - ENOENT;
	if (!error)
		error = add(options, &list, ret_status);
	if (!error)
		report(options, &list);
	probe_definitions_deinit(&list);
	return error;
}
