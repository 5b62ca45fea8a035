/* The daemon: one thread that waits for requests, for the end of sessions and for changes of the configuration.
 *
 * Whoever starts it has the lock, the socket and the folder checked before it goes into the background, and comes back when all sessions
 * have been started, so that errors reach him. A session that ends isn't started again before the configuration changes; then all that
 * don't run are, as with the kernel's tool. */
#include "cmd/daemon/daemon.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "kernel/poller.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { TAG_REQUEST, TAG_CONFIG, TAG_SIGNAL, MINUTE = 60 };

struct server {
	const struct daemon_options *options;
	const char *base_path;
	int base, lock, socket, inotify;
	struct poller poller;
	daemon_files files; /* of the configuration */
	VEC(struct daemon_session *) sessions;
	uint64_t started_ns;
	bool stopping;
	int asked; /* who has asked to stop, or -1 */
};

/* ---- what it did ---- */

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	struct strbuf text = {0}, safe = {0};
	struct timespec now;
	struct tm date;
	char when[32] = "";
	va_list args;
	clock_gettime(CLOCK_REALTIME, &now);
	if (localtime_r(&now.tv_sec, &date))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &date);
	va_start(args, format);
	strbuf_vprintf(&text, format, args);
	va_end(args);
	text_add_safe(&safe, strbuf_str(&text), text.len);
	printf("[%s.%06ld] %s\n", when, now.tv_nsec / 1000, strbuf_str(&safe));
	fflush(stdout);
	strbuf_deinit(&text);
	strbuf_deinit(&safe);
}

static void note_error(struct error *error)
{
	note("failed: %s", error_message(error));
	error_free(error);
}

/* ---- the base ---- */

static pid_t read_owner(int lock)
{
	char text[32] = "";
	ssize_t length = pread(lock, text, sizeof(text) - 1, 0);
	return length > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

/* The lock's file is removed at the end: who waited for it may have got one that isn't there any more. */
static bool is_current(const struct server *server)
{
	struct stat ours, named;
	return !fstat(server->lock, &ours) && !fstatat(server->base, "lock", &named, AT_SYMLINK_NOFOLLOW) && ours.st_ino == named.st_ino &&
	       ours.st_dev == named.st_dev;
}

/* *ret_dead: the daemon that was here before and didn't end as it should; 0 = none. */
static struct error *take_lock(struct server *server, pid_t *ret_dead)
{
	do {
		if (server->lock >= 0)
			close(server->lock);
		server->lock = openat(server->base, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640);
		if (server->lock < 0)
			return error_system(errno, "%s/lock", server->base_path);
		if (flock(server->lock, LOCK_EX | LOCK_NB)) {
			if (errno == EWOULDBLOCK)
				return error_new("another perf daemon (pid %d) owns %s", read_owner(server->lock), server->base_path);
			return error_system(errno, "%s/lock", server->base_path);
		}
	} while (!is_current(server));
	*ret_dead = read_owner(server->lock);
	return NULL;
}

static struct error *listen_on(struct server *server)
{
	struct sockaddr_un address;
	if (unlinkat(server->base, "control", 0) && errno != ENOENT)
		return error_system(errno, "removing %s/control", server->base_path);
	server->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server->socket < 0)
		return error_system(errno, "socket");
	daemon_socket_address(server->base, &address);
	mode_t mask = umask(0177);
	int failed = bind(server->socket, (const struct sockaddr *)&address, sizeof(address));
	umask(mask);
	return failed || listen(server->socket, 16) ? error_system(errno, "%s/control", server->base_path) : NULL;
}

/* FIFOs of the sessions that a killed daemon had. */
static void sweep_sessions(const struct server *server)
{
	int fd = openat(server->base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	while (folder && (entry = readdir(folder))) {
		cleanup_close int session = -1;
		if (!str_starts_with(entry->d_name, "session-"))
			continue;
		session = openat(server->base, entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (session < 0)
			continue;
		unlinkat(session, "control", 0);
		unlinkat(session, "ack", 0);
	}
	if (folder)
		closedir(folder);
}

static struct error *open_base(struct server *server)
{
	pid_t dead = 0;
	struct error *error = daemon_open_folder(AT_FDCWD, server->base_path, &server->base);
	if (!error)
		error = take_lock(server, &dead);
	if (!error)
		error = listen_on(server);
	if (error || !dead)
		return error;
	sweep_sessions(server);
	log_warning("the daemon that ran in %s before (pid %d) was killed: what it left is removed", server->base_path, dead);
	return NULL;
}

static void write_owner(const struct server *server)
{
	if (!ftruncate(server->lock, 0))
		dprintf(server->lock, "%d", getpid());
}

/* What has been recorded and what it said stays. */
static void leave_base(const struct server *server)
{
	unlinkat(server->base, "control", 0);
	unlinkat(server->base, "lock", 0);
}

/* ---- sessions ---- */

static struct daemon_session *find_session(const struct server *server, const char *name)
{
	for (size_t i = 0; i < server->sessions.len; i++)
		if (!strcmp(server->sessions.data[i]->name, name))
			return server->sessions.data[i];
	return NULL;
}

static void start_session(struct server *server, struct daemon_session *session)
{
	struct error *error = daemon_session_start(session, server->base);
	if (error)
		note_error(error);
	else
		note("reconfig: running session [%s:%d]: %s", session->name, session->pid, session->run);
}

static void look_after_sessions(struct server *server)
{
	struct strbuf how = {0};
	for (size_t i = 0; i < server->sessions.len; i++) {
		strbuf_clear(&how);
		if (daemon_session_ended(server->sessions.data[i], &how))
			note("session '%s' %s", server->sessions.data[i]->name, strbuf_str(&how));
	}
	strbuf_deinit(&how);
}

static void end_sessions(struct daemon_session *const *sessions, size_t count)
{
	daemon_sessions_stop(sessions, count);
	for (size_t i = 0; i < count; i++)
		if (sessions[i]->killed)
			note("session '%s' killed: it hadn't ended %d seconds after SIGTERM", sessions[i]->name, DAEMON_STOP_SECONDS);
}

/* Those that aren't wanted any more, or with other words, all at once. */
static void stop_unwanted(struct server *server)
{
	VEC(struct daemon_session *) unwanted = {0};
	for (size_t i = 0; i < server->sessions.len; i++)
		if (!server->sessions.data[i]->wanted)
			vec_push(&unwanted, server->sessions.data[i]);
	end_sessions(unwanted.data, unwanted.len);
	for (size_t i = 0; i < unwanted.len; i++) {
		note("reconfig: session '%s' stopped", unwanted.data[i]->name);
		daemon_session_destroy(unwanted.data[i]);
	}
	vec_deinit(&unwanted);
}

/* All in the order of the configuration. */
static void apply(struct server *server, const struct daemon_settings *settings)
{
	VEC(struct daemon_session *) ordered = {0};
	for (size_t i = 0; i < server->sessions.len; i++)
		server->sessions.data[i]->wanted = false;
	for (size_t i = 0; i < settings->runs.len; i++) {
		const struct daemon_run *run = &settings->runs.data[i];
		struct daemon_session *session = find_session(server, run->name);
		if (!session || strcmp(session->run, run->run) != 0)
			session = daemon_session_create(run->name, run->run);
		session->wanted = true;
		vec_push(&ordered, session);
	}
	stop_unwanted(server);
	vec_deinit(&server->sessions);
	for (size_t i = 0; i < ordered.len; i++) {
		vec_push(&server->sessions, ordered.data[i]);
		if (!ordered.data[i]->pid)
			start_session(server, ordered.data[i]);
	}
	vec_deinit(&ordered);
}

/* A broken configuration changes nothing. */
static void read_again(struct server *server)
{
	struct daemon_settings settings = {0};
	struct error *error = daemon_settings_read(server->options, true, &settings);
	if (error) {
		note_error(error_wrap(error, "the configuration, of which nothing is taken"));
		return;
	}
	if (strcmp(settings.base, server->base_path) != 0)
		note("reconfig: the new base %s is taken when the daemon is started again", settings.base);
	apply(server, &settings);
	daemon_settings_free(&settings);
}

/* ---- changes of the configuration ---- */

/* Folders are watched: editors put new files in the place of old ones. */
static void watch_files(struct server *server)
{
	server->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (server->inotify < 0) {
		note_error(error_system(errno, "changes of the configuration aren't seen: inotify"));
		return;
	}
	for (size_t i = 0; i < server->files.len; i++) {
		cleanup_free char *path = realpath(server->files.data[i], NULL);
		if (!path)
			path = mem_strdup(server->files.data[i]);
		char *slash = strrchr(path, '/');
		free(server->files.data[i]);
		server->files.data[i] = mem_strdup(slash ? slash + 1 : path);
		if (slash)
			slash[slash == path] = '\0';
		const char *folder = slash ? path : ".";
		if (inotify_add_watch(server->inotify, folder, IN_CLOSE_WRITE | IN_MOVED_TO) < 0)
			note_error(error_system(errno, "changes of %s/%s aren't seen: %s", folder, server->files.data[i], folder));
	}
}

static bool files_changed(const struct server *server)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool changed = false;
	ssize_t length;
	while ((length = read(server->inotify, events, sizeof(events))) > 0) {
		for (char *at = events; at < events + length;) {
			const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
			changed |= (event->mask & IN_Q_OVERFLOW) != 0;
			for (size_t i = 0; i < server->files.len; i++)
				changed |= event->len && !strcmp(event->name, server->files.data[i]);
			at += sizeof(*event) + event->len;
		}
	}
	return changed;
}

/* ---- requests ---- */

static uint64_t minutes_since(uint64_t started_ns)
{
	return (clock_now_ns(CLOCK_MONOTONIC) - started_ns) / 1000000000 / MINUTE;
}

static void list_daemon(const struct server *server, bool verbose, const char *s, struct strbuf *out)
{
	const char *base = server->base_path;
	uint64_t minutes = minutes_since(server->started_ns);
	if (*s) {
		strbuf_printf(out, "%d%sdaemon%s%s%s%s/output%s%s/lock%s%" PRIu64 "\n", getpid(), s, s, base, s, base, s, base, s, minutes);
		return;
	}
	strbuf_printf(out, "[%d:daemon] base: %s\n", getpid(), base);
	if (verbose)
		strbuf_printf(out, "  output:  %s/output\n  lock:    %s/lock\n  up:      %" PRIu64 " minutes\n", base, base, minutes);
}

static void list_session(const struct server *server, const struct daemon_session *session, bool verbose, const char *s, struct strbuf *out)
{
	cleanup_free char *folder = mem_printf("%s/session-%s", server->base_path, session->name);
	uint64_t minutes = minutes_since(session->started_ns);
	if (!session->pid && *s)
		return;
	if (!session->pid) {
		strbuf_printf(out, "[-:%s] perf record %s\n  ", session->name, session->run);
		strbuf_add_str(out, session->started_ns ? "ended:   " : "not started: see the daemon's output");
		if (session->started_ns)
			daemon_session_add_end(session, out);
		strbuf_add_char(out, '\n');
	} else if (!*s) {
		strbuf_printf(out, "[%d:%s] perf record %s\n", session->pid, session->name, session->run);
		if (verbose)
			strbuf_printf(out,
				      "  base:    %s\n  output:  %s/output\n  control: %s/control\n  ack:     %s/ack\n"
				      "  up:      %" PRIu64 " minutes\n",
				      folder, folder, folder, folder, minutes);
	} else {
		strbuf_printf(out, "%d%s%s%s%s%s%s%s%s/output%s%s/control%s%s/ack%s%" PRIu64 "\n", session->pid, s, session->name, s,
			      session->run, s, folder, s, folder, s, folder, s, folder, s, minutes);
	}
}

static void list(const struct server *server, bool verbose, const char *separator, struct strbuf *out)
{
	strbuf_add_str(out, "ok\n");
	list_daemon(server, verbose, separator, out);
	for (size_t i = 0; i < server->sessions.len; i++)
		list_session(server, server->sessions.data[i], verbose, separator, out);
}

static void ping(const struct server *server, const char *name, const char *separator, struct strbuf *out)
{
	struct strbuf lines = {0};
	bool failed = false;
	for (size_t i = 0; i < server->sessions.len; i++) {
		struct daemon_session *session = server->sessions.data[i];
		if (*name && strcmp(session->name, name) != 0)
			continue;
		bool answers = daemon_session_ping(session);
		failed |= !answers;
		const char *word = answers ? "OK" : "FAIL";
		strbuf_printf(&lines, *separator ? "%s%s%s\n" : "%-4s%s%s\n", word, *separator ? separator : " ", session->name);
	}
	if (*name && !lines.len) {
		failed = true;
		strbuf_printf(&lines, *separator ? "%s%s%s\n" : "%-4s%s%s (not found)\n", "FAIL", *separator ? separator : " ", name);
	}
	strbuf_printf(out, "%s\n%s", failed ? "failed" : "ok", strbuf_str(&lines));
	strbuf_deinit(&lines);
}

static void send_signal(const struct server *server, const char *name, const char *s, struct strbuf *out)
{
	const struct daemon_session *chosen = *name ? find_session(server, name) : NULL;
	if (*name && !chosen) {
		strbuf_printf(out, "there is no session '%s'\n", name);
		return;
	}
	if (chosen && !chosen->pid) {
		strbuf_printf(out, "session '%s' doesn't run\n", name);
		return;
	}
	struct strbuf lines = {0};
	bool failed = false;
	for (size_t i = 0; i < server->sessions.len; i++) {
		struct daemon_session *session = server->sessions.data[i];
		if (!session->pid || (chosen && session != chosen))
			continue;
		bool sent = daemon_session_dump(session);
		failed |= !sent;
		if (!sent)
			strbuf_printf(&lines, "session '%s' doesn't answer: no signal sent\n", session->name);
		else if (*s)
			strbuf_printf(&lines, "%d%s%s%s%d\n", SIGUSR2, s, session->name, s, session->pid);
		else
			strbuf_printf(&lines, "signal %d sent to session '%s [%d]'\n", SIGUSR2, session->name, session->pid);
	}
	strbuf_printf(out, "%s\n%s", failed ? "failed" : "ok", strbuf_str(&lines));
	strbuf_deinit(&lines);
}

/* The next line of a request; NULL = it isn't whole. */
static char *next_line(char **at)
{
	char *line = *at, *end = strchr(line, '\n');
	if (!end)
		return NULL;
	*end = '\0';
	*at = end + 1;
	return line;
}

static void obey(struct server *server, char *request, struct strbuf *out)
{
	char *verb = next_line(&request), *separator = verb ? next_line(&request) : NULL, *name = separator ? next_line(&request) : NULL;
	if (!name) {
		strbuf_add_str(out, "the request is incomplete\n");
		return;
	}
	look_after_sessions(server);
	if (!strcmp(verb, "list") || !strcmp(verb, "list-verbose"))
		list(server, verb[strlen("list")] != '\0', separator, out);
	else if (!strcmp(verb, "ping"))
		ping(server, name, separator, out);
	else if (!strcmp(verb, "signal"))
		send_signal(server, name, separator, out);
	else if (!strcmp(verb, "stop"))
		server->stopping = true;
	else
		strbuf_add_str(out, "the daemon doesn't know this request: it is of another version\n");
}

static bool is_trusted(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && (peer.uid == geteuid() || !peer.uid);
}

static void answer(int fd, const struct strbuf *text)
{
	for (size_t done = 0; done < text->len;) {
		ssize_t written = send(fd, text->data + done, text->len - done, MSG_NOSIGNAL);
		if (written <= 0)
			return;
		done += (size_t)written;
	}
}

/* Nobody can hold the daemon up for more than some seconds. Who asks to stop hears of it when all has stopped. */
static void take_request(struct server *server)
{
	static const struct timeval patience = {.tv_sec = 2};
	char request[DAEMON_REQUEST_MAX + 1];
	struct strbuf text = {0};
	cleanup_close int fd = accept4(server->socket, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0 || !is_trusted(fd))
		return;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	ssize_t length = recv(fd, request, DAEMON_REQUEST_MAX, 0);
	if (length <= 0)
		return;
	request[length] = '\0';
	obey(server, request, &text);
	if (server->stopping)
		server->asked = take_fd(fd);
	else
		answer(fd, &text);
	strbuf_deinit(&text);
}

/* ---- running ---- */

/* SIGHUP in the foreground: the terminal is gone. */
static void take_signals(struct server *server)
{
	struct signalfd_siginfo info;
	while (poller_next_signal(&server->poller, &info)) {
		if (info.ssi_signo == SIGCHLD)
			look_after_sessions(server);
		else if (info.ssi_signo == SIGHUP && !server->options->foreground)
			read_again(server);
		else
			server->stopping = true;
	}
}

static void run_loop(struct server *server)
{
	struct epoll_event events[4];
	while (!server->stopping) {
		int count = poller_wait(&server->poller, events, 4);
		for (int i = 0; i < count && !server->stopping; i++) {
			if (events[i].data.u64 == TAG_REQUEST)
				take_request(server);
			else if (events[i].data.u64 == TAG_CONFIG && files_changed(server))
				read_again(server);
			else if (events[i].data.u64 == TAG_SIGNAL)
				take_signals(server);
		}
	}
}

/* Who has asked waits for the end of the connection, which the kernel closes when it has closed all else of this process. */
static void stop_all(struct server *server)
{
	static const char done[] = "ok\n";
	end_sessions(server->sessions.data, server->sessions.len);
	for (size_t i = 0; i < server->sessions.len; i++)
		daemon_session_destroy(server->sessions.data[i]);
	vec_deinit(&server->sessions);
	leave_base(server);
	note("daemon exited");
	close(server->lock);
	server->lock = -1;
	if (server->asked >= 0)
		answer(server->asked, &(struct strbuf){.data = (char *)done, .len = strlen(done)});
}

/* `ready`: a pipe for the news that all has been started, or -1. */
static void serve(struct server *server, const struct daemon_settings *settings, int ready)
{
	static const int signals[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, 0};
	server->started_ns = clock_now_ns(CLOCK_MONOTONIC);
	write_owner(server);
	note("daemon started (pid %d)", getpid());
	poller_open(&server->poller);
	poller_take_signals(&server->poller, signals, TAG_SIGNAL);
	watch_files(server);
	apply(server, settings);
	poller_watch(&server->poller, server->socket, EPOLLIN, TAG_REQUEST);
	if (server->inotify >= 0)
		poller_watch(&server->poller, server->inotify, EPOLLIN, TAG_CONFIG);
	if (ready >= 0) {
		if (write(ready, "", 1) < 0)
			note("whoever started the daemon has ended");
		close(ready);
	}
	run_loop(server);
	stop_all(server);
	poller_close(&server->poller);
}

/* In the background: a session of its own, without a terminal, so that SIGHUP, which may have been ignored for that, is free; what it did
 * goes to BASE/output. */
static struct error *leave_terminal(const struct server *server)
{
	cleanup_close int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	cleanup_close int output = openat(server->base, "output", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (nowhere < 0 || output < 0)
		return error_system(errno, "%s/output", server->base_path);
	setsid();
	signal(SIGHUP, SIG_DFL);
	dup2(nowhere, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	return NULL;
}

static struct error *serve_in_background(struct server *server, const struct daemon_settings *settings)
{
	int ready[2];
	char byte;
	if (pipe2(ready, O_CLOEXEC))
		return error_system(errno, "pipe");
	fflush(NULL);
	pid_t child = fork();
	if (child < 0)
		return error_system(errno, "fork");
	if (child) {
		ssize_t started;
		close(ready[1]);
		while ((started = read(ready[0], &byte, 1)) < 0 && errno == EINTR)
			continue;
		close(ready[0]);
		return started == 1 ? NULL : error_new("the daemon ended before it had started its sessions");
	}
	close(ready[0]);
	struct error *error = leave_terminal(server);
	if (error)
		leave_base(server);
	else
		serve(server, settings, ready[1]);
	return error;
}

struct error *daemon_serve(const struct daemon_options *options, const struct daemon_settings *settings)
{
	struct server server = {
		.options = options, .base_path = settings->base, .base = -1, .lock = -1, .socket = -1, .inotify = -1, .asked = -1};
	int *const fds[] = {&server.base, &server.lock, &server.socket, &server.inotify};
	daemon_settings_files(options, &server.files);
	struct error *error = open_base(&server);
	if (!error && options->foreground)
		serve(&server, settings, -1);
	else if (!error)
		error = serve_in_background(&server, settings);
	daemon_free_words(&server.files);
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (*fds[i] >= 0)
			close(*fds[i]);
	return error;
}
