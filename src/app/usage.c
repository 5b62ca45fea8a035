/* Texts that explain perf (usage.h). */
#include "app/usage.h"

#include "app/command.h"
#include "app/pager.h"

#include <stdio.h>

enum { MOST_COLUMNS = 110, DEFAULT_COLUMNS = 100 };

const char usage_line[] = "Usage: perf [--version] [--help] [--no-pager] [-c NAME=VALUE] COMMAND [ARGUMENTS]";

void usage_show(void)
{
	printf("%s\n\nCommands:\n", usage_line);
	for (const struct command *const *command = command_list; *command; command++)
		printf("  %-15s %s\n", (*command)->name, (*command)->summary);
	printf("\n'perf help COMMAND' explains a command, 'perf COMMAND -h' lists its options.\nTo get started, run 'perf record -g "
	       "-- COMMAND', then 'perf report'.\n");
}

void usage_show_command(const struct command *command)
{
	struct strbuf text = {0};
	pager_start(command->name);
	unsigned int columns = output_columns();
	columns = !columns ? DEFAULT_COLUMNS : columns > MOST_COLUMNS ? MOST_COLUMNS : columns;
	command_add_help(&text, command, columns);
	fputs(strbuf_str(&text), stdout);
	strbuf_deinit(&text);
}

void usage_list_commands(void)
{
	for (const struct command *const *command = command_list; *command; command++)
		printf("%s%s", (*command)->name, command[1] ? " " : "\n");
}
