/* Every file that is changed is read before, and its text written back at the end, the last one first: so the tracer is off before the
 * lists that it goes by change. In an instance of our own nothing has to be written back. Lists are one name a line, "#" begins what stands
 * for an empty one. */
#include "kernel/tracing/function_tracer.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "kernel/proc.h"
#include "kernel/tracing/trace_instance.h"
#include "kernel/tracing/tracefs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct saved {
	char *name;
	char *text;
	bool list;
};

struct function_tracer {
	char *tracefs; /* or the folder of our instance */
	struct trace_instance instance;
	int fd;
	VEC(struct saved) saved;
};

/* ---- files ---- */

/* Writes a file of tracefs in one call, since each is parsed by itself. 0 or -errno; `flags` as of open(). */
static int write_text(const struct function_tracer *tracer, const char *name, const char *text, int flags)
{
	cleanup_free char *path = mem_printf("%s/%s", tracer->tracefs, name);
	cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	size_t len = strlen(text);

	if (fd < 0)
		return -errno;
	ssize_t written = len ? write(fd, text, len) : 0;
	return written < 0 ? -errno : 0;
}

/* Whether this kernel has the file. */
static bool exists(const struct function_tracer *tracer, const char *name)
{
	cleanup_free char *path = mem_printf("%s/%s", tracer->tracefs, name);

	return access(path, F_OK) == 0;
}

/* What an errno means for files of the tracer. */
static struct error *explain(const struct function_tracer *tracer, const char *name, int number)
{
	if (number == EACCES)
		return error_new_kind(ERROR_PERMISSION, "only root can use the kernel's tracers: %s/%s", tracer->tracefs, name);
	if (number == EPERM)
		return error_new_kind(
			ERROR_UNSUPPORTED,
			"this kernel does not allow function tracers: %s/%s cannot be used even by root (lockdown, or a container)",
			tracer->tracefs, name);
	if (number == EBUSY)
		return error_new("%s/%s is in use by another program", tracer->tracefs, name);
	return error_system(number, "%s/%s", tracer->tracefs, name);
}

/* Notes what the file says now, once. */
static struct error *save(struct function_tracer *tracer, const char *name, bool list)
{
	cleanup_free char *path = mem_printf("%s/%s", tracer->tracefs, name);
	struct strbuf text = {0};

	for (size_t i = 0; i < tracer->saved.len; i++)
		if (!strcmp(tracer->saved.data[i].name, name))
			return NULL;
	int result = proc_read_file(AT_FDCWD, path, &text);
	if (result) {
		strbuf_deinit(&text);
		return explain(tracer, name, -result);
	}
	vec_push(&tracer->saved, (struct saved){mem_strdup(name), strbuf_detach(&text), list});
	return NULL;
}

/* Notes what the file says and writes `value`. */
static struct error *set(struct function_tracer *tracer, const char *name, const char *value)
{
	struct error *error = save(tracer, name, false);
	int result = error ? 0 : write_text(tracer, name, value, 0);

	return result ? explain(tracer, name, -result) : error;
}

/* The same with a number. */
static struct error *set_number(struct function_tracer *tracer, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return set(tracer, name, text);
}

/* An option, where this kernel has it; `needed`: it must have it. */
static struct error *set_option(struct function_tracer *tracer, const char *option, bool on, bool needed)
{
	cleanup_free char *name = mem_printf("options/%s", option);

	if (!exists(tracer, name))
		return needed ? error_new_kind(ERROR_UNSUPPORTED, "the tracers of this kernel do not have the option %s", option) : NULL;
	return set(tracer, name, on ? "1" : "0");
}

/* Adds a name to a list. The kernel looks at it, and says whether it is a good one, when it is ended. */
static int append(const struct function_tracer *tracer, const char *name, const char *item)
{
	cleanup_free char *line = mem_printf("%s\n", item);

	return write_text(tracer, name, line, O_APPEND);
}

/* Empties a list and adds each. */
static struct error *set_list(struct function_tracer *tracer, const char *name, const struct pattern_list *list)
{
	struct error *error;
	int result;

	if (!exists(tracer, name))
		return list->items.len ? error_new_kind(ERROR_UNSUPPORTED, "this kernel cannot trace selected functions only (no %s)", name)
				       : NULL;
	if ((error = save(tracer, name, true)))
		return error;
	if ((result = write_text(tracer, name, "", O_TRUNC)))
		return explain(tracer, name, -result);
	for (size_t i = 0; i < list->items.len; i++) {
		result = append(tracer, name, list->items.data[i]);
		if (result == -EINVAL)
			return error_new("the kernel cannot trace '%s': no such function, or it is excluded from tracing ('perf ftrace -F' "
					 "lists the functions)",
					 list->items.data[i]);
		if (result)
			return explain(tracer, name, -result);
	}
	return NULL;
}

/* ---- putting back ---- */

/* Empties it and writes the lines of before; those that only say that it was empty are left out. */
static void restore_list(const struct function_tracer *tracer, const struct saved *saved)
{
	char *rest = saved->text, *line;

	write_text(tracer, saved->name, "", O_TRUNC);
	while ((line = strsep(&rest, "\n"))) {
		size_t len = strcspn(line, " \t");
		/* "#### all functions enabled ####", "no pid" */
		if (!len || *line == '#' || str_starts_with(line, "no "))
			continue;
		line[len] = '\0';
		append(tracer, saved->name, line);
	}
}

/* "7 (expanded: 1408)" is 7. */
static void restore(const struct function_tracer *tracer, struct saved *saved)
{
	if (saved->list) {
		restore_list(tracer, saved);
		return;
	}
	saved->text[strcspn(saved->text, " \n")] = '\0';
	write_text(tracer, saved->name, saved->text, 0);
}

void function_tracer_close(struct function_tracer *tracer)
{
	if (!tracer)
		return;
	if (tracer->fd >= 0)
		close(tracer->fd);
	bool put_back = !trace_instance_close(&tracer->instance); /* an instance takes all settings with it */
	while (tracer->saved.len) {
		struct saved *saved = vec_last(&tracer->saved);
		if (put_back)
			restore(tracer, saved);
		if (put_back && !strcmp(saved->name, "current_tracer"))
			write_text(tracer, "trace", "", O_TRUNC);
		free(saved->name);
		free(saved->text);
		tracer->saved.len--;
	}
	vec_deinit(&tracer->saved);
	free(tracer->tracefs);
	free(tracer);
}

/* ---- setting up ---- */

bool function_tracer_exists(const char *tracefs, const char *tracer)
{
	cleanup_free char *path = mem_printf("%s/available_tracers", tracefs);
	char line[512];
	char *rest = line, *word;

	if (!proc_read_line(path, line, sizeof(line)))
		return false;
	while ((word = strsep(&rest, " ")))
		if (!strcmp(word, tracer))
			return true;
	return false;
}

static struct error *check_free(const struct function_tracer *tracer, const char *wanted)
{
	cleanup_free char *path = mem_printf("%s/current_tracer", tracer->tracefs);
	char line[64];

	if (!function_tracer_exists(tracer->tracefs, wanted))
		return error_new_kind(ERROR_UNSUPPORTED, "this kernel has no tracer '%s': %s/available_tracers lists its tracers", wanted,
				      tracer->tracefs);
	if (!proc_read_line(path, line, sizeof(line)))
		return explain(tracer, "current_tracer", errno);
	if (strcmp(line, "nop"))
		return error_new("the tracer '%s' is already in use. To end that:  echo nop | sudo tee %s", line, path);
	return NULL;
}

/* As hexadecimal words of 32 CPUs each, the highest first. */
static struct error *set_cpus(struct function_tracer *tracer, const int *cpus, size_t count)
{
	uint32_t words[256] = {0};
	int last = 0;
	struct strbuf text = {0};

	for (size_t i = 0; i < count; i++) {
		int word = cpus[i] / 32;
		if (word >= 256)
			return error_new("CPU %d is not known to the tracers", cpus[i]);
		words[word] |= 1u << (cpus[i] % 32);
		last = word > last ? word : last;
	}
	for (int i = last; i >= 0; i--)
		strbuf_printf(&text, "%s%08x", i == last ? "" : ",", words[i]);
	struct error *error = set(tracer, "tracing_cpumask", strbuf_str(&text));
	strbuf_deinit(&text);
	return error;
}

static struct error *set_up_lists(struct function_tracer *tracer, const struct function_tracer_options *options)
{
	struct error *error = set_list(tracer, "set_ftrace_filter", &options->functions);

	if (!error)
		error = set_list(tracer, "set_ftrace_notrace", &options->not_functions);
	if (!error && (options->graphs.items.len || exists(tracer, "set_graph_function")))
		error = set_list(tracer, "set_graph_function", &options->graphs);
	if (!error && (options->not_graphs.items.len || exists(tracer, "set_graph_notrace")))
		error = set_list(tracer, "set_graph_notrace", &options->not_graphs);
	if (!error)
		error = set_list(tracer, "set_ftrace_pid", &(struct pattern_list){0});
	for (size_t i = 0; !error && i < options->pid_count; i++)
		error = function_tracer_add_pid(tracer, options->pids[i]);
	return error;
}

/* Options of a tracer are there when it is chosen; older kernels have them only then. */
static struct error *set_up_tracer(struct function_tracer *tracer, const struct function_tracer_options *options)
{
	bool graph = !strcmp(options->tracer, "function_graph");
	struct error *error = set(tracer, "current_tracer", options->tracer);

	if (!error && options->call_stacks)
		error = set_option(tracer, "func_stack_trace", true, true);
	if (!error && options->irq_info)
		error = set_option(tracer, "irq-info", true, true);
	if (!error && options->inherit)
		error = set_option(tracer, "function-fork", true, true);
	if (!error && graph)
		error = set_option(tracer, "funcgraph-tail", options->tail || options->verbose, false);
	if (!error && options->no_sleep_time)
		error = set_option(tracer, "sleep-time", false, true);
	if (!error && options->no_irqs)
		error = set_option(tracer, "funcgraph-irqs", false, true);
	if (!error && options->verbose)
		error = set_option(tracer, "funcgraph-proc", true, true);
	if (!error && options->verbose)
		error = set_option(tracer, "funcgraph-abstime", true, true);
	return error;
}

static struct error *set_up(struct function_tracer *tracer, const struct function_tracer_options *options)
{
	struct error *error = set(tracer, "tracing_on", "0");

	if (!error && options->buffer_kb)
		error = set_number(tracer, "buffer_size_kb", options->buffer_kb);
	if (!error && options->cpu_count)
		error = set_cpus(tracer, options->cpus, options->cpu_count);
	if (!error && options->threshold_us)
		error = set_number(tracer, "tracing_thresh", options->threshold_us);
	if (!error && options->depth)
		error = set_number(tracer, "max_graph_depth", options->depth);
	if (!error)
		error = set_up_lists(tracer, options);
	if (!error)
		error = set_up_tracer(tracer, options);
	return error;
}

static struct error *open_pipe(struct function_tracer *tracer)
{
	cleanup_free char *path = mem_printf("%s/trace_pipe", tracer->tracefs);

	write_text(tracer, "trace", "", O_TRUNC);
	tracer->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return tracer->fd < 0 ? explain(tracer, "trace_pipe", errno) : NULL;
}

/* An instance of our own, when the kernel has all that we need in it: lists of functions to graph, thresholds and depths are the whole
 * kernel's. */
static void choose_instance(struct function_tracer *tracer, const struct function_tracer_options *options)
{
	if (options->graphs.items.len || options->not_graphs.items.len || options->threshold_us || options->depth)
		return;
	if (!trace_instance_open(tracer->tracefs, &tracer->instance))
		return;
	if (!function_tracer_exists(tracer->instance.path, options->tracer)) {
		trace_instance_close(&tracer->instance);
		return;
	}
	free(tracer->tracefs);
	tracer->tracefs = mem_strdup(tracer->instance.path);
}

struct error *function_tracer_open(const char *tracefs, const struct function_tracer_options *options, struct function_tracer **ret)
{
	struct function_tracer *tracer = mem_zalloc(sizeof(*tracer));

	tracer->tracefs = mem_strdup(tracefs);
	tracer->fd = -1;
	choose_instance(tracer, options);
	struct error *error = check_free(tracer, options->tracer);
	if (!error)
		error = set_up(tracer, options);
	if (!error)
		error = open_pipe(tracer);
	if (error)
		function_tracer_close(tracer);
	else
		*ret = tracer;
	return error;
}

struct error *function_tracer_add_pid(struct function_tracer *tracer, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	int result = append(tracer, "set_ftrace_pid", text);
	return result ? explain(tracer, "set_ftrace_pid", -result) : NULL;
}

struct error *function_tracer_switch(struct function_tracer *tracer, bool on)
{
	int result = write_text(tracer, "tracing_on", on ? "1" : "0", 0);

	return result ? explain(tracer, "tracing_on", -result) : NULL;
}

int function_tracer_fd(const struct function_tracer *tracer)
{
	return tracer->fd;
}

void function_tracer_add_header(const struct function_tracer *tracer, struct strbuf *out)
{
	cleanup_free char *path = mem_printf("%s/trace", tracer->tracefs);
	struct strbuf text = {0};

	if (proc_read_file(AT_FDCWD, path, &text) == 0)
		for (char *rest = text.data, *line; rest && (line = strsep(&rest, "\n")) && *line == '#';)
			if (!strstr(line, "entries-in-buffer")) /* a count of now means nothing */
				strbuf_printf(out, "%s\n", line);
	strbuf_deinit(&text);
}

/* The line "overrun: N" of per_cpu/cpuN/stats. */
static uint64_t lost_on(const struct function_tracer *tracer, const char *cpu)
{
	cleanup_free char *path = mem_printf("%s/per_cpu/%s/stats", tracer->tracefs, cpu);
	struct strbuf text = {0};
	uint64_t lost = 0;

	if (proc_read_file(AT_FDCWD, path, &text) == 0) {
		const char *at = strstr(strbuf_str(&text), "overrun: ");
		lost = at ? strtoull(at + 9, NULL, 10) : 0;
	}
	strbuf_deinit(&text);
	return lost;
}

uint64_t function_tracer_lost(const struct function_tracer *tracer)
{
	cleanup_free char *path = mem_printf("%s/per_cpu", tracer->tracefs);
	DIR *dir = opendir(path);
	uint64_t lost = 0;

	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (str_starts_with(entry->d_name, "cpu"))
			lost += lost_on(tracer, entry->d_name);
	if (dir)
		closedir(dir);
	return lost;
}
