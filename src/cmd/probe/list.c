/* Probes that are there: listing and deleting. */
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "cmd/probe/probe.h"
#include "kernel/tracing/tracefs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Programs that were opened to say where a probe is; several probes are in one. */
struct lister {
	const struct probe_options *options;
	struct probe_target target;
	char *opened; /* what the target is: the program, or "" for the kernel; NULL = nothing yet */
	bool usable;
};

static void lister_open(struct lister *lister, const struct dynamic_event *event)
{
	struct probe_options options = *lister->options;
	const char *wanted = event->user ? event->target : "";

	if (lister->opened && !strcmp(lister->opened, wanted))
		return;
	if (lister->usable)
		probe_target_close(&lister->target);
	free(lister->opened);
	lister->opened = mem_strdup(wanted);
	options.target.exec = event->user ? event->target : NULL;
	options.target.namespace_pid = 0;
	struct error *error = probe_target_open(&options.target, &lister->target);
	lister->usable = !error;
	error_free(error);
}

/* From the offset in the file to the virtual address. */
static uint64_t address_of(const struct probe_target *target, uint64_t offset)
{
	const struct elf_file *elf = target->files.runtime;

	for (uint32_t i = 0; elf && i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];
		if (segment->type == 1 /* PT_LOAD */ && offset >= segment->offset && offset < segment->offset + segment->filesz)
			return offset - segment->offset + segment->vaddr;
	}
	return offset;
}

/* The line that begins at the address; 0 = none. */
static uint32_t line_at(struct debug_program *debug, const struct debug_function *function, uint64_t address)
{
	struct debug_rows rows = {0};
	uint32_t line = 0;

	if (function->file)
		debug_program_rows(debug, function->file, function->line, UINT32_MAX, NULL, &rows);
	for (size_t i = 0; i < rows.items.len; i++)
		if (rows.items.data[i].address == address)
			line = rows.items.data[i].line;
	vec_deinit(&rows.items);
	return line;
}

static void add_user_place(struct lister *lister, const struct dynamic_event *event, struct strbuf *out)
{
	uint64_t address = lister->usable ? address_of(&lister->target, event->offset) : event->offset;
	struct debug_function function;
	const struct function_name *name = lister->usable ? function_names_at(&lister->target.names, address) : NULL;

	if (lister->usable && lister->target.debug && debug_program_function_at(lister->target.debug, address, &function)) {
		uint32_t line = address == function.entry ? 0 : line_at(lister->target.debug, &function, address);
		strbuf_add_str(out, function.name);
		if (line >= function.line && line)
			strbuf_printf(out, ":%u", line - function.line);
		else if (address != function.entry)
			strbuf_printf(out, "+%llu", (unsigned long long)(address - function.entry));
		strbuf_printf(out, "%s%s%s", event->is_return ? "%return" : "", function.file ? "@" : "",
			      function.file ? function.file : "");
	} else if (name) {
		strbuf_add_str(out, name->name);
		if (address != name->address)
			strbuf_printf(out, "+%llu", (unsigned long long)(address - name->address));
		strbuf_add_str(out, event->is_return ? "%return" : "");
	} else {
		strbuf_printf(out, "0x%llx%s", (unsigned long long)event->offset, event->is_return ? "%return" : "");
	}
	strbuf_printf(out, " in %s", event->target);
}

static void add_kernel_place(struct lister *lister, const struct dynamic_event *event, struct strbuf *out)
{
	uint64_t address = lister->usable ? lister->target.text + event->offset : 0;
	bool from_text = lister->usable && lister->target.text && !strcmp(event->target, "_text");
	const struct function_name *name = from_text ? function_names_at(&lister->target.names, address) : NULL;
	const char *colon = strchr(event->target, ':');
	uint64_t offset = name ? address - name->address : event->offset;

	strbuf_add_str(out, name ? name->name : colon ? colon + 1 : event->target);
	if (offset)
		strbuf_printf(out, "+%llu", (unsigned long long)offset);
	strbuf_add_str(out, event->is_return ? "%return" : "");
	if (colon)
		strbuf_printf(out, " in %.*s", (int)(colon - event->target), event->target);
}

/* Only the names, as they were given. */
static void add_argument_names(const char *arguments, struct strbuf *out)
{
	for (const char *at = arguments; *at;) {
		size_t len = strcspn(at, " "), name = strcspn(at, "= ");
		if (len)
			strbuf_printf(out, " %.*s", (int)name, at);
		at += len + (at[len] == ' ');
	}
}

static void list_one(struct lister *lister, const struct dynamic_event *event)
{
	struct strbuf place = {0}, line = {0};
	cleanup_free char *name = mem_printf("%s:%s", event->group, event->event);

	lister_open(lister, event);
	if (event->user)
		add_user_place(lister, event, &place);
	else
		add_kernel_place(lister, event, &place);
	strbuf_printf(&line, "  %-20s (on %s", name, strbuf_str(&place));
	if (*event->arguments) {
		strbuf_add_str(&line, " with");
		add_argument_names(event->arguments, &line);
	}
	strbuf_add_char(&line, ')');
	strbuf_clear(&place);
	text_add_safe(&place, line.data, line.len);
	puts(strbuf_str(&place));
	strbuf_deinit(&place);
	strbuf_deinit(&line);
}

/* "GROUP:EVENT", "EVENT" of any group, both with * and ?. */
static bool matches(const char *pattern, const struct dynamic_event *event)
{
	const char *colon = strchr(pattern, ':');
	cleanup_free char *group = colon ? mem_strndup(pattern, (size_t)(colon - pattern)) : mem_strdup("*");

	return str_glob_match(*group ? group : "*", event->group) && str_glob_match(colon ? colon + 1 : pattern, event->event);
}

struct error *probe_list(const struct probe_options *options)
{
	struct lister lister = {.options = options};
	struct dynamic_events events = {0};
	cleanup_free char *tracefs = NULL;
	struct error *error = tracefs_find("", &tracefs);

	if (!error)
		error = dynamic_events_read(tracefs, &events);
	for (size_t i = 0; !error && i < events.events.len; i++)
		if (!options->list_pattern || matches(options->list_pattern, &events.events.data[i]))
			list_one(&lister, &events.events.data[i]);
	if (lister.usable)
		probe_target_close(&lister.target);
	free(lister.opened);
	dynamic_events_deinit(&events);
	return error;
}

/* ---- -d ---- */

/* An event at several places is several lines, and deleted by its name at once. */
static bool is_repeated(const struct dynamic_events *events, size_t index)
{
	const struct dynamic_event *one = &events->events.data[index];

	for (size_t i = 0; i < index; i++)
		if (!strcmp(events->events.data[i].group, one->group) && !strcmp(events->events.data[i].event, one->event))
			return true;
	return false;
}

static struct error *delete_matching(const struct probe_options *options, const char *tracefs, const struct dynamic_events *events,
				     const char *pattern)
{
	struct error *error = NULL;
	bool any = false;

	for (size_t i = 0; !error && i < events->events.len; i++) {
		const struct dynamic_event *event = &events->events.data[i];
		if (!matches(pattern, event) || is_repeated(events, i))
			continue;
		any = true;
		error = options->dry_run ? NULL : dynamic_event_delete(tracefs, event->user, event->group, event->event);
		if (!error && !options->output.quiet)
			fprintf(stderr, "%s event: %s:%s\n", options->dry_run ? "This would remove the" : "Removed", event->group,
				event->event);
	}
	if (!error && !any)
		error = error_new_kind(ERROR_OTHER, "no probe named '%s' ('perf probe -l' lists them)", pattern);
	return error;
}

struct error *probe_delete(const struct probe_options *options, int *ret_status)
{
	cleanup_free char *tracefs = NULL;
	struct error *error = tracefs_find("", &tracefs);

	for (size_t i = 0; !error && i < options->delete.items.len; i++) {
		struct dynamic_events events;
		if ((error = dynamic_events_read(tracefs, &events)))
			break;
		error = delete_matching(options, tracefs, &events, options->delete.items.data[i]);
		if (error && error_kind(error) == ERROR_OTHER)
			*ret_status = 256 - ENOENT;
		dynamic_events_deinit(&events);
	}
	return error;
}
