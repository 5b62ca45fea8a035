/* perf doctor: what this machine and this user can do. The rows are capabilities: the kernel's (kernel/capability/capability.h), and here
 * those of what lies above it: files with names. Each row is found out by doing it; nothing is looked up that could be tried. */
#include "app/command.h"
#include "app/pager.h"
#include "base/cleanup.h"
#include "base/formats/url.h"
#include "base/json.h"
#include "base/text.h"
#include "kernel/capability/capability.h"
#include "symbol/jit.h"
#include "symbol/kernel/kernel_image.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <pwd.h>
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
	OPTION_FLAG('j', "json", struct doctor_options, json, "print one JSON object with the facts behind each answer"),
	OPTION_FLAG('v', "verbose", struct doctor_options, verbose, "show the facts behind each answer"),
	OPTION_END,
};

/* ---- capabilities of names ---- */

/* A file with the running kernel's debug information; how to get it where the distribution is known to have a package. */
static void probe_kernel_image(struct capability_context *context, struct capability_result *ret)
{
	const struct symbol_options options = {0};
	cleanup_free char *path = kernel_image_running(&options, false);
	struct utsname names;

	uname(&names);
	capability_fact(ret, "path", "%s", path ? path : "");
	if (path)
		capability_found(ret, CAPABILITY_OK, "%s", path);
	else
		capability_found(ret, CAPABILITY_MISSING, "no vmlinux of this kernel (%s) in /boot, /usr/lib/debug or /lib/modules",
				 names.release);
	if (!path && (strstr(names.version, "Debian") || strstr(names.version, "Ubuntu")))
		capability_remedy(ret, "sudo apt install linux-image-%s-dbg%s", names.release,
				  strstr(names.version, "Ubuntu") ? "sym" : "");
}

/* Writes a map as a run-time compiler does, and looks a name up in it as a report does. */
static void probe_perf_map(struct capability_context *context, struct capability_result *ret)
{
	const struct symbol_options options = {.same_machine = true};
	cleanup_free char *path = mem_printf("/tmp/perf-%d.map", getpid());
	const struct dso dso = {.kind = DSO_ANON, .name = "//anon", .pid = (uint32_t)getpid()};
	FILE *file = fopen(path, "wxe");
	int error = errno;

	if (!file) {
		capability_found(ret, CAPABILITY_MISSING, "%s cannot be written: %s", path, strerror(error));
		return;
	}
	fprintf(file, "1000 40 compiled_function\n");
	bool written = fclose(file) == 0;
	struct symtab *symtab = jit_load(&options, &dso);
	const struct symbol *symbol = symtab_find(symtab, 0x1010);
	bool right = symbol && !strcmp(symbol->name, "compiled_function");
	symtab_destroy(symtab);
	unlink(path);
	capability_fact(ret, "read_back", "%s", right ? "true" : "false");
	if (right)
		capability_found(ret, CAPABILITY_OK,
				 "/tmp/perf-PID.map can be read (node --perf-basic-prof, python3 -X perf, java with a perf map agent)");
	else
		capability_found(ret, CAPABILITY_MISSING, "%s could not be %s", path, written ? "read back" : "written");
}

static bool connects(const struct addrinfo *address)
{
	cleanup_close int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, address->ai_addr, address->ai_addrlen) == 0;
}

/* Does somebody listen at a URL? Looking up names and connecting may take long: a child tries for two seconds. */
static bool answers(const char *text, size_t length)
{
	struct addrinfo *list = NULL, hints = {.ai_socktype = SOCK_STREAM};
	struct url url;
	int status;

	if (!url_parse(text, length, &url))
		return false;
	pid_t pid = fork();
	if (pid == 0) {
		bool reached = false;
		alarm(2);
		if (getaddrinfo(url.host, url.port, &hints, &list) == 0)
			for (const struct addrinfo *at = list; at && !reached; at = at->ai_next)
				reached = connects(at);
		_exit(!reached);
	}
	url_deinit(&url);
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* The client library is loaded when it is needed, so it may be missing. */
static bool has_library(void)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY);
	if (library)
		dlclose(library);
	return library;
}

/* The first server that answers will do. */
static void probe_debuginfod(struct capability_context *context, struct capability_result *ret)
{
	const char *urls = getenv("DEBUGINFOD_URLS"), *good = NULL;
	size_t length = 0;

	capability_fact(ret, "urls", "%s", urls ? urls : "");
	capability_fact(ret, "library", "%s", has_library() ? "true" : "false");
	for (const char *at = urls; at && !good && *at; at += length) {
		at += strspn(at, " \t\n");
		length = strcspn(at, " \t\n");
		if (length && answers(at, length))
			good = at;
	}
	capability_fact(ret, "answers", "%s", good ? "true" : "false");
	if (!urls || !*urls) {
		capability_found(ret, CAPABILITY_MISSING, "no servers: DEBUGINFOD_URLS is not set");
		capability_remedy(ret, "export DEBUGINFOD_URLS=https://debuginfod.elfutils.org/");
	} else if (!good) {
		capability_found(ret, CAPABILITY_MISSING, "no server in DEBUGINFOD_URLS answers: %s", urls);
	} else if (has_library()) {
		capability_found(ret, CAPABILITY_OK, "%.*s answers", (int)length, good);
	} else {
		capability_found(ret, CAPABILITY_LIMITED, "%.*s answers, but the client library is not installed", (int)length, good);
		capability_cost(ret, "debug files are not fetched");
		capability_remedy(ret, "sudo apt install libdebuginfod1");
	}
}

static const struct capability name_capabilities[] = {
	{"Names", "kernel-image", "kernel image", CAPABILITY_NEEDS_NOTHING,
	 "source lines of the kernel; function names come from kernel-addresses", probe_kernel_image},
	{"Names", "perf-map", "perf-PID.map", CAPABILITY_NEEDS_NOTHING, "names of JIT-compiled functions (JavaScript, Java)",
	 probe_perf_map},
	{"Names", "debuginfod", "debuginfod", CAPABILITY_NEEDS_NOTHING,
	 "debug files of the distribution are not fetched: install its debug packages", probe_debuginfod},
	{NULL, NULL, NULL, CAPABILITY_NEEDS_NOTHING, NULL, NULL},
};

/* ---- output ---- */

struct checkup {
	const struct doctor_options *options;
	struct capability_context *context;
	char *const *wanted; /* ids; none = all */
	int wanted_count;
	struct strbuf text;
	const char *group; /* of the row before */
	unsigned int counts[3];
	unsigned int columns; /* of the terminal, 0 = no limit */
	bool colour;
};

/* In a column of its own width, whatever the colours take. */
static void add_coloured(struct checkup *report, enum capability_state state)
{
	static const char *const colours[] = {"\033[32m", "\033[33m", "\033[31m"};

	if (report->colour)
		strbuf_add_str(&report->text, colours[state]);
	strbuf_printf(&report->text, "%-7s", capability_state_name(state));
	if (report->colour)
		strbuf_add_str(&report->text, "\033[m");
}

/* Adds text, made safe, breaking lines between words before `columns`; further lines begin at `indent`. */
static void add_wrapped(struct checkup *report, const char *text, unsigned int indent)
{
	struct strbuf safe = {0};

	text_add_safe(&safe, text, strlen(text));
	text_add_wrapped(&report->text, strbuf_str(&safe), indent, indent, report->columns > indent + 20 ? report->columns - 1 : UINT_MAX);
	strbuf_deinit(&safe);
}

/* A further line of a row; none for an empty text. */
static void add_line(struct checkup *report, const char *label, const struct strbuf *text)
{
	if (!text->len)
		return;
	strbuf_printf(&report->text, "%32s%-8s", "", label);
	add_wrapped(report, text->data, 40);
}

/* A row for people, below the heading of its group. */
static void show_row(struct checkup *report, const struct capability *capability, const struct capability_result *result)
{
	if (!report->group || strcmp(report->group, capability->group))
		strbuf_printf(&report->text, "%s%s\n", report->group ? "\n" : "", capability->group);
	report->group = capability->group;
	strbuf_add_str(&report->text, "  ");
	add_coloured(report, result->state);
	strbuf_printf(&report->text, "  %-20s ", capability->title);
	add_wrapped(report, strbuf_str(&result->found), 32);
	add_line(report, "costs:", &result->cost);
	/* A command is to be pasted: it stays in one line. */
	if (result->remedy.len)
		strbuf_printf(&report->text, "%32s%-8s%s\n", "", "fix:", result->remedy.data);
	for (size_t i = 0; report->options->verbose && i < result->facts.len; i++) {
		strbuf_printf(&report->text, "%32s%s: ", "", result->facts.data[i].name);
		text_add_safe(&report->text, result->facts.data[i].value, strlen(result->facts.data[i].value));
		strbuf_add_char(&report->text, '\n');
	}
}

/* Whether the value is written without quotation marks: a truth value, or a whole number without leading zeros. */
static bool is_plain_json(const char *value)
{
	const char *digits = value + (*value == '-');

	return !strcmp(value, "true") || !strcmp(value, "false") ||
	       (*digits && digits[strspn(digits, "0123456789")] == '\0' && (*digits != '0' || !digits[1]));
}

/* A row as an object of the array `rows`. */
static void show_json(struct checkup *report, const struct capability *capability, const struct capability_result *result)
{
	struct json json = {.out = &report->text};

	strbuf_add_str(&report->text, report->group ? ",\n" : "\n");
	report->group = capability->group;
	json_begin_object(&json);
	json_add_string(&json, "id", capability->id);
	json_add_string(&json, "group", capability->group);
	json_add_string(&json, "title", capability->title);
	json_add_string(&json, "state", capability_state_name(result->state));
	json_add_string(&json, "found", strbuf_str(&result->found));
	json_add_string(&json, "cost", strbuf_str(&result->cost));
	json_add_string(&json, "remedy", strbuf_str(&result->remedy));
	json_name(&json, "facts");
	json_begin_object(&json);
	for (size_t i = 0; i < result->facts.len; i++) {
		const struct capability_fact *fact = &result->facts.data[i];
		json_name(&json, fact->name);
		if (is_plain_json(fact->value))
			json_value(&json, "%s", fact->value);
		else
			json_string(&json, fact->value);
	}
	json_end_object(&json);
	json_end_object(&json);
}

/* Rows that were named, else all. */
static bool is_wanted(const struct checkup *report, const char *id)
{
	for (int i = 0; i < report->wanted_count; i++)
		if (!strcmp(report->wanted[i], id))
			return true;
	return !report->wanted_count;
}

static void run_capabilities(struct checkup *report, const struct capability *capabilities)
{
	for (const struct capability *capability = capabilities; capability->id; capability++) {
		struct capability_result result;
		if (!is_wanted(report, capability->id))
			continue;
		capability_run(capability, report->context, &result);
		report->counts[result.state]++;
		if (report->options->json)
			show_json(report, capability, &result);
		else
			show_row(report, capability, &result);
		capability_result_deinit(&result);
	}
}

/* Before anything is tried, since that takes a while. */
static struct error *check_names(char *const *words, int count)
{
	VEC(const char *) names = {0};
	struct error *error = NULL;

	for (const struct capability *capability = kernel_capabilities; capability->id; capability++)
		vec_push(&names, capability->id);
	for (const struct capability *capability = name_capabilities; capability->id; capability++)
		vec_push(&names, capability->id);
	for (int i = 0; i < count && !error; i++) {
		bool known = false;
		for (size_t k = 0; k < names.len; k++)
			known |= !strcmp(names.data[k], words[i]);
		if (known)
			continue;
		const char *nearest = str_nearest(words[i], names.data, names.len);
		error = error_new_kind(ERROR_USAGE, "unknown check '%s'%s%s%s; 'perf doctor -j' lists them", words[i],
				       nearest ? ", did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
	}
	vec_deinit(&names);
	return error;
}

static void add_heading(struct checkup *report)
{
	const struct passwd *user = getpwuid(geteuid());

	struct json json = {.out = &report->text};

	if (report->options->json) {
		json_begin_object(&json);
		json_add_u64(&json, "user", geteuid());
		json_name(&json, "rows");
		json_begin_array(&json);
		return;
	}
	if (!report->wanted_count)
		strbuf_printf(&report->text, "What perf can do on this machine as this user (%s, uid %u). Each line was tested.\n\n",
			      user ? user->pw_name : "without a name", (unsigned int)geteuid());
}

static void add_end(struct checkup *report)
{
	struct json json = {.out = &report->text};

	if (report->options->json) {
		strbuf_add_char(&report->text, '\n');
		json_end_array(&json);
		json_add_u64(&json, "ok", report->counts[CAPABILITY_OK]);
		json_add_u64(&json, "limited", report->counts[CAPABILITY_LIMITED]);
		json_add_u64(&json, "missing", report->counts[CAPABILITY_MISSING]);
		json_end_object(&json);
		strbuf_add_char(&report->text, '\n');
		return;
	}
	if (!report->wanted_count)
		strbuf_printf(&report->text, "\n%u OK, %u limited, %u missing\n", report->counts[CAPABILITY_OK],
			      report->counts[CAPABILITY_LIMITED], report->counts[CAPABILITY_MISSING]);
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct doctor_options options = {0};
	struct checkup report = {.options = &options};
	struct error *error = options_parse(doctor_options, OPTIONS_PERMUTE, argc, argv, &options, &report.wanted_count);

	if (!error)
		error = check_names(argv, report.wanted_count);
	if (error)
		return error;
	report.wanted = argv;
	report.columns = output_columns();
	report.colour = report.columns && !options.json && !getenv("NO_COLOR");
	report.context = capability_context_create();
	add_heading(&report);
	run_capabilities(&report, kernel_capabilities);
	run_capabilities(&report, name_capabilities);
	add_end(&report);
	if (!options.json)
		pager_start("doctor");
	fputs(strbuf_str(&report.text), stdout);
	fflush(stdout);
	capability_context_destroy(report.context);
	strbuf_deinit(&report.text);
	if (report.wanted_count && report.counts[CAPABILITY_MISSING])
		*ret_status = 1;
	return NULL;
}

static const char *const usage[] = {"[-j] [-v] [ROW…]", NULL};
const struct command cmd_doctor = {"doctor", "Show what can be measured here, and how to fix what cannot", usage, doctor_options, run};
