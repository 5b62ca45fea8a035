/* Functions by instructions on a screen (code_screen.h). A function that is followed stands on those before it: leaving it leads back. */
#include "cmd/code/code_screen.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "view/annotation_lines.h"
#include "view/view.h"

#include <stdlib.h>
#include <string.h>

struct shown {
	const struct code_screen *screen;
	const struct annotate_function *function;
	struct annotation *annotation;
	struct annotation_lines *lines;
	struct code_window *code;
};

static void add_text(void *context, size_t line, struct strbuf *out)
{
	struct shown *shown = context;
	if (line == CODE_HEAD)
		annotation_lines_add_head(shown->lines, out);
	else
		annotation_lines_add(shown->lines, line, out);
}

static void restyle(void *context)
{
	struct shown *shown = context;
	annotation_lines_close(shown->lines);
	shown->lines = annotation_lines_open(shown->annotation);
}

static size_t find_data_types(void *context)
{
	struct shown *shown = context;
	return annotate_add_data_types(shown->screen->annotate, shown->function, shown->annotation);
}

static void print(void *context, struct strbuf *note)
{
	struct shown *shown = context;
	struct strbuf text = {0};
	struct sink out = sink_to_text(&text);
	struct result result = {RESULT_ANNOTATION, .annotation = shown->annotation};
	struct error *error = view_write_one(view_find("stdio"), result, &(struct view_options){0}, &out);
	error_free(error);
	print_file_tell_function(shown->screen->prints, shown->annotation->function, strbuf_str(&text), text.len, note);
	strbuf_deinit(&text);
}

static void run_script(void *context, struct strbuf *note)
{
	const struct code_screen *screen = ((const struct shown *)context)->screen;
	screen->run_script(screen->script_context, note);
}

/* Freed by the caller. */
static unsigned int *indices_of(const struct event *const *events, size_t count)
{
	unsigned int *indices = mem_alloc_array(count, sizeof(*indices));
	for (size_t i = 0; i < count; i++)
		indices[i] = events[i]->index;
	return indices;
}

size_t code_order(const struct annotate *annotate, const struct event *const *events, size_t event_count, uint32_t **ret)
{
	cleanup_free unsigned int *indices = indices_of(events, event_count);
	return annotate_order(annotate, indices, event_count, ret);
}

struct error *code_annotation(struct annotate *annotate, const struct annotate_function *function, const struct event *const *events,
			      size_t event_count, const struct annotation_style *style, struct annotation **ret)
{
	cleanup_free unsigned int *indices = indices_of(events, event_count);
	struct strbuf name = {0};
	struct annotation *annotation;
	struct error *error = annotate_function(annotate, function, indices, event_count, &annotation);
	if (error)
		return error;
	event_set_add_name(events, event_count, &name);
	annotation->events_name = arena_strdup(&annotation->arena, strbuf_str(&name));
	for (size_t i = 0; i < event_count; i++)
		annotation->events[i].name = events[i]->name;
	annotation->frequency = events[0]->attr.freq ? events[0]->attr.sample_period : 0;
	annotation->style = *style;
	annotation_sum_sources(annotation);
	strbuf_deinit(&name);
	*ret = annotation;
	return NULL;
}

void code_events_with_samples(const struct annotation_value *totals, struct event_set *set)
{
	size_t kept = 0;
	for (size_t i = 0; i < set->events.len; i++)
		if (totals[set->events.data[i]->index].samples)
			set->events.data[kept++] = set->events.data[i];
	if (kept)
		set->events.len = kept;
}

const struct annotate_function *code_function_named(const struct annotate *annotate, const char *name, unsigned int event)
{
	const struct annotate_function *found = NULL;
	for (size_t i = 0; i < annotate->function_count; i++) {
		const struct annotate_function *function = &annotate->functions[i];
		if (!strcmp(function->symbol->name, name) && (!found || function->values[event].period > found->values[event].period))
			found = function;
	}
	return found;
}

/* The function that a line calls, by its name, in the same file if there is one; NULL = it has no samples. */
static const struct annotate_function *called(const struct annotate *annotate, const struct annotate_function *from, const char *name)
{
	const struct annotate_function *found = NULL;
	for (size_t i = 0; name && i < annotate->function_count; i++) {
		const struct annotate_function *function = &annotate->functions[i];
		if (!strcmp(function->symbol->name, name) && (!found || function->dso == from->dso))
			found = function;
	}
	return found;
}

static void follow(const struct shown *shown, const struct annotation_line *line)
{
	const char *name = line->target_name.name ? line->target_name.name : line->reference_name.name;
	const struct annotate_function *function = called(shown->screen->annotate, shown->function, name);
	struct error *error = function ? code_screen_show(shown->screen, function)
				       : error_new("%s has no samples", name ? name : "where this leads is not known, or it");
	if (!error)
		return;
	struct strbuf note = {0};
	text_add_safe(&note, error_message(error), strlen(error_message(error)));
	code_note(shown->code, strbuf_str(&note));
	strbuf_deinit(&note);
	error_free(error);
}

static void shown_close(struct shown *shown)
{
	code_destroy(shown->code);
	annotation_lines_close(shown->lines);
	annotation_destroy(shown->annotation);
	free(shown);
}

static struct error *shown_open(const struct code_screen *screen, const struct annotate_function *function, struct shown **ret)
{
	struct annotation *annotation;
	struct error *error = code_annotation(screen->annotate, function, screen->events, screen->event_count, &screen->style, &annotation);
	if (error)
		return error;
	struct shown *shown = mem_zalloc(sizeof(*shown));
	*shown = (struct shown){
		.screen = screen, .function = function, .annotation = annotation, .lines = annotation_lines_open(annotation)};
	const struct code_source source = {.annotation = annotation,
					   .text = add_text,
					   .restyle = restyle,
					   .find_data_types = find_data_types,
					   .print = print,
					   .run_script = screen->run_script ? run_script : NULL,
					   .context = shown};
	shown->code = code_create(screen->terminal, &source);
	*ret = shown;
	return NULL;
}

/* Goes to the next function in the screen's order that can be shown, or to the one before. */
static void step(struct shown **shown, bool next)
{
	const struct code_screen *screen = (*shown)->screen;
	size_t at = 0;
	while (at < screen->order_count && &screen->annotate->functions[screen->order[at]] != (*shown)->function)
		at++;
	while (next ? at + 1 < screen->order_count : at && at < screen->order_count) {
		at = next ? at + 1 : at - 1;
		struct shown *other;
		struct error *error = shown_open(screen, &screen->annotate->functions[screen->order[at]], &other);
		if (!error) {
			shown_close(*shown);
			*shown = other;
			return;
		}
		error_free(error);
	}
	code_note((*shown)->code, next ? "no colder function can be shown" : "no hotter function can be shown");
}

struct error *code_screen_show(const struct code_screen *screen, const struct annotate_function *function)
{
	struct shown *shown;
	struct error *error = shown_open(screen, function, &shown);
	if (error)
		return error;
	for (size_t line; (line = code_run(shown->code)) != CODE_BACK;)
		if (line == CODE_NEXT || line == CODE_PREVIOUS)
			step(&shown, line == CODE_NEXT);
		else
			follow(shown, &shown->annotation->lines.data[line]);
	shown_close(shown);
	return NULL;
}
