/* Scripts that a screen runs (screen_scripts.h).
 *
 *	number, filter ──pipe──► perf script … ──► output ──pipe──► size, bytes
 *	              stop ──►   (its group of processes is killed)
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
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIELDS = CHOICE_FIELDS, FIELD_MOST = 4096, OUTPUT_MOST = 8 << 20, STOP = UINT32_MAX };

static const char *const options[FIELDS] = {
	[CHOICE_COMM] = "--comms", [CHOICE_DSO] = "--dsos", [CHOICE_TID] = "--tid", [CHOICE_TIME] = "--time", [CHOICE_CPU] = "--cpu"};

/* Lengths count the NUL; 0 = none. The fields follow. Number STOP: an end of what runs, if it hasn't ended; there is no answer to that. */
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

static bool is_allowed(size_t field, const char *text)
{
	bool is_name = field == CHOICE_COMM || field == CHOICE_DSO;
	return is_name ? is_plain(text) : text[strspn(text, "0123456789.,")] == '\0';
}

static bool take_request(int requests, struct request *request, char *fields[FIELDS])
{
	do {
		if (!whole_read(requests, request, sizeof(*request)))
			return false;
	} while (request->number == STOP); /* what it was for had ended */
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

/* In a group of its own, which can be killed with all that it starts. */
static _Noreturn void become_script(const struct script_runner *runner, const char *recording, size_t number, char *fields[FIELDS],
				    int output)
{
	setpgid(0, 0);
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
	for (size_t i = 0; i < runner->words.len; i++)
		vec_push(&words.list, runner->words.data[i]);
	for (size_t i = 0; i < FIELDS; i++) {
		const char *word = fields[i] ? fields[i] : runner->fields[i];
		if (word)
			vec_push(&words.list, mem_printf("%s=%s", options[i], word));
	}
	vec_push(&words.list, NULL);
	dup2(nothing, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	signal(SIGINT, SIG_DFL);
	execv("/proc/self/exe", words.list.data);
	_exit(127);
}

/* While a script runs, nothing can be asked for but its end; when the screen has gone, the script goes, too. Returns how often it was
 * asked for until now. */
static unsigned int take_stop(int requests, pid_t process, unsigned int stops)
{
	struct request request;
	bool asked = whole_read(requests, &request, sizeof(request)) && request.number == STOP;
	kill(-process, asked && !stops ? SIGTERM : SIGKILL);
	return stops + 1;
}

/* What the script prints, until all that it has started has closed the pipe. Returns whether it was stopped. */
static bool read_output(int output, int requests, pid_t process, struct strbuf *ret)
{
	enum { MOST_STOPS = 2 }; /* then it is over */
	struct pollfd waits[] = {{.fd = output, .events = POLLIN}, {.fd = requests, .events = POLLIN}};
	char part[65536];
	unsigned int stops = 0;
	while (ret->len < OUTPUT_MOST && stops < MOST_STOPS) {
		if (poll(waits, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			break;
		}
		if (waits[1].revents)
			stops = take_stop(requests, process, stops);
		if (!waits[0].revents)
			continue;
		ssize_t got = read(output, part, sizeof(part));
		if (!got || (got < 0 && errno != EINTR))
			break;
		strbuf_add(ret, part, got > 0 ? (size_t)got : 0);
	}
	if (ret->len >= OUTPUT_MOST)
		kill(-process, SIGTERM);
	return stops;
}

/* How it has ended, when that is worth a word. */
static void add_end(int status, bool stopped, struct strbuf *out)
{
	bool is_cut = out->len >= OUTPUT_MOST;
	const char *newline = out->len && *(out->data + out->len - 1) != '\n' ? "\n" : "";
	if (is_cut)
		strbuf_printf(out, "%s(cut off here: perf script shows all)\n", newline);
	else if (stopped)
		strbuf_printf(out, "%s(stopped)\n", newline);
	else if (WIFSIGNALED(status))
		strbuf_printf(out, "%s(killed by signal %d: %s)\n", newline, WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		strbuf_printf(out, "%s(ended with exit status %d)\n", newline, WEXITSTATUS(status));
}

static void run_one(const struct script_runner *runner, const char *recording, int requests, size_t number, char *fields[FIELDS],
		    struct strbuf *output)
{
	int ends[2], status = 0;
	if (pipe2(ends, O_CLOEXEC)) {
		strbuf_printf(output, "a pipe: %s\n", strerror(errno));
		return;
	}
	pid_t process = fork();
	if (!process)
		become_script(runner, recording, number, fields, ends[1]);
	close(ends[1]);
	if (process > 0) {
		setpgid(process, process); /* whoever of the two comes first */
		bool stopped = read_output(ends[0], requests, process, output);
		close(ends[0]);
		while (waitpid(process, &status, 0) < 0 && errno == EINTR)
			;
		add_end(status, stopped, output);
	} else {
		strbuf_printf(output, "a new process: %s\n", strerror(errno));
		close(ends[0]);
	}
}

static _Noreturn void serve(const struct script_runner *runner, const char *recording, int requests, int answers)
{
	struct request request;
	char *fields[FIELDS] = {0};
	while (take_request(requests, &request, fields)) {
		struct strbuf output = {0};
		if (request.number < runner->names.len)
			run_one(runner, recording, requests, request.number, fields, &output);
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

static void add_word(struct script_runner *runner, const char *option, const char *value)
{
	if (value)
		vec_push(&runner->words, *value ? mem_printf("%s=%s", option, value) : mem_strdup(option));
}

static void add_flag(struct script_runner *runner, const char *option, bool is_set)
{
	add_word(runner, option, is_set ? "" : NULL);
}

static void add_number(struct script_runner *runner, const char *option, uint64_t number, uint64_t usual)
{
	cleanup_free char *text = number == usual ? NULL : mem_printf("%" PRIu64, number);
	add_word(runner, option, text);
}

static void append(struct strbuf *list, const char *separator, const char *word)
{
	if (word)
		strbuf_printf(list, "%s%s", list->len ? separator : "", word);
}

/* "a,b", or NULL. */
static char *join(const struct name_list *list)
{
	struct strbuf text = {0};
	for (size_t i = 0; i < list->names.len; i++)
		append(&text, ",", list->names.data[i]);
	return list->names.len ? strbuf_detach(&text) : NULL;
}

/* The options of the command line that say what is looked at, and how. */
static void add_words(struct script_runner *runner, const struct report_options *report)
{
	const struct input_options *input = &report->input;
	struct report_options usual;
	report_options_init(&usual);
	add_flag(runner, "--force", input->force);
	add_word(runner, "--symfs", input->symfs);
	add_word(runner, "--vmlinux", input->vmlinux);
	add_word(runner, "--kallsyms", input->kallsyms);
	add_flag(runner, "--ignore-vmlinux", input->ignore_vmlinux);
	add_flag(runner, "--modules", input->load_modules);
	add_flag(runner, "--no-demangle", !input->demangle);
	add_flag(runner, "--demangle-kernel", input->demangle_kernel);
	add_flag(runner, "--no-sandbox", !input->sandbox);
	add_number(runner, "--debuginfod-timeout", (uint64_t)input->debuginfod_seconds, (uint64_t)usual.input.debuginfod_seconds);
	add_number(runner, "--jobs", (uint64_t)input->jobs, (uint64_t)usual.input.jobs);
	add_number(runner, "--max-stack", report->max_stack, usual.max_stack);
	add_flag(runner, "--no-inline", report->inlines == STACK_INLINES_NONE);
	add_flag(runner, "--inline=unwound", report->inlines == STACK_INLINES_UNWOUND);
	add_flag(runner, "--stitch-lbr", report->stitch_lbr);
	add_word(runner, "--switch-on", report->switch_on);
	add_word(runner, "--switch-off", report->switch_off);
	add_flag(runner, "--show-on-off-events", report->show_on_off);
	cleanup_free char *pids = join(&report->pids), *symbols = join(&report->symbols);
	add_word(runner, "--pid", pids);
	add_word(runner, "--symbols", symbols);
	runner->fields[CHOICE_COMM] = join(&report->comms);
	runner->fields[CHOICE_DSO] = join(&report->dsos);
	runner->fields[CHOICE_TID] = join(&report->tids);
	runner->fields[CHOICE_TIME] = report->time ? mem_strdup(report->time) : NULL;
	runner->fields[CHOICE_CPU] = report->cpus ? mem_strdup(report->cpus) : NULL;
	append(&runner->left_out, ", ", report->symbol_filter ? "--symbol-filter" : NULL);
	append(&runner->left_out, ", ", report->socket >= 0 ? "--socket-filter" : NULL);
	append(&runner->left_out, ", ", report->hide_unresolved ? "--hide-unresolved" : NULL);
	append(&runner->left_out, ", ", report->exclude_other ? "--exclude-other" : NULL);
	report_options_deinit(&usual);
}

struct script_runner *script_runner_prepare(const struct report_options *report)
{
	const char *recording = report->input.input;
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
	add_words(runner, report);
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
	for (size_t i = 0; i < runner->words.len; i++)
		free(runner->words.data[i]);
	for (size_t i = 0; i < FIELDS; i++)
		free(runner->fields[i]);
	vec_deinit(&runner->names);
	vec_deinit(&runner->words);
	strbuf_deinit(&runner->left_out);
	free(runner);
}

bool script_runner_begin(struct script_runner *runner, size_t number, const struct script_choice *filter)
{
	struct request request = {.number = (uint32_t)number};
	for (size_t i = 0; i < FIELDS; i++) {
		if (filter->fields[i] && (strlen(filter->fields[i]) >= FIELD_MOST || !is_allowed(i, filter->fields[i])))
			return false;
		request.lengths[i] = filter->fields[i] ? (uint32_t)strlen(filter->fields[i]) + 1 : 0;
	}
	if (!whole_write(runner->requests, &request, sizeof(request)))
		return false;
	for (size_t i = 0; i < FIELDS; i++)
		if (!whole_write(runner->requests, filter->fields[i], request.lengths[i]))
			return false;
	return true;
}

void script_runner_stop(struct script_runner *runner)
{
	const struct request request = {.number = STOP};
	whole_write(runner->requests, &request, sizeof(request));
}

bool script_runner_finish(struct script_runner *runner, struct strbuf *output)
{
	uint64_t size;
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
static void add_command(const struct script_runner *runner, size_t number, const struct script_choice *filter,
			const struct screen_zoom *zoom, struct strbuf *out)
{
	struct strbuf missing = {0};
	strbuf_printf(out, "perf script%s%s", number ? " report " : "", number ? runner->names.data[number] : "");
	for (size_t i = 0; i < runner->words.len; i++) {
		strbuf_add_char(out, ' ');
		text_add_safe(out, runner->words.data[i], strlen(runner->words.data[i]));
	}
	for (size_t i = 0; i < FIELDS; i++) {
		const char *word = filter->fields[i] ? filter->fields[i] : runner->fields[i];
		if (!word)
			continue;
		strbuf_printf(out, " %s=", options[i]);
		text_add_safe(out, word, strlen(word));
	}
	append(&missing, ", ", runner->left_out.len ? strbuf_str(&runner->left_out) : NULL);
	append(&missing, ", ", zoom->kernel ? "the kernel only" : NULL);
	append(&missing, ", ", zoom->by_socket ? "the processor socket" : NULL);
	append(&missing, ", ", zoom->symbol ? "the symbol" : NULL);
	if (missing.len)
		strbuf_printf(out, " (not applied: %s)", strbuf_str(&missing));
	strbuf_deinit(&missing);
}

struct run {
	struct script_runner *runner;
	bool answered;
};

static enum terminal_work_state note_answer(void *context)
{
	((struct run *)context)->answered = true;
	return WORK_DONE;
}

static void show_status(struct terminal *terminal, const char *text)
{
	terminal_put(terminal, terminal_lines(terminal) - 1, 0, terminal_columns(terminal), STYLE_STATUS, text);
	terminal_show(terminal, 0, -1);
}

/* Until the script has ended, which the person may ask for. False: the terminal has gone. */
static bool wait_for_script(struct script_runner *runner, struct terminal *terminal)
{
	enum { CTRL_C = 3 };
	struct run run = {.runner = runner};
	const struct terminal_work work = {.fd = runner->answers, .step = note_answer, .context = &run};
	int key = KEY_NOTHING;
	bool stopping = false;
	terminal_set_work(terminal, &work);
	terminal_take_interrupts(terminal, true);
	while (!run.answered && key != KEY_CLOSED) {
		show_status(terminal, stopping ? "stopping …   q: at once" : "running …   q: stop it");
		key = terminal_key(terminal, -1);
		if (key == 'q' || key == CTRL_C || key == KEY_ESCAPE) {
			script_runner_stop(runner);
			stopping = true;
		}
	}
	terminal_take_interrupts(terminal, false);
	terminal_set_work(terminal, NULL);
	return run.answered;
}

void screen_show_script(struct screen *screen, size_t number, const struct script_choice *filter)
{
	struct script_runner *runner = screen->tools.scripts;
	struct terminal *terminal = screen->terminal;
	struct strbuf output = {0}, title = {0};
	add_command(runner, number, filter, &screen->zoom, &title);
	if (!script_runner_begin(runner, number, filter))
		strbuf_add_str(&screen->note, "the script could not be run: this name cannot be passed to it");
	else if (!wait_for_script(runner, terminal))
		screen->ended = true;
	else if (script_runner_finish(runner, &output))
		text_show(terminal, strbuf_str(&title), output.len ? strbuf_str(&output) : "It printed nothing.");
	else
		strbuf_add_str(&screen->note, "the script could not be run: the process that runs them has gone");
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
	const struct script_choice filter = {.fields = {[CHOICE_COMM] = zoom->comm ? untrusted_raw(zoom->comm) : NULL,
							[CHOICE_DSO] = zoom->dso ? zoom->dso->name : NULL,
							[CHOICE_TID] = tid}};
	screen_show_script(screen, number, &filter);
}
