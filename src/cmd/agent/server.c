/* Who asks the agent: its user on a socket ("text" or "json", the answer is text up to the end), programs on loopback by HTTP ("GET
 * /metrics", "POST /flight"). A thread of its own answers one after the other, and waits for nobody longer than a second in all, so that
 * nothing that is measured waits for them, nor the end of the agent. */
#include "cmd/agent/agent.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "fleet/thread.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { REQUEST_MAX = 4096, PATIENCE_MS = 1000 };
#define NS_PER_MS UINT64_C(1000000)

struct agent_server {
	struct agent_status *status;
	char *path;
	int local, metrics, end; /* descriptors; -1 = none */
	pthread_t thread;
	bool started;
};

/* ---- opening ---- */

static struct error *fill_address(const char *path, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(ret->sun_path))
		return error_new_kind(ERROR_USAGE, "--socket %s: the path is too long, at most %zu bytes", path, sizeof(ret->sun_path) - 1);
	strcpy(ret->sun_path, path);
	return NULL;
}

/* Whether an agent answers there. */
static bool is_alive(const struct sockaddr_un *address)
{
	cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && !connect(fd, (const struct sockaddr *)address, sizeof(*address));
}

/* One whose agent was killed; a file that is none stays. */
static struct error *remove_old_socket(const char *path)
{
	struct stat st;
	if (lstat(path, &st))
		return NULL;
	if (!S_ISSOCK(st.st_mode))
		return error_new_kind(ERROR_USAGE, "--socket %s: a file is there that is not a socket: choose another path", path);
	unlink(path);
	return NULL;
}

char *agent_socket_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash > path ? mem_strndup(path, (size_t)(slash - path)) : mem_strdup(slash ? "/" : ".");
}

/* Its folder is made when it is not there, as systemd does it. */
static struct error *listen_local(struct agent_server *server, const char *path)
{
	struct sockaddr_un address;
	cleanup_free char *folder = agent_socket_folder(path);
	struct error *error = fill_address(path, &address);
	if (error)
		return error;
	if (mkdir(folder, 0755) && errno != EEXIST)
		return error_system(errno, "--socket %s", path);
	if (is_alive(&address))
		return error_new("another agent answers on %s: 'perf agent status' asks it; choose another --socket for a second one",
				 path);
	error = remove_old_socket(path);
	if (error)
		return error;
	server->local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	mode_t mask = umask(0177);
	int failed = server->local < 0 || bind(server->local, (const struct sockaddr *)&address, sizeof(address)) ? errno : 0;
	umask(mask);
	if (failed || listen(server->local, 16))
		return error_system(failed ? failed : errno, "--socket %s", path);
	server->path = mem_strdup(path);
	return NULL;
}

static struct error *listen_metrics(struct agent_server *server, const char *text)
{
	struct sockaddr_storage address;
	unsigned int size;
	int yes = 1;
	struct error *error = agent_parse_loopback(text, &address, &size);
	if (error)
		return error;
	server->metrics = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server->metrics >= 0)
		setsockopt(server->metrics, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (server->metrics < 0 || bind(server->metrics, (const struct sockaddr *)&address, size) || listen(server->metrics, 16))
		return error_system(errno, "--metrics %s", text);
	return NULL;
}

struct error *agent_server_open(const struct agent_settings *settings, struct agent_status *status, struct agent_server **ret)
{
	struct agent_server *server = mem_zalloc(sizeof(*server));
	server->status = status;
	server->local = server->metrics = -1;
	server->end = eventfd(0, EFD_CLOEXEC);
	struct error *error = listen_local(server, settings->socket);
	if (!error && settings->metrics)
		error = listen_metrics(server, settings->metrics);
	if (error) {
		agent_server_close(server);
		return error;
	}
	*ret = server;
	return NULL;
}

/* ---- answering ---- */

struct client {
	int fd, end; /* end: the server's */
	uint64_t until_ns;
};

/* Whether it can be read from, or written to, before its time is up and before all ends. */
static bool is_ready(const struct client *client, short events)
{
	struct pollfd fds[] = {{client->end, POLLIN, 0}, {client->fd, events, 0}};
	uint64_t now = clock_now_ns(CLOCK_MONOTONIC);
	return now < client->until_ns && poll(fds, 2, (int)((client->until_ns - now) / NS_PER_MS) + 1) > 0 && !fds[0].revents;
}

static void give(const struct client *client, const char *data, size_t size)
{
	while (size && is_ready(client, POLLOUT)) {
		ssize_t sent = send(client->fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent <= 0)
			return;
		data += sent;
		size -= (size_t)sent;
	}
}

/* Up to what ends a request, or its sender. */
static void receive(const struct client *client, const char *end, struct strbuf *ret)
{
	char data[512];
	ssize_t got;
	while (ret->len < REQUEST_MAX && !strstr(strbuf_str(ret), end) && is_ready(client, POLLIN) &&
	       (got = recv(client->fd, data, sizeof(data), MSG_DONTWAIT)) > 0)
		strbuf_add(ret, data, (size_t)got);
}

static void answer_local(struct agent_server *server, const struct client *client, struct strbuf *out)
{
	struct strbuf request = {0};
	receive(client, "\n", &request);
	if (str_starts_with(strbuf_str(&request), "json"))
		agent_status_add_json(server->status, out);
	else
		agent_status_add_text(server->status, out);
	strbuf_deinit(&request);
}

/* The value of a parameter, "?pid=12&reason=slow+checkout", with nothing but what can stand there as it is. False: there is none. */
static bool find_parameter(const char *target, const char *name, char *ret, size_t size)
{
	size_t length = strlen(name), at = 0;
	const char *found = target + strcspn(target, "? ");
	while (*found && *found != ' ' && (strncmp(found + 1, name, length) != 0 || found[length + 1] != '='))
		found += 1 + strcspn(found + 1, "& ");
	if (!*found || *found == ' ')
		return false;
	for (const char *c = found + length + 2; at + 1 < size && *c && (isalnum((unsigned char)*c) || strchr("+-_.", *c)); c++)
		ret[at++] = *c == '+' ? ' ' : *c;
	ret[at] = '\0';
	return true;
}

/* A page of another origin that somebody has open may not: browsers say so whenever one sends something. */
static const char *take_wish(struct agent_status *status, const char *request, struct strbuf *body)
{
	struct flight_cause wish = {.what = "POST /flight", .asked = true};
	const char *target = request + strlen("POST ");
	char pid[16], reason[100];
	if (!strstr(request, "\r\n\r\n")) { /* it may be in what is lacking */
		strbuf_add_str(body, "The request is not whole, or too long.\n");
		return "400 Bad Request";
	}
	if (strcasestr(request, "\r\nOrigin:")) {
		strbuf_add_str(body, "Not for pages of the web.\n");
		return "403 Forbidden";
	}
	if (find_parameter(target, "pid", pid, sizeof(pid)) && !number_parse_u32(pid, &wish.pid)) {
		strbuf_add_str(body, "The pid is not a number.\n");
		return "400 Bad Request";
	}
	if (find_parameter(target, "reason", reason, sizeof(reason)))
		snprintf(wish.what, sizeof(wish.what), "POST /flight: %s", reason);
	pthread_mutex_lock(&status->lock);
	bool has_flight = status->has_flight, has_room = status->wish_count < AGENT_WISHES;
	if (has_flight && has_room)
		status->wishes[status->wish_count++] = wish;
	pthread_mutex_unlock(&status->lock);
	if (!has_flight) {
		strbuf_add_str(body, "There is no flight recorder: --flight FOLDER.\n");
		return "404 Not Found";
	}
	strbuf_add_str(body, has_room ? "It will be written.\n" : "Too many ask for it at once: ask again in a second.\n");
	return has_room ? "202 Accepted" : "429 Too Many Requests";
}

/* A page of another origin that somebody has open could ask for the metrics as well: it isn't allowed to read the answer. */
static void answer_metrics(struct agent_server *server, const struct client *client, struct strbuf *out)
{
	struct strbuf request = {0}, body = {0};
	receive(client, "\r\n\r\n", &request);
	const char *text = strbuf_str(&request), *status = "404 Not Found";
	bool metrics = str_starts_with(text, "GET /metrics ") || str_starts_with(text, "GET /metrics?");
	if (metrics) {
		agent_status_add_metrics(server->status, &body);
		status = "200 OK";
	} else if (str_starts_with(text, "POST /flight ") || str_starts_with(text, "POST /flight?")) {
		status = take_wish(server->status, text, &body);
	} else {
		strbuf_add_str(&body, "There are only GET /metrics and POST /flight.\n");
	}
	strbuf_printf(out, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", status,
		      metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8" : "text/plain; charset=utf-8", body.len);
	strbuf_add(out, strbuf_str(&body), body.len);
	strbuf_deinit(&request);
	strbuf_deinit(&body);
}

/* Who is waiting stays so where no descriptor or memory is left: asking at once again would take a whole CPU. */
static void wait_for_room(struct agent_server *server)
{
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		poll(&(struct pollfd){server->end, POLLIN, 0}, 1, PATIENCE_MS);
}

static void answer(struct agent_server *server, int listening)
{
	struct strbuf out = {0};
	cleanup_close int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0) {
		wait_for_room(server);
		return;
	}
	const struct client client = {fd, server->end, clock_now_ns(CLOCK_MONOTONIC) + PATIENCE_MS * NS_PER_MS};
	if (listening == server->local)
		answer_local(server, &client, &out);
	else
		answer_metrics(server, &client, &out);
	give(&client, strbuf_str(&out), out.len);
	strbuf_deinit(&out);
}

static void *serve(void *context)
{
	struct agent_server *server = context;
	struct pollfd fds[] = {{server->end, POLLIN, 0}, {server->local, POLLIN, 0}, {server->metrics, POLLIN, 0}};
	while (!fds[0].revents) {
		if (poll(fds, 3, -1) < 0)
			continue;
		for (int i = 1; i < 3; i++)
			if (fds[i].revents & POLLIN)
				answer(server, fds[i].fd);
	}
	return NULL;
}

void agent_server_start(struct agent_server *server)
{
	struct error *error = thread_start(&server->thread, serve, server, "the thread that answers 'perf agent status'");
	server->started = !error;
	if (error)
		log_warning("%s", error_message(error));
	error_free(error);
}

void agent_server_close(struct agent_server *server)
{
	const uint64_t one = 1;
	if (!server)
		return;
	if (server->started && write(server->end, &one, sizeof(one)) == sizeof(one))
		pthread_join(server->thread, NULL);
	if (server->path)
		unlink(server->path);
	free(server->path);
	const int fds[] = {server->local, server->metrics, server->end};
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(server);
}

struct error *agent_ask(const char *path, const char *what, struct strbuf *ret)
{
	struct sockaddr_un address;
	char data[4096];
	ssize_t got;
	struct error *error = fill_address(path, &address);
	if (error)
		return error;
	cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return error_system(errno, "no agent answers on %s: is it running ('systemctl status perf-agent'), with another --socket?",
				    path);
	if (send(fd, what, strlen(what), MSG_NOSIGNAL) < 0)
		return error_system(errno, "%s", path);
	while ((got = recv(fd, data, sizeof(data), 0)) > 0)
		strbuf_add(ret, data, (size_t)got);
	return got < 0 ? error_system(errno, "%s", path) : NULL;
}
