/* Checks of the whole tool: it is started as a person would, on its own workload, in a directory of its own. */
#include "cmd/test/test.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 32 };

/* Runs `shell` with sh, where "$PERF" is this program. What it writes, to both outputs, is appended. Its exit status. */
static int run_shell(struct check *check, const char *shell, struct strbuf *output)
{
	int ends[2], status = -1;
	size_t before = output->len;

	check_log(check, "$ %s", shell);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		execl("/bin/sh", "sh", "-c", shell, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	strbuf_read(output, ends[0], SIZE_MAX);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	check_log(check, "%.*s", (int)(output->len - before > 2000 ? 2000 : output->len - before), strbuf_str(output) + before);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Goes into an empty directory, from which leave_directory() comes back. NULL when there is none, which is told. */
static char *enter_directory(struct check *check)
{
	char self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *path = mem_strdup("/tmp/perf-test-XXXXXX");

	self[length > 0 ? length : 0] = '\0';
	setenv("PERF", self, 1);
	setenv("PERF_CONFIG", "/dev/null", 1);
	if (mkdtemp(path) && chdir(path) == 0)
		return path;
	check_skip(check, "cannot create a directory in /tmp: %s", strerror(errno));
	free(path);
	return NULL;
}

static void leave_directory(char *path)
{
	cleanup_free char *remove = mem_printf("cd / && rm -rf '%s'", path);

	if (system(remove) < 0 || chdir("/") < 0)
		_exit(1);
	free(path);
}

static size_t count_text(const char *text, const char *part)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		count++;
	return count;
}

/* Runs a recording and what reads it. A refusal skips: `perf doctor` knows why. */
static bool record(struct check *check, const char *shell, struct strbuf *output)
{
	int status = run_shell(check, shell, output);

	if (status == 0)
		return true;
	if (strstr(strbuf_str(output), "not allowed") || strstr(strbuf_str(output), "no permission"))
		check_skip(check, "this user is not allowed to record");
	else
		check_fail(check, "recording ended with status %d", status);
	return false;
}

/* Does the reading command do well, and is `part` in what it writes at least `least` times? */
static void expect(struct check *check, const char *shell, const char *part, size_t least)
{
	struct strbuf output = {0};
	int status = run_shell(check, shell, &output);

	if (status)
		check_fail(check, "'%s' ended with status %d", shell, status);
	else
		check_range(check, part, count_text(strbuf_str(&output), part), least, SIZE_MAX);
	strbuf_deinit(&output);
}

/* script shows as many samples as the closing line of record tells. */
static void record_and_script(struct check *check)
{
	char *directory = enter_directory(check);
	struct strbuf output = {0}, script = {0};

	if (!directory)
		return;
	if (record(check, "\"$PERF\" record -N -e page-faults:u -c 1 -o data -- \"$PERF\" test -w brstack 100", &output)) {
		const char *samples = strstr(strbuf_str(&output), " samples)"), *begin = samples;
		while (begin && begin > output.data && begin[-1] != '(')
			begin--;
		size_t told = begin ? strtoul(begin, NULL, 10) : 0;
		run_shell(check, "\"$PERF\" script -i data -F comm,event", &script);
		check_range(check, "samples reported", told, 10, SIZE_MAX);
		check_equal(check, "lines of script", count_text(strbuf_str(&script), "page-faults:u:"), told);
		expect(check, "\"$PERF\" script -i data --show-task-events", "PERF_RECORD_EXIT", 1);
		expect(check, "\"$PERF\" evlist -i data", "page-faults:u", 1);
	}
	strbuf_deinit(&output);
	strbuf_deinit(&script);
	leave_directory(directory);
}

static void record_and_report(struct check *check)
{
	char *directory = enter_directory(check);
	struct strbuf output = {0};

	if (!directory)
		return;
	if (record(check, "\"$PERF\" record -N -e task-clock:u -F 5000 -g -o data -- \"$PERF\" test -w brstack 5000000", &output)) {
		expect(check, "\"$PERF\" report -i data --stdio -g none --no-children", "brstack_", 2);
		expect(check, "\"$PERF\" flamegraph -i data --folded", "brstack;brstack_bench;brstack_foo", 1);
	}
	strbuf_deinit(&output);
	leave_directory(directory);
}

static void record_dwarf(struct check *check)
{
	char *directory = enter_directory(check);
	struct strbuf output = {0};

	if (!directory)
		return;
	if (check_has(check, "dwarf") &&
	    record(check, "\"$PERF\" record -N -e task-clock:u -F 1000 --call-graph dwarf -o data -- \"$PERF\" test -w brstack 5000000",
		   &output))
		expect(check, "\"$PERF\" report -i data --stdio -g caller", "_start", 1);
	strbuf_deinit(&output);
	leave_directory(directory);
}

static void record_pipe(struct check *check)
{
	char *directory = enter_directory(check);
	struct strbuf output = {0};

	if (!directory)
		return;
	if (record(check, "\"$PERF\" record -N -e page-faults:u -c 1 -o - -- \"$PERF\" test -w brstack 100 > data", &output))
		expect(check, "cat data | \"$PERF\" script -i -", "page-faults:u:", 10);
	strbuf_deinit(&output);
	leave_directory(directory);
}

static void record_compressed(struct check *check)
{
	char *directory = enter_directory(check);
	struct strbuf output = {0};

	if (!directory)
		return;
	if (record(check, "\"$PERF\" record -N -z -e page-faults:u -c 1 -o data -- \"$PERF\" test -w brstack 100", &output))
		expect(check, "\"$PERF\" script -i data", "page-faults:u:", 10);
	strbuf_deinit(&output);
	leave_directory(directory);
}

const struct check_row tool_checks[] = {
	{"Record and script a workload", record_and_script}, {"Record and report a workload", record_and_report},
	{"Record stacks and unwind them", record_dwarf},     {"Record into a pipe", record_pipe},
	{"Record with compression", record_compressed},	     {NULL, NULL},
};
