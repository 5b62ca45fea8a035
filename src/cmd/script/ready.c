/* Ready-made scripts: finding, listing, running.
 *
 *	perf script record NAME [OPTIONS] [COMMAND]      sh NAME-record
 *	perf script report NAME [WORDS] [OPTIONS]        sh NAME-report
 *	perf script NAME [WORDS] [COMMAND]               sh NAME-record -q -o - … | sh NAME-report WORDS -i -
 */
#include "cmd/script/ready.h"

#include "app/command.h"
#include "app/places.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "cmd/record/record.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char RECORD[] = "-record", REPORT[] = "-report";

/* ---- finding ---- */

/* Visits the folders scripts/LANGUAGE/bin. */
static void visit_folders(void (*visit)(void *context, const char *folder), void *context)
{
	static const char *const languages[] = {"python", "perl"};
	cleanup_free char *root = places_root();
	for (size_t i = 0; i < sizeof(languages) / sizeof(*languages); i++) {
		cleanup_free char *folder = mem_printf("%s/scripts/%s/bin", root, languages[i]);
		visit(context, folder);
	}
}

struct search {
	const char *name, *suffix;
	char *path; /* NULL until found */
};

static void look_in(void *context, const char *folder)
{
	struct search *search = context;
	char *path = search->path ? NULL : mem_printf("%s/%s%s", folder, search->name, search->suffix);
	if (path && access(path, R_OK) == 0)
		search->path = path;
	else
		free(path);
}

/* The path of NAME-record or NAME-report, freed by the caller; NULL = there is none. */
static char *find_script(const char *name, const char *suffix)
{
	struct search search = {name, suffix, NULL};
	if (!strchr(name, '/'))
		visit_folders(look_in, &search);
	return search.path;
}

/* ---- what they say of themselves ---- */

/* What follows "# KEY:" in the file, "" without such a line. Freed by the caller. */
static char *read_note(const char *path, const char *key)
{
	cleanup_fclose FILE *file = fopen(path, "re");
	cleanup_free char *line = NULL;
	size_t room = 0;
	ssize_t length;
	while (file && (length = getline(&line, &room, file)) > 0) {
		char *text = line;
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (!str_starts_with(line, "# ") || !str_starts_with(line + 2, key) || line[2 + strlen(key)] != ':')
			continue;
		text += 3 + strlen(key);
		return mem_strdup(text + strspn(text, " "));
	}
	return mem_strdup("");
}

struct script_listing {
	VEC(char *) names;
};

static void list_folder(void *context, const char *folder)
{
	struct script_listing *listing = context;
	DIR *directory = opendir(folder);
	for (struct dirent *entry; directory && (entry = readdir(directory));)
		if (str_ends_with(entry->d_name, REPORT))
			vec_push(&listing->names, mem_strndup(entry->d_name, strlen(entry->d_name) - strlen(REPORT)));
	if (directory)
		closedir(directory);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void script_ready_each(void (*visit)(void *context, const char *name), void *context)
{
	struct script_listing listing = {0};
	visit_folders(list_folder, &listing);
	if (listing.names.len)
		qsort(listing.names.data, listing.names.len, sizeof(char *), compare_names);
	for (size_t i = 0; i < listing.names.len; i++) {
		visit(context, listing.names.data[i]);
		free(listing.names.data[i]);
	}
	vec_deinit(&listing.names);
}

static void add_listed(void *context, const char *name)
{
	cleanup_free char *path = find_script(name, REPORT);
	cleanup_free char *description = read_note(path, "description"), *words = read_note(path, "args");
	cleanup_free char *form = mem_printf("%s%s%s", name, *words ? " " : "", words);
	strbuf_printf(context, "  %-36s %s\n", form, description);
}

void script_ready_list(struct strbuf *out)
{
	strbuf_add_str(out, "List of available trace scripts:\n");
	script_ready_each(add_listed, out);
}

/* ---- running ---- */

struct words {
	VEC(char *) list; /* of a command line; the strings are borrowed */
};

static void add(struct words *words, const char *word)
{
	vec_push(&words->list, (char *)word);
}

static void add_all(struct words *words, char *const *more)
{
	while (*more)
		add(words, *more++);
}

/* Whether there is a command behind record's options. */
static bool has_command(char *const *words)
{
	while (*words && **words == '-' && strcmp(*words, "--") != 0) {
		int span = options_span(record_option_table, words);
		for (int i = 0; *words && i < (span ? span : 1); i++)
			words++;
	}
	return *words != NULL;
}

static void add_recording(struct words *to, const char *path, char *const *more, bool system_wide)
{
	add(to, "sh");
	add(to, path);
	if (system_wide || !has_command(more))
		add(to, "-a");
}

static struct error *not_found(const char *name)
{
	return error_new_kind(ERROR_USAGE, "unknown script \"%s\"; 'perf script -l' lists the installed scripts, and -s FILE runs your own",
			      name);
}

/* Becomes the script: this process has nothing else to do. */
static struct error *become(struct words *words)
{
	add(words, NULL);
	fflush(stdout);
	execv("/bin/sh", words->list.data);
	return error_system(errno, "/bin/sh");
}

static struct error *run_half(char **words, bool record, bool system_wide)
{
	const char *name = words[1];
	struct words line = {0};
	if (!name)
		return error_new_kind(ERROR_USAGE, "missing script name; 'perf script -l' lists the installed scripts");
	cleanup_free char *path = find_script(name, record ? RECORD : REPORT);
	if (!path)
		return not_found(name);
	if (record) {
		add_recording(&line, path, words + 2, system_wide);
	} else {
		add(&line, "sh");
		add(&line, path);
	}
	add_all(&line, words + 2);
	struct error *error = become(&line);
	vec_deinit(&line.list);
	return error;
}

/* Starts one side of the pipe. */
static pid_t start(struct words *words, int from, int to, int other)
{
	add(words, NULL);
	pid_t pid = fork();
	if (pid)
		return pid;
	if (from >= 0)
		dup2(from, STDIN_FILENO);
	if (to >= 0)
		dup2(to, STDOUT_FILENO);
	close(from >= 0 ? from : to);
	close(other);
	/* Ctrl-C ends the recording; the script then sees its end, and tells what it has. */
	if (from >= 0)
		signal(SIGINT, SIG_IGN);
	execv("/bin/sh", words->list.data);
	_exit(127);
}

static int status_of(pid_t pid)
{
	int status = 0;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static struct error *run_pipe(struct words *recording, struct words *report, int *ret_status)
{
	int ends[2];
	if (pipe(ends))
		return error_system(errno, "a pipe");
	fflush(stdout);
	signal(SIGINT, SIG_IGN);
	pid_t reader = start(report, ends[0], -1, ends[1]);
	signal(SIGINT, SIG_DFL);
	pid_t writer = reader > 0 ? start(recording, -1, ends[1], ends[0]) : -1;
	int failed = errno;
	signal(SIGINT, SIG_IGN);
	close(ends[0]);
	close(ends[1]);
	int recorded = status_of(writer), reported = status_of(reader);
	*ret_status = reported ? reported : recorded;
	return reader < 0 || writer < 0 ? error_system(failed, "a new process") : NULL;
}

/* How many of `words` are the script's: as many as it can't do without (<…> in its "# args:" line); all, when it shows something again and
 * again, like top, and runs no command. */
static size_t own_words(const char *name, const char *report, char *const *words)
{
	cleanup_free char *note = read_note(report, "args");
	size_t most = 0, count = 0;
	for (const char *at = note; (at = strchr(at, '<')); at++)
		most++;
	if (str_ends_with(name, "top"))
		most = SIZE_MAX;
	while (count < most && words[count] && words[count][0] != '-')
		count++;
	return count;
}

static struct error *run_live(char **words, bool system_wide, int *ret_status)
{
	cleanup_free char *record = find_script(words[0], RECORD), *report = find_script(words[0], REPORT);
	if (!report)
		return not_found(words[0]);
	if (!record)
		return error_new_kind(ERROR_USAGE, "%s cannot record; run it on a recording: perf script report %s", words[0], words[0]);
	size_t own = own_words(words[0], report, words + 1);
	struct words recording = {0}, reporting = {0};
	add_recording(&recording, record, words + 1 + own, system_wide);
	add(&recording, "-q");
	add(&recording, "-o");
	add(&recording, "-");
	add_all(&recording, words + 1 + own);
	add(&reporting, "sh");
	add(&reporting, report);
	for (size_t i = 0; i < own; i++)
		add(&reporting, words[1 + i]);
	add(&reporting, "-i");
	add(&reporting, "-");
	struct error *error = run_pipe(&recording, &reporting, ret_status);
	vec_deinit(&recording.list);
	vec_deinit(&reporting.list);
	return error;
}

struct error *script_ready_run(char **words, bool system_wide, int *ret_status)
{
	places_export();
	if (strcmp(words[0], "record") == 0)
		return run_half(words, true, system_wide);
	if (strcmp(words[0], "report") == 0)
		return run_half(words, false, system_wide);
	return run_live(words, system_wide, ret_status);
}
