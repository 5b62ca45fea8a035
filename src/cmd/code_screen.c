/* Functions by instructions on a screen (code_screen.h). A function that is followed stands on those before it: leaving it leads back. */
#include "cmd/code_screen.h"

#include "base/mem.h"
#include "base/text.h"
#include "view/annotation_lines.h"
#include "view/view.h"

#include <stdlib.h>
#include <string.h>

struct shown {
	const struct code_screen *screen;
	struct annotation *annotation;
	struct annotation_lines *lines;
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

static void print(void *context, struct strbuf *note)
{
	struct shown *shown = context;
	struct strbuf text = {0};
	struct sink out = sink_to_text(&text);
	struct result result = {RESULT_ANNOTATION, .annotation = shown->annotation};
	struct error *error = view_write_one(view_find("stdio"), result, &(struct view_options){0}, &out);
	error_free(error);
	print_file_tell(shown->screen->prints, PRINT_TEXT, strbuf_str(&text), text.len, note);
	strbuf_deinit(&text);
}

static void run_script(void *context, struct strbuf *note)
{
	const struct code_screen *screen = ((const struct shown *)context)->screen;
	screen->run_script(screen->script_context, note);
}

struct error *code_annotation(struct annotate *annotate, const struct annotate_function *function, const struct event *const *events,
			      size_t event_count, const struct annotation_style *style, struct annotation **ret)
{
	unsigned int *indices = mem_alloc_array(event_count, sizeof(*indices));
	struct strbuf name = {0};
	for (size_t i = 0; i < event_count; i++)
		indices[i] = events[i]->index;
	struct annotation *annotation;
	struct error *error = annotate_function(annotate, function, indices, event_count, &annotation);
	free(indices);
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

static void follow(const struct code_screen *screen, const struct annotate_function *from, const struct annotation_line *line,
		   struct code_window *code)
{
	const char *name = line->target_name.name ? line->target_name.name : line->reference_name.name;
	const struct annotate_function *function = called(screen->annotate, from, name);
	struct error *error = function ? code_screen_show(screen, function)
				       : error_new("%s has no samples", name ? name : "where this leads is not known, or it");
	if (!error)
		return;
	struct strbuf note = {0};
	text_add_safe(&note, error_message(error), strlen(error_message(error)));
	code_note(code, strbuf_str(&note));
	strbuf_deinit(&note);
	error_free(error);
}

struct error *code_screen_show(const struct code_screen *screen, const struct annotate_function *function)
{
	struct shown shown = {.screen = screen};
	struct error *error =
		code_annotation(screen->annotate, function, screen->events, screen->event_count, &screen->style, &shown.annotation);
	if (error)
		return error;
	shown.lines = annotation_lines_open(shown.annotation);
	const struct code_source source = {.annotation = shown.annotation,
					   .text = add_text,
					   .restyle = restyle,
					   .print = print,
					   .run_script = screen->run_script ? run_script : NULL,
					   .context = &shown};
	struct code_window *code = code_create(screen->terminal, &source);
	for (size_t line; (line = code_run(code)) != CODE_BACK;)
		follow(screen, function, &shown.annotation->lines.data[line], code);
	code_destroy(code);
	annotation_lines_close(shown.lines);
	annotation_destroy(shown.annotation);
	return NULL;
}
