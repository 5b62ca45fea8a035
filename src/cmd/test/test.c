/* perf test: checks this tool on this machine, one process for each check. What a machine or a user lacks skips a check, with the reason;
 * only what should work and doesn't fails. With -w it is a program to try the tool on. */
#include "cmd/test/test.h"

#include "app/command.h"
#include "app/pager.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/number.h"
#include "base/text.h"
#include "base/vec.h"
#include "cmd/code/code_options.h"
#include "kernel/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONGEST_CHECK_S = 120 };

struct test_options {
	const char *skip;
	const char *workload, *dso, *objdump;
	int verbose;
	bool no_fork;
	bool parallel;
};

static const struct option test_options[] = {
	OPTION_STRING('s', "skip", struct test_options, skip, "N,N-M…", "skip the checks with these numbers"),
	OPTION_COUNT('v', "verbose", struct test_options, verbose, "show details of the checks"),
	OPTION_FLAG('F', "dont-fork", struct test_options, no_fork, "run all checks in one process, for debugging"),
	OPTION_FLAG('p', "parallel", struct test_options, parallel, "run several checks in parallel"),
	OPTION_FLAG_INVERTED('S', "sequential", struct test_options, parallel, "run the checks one after the other (default)"),
	OPTION_STRING('w', "workload", struct test_options, workload, "NAME",
		      "run a workload to measure, with the following arguments; 'perf test -w list' lists the workloads"),
	OPTION_STRING(0, "dso", struct test_options, dso, "FILE", "file for the check 'Object code reading' (default: perf itself)"),
	OPTION_STRING(0, "objdump", struct test_options, objdump, "PROGRAM",
		      "for old command lines: perf disassembles code itself and runs no program"),
	OPTION_END,
};

/* ---- for the checks ---- */

void check_log(struct check *check, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	strbuf_vprintf(&check->log, format, args);
	va_end(args);
	strbuf_add_char(&check->log, '\n');
}

/* The worst outcome counts, with its first reason. */
static void conclude(struct check *check, enum check_status status, const char *format, va_list args)
{
	struct strbuf text = {0};

	strbuf_vprintf(&text, format, args);
	check_log(check, "%s: %s", status == CHECK_SKIP ? "skipped" : "failed", strbuf_str(&text));
	if (status > check->status) {
		check->status = status;
		strbuf_clear(&check->reason);
		strbuf_add_str(&check->reason, strbuf_str(&text));
	}
	strbuf_deinit(&text);
}

void check_skip(struct check *check, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	conclude(check, CHECK_SKIP, format, args);
	va_end(args);
}

void check_fail(struct check *check, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	conclude(check, CHECK_FAILED, format, args);
	va_end(args);
}

bool check_range(struct check *check, const char *what, uint64_t value, uint64_t low, uint64_t high)
{
	bool inside = value >= low && value <= high;

	check_log(check, "%s: %llu", what, (unsigned long long)value);
	if (!inside && low == high)
		check_fail(check, "%s: %llu instead of %llu", what, (unsigned long long)value, (unsigned long long)low);
	else if (!inside)
		check_fail(check, "%s: %llu, expected %llu to %llu", what, (unsigned long long)value, (unsigned long long)low,
			   (unsigned long long)high);
	return inside;
}

bool check_equal(struct check *check, const char *what, uint64_t value, uint64_t expected)
{
	return check_range(check, what, value, expected, expected);
}

bool check_opened(struct check *check, int result, const struct perf_event_attr *attr, const char *event)
{
	const struct refusal refusal = {.error = -result, .event = event, .attr = attr, .cpu = -1};

	if (result >= 0)
		return true;
	struct error *error = refusal_explain(&refusal);
	/* Its first sentence. */
	const char *message = error_message(error), *end = strstr(message, ". ");
	size_t length = strcspn(message, "\n");
	cleanup_free char *line = mem_strndup(message, end && (size_t)(end - message) < length ? (size_t)(end - message) : length);
	if (error_kind(error) == ERROR_PERMISSION || result == -ENOENT || result == -ENODEV || result == -EOPNOTSUPP || result == -ENOSYS)
		check_skip(check, "%s", line);
	else
		check_fail(check, "%s", line);
	error_free(error);
	return false;
}

/* The caller frees the result. */
static enum capability_state ask_doctor(struct check *check, const char *row, struct capability_result *ret)
{
	capability_run(capability_by_id(row), check->probes, ret);
	check_log(check, "doctor, %s: %s, %s", row, capability_state_name(ret->state), strbuf_str(&ret->found));
	return ret->state;
}

bool check_has(struct check *check, const char *row)
{
	struct capability_result result;
	enum capability_state state = ask_doctor(check, row, &result);

	if (state == CAPABILITY_MISSING)
		check_skip(check, "%s: %s", capability_by_id(row)->title, strbuf_str(&result.found));
	capability_result_deinit(&result);
	return state != CAPABILITY_MISSING;
}

bool check_is_ok(struct check *check, const char *row)
{
	struct capability_result result;
	enum capability_state state = ask_doctor(check, row, &result);

	capability_result_deinit(&result);
	return state == CAPABILITY_OK;
}

/* ---- running them ---- */

struct running {
	const struct check_row *row;
	bool measures; /* needs perf_event_open() */
	size_t number; /* from 1 */
	bool wanted;
	pid_t pid;  /* 0 = not started */
	int output; /* pipe: status, length of the reason, reason, log */
};

struct test_run {
	const struct test_options *options;
	VEC(struct running) checks;
	size_t width; /* of the longest name */
	size_t failed;
	bool colour;
};

/* All checks with their numbers, which stay the same for whoever calls them by number. */
static void collect_checks(struct test_run *run)
{
	const struct {
		const struct check_row *rows;
		bool measures;
	} groups[] = {{name_checks, false}, {count_checks, true}, {probe_checks, true},
		      {ring_checks, true},  {stack_checks, true}, {tool_checks, true}};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		for (const struct check_row *row = groups[i].rows; row->name; row++) {
			size_t number = run->checks.len + 1;
			vec_push(&run->checks,
				 (struct running){.row = row, .measures = groups[i].measures, .number = number, .output = -1});
			run->width = strlen(row->name) > run->width ? strlen(row->name) : run->width;
		}
}

/* One check in this process. */
static void perform(const struct running *running, const struct test_options *options, struct check *check)
{
	check->dso = options->dso;
	check->probes = capability_context_create();
	if (running->measures && check->probes->perf_blocked)
		check_skip(check, "perf_event_open() does not get through to the kernel: 'perf doctor confinement'");
	else
		running->row->run(check);
	capability_context_destroy(check->probes);
}

/* To a pipe whose other end may be gone. */
static void write_all(int fd, const void *data, size_t size)
{
	for (ssize_t done; size && (done = write(fd, data, size)) > 0; size -= (size_t)done)
		data = (const char *)data + done;
}

/* Ends the process. What it has found out goes through the pipe: status, length of the reason, reason, log. */
static void run_child(const struct running *running, const struct test_options *options, int output)
{
	struct check check = {0};

	alarm(LONGEST_CHECK_S);
	perform(running, options, &check);
	uint32_t head[2] = {check.status, (uint32_t)check.reason.len};
	write_all(output, head, sizeof(head));
	write_all(output, strbuf_str(&check.reason), check.reason.len);
	write_all(output, strbuf_str(&check.log), check.log.len);
	_exit(0);
}

/* A process for the check, so that one that crashes or hangs fails alone. */
static struct error *start(struct test_run *run, struct running *running)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_system(errno, "pipe");
	fflush(NULL);
	running->pid = fork();
	if (running->pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return error_system(errno, "fork");
	}
	if (running->pid == 0) {
		close(ends[0]);
		run_child(running, run->options, ends[1]);
	}
	close(ends[1]);
	running->output = ends[0];
	return NULL;
}

/* Waits for a check and takes what it said. */
static void collect(struct running *running, struct check *ret)
{
	struct strbuf data = {0};
	uint32_t head[2];
	int status = 0;

	strbuf_read(&data, running->output, SIZE_MAX);
	close(take_fd(running->output));
	while (waitpid(running->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (data.len >= sizeof(head)) {
		memcpy(head, data.data, sizeof(head));
		ret->status = head[0];
		strbuf_add(&ret->reason, data.data + sizeof(head), head[1]);
		strbuf_add(&ret->log, data.data + sizeof(head) + head[1], data.len - sizeof(head) - head[1]);
	} else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
		check_fail(ret, "timed out after %d s", LONGEST_CHECK_S);
	} else {
		check_fail(ret, "it ended with %s %d", WIFSIGNALED(status) ? "signal" : "status",
			   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
	strbuf_deinit(&data);
}

static void show_status(const struct test_run *run, const struct check *check)
{
	static const char *const words[] = {"Ok", "Skip", "FAILED!"};
	static const char *const colours[] = {"\033[32m", "\033[33m", "\033[31m"};
	struct strbuf line = {0};

	strbuf_printf(&line, " %s%s%s", run->colour ? colours[check->status] : "", words[check->status], run->colour ? "\033[m" : "");
	if (check->status != CHECK_OK) {
		strbuf_add_str(&line, " (");
		text_add_safe(&line, strbuf_str(&check->reason), check->reason.len);
		strbuf_add_char(&line, ')');
	}
	puts(line.data);
	fflush(stdout);
	strbuf_deinit(&line);
}

/* -v: what the check noted on its way. */
static void show_log(const struct check *check, const struct running *running)
{
	struct strbuf safe = {0};

	text_add_safe_lines(&safe, strbuf_str(&check->log));
	printf("--- start ---\n%s---- end ----\n%s:", strbuf_str(&safe), running->row->name);
	strbuf_deinit(&safe);
}

/* One check after the other: with --parallel later ones run meanwhile. */
static struct error *run_checks(struct test_run *run)
{
	size_t at_once = run->options->no_fork ? 0 : run->options->parallel ? (size_t)sysconf(_SC_NPROCESSORS_ONLN) : 1;
	size_t next = 0, ahead = 0;
	struct error *error = NULL;

	for (size_t i = 0; i < run->checks.len && !error; i++) {
		struct running *running = &run->checks.data[i];
		struct check check = {0};
		if (!running->wanted)
			continue;
		printf("%3zu: %-*s:", running->number, (int)run->width, running->row->name);
		fflush(stdout);
		for (; next < run->checks.len && ahead < at_once && !error; next++) {
			if (!run->checks.data[next].wanted)
				continue;
			error = start(run, &run->checks.data[next]);
			ahead++;
		}
		if (error)
			break;
		if (at_once)
			collect(running, &check);
		else
			perform(running, run->options, &check);
		ahead -= at_once > 0;
		if (run->options->verbose) {
			putchar('\n');
			show_log(&check, running);
		}
		show_status(run, &check);
		run->failed += check.status == CHECK_FAILED;
		strbuf_deinit(&check.reason);
		strbuf_deinit(&check.log);
	}
	return error;
}

/* ---- choosing ---- */

static bool is_number(const char *word)
{
	return word[strspn(word, "0123456789")] == '\0';
}

/* Numbers and parts of names; without any, all. */
static struct error *choose(struct test_run *run, char *const *words, int count)
{
	for (size_t i = 0; i < run->checks.len; i++)
		run->checks.data[i].wanted = !count;
	for (int w = 0; w < count; w++) {
		size_t number = is_number(words[w]) ? strtoul(words[w], NULL, 10) : 0, matches = 0;
		for (size_t i = 0; i < run->checks.len; i++) {
			struct running *running = &run->checks.data[i];
			bool matching = number ? running->number == number : strcasestr(running->row->name, words[w]) != NULL;
			running->wanted |= matching;
			matches += matching;
		}
		if (!matches)
			return error_new("unknown check '%s'; 'perf test list' lists them", words[w]);
	}
	return NULL;
}

/* --skip; numbers that no check has do nothing. */
static struct error *leave_out(struct test_run *run, const char *list)
{
	cleanup_free int *numbers = NULL;
	size_t count = 0;

	if (!list)
		return NULL;
	if (!number_parse_list(list, &numbers, &count))
		return error_new_kind(ERROR_USAGE, "--skip: invalid list '%s': expected numbers such as 3,7-9", list);
	for (size_t i = 0; i < count; i++)
		if (numbers[i] > 0 && (size_t)numbers[i] <= run->checks.len)
			run->checks.data[numbers[i] - 1].wanted = false;
	return NULL;
}

static void list_checks(const struct test_run *run)
{
	for (size_t i = 0; i < run->checks.len; i++)
		if (run->checks.data[i].wanted)
			printf("%3zu: %s\n", run->checks.data[i].number, run->checks.data[i].row->name);
}

static const struct workload_row *find_workload(const char *name)
{
	for (const struct workload_row *row = workload_rows; row->name; row++)
		if (!strcmp(row->name, name))
			return row;
	return NULL;
}

/* With the nearest name. */
static struct error *refuse_workload(const char *name)
{
	VEC(const char *) names = {0};

	for (const struct workload_row *row = workload_rows; row->name; row++)
		vec_push(&names, row->name);
	const char *nearest = str_nearest(name, names.data, names.len);
	vec_deinit(&names);
	return error_new("unknown workload '%s'%s%s%s; 'perf test -w list' lists them", name, nearest ? ", did you mean '" : "",
			 nearest ? nearest : "", nearest ? "'?" : "");
}

/* -w; "list" lists them. */
static struct error *run_workload(const char *name, int argc, char **argv, int *ret_status)
{
	const struct workload_row *row = find_workload(name);

	double number;

	if (row && argc && (argc > 1 || !row->arguments[0] || !number_parse_double(argv[0], &number) || number < 0 || number > INT32_MAX))
		return error_new_kind(ERROR_USAGE, "workload %s: unexpected argument '%s': it takes %s", name, argv[argc - 1],
				      row->arguments[0] ? row->arguments : "no argument");
	if (row)
		*ret_status = row->run(argc, argv);
	else if (strcmp(name, "list") != 0)
		return refuse_workload(name);
	else
		for (row = workload_rows; row->name; row++)
			printf("%-10s %-10s %s\n", row->name, row->arguments, row->summary);
	return NULL;
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct test_options options = {0};
	struct test_run run = {.options = &options, .colour = output_columns() && !getenv("NO_COLOR")};
	int words = 0;
	struct error *error = options_parse(test_options, OPTIONS_PERMUTE, argc, argv, &options, &words);

	if (!error && options.verbose)
		log_set_level(LOG_INFO);
	if (!error)
		code_options_tell_program("objdump", options.objdump);
	if (!error && options.workload)
		return run_workload(options.workload, words, argv, ret_status);
	collect_checks(&run);
	bool list = !error && words && !strcmp(argv[0], "list");
	if (!error)
		error = choose(&run, argv + list, words - list);
	if (!error)
		error = leave_out(&run, options.skip);
	if (!error && list)
		list_checks(&run);
	else if (!error)
		error = run_checks(&run);
	if (run.failed)
		*ret_status = 1;
	vec_deinit(&run.checks);
	return error;
}

/* ---- perf test list ---- */

static const struct option list_options[] = {
	OPTION_STRING('s', "skip", struct test_options, skip, "N,N-M…", "do not list the checks with these numbers"),
	OPTION_END,
};

static struct error *run_list(int argc, char **argv, int *ret_status)
{
	struct test_options options = {0};
	struct test_run run = {.options = &options};
	int words = 0;
	struct error *error = options_parse(list_options, OPTIONS_PERMUTE, argc, argv, &options, &words);

	collect_checks(&run);
	if (!error)
		error = choose(&run, argv, words);
	if (!error)
		error = leave_out(&run, options.skip);
	if (!error)
		list_checks(&run);
	vec_deinit(&run.checks);
	return error;
}

static const char *const list_usage[] = {"[-s NUMBERS] [NUMBER|PART OF A NAME…]", NULL};
static const struct command cmd_test_list = {
	"test list", "List the checks with their numbers", list_usage, list_options, run_list, .own_options = true, .whole_word = true};
static const struct command *const subcommands[] = {&cmd_test_list, NULL};
static const char *const usage[] = {"[-v] [-s NUMBERS] [NUMBER|PART OF A NAME…]", "-w WORKLOAD [ARGUMENT…]", NULL};
const struct command cmd_test = {
	"test", "Test perf on this machine, or run a workload to measure", usage, test_options, run, .subcommands = subcommands};
