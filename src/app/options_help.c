/* What people see of option tables: the help text, the names for completion, the rows of man pages. */
#include "app/options.h"

#include "base/text.h"

#include <string.h>

enum {
	HELP_INDENT = 2,
	HELP_COLUMN = 28, /* where explanations begin */
};

/* "-g, --call-graph[=MODE]": how an option is typed. */
static void add_synopsis(struct strbuf *out, const struct option *option)
{
	if (option->short_name) {
		strbuf_add_char(out, '-');
		strbuf_add_char(out, option->short_name);
		if (option->long_name)
			strbuf_add_str(out, ", ");
	}
	if (option->long_name) {
		strbuf_add_str(out, "--");
		strbuf_add_str(out, option->long_name);
	}
	if (!option->argument)
		return;
	if (option->flags & OPTION_LAST_ARGUMENT)
		strbuf_printf(out, " [%s]", option->argument);
	else if (option->flags & OPTION_OPTIONAL_ARGUMENT)
		strbuf_printf(out, option->long_name ? "[=%s]" : "[%s]", option->argument);
	else
		strbuf_printf(out, " %s", option->argument);
}

static void add_option(struct strbuf *out, const struct option *option, unsigned int columns)
{
	size_t start = out->len;
	strbuf_add_chars(out, ' ', option->short_name ? HELP_INDENT : HELP_INDENT + 4);
	add_synopsis(out, option);
	size_t used = text_width(out->data + start, out->len - start);
	if (used + 2 > HELP_COLUMN) {
		strbuf_add_char(out, '\n');
		used = 0;
	}
	strbuf_add_chars(out, ' ', HELP_COLUMN - used);
	text_add_wrapped(out, option->help ? option->help : "", HELP_COLUMN, HELP_COLUMN, columns);
}

void options_add_help(struct strbuf *out, const struct option *options, unsigned int columns)
{
	for (const struct option *option = options; option->kind != OPTION_KIND_END; option++) {
		if (option->kind == OPTION_KIND_GROUP)
			options_add_help(out, option->group, columns);
		else if (option->kind == OPTION_KIND_HEADING)
			strbuf_printf(out, "\n%s\n", option->help);
		else if (!(option->flags & OPTION_HIDDEN))
			add_option(out, option, columns);
	}
}

void options_add_names(struct strbuf *out, const struct option *options)
{
	for (const struct option *option = options; option->kind != OPTION_KIND_END; option++) {
		if (option->kind == OPTION_KIND_GROUP)
			options_add_names(out, option->group);
		else if (option->long_name && !(option->flags & OPTION_HIDDEN))
			strbuf_printf(out, "--%s ", option->long_name);
	}
}

void options_add_rows(struct strbuf *out, const struct option *options)
{
	for (const struct option *option = options; option->kind != OPTION_KIND_END; option++) {
		if (option->kind == OPTION_KIND_GROUP) {
			options_add_rows(out, option->group);
			continue;
		}
		if (option->flags & OPTION_HIDDEN)
			continue;
		if (option->kind != OPTION_KIND_HEADING)
			add_synopsis(out, option);
		strbuf_add_char(out, '\t');
		for (const char *c = option->help ? option->help : ""; *c; c++)
			strbuf_add_char(out, *c == '\n' ? ' ' : *c);
		strbuf_add_char(out, '\n');
	}
}
