/* Reading commands line by line from a descriptor that never blocks us. */
#include "session/control.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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
		return error_new_kind(ERROR_USAGE, "'%s' is no open file descriptor", text);
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
		return error_new_kind(ERROR_USAGE, "'%s': fd:IN[,OUT] or fifo:IN[,OUT] expected", text);
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

static const struct {
	const char *name;
	enum control_command command;
} commands[] = {
	{"enable", CONTROL_ENABLE}, {"disable", CONTROL_DISABLE}, {"snapshot", CONTROL_SNAPSHOT},
	{"ping", CONTROL_PING},	    {"stop", CONTROL_STOP},	  {"evlist", CONTROL_EVLIST},
};

static enum control_command interpret(char *line, const char **ret_argument)
{
	size_t length = strcspn(line, " ");

	*ret_argument = line[length] ? line + length + 1 : "";
	line[length] = '\0';
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(line, commands[i].name))
			return commands[i].command;
	return CONTROL_UNKNOWN;
}

enum control_command control_read(struct control *control, const char **ret_argument)
{
	for (;;) {
		/* The descriptor may be one that blocks: it isn't ours to change. */
		struct pollfd ready = {.fd = control->in, .events = POLLIN};
		if (poll(&ready, 1, 0) <= 0)
			return CONTROL_NONE;
		char c;
		ssize_t got = read(control->in, &c, 1);
		if (got < 0)
			return errno == EAGAIN || errno == EINTR ? CONTROL_NONE : CONTROL_CLOSED;
		if (got == 0)
			return CONTROL_CLOSED;
		if (c != '\n' && c != '\0') {
			if (control->length < sizeof(control->line) - 1)
				control->line[control->length++] = c;
			continue;
		}
		control->line[control->length] = '\0';
		bool empty = !control->length;
		control->length = 0;
		if (!empty)
			return interpret(control->line, ret_argument);
	}
}

void control_acknowledge(struct control *control)
{
	if (control->out >= 0 && write(control->out, "ack\n", 4) < 0)
		control->out = -1; /* nobody listens any more */
}

void control_close(struct control *control)
{
	if (control->owned && control->in >= 0)
		close(control->in);
	if (control->owned && control->out >= 0)
		close(control->out);
	control_init(control);
}
