/* Reading commands line by line from a descriptor that never blocks us. */
#include "capture/control.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"
#include "event/event.h"
#include "kernel/poller.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void control_init(struct control *control)
{
	*control = (struct control){.in = -1, .out = -1};
}

static struct error *take_number(const char *text, int *ret)
{
	uint32_t fd;

	if (!number_parse_u32(text, &fd) || fcntl((int)fd, F_GETFD) < 0)
		return error_new_kind(ERROR_USAGE, "'%s' is not an open file descriptor", text);
	*ret = (int)fd;
	return NULL;
}

static struct error *take_fifo(const char *path, int *ret)
{
	/* Open both ways: no end of file whenever a writer goes away. */
	*ret = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return *ret < 0 ? error_system(errno, "%s", path) : NULL;
}

struct error *control_open(struct control *control, const char *text)
{
	bool fifo = str_starts_with(text, "fifo:");

	if (!fifo && !str_starts_with(text, "fd:"))
		return error_new_kind(ERROR_USAGE, "invalid value '%s': expected fd:IN[,OUT] or fifo:IN[,OUT]", text);
	cleanup_free char *in = mem_strdup(strchr(text, ':') + 1);
	char *out = strchr(in, ',');
	if (out)
		*out++ = '\0';
	struct error *error = fifo ? take_fifo(in, &control->in) : take_number(in, &control->in);
	if (!error && out)
		error = fifo ? take_fifo(out, &control->out) : take_number(out, &control->out);
	control->owned = fifo;
	return error;
}

static void call(void (*action)(void *), void *context)
{
	if (action)
		action(context);
}

static bool obey(char *line, const struct control_actions *actions, void *context)
{
	size_t length = strcspn(line, " ");
	const char *argument = line[length] ? line + length + 1 : "";

	line[length] = '\0';
	bool enable = !strcmp(line, "enable");
	if (enable || !strcmp(line, "disable"))
		actions->switch_events(context, argument, enable);
	else if (!strcmp(line, "snapshot"))
		call(actions->snapshot, context);
	else if (!strcmp(line, "stop"))
		call(actions->stop, context);
	else if (!strcmp(line, "evlist"))
		call(actions->list, context);
	else
		return !strcmp(line, "ping");
	return true;
}

enum read_result { READ_NOTHING, READ_LINE, READ_END };

static enum read_result read_line(struct control *control)
{
	for (;;) {
		/* The descriptor may be one that blocks: it isn't ours to change. */
		struct pollfd ready = {.fd = control->in, .events = POLLIN};
		if (poll(&ready, 1, 0) <= 0)
			return READ_NOTHING;
		char c;
		ssize_t got = read(control->in, &c, 1);
		if (got < 0)
			return errno == EAGAIN || errno == EINTR ? READ_NOTHING : READ_END;
		if (got == 0)
			return READ_END;
		if (c != '\n' && c != '\0') {
			if (control->length < sizeof(control->line) - 1)
				control->line[control->length++] = c;
			continue;
		}
		control->line[control->length] = '\0';
		bool empty = !control->length;
		control->length = 0;
		if (!empty)
			return READ_LINE;
	}
}

static void acknowledge(struct control *control)
{
	if (control->out >= 0 && write(control->out, "ack\n", 4) < 0)
		control->out = -1; /* nobody listens any more */
}

void control_obey(struct control *control, struct poller *poller, const struct control_actions *actions, void *context)
{
	enum read_result result;

	while ((result = read_line(control)) == READ_LINE) {
		if (obey(control->line, actions, context))
			acknowledge(control);
		else
			log_warning("--control: unknown command");
	}
	if (result == READ_END)
		poller_unwatch(poller, control->in);
}

void control_list_events(const struct event_list *events)
{
	for (size_t i = 0; i < events->events.len; i++)
		printf("%s\n", events->events.data[i]->name);
	fflush(stdout);
}

void control_close(struct control *control)
{
	if (control->owned && control->in >= 0)
		close(control->in);
	if (control->owned && control->out >= 0)
		close(control->out);
	control_init(control);
}
