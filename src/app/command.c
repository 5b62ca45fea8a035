/* The list of commands is made by the build (tools/gen-registry); here it is searched and described. */
#include "app/command.h"

#include "base/log.h"
#include "base/vec.h"

#include <string.h>

const struct command *command_find(const char *name)
{
	for (const struct command *const *command = command_list; *command; command++)
		if (!strcmp((*command)->name, name))
			return *command;
	return NULL;
}

/* By the last word of its name, of which three letters are enough for most: "lat" is "sched latency". */
static bool is_called(const struct command *subcommand, const char *word)
{
	enum { ENOUGH = 3 };
	const char *name = strrchr(subcommand->name, ' ') + 1;
	size_t len = strlen(word);
	return !strcmp(name, word) || (!subcommand->whole_word && len >= ENOUGH && !strncmp(name, word, len));
}

struct error *command_run_with(const char *const *before, size_t count, char *const *words, int word_count, int *ret_status)
{
	VEC(char *) all = {0};
	for (size_t i = 0; i < count; i++)
		vec_push(&all, (char *)before[i]);
	for (int i = 0; i < word_count; i++)
		vec_push(&all, words[i]);
	vec_push(&all, NULL);
	enum log_level level = log_level();
	struct error *error = command_find(before[0])->run((int)all.len - 1, all.data, ret_status);
	log_set_level(level); /* a -q in `before` is not for what we say afterwards */
	vec_deinit(&all);
	return error;
}

const struct command *command_find_subcommand(const struct command *command, int argc, char **argv, int *ret_at)
{
	int at = 1, span;
	while (at < argc && argv[at][0] == '-' && command->options && (span = options_span(command->options, argv + at)) > 0)
		at += span;
	for (const struct command *const *one = at < argc ? command->subcommands : NULL; one && *one; one++) {
		if (!is_called(*one, argv[at]) || (at > 1 && (*one)->own_options))
			continue;
		char *word = argv[at];
		memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof(*argv));
		argv[1] = word;
		*ret_at = 1;
		return *one;
	}
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

static void add_subcommands(struct strbuf *out, const struct command *command)
{
	strbuf_add_str(out, "\nSubcommands:\n");
	for (const struct command *const *one = command->subcommands; *one; one++)
		strbuf_printf(out, "  %-15s %s\n", strrchr((*one)->name, ' ') + 1, (*one)->summary);
	strbuf_printf(out, "\n'perf %s SUBCOMMAND -h' lists the options of a subcommand.\n", command->name);
}

void command_add_help(struct strbuf *out, const struct command *command, unsigned int columns)
{
	strbuf_printf(out, "perf %s: %s\n\n", command->name, command->summary);
	command_add_usage(out, command);
	if (command->subcommands)
		add_subcommands(out, command);
	if (command->runs)
		strbuf_printf(out, "\nIt takes the options of 'perf %s'; 'perf %s -h' lists them.\n", command->runs, command->runs);
	if (command->options) {
		if (!begins_with_heading(command->options))
			strbuf_add_char(out, '\n');
		options_add_help(out, command->options, columns);
	}
}
