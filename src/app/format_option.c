/* Formats by name: which there are is asked of the views, and so is what they can show. */
#include "app/format_option.h"

#include "base/strbuf.h"
#include "view/view.h"

struct error *format_parse(const char *argument, const enum result_kind *kinds, size_t count, const char **ret)
{
	const struct view_ops *view = view_for_programs(argument, kinds, count);
	if (view) {
		*ret = view->name;
		return NULL;
	}
	struct strbuf names = {0};
	view_names_for_programs(kinds, count, &names);
	struct error *error = error_new_kind(ERROR_USAGE, "invalid format '%s': use %s", argument, strbuf_str(&names));
	strbuf_deinit(&names);
	return error;
}

struct error *option_table_format(const struct option *option, const char *argument, bool negated, void *field)
{
	static const enum result_kind tables = RESULT_TABLE;
	return format_parse(argument, &tables, 1, field);
}

struct error *option_json(const struct option *option, const char *argument, bool negated, void *field)
{
	*(const char **)field = "json";
	return NULL;
}
