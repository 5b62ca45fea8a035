/* The list of commands is made by the build (tools/gen-registry); here it is searched and described. */
#include "app/command.h"

#include <string.h>

const struct command *command_find(const char *name)
{
	for (const struct command *const *command = command_list; *command; command++)
		if (!strcmp((*command)->name, name))
			return *command;
	return NULL;
}

void command_add_usage(struct strbuf *out, const struct command *command)
{
	const char *lead = "Usage:";
	for (const char *const *line = command->usage; line && *line; line++, lead = "   or:")
		strbuf_printf(out, "%s perf %s %s\n", lead, command->name, *line);
	if (!command->usage || !*command->usage)
		strbuf_printf(out, "Usage: perf %s\n", command->name);
}

static bool begins_with_heading(const struct option *options)
{
	while (options->kind == OPTION_KIND_GROUP)
		options = options->group;
	return options->kind == OPTION_KIND_HEADING;
}

void command_add_help(struct strbuf *out, const struct command *command, unsigned int columns)
{
	strbuf_printf(out, "perf %s: %s\n\n", command->name, command->summary);
	command_add_usage(out, command);
	if (command->options) {
		if (!begins_with_heading(command->options))
			strbuf_add_char(out, '\n');
		options_add_help(out, command->options, columns);
	}
}
