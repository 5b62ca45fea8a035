/* perf doctor: what this machine and this user can do. The rows are probes: the kernel's (kernel/probe.h), and here those of what lies
 * above it: files with names. Each row is found out by doing it; nothing is looked up that could be tried. */
#include "app/command.h"
#include "app/pager.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "kernel/probe.h"
#include "symbol/jit.h"
#include "symbol/kernel_image.h"

#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <pwd.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

struct doctor_options {
	bool json;
	bool verbose;
};

static const struct option doctor_options[] = {
	OPTION_FLAG('j', "json", struct doctor_options, json, "for programs: one JSON object, with the facts that each answer rests on"),
	OPTION_FLAG('v', "verbose", struct doctor_options, verbose, "show these facts to people, too"),
	OPTION_END,
};

/* ---- probes of names ---- */

static void probe_kernel_image(struct probe_context *context, struct probe_result *ret)
{
	const struct symbol_options options = {0};
	cleanup_free char *path = kernel_image_running(&options);
	struct utsname names;

	uname(&names);
	probe_fact(ret, "path", "%s", path ? path : "");
	if (path)
		probe_found(ret, PROBE_OK, "%s", path);
	else
		probe_found(ret, PROBE_MISSING, "no vmlinux of this kernel (%s) in /boot, /usr/lib/debug, /lib/modules", names.release);
	if (!path && (strstr(names.version, "Debian") || strstr(names.version, "Ubuntu")))
		probe_remedy(ret, "sudo apt install linux-image-%s-dbg%s", names.release, strstr(names.version, "Ubuntu") ? "sym" : "");
}

/* Writes a map as a run-time compiler does, and looks a name up in it as a report does. */
static void probe_perf_map(struct probe_context *context, struct probe_result *ret)
{
	const struct symbol_options options = {.same_machine = true};
	cleanup_free char *path = mem_printf("/tmp/perf-%d.map", getpid());
	const struct dso dso = {.kind = DSO_ANON, .name = "//anon", .pid = (uint32_t)getpid()};
	FILE *file = fopen(path, "wxe");
	int error = errno;

	if (!file) {
		probe_found(ret, PROBE_MISSING, "%s cannot be written: %s", path, strerror(error));
		return;
	}
	fprintf(file, "1000 40 compiled_function\n");
	bool written = fclose(file) == 0;
	struct symtab *symtab = jit_load(&options, &dso);
	const struct symbol *symbol = symtab_find(symtab, 0x1010);
	bool right = symbol && !strcmp(symbol->name, "compiled_function");
	symtab_destroy(symtab);
	unlink(path);
	probe_fact(ret, "read_back", "%s", right ? "true" : "false");
	if (right)
		probe_found(ret, PROBE_OK,
			    "/tmp/perf-PID.map is read (node --perf-basic-prof, python3 -X perf, java with a perf map agent)");
	else
		probe_found(ret, PROBE_MISSING, "%s could not be %s", path, written ? "read back" : "written");
}

static bool connects(const struct addrinfo *address)
{
	cleanup_close int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, address->ai_addr, address->ai_addrlen) == 0;
}

/* Does somebody listen at "http[s]://HOST[:PORT]/…"? Looking up names and connecting may take long: a child tries for two seconds. */
static bool answers(const char *url, size_t length)
{
	cleanup_free char *copy = mem_strndup(url, length);
	const char *port = str_starts_with(copy, "https:") ? "443" : "80";
	char *host = strstr(copy, "://"), *colon;
	struct addrinfo *list = NULL, hints = {.ai_socktype = SOCK_STREAM};
	int status;

	if (!host)
		return false;
	host += 3;
	host[strcspn(host, "/")] = '\0';
	colon = strrchr(host, ':');
	if (colon && !strchr(colon, ']')) {
		*colon = '\0';
		port = colon + 1;
	}
	pid_t pid = fork();
	if (pid == 0) {
		bool reached = false;
		alarm(2);
		if (getaddrinfo(host, port, &hints, &list) == 0)
			for (const struct addrinfo *at = list; at && !reached; at = at->ai_next)
				reached = connects(at);
		_exit(!reached);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool has_library(void)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY);
	if (library)
		dlclose(library);
	return library;
}

static void probe_debuginfod(struct probe_context *context, struct probe_result *ret)
{
	const char *urls = getenv("DEBUGINFOD_URLS"), *good = NULL;
	size_t length = 0;

	probe_fact(ret, "urls", "%s", urls ? urls : "");
	probe_fact(ret, "library", "%s", has_library() ? "true" : "false");
	for (const char *at = urls; at && !good && *at; at += length) {
		at += strspn(at, " \t\n");
		length = strcspn(at, " \t\n");
		if (length && answers(at, length))
			good = at;
	}
	probe_fact(ret, "answers", "%s", good ? "true" : "false");
	if (!urls || !*urls) {
		probe_found(ret, PROBE_MISSING, "no server is named: DEBUGINFOD_URLS is not set");
		probe_remedy(ret, "export DEBUGINFOD_URLS=https://debuginfod.elfutils.org/");
	} else if (!good) {
		probe_found(ret, PROBE_MISSING, "no server of DEBUGINFOD_URLS answers: %s", urls);
	} else if (has_library()) {
		probe_found(ret, PROBE_OK, "%.*s answers", (int)length, good);
	} else {
		probe_found(ret, PROBE_LIMITED, "%.*s answers; the library that asks is not installed", (int)length, good);
		probe_cost(ret, "debug files are not fetched");
		probe_remedy(ret, "sudo apt install libdebuginfod1");
	}
}

static const struct probe name_probes[] = {
	{"Names", "kernel-image", "kernel image", PROBE_NEEDS_NOTHING,
	 "source lines of the kernel; its functions have names by kernel addresses", probe_kernel_image},
	{"Names", "perf-map", "perf-PID.map", PROBE_NEEDS_NOTHING, "names of functions that run-time compilers make (JavaScript, Java)",
	 probe_perf_map},
	{"Names", "debuginfod", "debuginfod", PROBE_NEEDS_NOTHING,
	 "debug files of the distribution are not fetched: install its debug packages", probe_debuginfod},
	{NULL, NULL, NULL, PROBE_NEEDS_NOTHING, NULL, NULL},
};

/* ---- output ---- */

struct report {
	const struct doctor_options *options;
	struct probe_context *context;
	char *const *wanted; /* ids; none = all */
	int wanted_count;
	struct strbuf text;
	const char *group; /* of the row before */
	unsigned int counts[3];
	unsigned int columns; /* of the terminal, 0 = no limit */
	bool colour;
};

static void add_coloured(struct report *report, enum probe_state state)
{
	static const char *const colours[] = {"\033[32m", "\033[33m", "\033[31m"};

	if (report->colour)
		strbuf_add_str(&report->text, colours[state]);
	strbuf_printf(&report->text, "%-7s", probe_state_name(state));
	if (report->colour)
		strbuf_add_str(&report->text, "\033[m");
}

/* Adds text, made safe, breaking lines between words before `columns`; further lines begin at `indent`. */
static void add_wrapped(struct report *report, const char *text, unsigned int indent)
{
	struct strbuf safe = {0};

	text_add_safe(&safe, text, strlen(text));
	text_add_wrapped(&report->text, strbuf_str(&safe), indent, indent, report->columns > indent + 20 ? report->columns - 1 : UINT_MAX);
	strbuf_deinit(&safe);
}

static void add_line(struct report *report, const char *label, const struct strbuf *text)
{
	if (!text->len)
		return;
	strbuf_printf(&report->text, "%32s%-8s", "", label);
	add_wrapped(report, text->data, 40);
}

static void show_row(struct report *report, const struct probe *probe, const struct probe_result *result)
{
	if (!report->group || strcmp(report->group, probe->group))
		strbuf_printf(&report->text, "%s%s\n", report->group ? "\n" : "", probe->group);
	report->group = probe->group;
	strbuf_add_str(&report->text, "  ");
	add_coloured(report, result->state);
	strbuf_printf(&report->text, "  %-20s ", probe->title);
	add_wrapped(report, strbuf_str(&result->found), 32);
	add_line(report, "costs:", &result->cost);
	/* A command is to be pasted: it stays in one line. */
	if (result->remedy.len)
		strbuf_printf(&report->text, "%32s%-8s%s\n", "", "mend:", result->remedy.data);
	for (size_t i = 0; report->options->verbose && i < result->facts.len; i++) {
		strbuf_printf(&report->text, "%32s%s: ", "", result->facts.data[i].name);
		text_add_safe(&report->text, result->facts.data[i].value, strlen(result->facts.data[i].value));
		strbuf_add_char(&report->text, '\n');
	}
}

static void add_json(struct strbuf *out, const char *name, const char *value)
{
	strbuf_printf(out, "\"%s\":", name);
	text_add_json(out, value, strlen(value));
}

static bool is_plain_json(const char *value)
{
	const char *digits = value + (*value == '-');

	return !strcmp(value, "true") || !strcmp(value, "false") ||
	       (*digits && digits[strspn(digits, "0123456789")] == '\0' && (*digits != '0' || !digits[1]));
}

static void show_json(struct report *report, const struct probe *probe, const struct probe_result *result)
{
	struct strbuf *out = &report->text;

	strbuf_add_str(out, report->group ? ",\n{" : "\n{");
	report->group = probe->group;
	add_json(out, "id", probe->id);
	strbuf_add_char(out, ',');
	add_json(out, "group", probe->group);
	strbuf_add_char(out, ',');
	add_json(out, "title", probe->title);
	strbuf_add_char(out, ',');
	add_json(out, "state", probe_state_name(result->state));
	strbuf_add_char(out, ',');
	add_json(out, "found", strbuf_str(&result->found));
	strbuf_add_char(out, ',');
	add_json(out, "cost", strbuf_str(&result->cost));
	strbuf_add_char(out, ',');
	add_json(out, "remedy", strbuf_str(&result->remedy));
	strbuf_add_str(out, ",\"facts\":{");
	for (size_t i = 0; i < result->facts.len; i++) {
		const struct probe_fact *fact = &result->facts.data[i];
		if (i)
			strbuf_add_char(out, ',');
		if (is_plain_json(fact->value))
			strbuf_printf(out, "\"%s\":%s", fact->name, fact->value);
		else
			add_json(out, fact->name, fact->value);
	}
	strbuf_add_str(out, "}}");
}

static bool is_wanted(const struct report *report, const char *id)
{
	for (int i = 0; i < report->wanted_count; i++)
		if (!strcmp(report->wanted[i], id))
			return true;
	return !report->wanted_count;
}

static void run_probes(struct report *report, const struct probe *probes)
{
	for (const struct probe *probe = probes; probe->id; probe++) {
		struct probe_result result;
		if (!is_wanted(report, probe->id))
			continue;
		probe_run(probe, report->context, &result);
		report->counts[result.state]++;
		if (report->options->json)
			show_json(report, probe, &result);
		else
			show_row(report, probe, &result);
		probe_result_deinit(&result);
	}
}

static struct error *check_names(char *const *words, int count)
{
	VEC(const char *) names = {0};
	struct error *error = NULL;

	for (const struct probe *probe = kernel_probes; probe->id; probe++)
		vec_push(&names, probe->id);
	for (const struct probe *probe = name_probes; probe->id; probe++)
		vec_push(&names, probe->id);
	for (int i = 0; i < count && !error; i++) {
		bool known = false;
		for (size_t k = 0; k < names.len; k++)
			known |= !strcmp(names.data[k], words[i]);
		if (known)
			continue;
		const char *nearest = str_nearest(words[i], names.data, names.len);
		error = error_new_kind(ERROR_USAGE, "no row is called '%s'%s%s%s; 'perf doctor -j' names them", words[i],
				       nearest ? ", did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
	}
	vec_deinit(&names);
	return error;
}

static void add_heading(struct report *report)
{
	const struct passwd *user = getpwuid(geteuid());

	if (report->options->json)
		strbuf_printf(&report->text, "{\"user\":%u,\"rows\":[", (unsigned int)geteuid());
	else if (!report->wanted_count)
		strbuf_printf(&report->text, "What this machine and this user (%s, uid %u) can do; each line was tried.\n\n",
			      user ? user->pw_name : "without a name", (unsigned int)geteuid());
}

static void add_end(struct report *report)
{
	if (report->options->json)
		strbuf_printf(&report->text, "\n],\"ok\":%u,\"limited\":%u,\"missing\":%u}\n", report->counts[PROBE_OK],
			      report->counts[PROBE_LIMITED], report->counts[PROBE_MISSING]);
	else if (!report->wanted_count)
		strbuf_printf(&report->text, "\n%u OK, %u limited, %u missing\n", report->counts[PROBE_OK], report->counts[PROBE_LIMITED],
			      report->counts[PROBE_MISSING]);
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct doctor_options options = {0};
	struct report report = {.options = &options};
	struct error *error = options_parse(doctor_options, OPTIONS_PERMUTE, argc, argv, &options, &report.wanted_count);

	if (!error)
		error = check_names(argv, report.wanted_count);
	if (error)
		return error;
	report.wanted = argv;
	report.columns = output_columns();
	report.colour = report.columns && !options.json && !getenv("NO_COLOR");
	report.context = probe_context_create();
	add_heading(&report);
	run_probes(&report, kernel_probes);
	run_probes(&report, name_probes);
	add_end(&report);
	if (!options.json)
		pager_start("doctor");
	fputs(strbuf_str(&report.text), stdout);
	fflush(stdout);
	probe_context_destroy(report.context);
	strbuf_deinit(&report.text);
	if (report.wanted_count && report.counts[PROBE_MISSING])
		*ret_status = 1;
	return NULL;
}

static const char *const usage[] = {"[-j] [-v] [ROW…]", NULL};
const struct command cmd_doctor = {"doctor", "Show what this machine and this user can measure, and how to mend what they cannot", usage,
				   doctor_options, run};
