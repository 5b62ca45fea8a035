/* perf help: the list of commands, or a command's manual page; where that is not installed, its option help. */
#include "analysis/report/keys/keys.h"
#include "analysis/script/fields.h"
#include "app/command.h"
#include "app/usage.h"
#include "arch/syscalls.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct help_options {
	bool all;
	bool man, info, web;
	bool rows;
	const char *names;
};

static const struct option help_options[] = {
	OPTION_FLAG('a', "all", struct help_options, all, "list all commands"),
	OPTION_FLAG('m', "man", struct help_options, man, "show the manual page (default on a terminal if man is installed)"),
	OPTION_FLAG('i', "info", struct help_options, info, "show the manual page with info"),
	OPTION_FLAG('w', "web", struct help_options, web, "show the manual page in a browser ($BROWSER); requires groff"),
	{OPTION_KIND_STRING, 0, "names", offsetof(struct help_options, names), "WHAT", NULL, NULL, NULL, OPTION_HIDDEN},
	{OPTION_KIND_FLAG, 0, "option-rows", offsetof(struct help_options, rows), NULL, NULL, NULL, NULL, OPTION_HIDDEN},
	OPTION_END,
};

/* The manual page in the folder that `meson install` puts it in (packages compress it), or in the build folder beside this program. NULL
 * when there is none. */
static char *find_page(const char *name)
{
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len <= 0)
		return NULL;
	self[len] = '\0';
	*strrchr(self, '/') = '\0';
	static const char *const places[][2] = {{"../share/man/man1", ""}, {"../share/man/man1", ".gz"}, {"doc", ""}};
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char *path = mem_printf("%s/%s/perf-%s.1%s", self, places[i][0], name, places[i][1]);
		if (!access(path, R_OK))
			return path;
		free(path);
	}
	return NULL;
}

/* Becomes the manual viewer; comes back when there is no page or no viewer, which is an error when one was asked for. */
static struct error *show_page(const struct command *command, const struct help_options *options)
{
	bool asked = options->man || options->info || options->web;
	cleanup_free char *page = asked || isatty(STDOUT_FILENO) ? find_page(command->name) : NULL;
	if (!page)
		return asked ? error_new("the manual page of '%s' is not installed; 'perf %s -h' lists its options", command->name,
					 command->name)
			     : NULL;
	const char *viewer = options->info ? "info" : "man";
	fflush(stdout);
	if (options->info)
		execlp(viewer, viewer, "-f", page, (char *)NULL);
	else if (options->web)
		execlp(viewer, viewer, "--html", page, (char *)NULL);
	else
		execlp(viewer, viewer, page, (char *)NULL);
	return asked ? error_system(errno, "%s", viewer) : NULL;
}

static void print_rows(const struct command *command)
{
	struct strbuf rows = {0};
	for (const char *const *line = command->usage; line && *line; line++)
		strbuf_printf(&rows, "usage\t%s\n", *line);
	strbuf_printf(&rows, "summary\t%s\n", command->summary);
	if (command->options)
		options_add_rows(&rows, command->options);
	fputs(strbuf_str(&rows), stdout);
	strbuf_deinit(&rows);
}

/* Values of options for shell completion: the keys of report, the fields of script, the system calls of this machine. */
static struct error *print_names(const char *what)
{
	struct strbuf names = {0};
	if (!strcmp(what, "keys")) {
		for (const struct key *key = key_table; key->name; key++)
			if (!(key->flags & KEY_HIDDEN))
				strbuf_printf(&names, "%s\n", key->name);
	} else if (!strcmp(what, "fields")) {
		script_fields_list(&names);
		strbuf_add_char(&names, '\n');
	} else if (!strcmp(what, "syscalls")) {
		enum syscall_abi abi = syscall_abi_of(NULL);
		for (unsigned int i = 0; i < SYSCALL_NUMBERS; i++)
			if (syscall_name(abi, i))
				strbuf_printf(&names, "%s\n", syscall_name(abi, i));
	} else {
		return error_new_kind(ERROR_USAGE, "--names takes keys, fields or syscalls");
	}
	fputs(strbuf_str(&names), stdout);
	strbuf_deinit(&names);
	return NULL;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct help_options options = {0};
	int words;
	struct error *error = options_parse(help_options, OPTIONS_PERMUTE, argc, argv, &options, &words);
	if (error)
		return error;
	if (options.names)
		return print_names(options.names);
	if (!words || options.all) {
		usage_show();
		return NULL;
	}
	const struct command *command = command_find(argv[0]);
	if (!command) {
		struct strbuf safe = {0};
		text_add_safe(&safe, argv[0], strlen(argv[0]));
		error = error_new("unknown command '%s'; 'perf help' lists them", strbuf_str(&safe));
		strbuf_deinit(&safe);
		return error;
	}
	const struct command *named = command;
	for (int at; words > 1 && named->subcommands; words -= at, argv += at) {
		const struct command *subcommand = command_find_subcommand(named, words, argv, &at);
		if (!subcommand)
			return error_new_kind(ERROR_USAGE, "'perf %s' has no such subcommand; 'perf %s -h' lists its subcommands",
					      named->name, named->name);
		named = subcommand;
	}
	if (options.rows) {
		print_rows(named);
		return NULL;
	}
	error = show_page(command, &options);
	if (!error)
		usage_show_command(named);
	return error;
}

static const char *const usage[] = {"[COMMAND [SUBCOMMAND...]]", NULL};
const struct command cmd_help = {"help", "Explain perf or one of its commands", usage, help_options, run};
