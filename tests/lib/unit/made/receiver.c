#include "made/receiver.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

struct receiver {
	receiver_choose *choose;
	receiver_keep *keep;
	void *context;
	int listening, wake[2]; /* wake: something to read ends it */
	unsigned int requests;
	pthread_t thread;
};

/* Waits until there is something to read; false: it is to end. */
static bool wait_for(const struct receiver *receiver, int fd)
{
	struct pollfd fds[] = {{.fd = receiver->wake[0], .events = POLLIN}, {.fd = fd, .events = POLLIN}};
	return poll(fds, 2, -1) > 0 && !fds[0].revents;
}

/* Until there are so many bytes. */
static bool read_to(const struct receiver *receiver, int fd, struct strbuf *text, size_t size)
{
	while (text->len < size) {
		char *at = strbuf_reserve(text, size - text->len);
		ssize_t got = wait_for(receiver, fd) ? read(fd, at, size - text->len) : 0;
		if (got <= 0)
			return false;
		strbuf_advance(text, (size_t)got);
	}
	return true;
}

static bool read_head(const struct receiver *receiver, int fd, struct strbuf *head)
{
	while (!strstr(strbuf_str(head), "\r\n\r\n"))
		if (!read_to(receiver, fd, head, head->len + 1))
			return false;
	return true;
}

static void reset(int fd)
{
	const struct linger now = {.l_onoff = 1};
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static bool answer(int fd, enum receiver_way way)
{
	static const char *const texts[] = {
		[RECEIVER_TAKES] = "200 OK\r\n",
		[RECEIVER_REFUSES] = "400 Bad Request\r\n",
		[RECEIVER_FAILS] = "500 Internal Server Error\r\n",
		[RECEIVER_IS_BUSY] = "429 Too Many Requests\r\nRetry-After: 1\r\n",
	};
	char *text = mem_printf("HTTP/1.1 %sContent-Length: 2\r\n\r\n{}", texts[way]);
	bool sent = send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
	free(text);
	return sent;
}

/* One request of a connection; false: the connection is over. */
static bool serve(struct receiver *receiver, int fd)
{
	struct strbuf head = {0}, body = {0};
	bool goes_on = false;
	if (read_head(receiver, fd, &head)) {
		const char *length = strcasestr(head.data, "\ncontent-length:"), *space = strchr(head.data, ' ');
		size_t size = length ? strtoul(length + strlen("\ncontent-length:"), NULL, 10) : 0;
		char *path = mem_strndup(space + 1, strcspn(space + 1, " "));
		enum receiver_way way = receiver->choose(receiver->context, receiver->requests++, path);
		bool whole = read_to(receiver, fd, &body, way == RECEIVER_CUTS_BODY ? size / 2 : size);
		if (whole && (way == RECEIVER_TAKES || way == RECEIVER_CUTS_ANSWER))
			receiver->keep(receiver->context, path, &body);
		if (way == RECEIVER_CUTS_BODY || way == RECEIVER_CUTS_ANSWER)
			reset(fd);
		else if (way == RECEIVER_HANGS)
			read_to(receiver, fd, &body, size + 1); /* until the client gives up */
		else
			goes_on = whole && answer(fd, way);
		free(path);
	}
	strbuf_deinit(&head);
	strbuf_deinit(&body);
	return goes_on;
}

static void *run(void *context)
{
	struct receiver *receiver = context;
	while (wait_for(receiver, receiver->listening)) {
		int fd = accept4(receiver->listening, NULL, NULL, SOCK_CLOEXEC);
		while (fd >= 0 && serve(receiver, fd))
			;
		if (fd >= 0)
			close(fd);
	}
	return NULL;
}

struct receiver *receiver_start(receiver_choose *choose, receiver_keep *keep, void *context, uint16_t *ret_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	struct receiver *receiver = mem_zalloc(sizeof(*receiver));
	*receiver = (struct receiver){.choose = choose, .keep = keep, .context = context};
	receiver->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (pipe(receiver->wake) || bind(receiver->listening, (struct sockaddr *)&address, size) || listen(receiver->listening, 16) ||
	    getsockname(receiver->listening, (struct sockaddr *)&address, &size) || pthread_create(&receiver->thread, NULL, run, receiver))
		abort();
	*ret_port = ntohs(address.sin_port);
	return receiver;
}

void receiver_stop(struct receiver *receiver)
{
	close(receiver->wake[1]);
	pthread_join(receiver->thread, NULL);
	close(receiver->wake[0]);
	close(receiver->listening);
	free(receiver);
}
