/* Scripts that a screen runs (screen_scripts.h).
 *
 *	number, filter ──pipe──► perf script … ──► output ──pipe──► size, bytes
 */
#include "cmd/report/screen_scripts.h"

#include "base/cleanup.h"
#include "base/files/whole.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/report/screen.h"
#include "cmd/script/ready.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIELDS = 5, NAMES = 3, FIELD_MOST = 4096, OUTPUT_MOST = 8 << 20 };

static const char *const options[FIELDS] = {"--comms", "--dsos", "--tid", "--time", "--cpu"};

/* Lengths count the NUL; 0 = none. The fields follow. */
struct request {
	uint32_t number;
	uint32_t lengths[FIELDS];
};

/* ---- the process ---- */

struct words {
	VEC(char *) list;
};

/* A list of names, or a file with some (file://), is more than a filter may be: what asks may have been taken over. */
static bool is_plain(const char *name)
{
	return !strchr(name, ',') && !strstr(name, "://");
}

/* The first ones are names, the others numbers. */
static bool is_allowed(size_t field, const char *text)
{
	return field < NAMES ? is_plain(text) : text[strspn(text, "0123456789.,")] == '\0';
}

static bool take_request(int requests, struct request *request, char *fields[FIELDS])
{
	if (!whole_read(requests, request, sizeof(*request)))
		return false;
	for (size_t i = 0; i < FIELDS; i++) {
		size_t length = request->lengths[i];
		if (!length)
			continue;
		fields[i] = length <= FIELD_MOST ? mem_alloc(length) : NULL;
		if (!fields[i] || !whole_read(requests, fields[i], length) || fields[i][length - 1] || !is_allowed(i, fields[i]))
			return false;
	}
	return true;
}

static _Noreturn void become_script(const struct script_runner *runner, const char *recording, size_t number, char *fields[FIELDS],
				    int output)
{
	struct words words = {0};
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	vec_push(&words.list, "perf");
	vec_push(&words.list, "script");
	if (number) {
		vec_push(&words.list, "report");
		vec_push(&words.list, runner->names.data[number]);
	}
	vec_push(&words.list, "-i");
	vec_push(&words.list, (char *)recording);
	for (size_t i = 0; i < FIELDS; i++)
		if (fields[i])
			vec_push(&words.list, mem_printf("%s=%s", options[i], fields[i]));
	vec_push(&words.list, NULL);
	dup2(nothing, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	signal(SIGINT, SIG_DFL);
	execv("/proc/self/exe", words.list.data);
	_exit(127);
}

/* What a script prints. */
static void run_one(const struct script_runner *runner, const char *recording, size_t number, char *fields[FIELDS], struct strbuf *output)
{
	int ends[2];
	char part[65536];
	ssize_t got;
	if (pipe2(ends, O_CLOEXEC))
		return;
	pid_t process = fork();
	if (!process)
		become_script(runner, recording, number, fields, ends[1]);
	close(ends[1]);
	while (output->len < OUTPUT_MOST && ((got = read(ends[0], part, sizeof(part))) > 0 || (got < 0 && errno == EINTR)))
		strbuf_add(output, part, got > 0 ? (size_t)got : 0);
	close(ends[0]); /* whoever writes more gets SIGPIPE */
	while (process > 0 && waitpid(process, NULL, 0) < 0 && errno == EINTR)
		;
	if (output->len >= OUTPUT_MOST)
		strbuf_printf(output, "\n(cut off here: perf script shows all)\n");
}

static _Noreturn void serve(const struct script_runner *runner, const char *recording, int requests, int answers)
{
	struct request request;
	char *fields[FIELDS] = {0};
	while (take_request(requests, &request, fields)) {
		struct strbuf output = {0};
		if (request.number < runner->names.len)
			run_one(runner, recording, request.number, fields, &output);
		uint64_t size = output.len;
		if (!whole_write(answers, &size, sizeof(size)) || !whole_write(answers, strbuf_str(&output), output.len))
			break;
		strbuf_deinit(&output);
		for (size_t i = 0; i < FIELDS; i++) {
			free(fields[i]);
			fields[i] = NULL;
		}
	}
	_exit(0);
}

/* ---- the screen's side ---- */

static void add_name(void *context, const char *name)
{
	struct script_runner *runner = context;
	vec_push(&runner->names, mem_strdup(name));
}

struct script_runner *script_runner_prepare(const char *recording)
{
	int requests[2], answers[2];
	if (pipe2(requests, O_CLOEXEC))
		return NULL;
	if (pipe2(answers, O_CLOEXEC)) {
		close(requests[0]);
		close(requests[1]);
		return NULL;
	}
	struct script_runner *runner = mem_zalloc(sizeof(*runner));
	add_name(runner, "perf script: all events as text");
	script_ready_each(add_name, runner);
	fflush(stdout);
	runner->process = fork();
	if (!runner->process) {
		signal(SIGINT, SIG_IGN); /* the end of the pipe ends it */
		close(requests[1]);
		close(answers[0]);
		serve(runner, recording, requests[0], answers[1]);
	}
	close(requests[0]);
	close(answers[1]);
	runner->requests = requests[1];
	runner->answers = answers[0];
	if (runner->process > 0)
		return runner;
	script_runner_end(runner);
	return NULL;
}

void script_runner_end(struct script_runner *runner)
{
	if (!runner)
		return;
	close(runner->requests);
	close(runner->answers);
	while (runner->process > 0 && waitpid(runner->process, NULL, 0) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < runner->names.len; i++)
		free(runner->names.data[i]);
	vec_deinit(&runner->names);
	free(runner);
}

bool script_runner_run(struct script_runner *runner, size_t number, const struct script_choice *filter, struct strbuf *output)
{
	const char *const fields[FIELDS] = {filter->comm, filter->dso, filter->tid, filter->time, filter->cpu};
	struct request request = {.number = (uint32_t)number};
	uint64_t size;
	for (size_t i = 0; i < FIELDS; i++) {
		if (fields[i] && (strlen(fields[i]) >= FIELD_MOST || !is_allowed(i, fields[i])))
			return false;
		request.lengths[i] = fields[i] ? (uint32_t)strlen(fields[i]) + 1 : 0;
	}
	if (!whole_write(runner->requests, &request, sizeof(request)))
		return false;
	for (size_t i = 0; i < FIELDS; i++)
		if (!whole_write(runner->requests, fields[i], request.lengths[i]))
			return false;
	if (!whole_read(runner->answers, &size, sizeof(size)) || size > 2 * OUTPUT_MOST)
		return false;
	strbuf_clear(output);
	char *text = mem_alloc(size + 1);
	bool all = whole_read(runner->answers, text, size);
	strbuf_add(output, text, all ? size : 0);
	free(text);
	return all;
}

/* ---- */

/* "perf script report failed-syscalls --comms=w" */
static void add_command(const struct script_runner *runner, size_t number, const struct script_choice *filter, struct strbuf *out)
{
	const char *const fields[FIELDS] = {filter->comm, filter->dso, filter->tid, filter->time, filter->cpu};
	strbuf_printf(out, "perf script%s%s", number ? " report " : "", number ? runner->names.data[number] : "");
	for (size_t i = 0; i < FIELDS; i++) {
		if (!fields[i])
			continue;
		strbuf_printf(out, " %s=", options[i]);
		text_add_safe(out, fields[i], strlen(fields[i]));
	}
}

void screen_show_script(struct screen *screen, size_t number, const struct script_choice *filter)
{
	struct script_runner *runner = screen->tools.scripts;
	struct terminal *terminal = screen->terminal;
	struct strbuf output = {0}, title = {0};
	add_command(runner, number, filter, &title);
	terminal_put(terminal, terminal_lines(terminal) - 1, 0, terminal_columns(terminal), STYLE_STATUS, "running …");
	terminal_show(terminal, 0, -1);
	if (script_runner_run(runner, number, filter, &output))
		text_show(terminal, strbuf_str(&title), output.len ? strbuf_str(&output) : "It printed nothing.");
	else
		strbuf_add_str(&screen->note, "the script could not be run: this name cannot be passed to it");
	strbuf_deinit(&output);
	strbuf_deinit(&title);
}

void screen_run_script(struct screen *screen)
{
	struct script_runner *runner = screen->tools.scripts;
	struct terminal *terminal = screen->terminal;
	const struct screen_zoom *zoom = &screen->zoom;
	if (!runner) {
		strbuf_add_str(&screen->note, "scripts need a recording in a file");
		return;
	}
	size_t number = menu_choose(terminal, "Script to run", (const char *const *)runner->names.data, runner->names.len, 0);
	if (number == MENU_NONE)
		return;
	cleanup_free char *tid = zoom->thread ? mem_printf("%u", zoom->thread->tid) : NULL;
	const struct script_choice filter = {
		.comm = zoom->comm ? untrusted_raw(zoom->comm) : NULL, .dso = zoom->dso ? zoom->dso->name : NULL, .tid = tid};
	screen_show_script(screen, number, &filter);
}
