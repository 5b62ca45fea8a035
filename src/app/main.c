/* The program's entry: global options, the choice of the command, the only place where errors are printed, and the exit statuses of the
 * kernel's perf: 129 for a wrong command line (and for -h), 1 for no or an unknown command, 255 for a failure, else what the command says.
 */
#include "app/command.h"
#include "app/globals.h"
#include "app/pager.h"
#include "app/usage.h"

#include "base/files/output.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	STATUS_NO_COMMAND = 1,
	STATUS_USAGE = GLOBALS_STATUS_USAGE,
	STATUS_FAILURE = 255,
};

/* Ends with the command's error: its text, and for a wrong command line what would be right. */
static int report_error(const struct command *command, struct error *error, int status)
{
	const char *message = error_message(error);
	bool usage = error_kind(error) == ERROR_USAGE;
	fflush(stdout);
	if (usage && !*message) {
		usage_show_command(command);
	} else {
		struct strbuf text = {0};
		strbuf_printf(&text, "perf %s: ", command->name);
		text_add_safe_lines(&text, message);
		strbuf_add_char(&text, '\n');
		if (usage) {
			const char *line = command->usage ? command->usage[0] : NULL;
			strbuf_printf(&text, "Usage: perf %s%s%s ('perf %s -h' lists the options)\n", command->name, line ? " " : "",
				      line ? line : "", command->name);
		}
		fputs(text.data, stderr);
		strbuf_deinit(&text);
	}
	error_free(error);
	return usage ? STATUS_USAGE : status ? status : STATUS_FAILURE;
}

/* What could not be written (a full disk) must not look like success. */
static int check_output(int status)
{
	int failure = output_failure(stdout);
	if (!failure)
		return status;
	if (failure == EPIPE)
		return 128 + SIGPIPE;
	fprintf(stderr, "perf: standard output: %s\n", strerror(failure));
	return status ? status : STATUS_FAILURE;
}

/* Whoever started us shall see the signal itself, as shells tell it from a status. */
static void end_by_signal(int number)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, number);
	signal(number, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
}

static int run(const struct command *command, int argc, char **argv)
{
	int status = 0, at = 0;
	const struct command *subcommand = command->subcommands ? command_find_subcommand(command, argc, argv, &at) : NULL;
	if (subcommand)
		return run(subcommand, argc - at, argv + at);
	if (argc == 2 && !strcmp(argv[1], "--list-cmds")) {
		for (const struct command *const *one = command->subcommands; one && *one; one++)
			printf("%s%s", strrchr((*one)->name, ' ') + 1, one[1] ? " " : "\n");
		return check_output(0);
	}
	if (argc == 2 && !strcmp(argv[1], "--list-opts")) {
		struct strbuf names = {0};
		const struct option *options = command->runs ? command_find(command->runs)->options : command->options;
		if (options)
			options_add_names(&names, options);
		puts(strbuf_str(&names));
		strbuf_deinit(&names);
		return check_output(0);
	}
	struct error *error = command->run(argc, argv, &status);
	status = error ? report_error(command, error, status) : status;
	status = check_output(status);
	pager_finish();
	if (status > COMMAND_ENDS_BY_SIGNAL)
		end_by_signal(status - COMMAND_ENDS_BY_SIGNAL);
	return status;
}

static int run_named(const char *name, int argc, char **argv)
{
	const struct command *command = command_find(name);
	VEC(const char *) names = {0};
	struct strbuf safe = {0};
	if (command)
		return run(command, argc, argv);
	for (const struct command *const *known = command_list; *known; known++)
		vec_push(&names, (*known)->name);
	const char *nearest = str_nearest(name, names.data, names.len);
	text_add_safe(&safe, name, strlen(name));
	fprintf(stderr, "perf: '%s' is not a perf command; 'perf help' lists them%s%s%s\n", strbuf_str(&safe),
		nearest ? ". Did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
	strbuf_deinit(&safe);
	vec_deinit(&names);
	return STATUS_NO_COMMAND;
}

int main(int argc, char **argv)
{
	int next = 1, status;
	signal(SIGCHLD, SIG_DFL); /* where a parent has left it ignored, nobody can wait for a workload */
	if (!globals_read(argc, argv, &next, &status))
		return check_output(status);
	if (next >= argc) {
		usage_show();
		return check_output(STATUS_NO_COMMAND);
	}
	const char *name = globals_alias(argv[next]);
	if (name && !strcmp(argv[next], "-vv")) {
		char *words[] = {"version", "--build-options", NULL};
		return run_named(name, 2, words);
	}
	if (!name && next + 1 < argc && !strcmp(argv[next + 1], "--help")) {
		char *words[] = {"help", argv[next], NULL};
		return run_named("help", 2, words);
	}
	return run_named(name ? name : argv[next], argc - next, argv + next);
}
