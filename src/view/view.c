/* Views by name, and what they can show. */
#include "view/view.h"

#include <string.h>

const struct view_ops *view_find(const char *name)
{
	for (const struct view_ops *const *view = view_list; *view; view++)
		if (strcmp((*view)->name, name) == 0)
			return *view;
	return NULL;
}

bool view_can_show(const struct view_ops *view, enum result_kind kind)
{
	switch (kind) {
	case RESULT_TABLE:
		return view->table;
	case RESULT_CALLTREE:
		return view->calltree;
	case RESULT_COUNTING:
		return view->counting;
	case RESULT_SAMPLES:
		return view->samples;
	case RESULT_TYPE_LAYOUT:
		return view->type_layout;
	default:
		return view->annotation;
	}
}

static bool can_show_any(const struct view_ops *view, const enum result_kind *kinds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (view_can_show(view, kinds[i]))
			return true;
	return false;
}

const struct view_ops *view_for_programs(const char *name, const enum result_kind *kinds, size_t count)
{
	const struct view_ops *view = view_find(name);
	return view && view->for_programs && can_show_any(view, kinds, count) ? view : NULL;
}

void view_names_for_programs(const enum result_kind *kinds, size_t count, struct strbuf *out)
{
	const char *waiting = NULL; /* the last one comes behind "or" */
	size_t start = out->len;
	for (size_t i = 0; i < count; i++)
		for (const struct view_ops *const *view = view_list; *view; view++) {
			if (!(*view)->for_programs || !view_can_show(*view, kinds[i]) || can_show_any(*view, kinds, i))
				continue;
			if (waiting)
				strbuf_printf(out, "%s%s", out->len > start ? ", " : "", waiting);
			waiting = (*view)->name;
		}
	if (waiting)
		strbuf_printf(out, "%s%s", out->len > start ? " or " : "", waiting);
}

static struct error *show(const struct view_ops *view, const struct result *result, const struct view_options *options,
			  const struct sink *out)
{
	switch (result->kind) {
	case RESULT_TABLE:
		return view->table(result->table, options, out);
	case RESULT_CALLTREE:
		return view->calltree(result->calltree, options, out);
	case RESULT_COUNTING:
		return view->counting(result->counting, options, out);
	case RESULT_SAMPLES:
		return view->samples(result->samples, options, out);
	case RESULT_TYPE_LAYOUT:
		return view->type_layout(result->type_layout, options, out);
	default:
		return view->annotation(result->annotation, options, out);
	}
}

struct error *view_write(const struct view_ops *view, const struct document *document, const struct view_options *options,
			 const struct sink *out)
{
	for (size_t i = 0; i < document->results.len; i++)
		if (!view_can_show(view, document->results.data[i].kind))
			return error_new_kind(ERROR_USAGE, "the format %s cannot show %s", view->name,
					      result_kind_name(document->results.data[i].kind));
	struct error *error = NULL;
	for (size_t i = 0; i < document->results.len && !error; i++)
		error = show(view, &document->results.data[i], options, out);
	return error;
}

struct error *view_write_one(const struct view_ops *view, struct result result, const struct view_options *options, const struct sink *out)
{
	struct document document = {0};
	document_add(&document, result);
	struct error *error = view_write(view, &document, options, out);
	document_deinit(&document);
	return error;
}

struct error *view_print_tables(const char *format, struct table *const *tables, size_t count, FILE *file)
{
	const struct view_options options = {.header = true};
	const struct sink out = sink_to_file(file);
	struct document document = {0};
	for (size_t i = 0; i < count; i++)
		document_add(&document, (struct result){RESULT_TABLE, .table = tables[i]});
	struct error *error = view_write(view_find(format), &document, &options, &out);
	document_deinit(&document);
	for (size_t i = 0; i < count; i++)
		table_destroy(tables[i]);
	return error;
}

struct error *view_print_table(const char *format, struct table *table, FILE *file)
{
	return view_print_tables(format, &table, 1, file);
}
