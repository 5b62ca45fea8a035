/* The program's entry: global options, the choice of the command, the only place where errors are printed, and the exit statuses of the
 * kernel's perf: 129 for a wrong command line (and for -h), 1 for no or an unknown command, 255 for a failure, else what the command says.
 */
#include "app/command.h"
#include "app/config.h"
#include "app/pager.h"
#include "app/places.h"
#include "app/usage.h"

#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	STATUS_NO_COMMAND = 1,
	STATUS_USAGE = 129,
	STATUS_FAILURE = 255,
};

static int refuse(const char *problem, const char *word)
{
	struct strbuf safe = {0};
	text_add_safe(&safe, word, strlen(word));
	fprintf(stderr, "perf: %s: %s\n%s\n", problem, strbuf_str(&safe), usage_line);
	strbuf_deinit(&safe);
	return STATUS_USAGE;
}

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
			strbuf_printf(&text, "Usage: perf %s%s%s ('perf %s -h' lists the options)\n", command->name, line ? " " : "", line ? line : "",
				      command->name);
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
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	if (errno == EPIPE)
		return 128 + SIGPIPE;
	fprintf(stderr, "perf: standard output: %s\n", strerror(errno));
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
	int status = 0;
	if (argc == 2 && !strcmp(argv[1], "--list-opts")) {
		struct strbuf names = {0};
		if (command->options)
			options_add_names(&names, command->options);
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

/* Commands of the kernel's tool that are no mistyped ones of ours. */
static bool is_kernel_tool_command(const char *name)
{
	static const char *const names[] = {"archive", "bench",	 "buildid-cache", "c2c",      "daemon",	   "data", "diff",
					    "ftrace",  "inject", "iostat",	  "kallsyms", "kmem",	   "kvm",  "kwork",
					    "lock",    "mem",	 "probe",	  "sched",    "timechart", "top",  "trace"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static int run_named(const char *name, int argc, char **argv)
{
	const struct command *command = command_find(name);
	VEC(const char *) names = {0};
	struct strbuf safe = {0};
	if (command)
		return run(command, argc, argv);
	if (is_kernel_tool_command(name)) {
		fprintf(stderr, "perf: this version does not have '%s' yet; 'perf help' lists the commands that it has\n", name);
		return STATUS_NO_COMMAND;
	}
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

/* The command that a global option stands for, or NULL. */
static const char *alias_of(const char *word)
{
	if (!strcmp(word, "--version") || !strcmp(word, "-v") || !strcmp(word, "-vv"))
		return "version";
	return !strcmp(word, "--help") || !strcmp(word, "-h") ? "help" : NULL;
}

static void show_exec_path(void)
{
	char *root = places_root();
	puts(root);
	free(root);
}

/* Reads the options before the command. Returns false when the program ends there, with its status in *ret_status. */
static bool read_globals(int argc, char **argv, int *next, int *ret_status)
{
	*ret_status = 0;
	for (; *next < argc && argv[*next][0] == '-' && !alias_of(argv[*next]); ++*next) {
		const char *word = argv[*next];
		if (!strcmp(word, "--no-pager")) {
			config_override("pager.off=true");
		} else if (!strcmp(word, "-p") || !strcmp(word, "--paginate")) {
			setenv("PERF_PAGINATE", "1", 1);
		} else if (!strcmp(word, "-c") && *next + 1 < argc) {
			if (!config_override(argv[++*next])) {
				*ret_status = refuse("-c needs section.name=value", argv[*next]);
				return false;
			}
		} else if (!strcmp(word, "--buildid-dir") && *next + 1 < argc) {
			char *assignment = mem_printf("buildid.dir=%s", argv[++*next]);
			config_override(assignment);
			setenv("PERF_BUILDID_DIR", argv[*next], 1); /* it wins over what is there */
			free(assignment);
		} else if (!strncmp(word, "--exec-path=", 12)) {
			setenv("PERF_EXEC_PATH", word + 12, 1);
		} else if (!strcmp(word, "--exec-path")) {
			show_exec_path();
			return false;
		} else if (!strcmp(word, "--list-cmds")) {
			usage_list_commands();
			return false;
		} else if (!strcmp(word, "--list-opts")) {
			puts("--help --version --paginate --no-pager --buildid-dir --exec-path --list-cmds --list-opts");
			return false;
		} else {
			*ret_status = refuse("unknown option", word);
			return false;
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	int next = 1, status;
	signal(SIGCHLD, SIG_DFL); /* where a parent has left it ignored, nobody can wait for a workload */
	if (!read_globals(argc, argv, &next, &status))
		return check_output(status);
	if (next >= argc) {
		usage_show();
		return check_output(STATUS_NO_COMMAND);
	}
	const char *name = alias_of(argv[next]);
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
