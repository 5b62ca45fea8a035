/* perf agent check and status: questions of the person who sets the agent up. */
#include "cmd/agent/agent.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "bpf/support.h"
#include "kernel/limits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- check ---- */

/* One line for each thing that is looked at. */
static void tell(bool *ret_bad, const char *what, struct error *error)
{
	struct strbuf text = {0};
	strbuf_printf(&text, "%s: %s", what, error ? error_message(error) : "fine");
	struct strbuf safe = {0};
	text_add_safe_lines(&safe, strbuf_str(&text));
	printf("%s\n", strbuf_str(&safe));
	*ret_bad |= error != NULL;
	error_free(error);
	strbuf_deinit(&text);
	strbuf_deinit(&safe);
}

static struct error *check_rights(void)
{
	if (!limits_has_perfmon())
		return error_new_kind(ERROR_PERMISSION,
				      "measuring the whole machine requires root, or CAP_PERFMON (and CAP_BPF, CAP_SYS_PTRACE)");
	return error_wrap(bpf_support_check(), "stacks are followed by frame pointers or copied");
}

/* A secret is in a file that others can't read. */
static struct error *check_secret(const char *path)
{
	struct stat status;
	if (access(path, R_OK) || stat(path, &status))
		return error_system(errno, "%s", path);
	if (status.st_mode & (S_IRGRP | S_IROTH | S_IWGRP | S_IWOTH) && status.st_gid != 0)
		return error_new_kind(ERROR_PERMISSION, "%s can be read by others: run 'chmod 600 %s'", path, path);
	if (status.st_mode & (S_IROTH | S_IWOTH))
		return error_new_kind(ERROR_PERMISSION, "%s can be read by others: run 'chmod 600 %s'", path, path);
	return NULL;
}

static struct error *check_sink(const struct agent_sink_settings *settings)
{
	const struct http_options *http = &settings->options.http;
	const char *const secrets[] = {http->token_file, http->password_file, http->key_file};
	struct fleet_sink *sink = NULL;
	struct error *error = NULL;
	for (size_t i = 0; i < sizeof(secrets) / sizeof(*secrets) && !error; i++)
		error = secrets[i] ? check_secret(secrets[i]) : NULL;
	if (!error)
		error = fleet_sink_open(&settings->options, &sink);
	if (!error)
		error = fleet_sink_check(sink);
	fleet_sink_close(sink);
	return error ? error_wrap(error, "%s", settings->where) : NULL;
}

static struct error *check_folder(const char *folder)
{
	if (mkdir(folder, 0700) && errno != EEXIST)
		return error_system(errno, "%s", folder);
	return access(folder, W_OK | X_OK) ? error_system(errno, "%s", folder) : NULL;
}

static struct error *check_flight(const struct flight_settings *flight)
{
	struct flight_watch *watch = NULL;
	struct error *error = check_folder(flight->folder);
	if (!error)
		error = flight_watch_open(&flight->triggers, &watch);
	flight_watch_close(watch);
	return error;
}

static struct error *check(int argc, char **argv, int *ret_status)
{
	struct agent_settings settings;
	bool bad = false;
	struct error *error = agent_settings_read(argc, argv, &settings);
	if (error) {
		agent_settings_deinit(&settings);
		return error;
	}
	tell(&bad, "configuration", NULL);
	tell(&bad, "rights", check_rights());
	if (settings.sinks.len)
		tell(&bad, "spool", check_folder(settings.spool));
	else if (!settings.flight.folder)
		tell(&bad, "sinks",
		     error_new("there is none: add a section [sink NAME] with an url to %s, or --sink URL",
			       settings.config ? settings.config : AGENT_CONFIG));
	if (settings.flight.folder)
		tell(&bad, "flight recorder", check_flight(&settings.flight));
	for (size_t i = 0; i < settings.sinks.len; i++) {
		struct strbuf what = {0};
		strbuf_printf(&what, "sink '%s'", settings.sinks.data[i].name);
		tell(&bad, strbuf_str(&what), check_sink(&settings.sinks.data[i]));
		strbuf_deinit(&what);
	}
	*ret_status = bad;
	agent_settings_deinit(&settings);
	return NULL;
}

static const char *const check_usage[] = {"[--config FILE] [OPTIONS]", NULL};
const struct command cmd_agent_check = {"agent check", "Try the configuration and each sink, and say what is wrong", check_usage,
					agent_option_table, check};

/* ---- status ---- */

struct status_options {
	const char *socket;
	bool json;
	struct output_options output;
};

static const struct option status_options[] = {
	OPTION_STRING(0, "socket", struct status_options, socket, "PATH", "where the agent answers (default " AGENT_SOCKET ")"),
	OPTION_FLAG('j', "json", struct status_options, json, "as JSON"),
	OPTION_GROUP(output_option_group, struct status_options, output),
	OPTION_END,
};

static struct error *status(int argc, char **argv, int *ret_status)
{
	struct status_options options = {.socket = AGENT_SOCKET};
	struct strbuf answer = {0};
	struct error *error = options_parse_alone(status_options, argc, argv, &options, "");
	if (!error)
		error = agent_ask(options.socket, options.json ? "json\n" : "text\n", &answer);
	if (!error)
		fputs(strbuf_str(&answer), stdout);
	strbuf_deinit(&answer);
	return error;
}

static const char *const status_usage[] = {"[--json] [--socket PATH]", NULL};
const struct command cmd_agent_status = {"agent status", "Ask the agent that runs on this machine what it does and costs",
					 status_usage,	 status_options,
					 status,	 .own_options = true};
