/* perf daemon: sessions of perf record in the background.
 *
 *	perf daemon start                     of the configuration's sessions
 *	perf daemon [-v] [-x,]                what runs
 *	perf daemon ping, signal, stop        all of it, or --session NAME
 *
 * The daemon is in server.c; here is who asks it. */
#include "cmd/daemon/daemon.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct error *option_separator(const struct option *option, const char *argument, bool negated, void *field)
{
	const char **separator = field;
	*separator = negated ? NULL : argument ? argument : ",";
	if (argument && (!*argument || strchr(argument, '\n')))
		return error_new_kind(ERROR_USAGE, "neither nothing nor a line end can stand between fields");
	return NULL;
}

#define O struct daemon_options
#define COMMON                                                                                                              \
	OPTION_STRING(0, "base", O, base, "FOLDER", "the daemon's folder (default daemon.base of the configuration)"),      \
		OPTION_STRING(0, "config", O, config, "FILE", "configuration (default /etc/perfconfig and ~/.perfconfig)"), \
		OPTION_GROUP(output_option_group, O, output)
#define SEPARATOR(flags, help)                                                                                           \
	{                                                                                                                \
		OPTION_KIND_CUSTOM, 'x', "field-separator", offsetof(O, separator), "SEP", help, option_separator, NULL, \
			OPTION_OPTIONAL_ARGUMENT | (flags)                                                               \
	}
#define SESSION(help) OPTION_STRING(0, "session", O, session, "NAME", help)

static const char lines_help[] = "one line each, with this between its fields (default a comma)";
static const struct option options[] = {COMMON, SEPARATOR(0, lines_help), OPTION_END};
static const struct option start_options[] = {OPTION_FLAG('f', "foreground", O, foreground, "stay in the foreground and report there"),
					      COMMON, SEPARATOR(OPTION_HIDDEN, "of lists; means nothing here"), OPTION_END};
static const struct option stop_options[] = {COMMON, SEPARATOR(OPTION_HIDDEN, "of lists; means nothing here"), OPTION_END};
static const struct option signal_options[] = {SESSION("only to this session"), COMMON, SEPARATOR(0, lines_help), OPTION_END};
static const struct option ping_options[] = {SESSION("only this session"), COMMON, SEPARATOR(0, lines_help), OPTION_END};

static struct error *parse(const struct option *table, int argc, char **argv, struct daemon_options *ret)
{
	int words;
	struct error *error = options_parse(table, OPTIONS_PERMUTE, argc, argv, ret, &words);
	if (!error && words)
		error = error_new_kind(ERROR_USAGE, "unexpected argument '%s'", argv[0]);
	return error;
}

/* ---- asking ---- */

void daemon_socket_address(int base, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/control", base);
}

static struct error *connect_to(const char *path, int *ret)
{
	struct sockaddr_un address;
	cleanup_close int base = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (base < 0)
		return error_system(errno, "%s", path);
	cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_system(errno, "socket");
	daemon_socket_address(base, &address);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return errno == ENOENT || errno == ECONNREFUSED ? error_new("no daemon runs in %s: 'perf daemon start' starts one", path)
								: error_system(errno, "%s/control", path);
	*ret = take_fd(fd);
	return NULL;
}

/* The answer is complete when the daemon closes the connection. */
static struct error *ask(const struct daemon_options *options, const char *verb, struct strbuf *ret)
{
	enum { ANSWER_MAX = 16 << 20 };
	struct daemon_settings settings = {0};
	struct strbuf request = {0};
	cleanup_close int fd = -1;
	struct error *error = daemon_settings_read(options, false, &settings);
	if (!error)
		error = connect_to(settings.base, &fd);
	strbuf_printf(&request, "%s\n%s\n%s\n", verb, options->separator ? options->separator : "",
		      options->session ? options->session : "");
	if (!error && request.len >= DAEMON_REQUEST_MAX)
		error = error_new_kind(ERROR_USAGE, "a session's name or a separator is too long");
	if (!error && send(fd, request.data, request.len, MSG_NOSIGNAL) != (ssize_t)request.len)
		error = error_system(errno, "asking the daemon");
	if (!error) {
		int status = strbuf_read(ret, fd, ANSWER_MAX);
		if (status)
			error = error_system(-status, "the daemon's answer");
		else if (!ret->len)
			error = error_new("the daemon ended while it was asked");
	}
	strbuf_deinit(&request);
	daemon_settings_free(&settings);
	return error;
}

/* The answer's first line is "ok", "failed" (the rest says what), or an error. */
static struct error *ask_and_print(const struct daemon_options *options, const char *verb, int *ret_status)
{
	struct strbuf answer = {0}, safe = {0};
	struct error *error = ask(options, verb, &answer);
	if (!error) {
		char *text = strchr(answer.data, '\n');
		if (text)
			*text++ = '\0';
		bool failed = !strcmp(answer.data, "failed");
		if (!failed && strcmp(answer.data, "ok") != 0)
			text_add_safe(&safe, answer.data, strlen(answer.data));
		if (safe.len)
			error = error_new("%s", safe.data);
		else if (text)
			text_add_safe_lines(&safe, text);
		if (!error)
			fputs(strbuf_str(&safe), stdout);
		*ret_status = failed;
	}
	strbuf_deinit(&answer);
	strbuf_deinit(&safe);
	return error;
}

/* ---- subcommands ---- */

static struct error *run_start(int argc, char **argv, int *ret_status)
{
	struct daemon_options wanted = {0};
	struct daemon_settings settings = {0};
	struct error *error = parse(start_options, argc, argv, &wanted);
	if (!error)
		error = daemon_settings_read(&wanted, true, &settings);
	if (!error)
		error = daemon_serve(&wanted, &settings);
	daemon_settings_free(&settings);
	return error;
}

static struct error *run_verb(const struct option *table, const char *verb, int argc, char **argv, int *ret_status)
{
	struct daemon_options wanted = {0};
	struct error *error = parse(table, argc, argv, &wanted);
	return error ? error : ask_and_print(&wanted, verb, ret_status);
}

static struct error *run_stop(int argc, char **argv, int *ret_status)
{
	return run_verb(stop_options, "stop", argc, argv, ret_status);
}

static struct error *run_signal(int argc, char **argv, int *ret_status)
{
	return run_verb(signal_options, "signal", argc, argv, ret_status);
}

static struct error *run_ping(int argc, char **argv, int *ret_status)
{
	return run_verb(ping_options, "ping", argc, argv, ret_status);
}

static struct error *run(int argc, char **argv, int *ret_status)
{
	struct daemon_options wanted = {0};
	int words;
	struct error *error = options_parse(options, OPTIONS_PERMUTE, argc, argv, &wanted, &words);
	if (!error && words)
		error = error_new_kind(ERROR_USAGE, "unknown subcommand '%s': there are start, stop, signal and ping", argv[0]);
	if (error)
		return error;
	return ask_and_print(&wanted, log_level() > LOG_WARNING ? "list-verbose" : "list", ret_status);
}

static const char *const start_usage[] = {"[--config FILE] [--base FOLDER] [-f]", NULL};
static const char *const stop_usage[] = {"[--config FILE] [--base FOLDER]", NULL};
static const char *const session_usage[] = {"[--session NAME] [--config FILE] [--base FOLDER]", NULL};
static const struct command cmd_daemon_start = {"daemon start", "Start a daemon, which starts the configuration's sessions", start_usage,
						start_options, run_start};
static const struct command cmd_daemon_stop = {"daemon stop", "Stop the daemon and its sessions", stop_usage, stop_options, run_stop};
static const struct command cmd_daemon_signal = {"daemon signal", "Have sessions write what they hold: SIGUSR2", session_usage,
						 signal_options, run_signal};
static const struct command cmd_daemon_ping = {"daemon ping", "See whether sessions answer", session_usage, ping_options, run_ping};
static const struct command *const subcommands[] = {&cmd_daemon_start, &cmd_daemon_stop, &cmd_daemon_signal, &cmd_daemon_ping, NULL};
static const char *const usage[] = {"[-v] [-x SEP] [--config FILE] [--base FOLDER]", "{start|stop|signal|ping} [<options>]", NULL};
const struct command cmd_daemon = {"daemon", "Run perf record sessions in the background", usage, options, run, .subcommands = subcommands};
