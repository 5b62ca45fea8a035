/* Reading and writing uprobe_events and kprobe_events. A line is written by one write(); opening without O_APPEND would empty the file. */
#include "kernel/tracing/dynamic_events.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/number.h"
#include "kernel/fix.h"
#include "kernel/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RELEASE_TRIES = 100, RELEASE_PAUSE_MS = 20 };

/* Below tracefs. */
static const char *file_name(bool user)
{
	return user ? "uprobe_events" : "kprobe_events";
}

/* ---- reading ---- */

/* "PATH:0xOFFSET", maybe with the address of a counter in brackets behind it. */
static bool parse_user_target(char *target, struct dynamic_event *event)
{
	char *colon = strrchr(target, ':');
	char *bracket = colon ? strchr(colon, '(') : NULL;
	char *percent = colon ? strchr(colon, '%') : NULL; /* "%return" */

	if (!colon)
		return false;
	*colon = '\0';
	if (bracket)
		*bracket = '\0';
	if (percent)
		*percent = '\0';
	event->target = target;
	return number_parse_hex(colon + 1, &event->offset);
}

/* "symbol+8", "module:symbol", or an address; without an offset it is 0. */
static void parse_kernel_target(char *target, struct dynamic_event *event)
{
	char *plus = strrchr(target, '+');

	event->target = target;
	if (plus && number_parse_u64(plus + 1, &event->offset))
		*plus = '\0';
}

bool dynamic_event_parse(char *line, bool user, struct dynamic_event *ret)
{
	char *rest = line, *head = strsep(&rest, " "), *target = strsep(&rest, " "), *colon = strchr(head, ':');

	*ret = (struct dynamic_event){.user = user, .is_return = *head == 'r', .arguments = rest ? rest : ""};
	if ((*head != 'p' && *head != 'r') || !colon || !target)
		return false;
	char *event = colon + 1;
	ret->group = strsep(&event, "/");
	ret->event = event;
	if (!event)
		return false;
	if (user)
		return parse_user_target(target, ret);
	parse_kernel_target(target, ret);
	return true;
}

/* Adds the probes of one file; a kernel without it has none. The list keeps the text. */
static struct error *read_file(const char *tracefs, bool user, struct dynamic_events *list)
{
	cleanup_free char *path = mem_printf("%s/%s", tracefs, file_name(user));
	struct strbuf text = {0};
	int result = proc_read_file(AT_FDCWD, path, &text);

	if (result) {
		strbuf_deinit(&text);
		return result == -ENOENT ? NULL : error_system(-result, "%s", path);
	}
	char *rest = strbuf_detach(&text), *line;
	vec_push(&list->texts, rest);
	while ((line = strsep(&rest, "\n"))) {
		struct dynamic_event event;
		if (*line && dynamic_event_parse(line, user, &event))
			vec_push(&list->events, event);
	}
	return NULL;
}

struct error *dynamic_events_read(const char *tracefs, struct dynamic_events *ret)
{
	*ret = (struct dynamic_events){0};
	struct error *error = read_file(tracefs, false, ret);
	if (!error)
		error = read_file(tracefs, true, ret);
	if (error)
		dynamic_events_deinit(ret);
	return error;
}

void dynamic_events_deinit(struct dynamic_events *list)
{
	for (size_t i = 0; i < list->texts.len; i++)
		free(list->texts.data[i]);
	vec_deinit(&list->texts);
	vec_deinit(&list->events);
}

bool dynamic_events_has(const struct dynamic_events *list, const char *group, const char *event)
{
	for (size_t i = 0; i < list->events.len; i++)
		if (!strcmp(list->events.data[i].group, group) && !strcmp(list->events.data[i].event, event))
			return true;
	return false;
}

/* ---- writing ---- */

/* What the kernel noted last about a refusal: "[…] trace_kprobe: error: TEXT". Empty when it keeps no notes. */
static void read_reason(const char *tracefs, struct strbuf *out)
{
	cleanup_free char *path = mem_printf("%s/error_log", tracefs);
	struct strbuf log = {0};
	const char *last = NULL;

	if (proc_read_file(AT_FDCWD, path, &log) == 0)
		for (const char *at = strbuf_str(&log); (at = strstr(at, ": error: ")); at += 9)
			last = at + 9;
	if (last)
		strbuf_add(out, last, strcspn(last, "\n"));
	strbuf_deinit(&log);
}

/* In words what an errno means for the line, with the kernel's own note where it keeps one. */
static struct error *explain(const char *tracefs, bool user, const char *line, int number)
{
	struct strbuf reason = {0};
	struct error *error;

	switch (number) {
	case ENOENT:
		error = error_new_kind(ERROR_UNSUPPORTED, "'%s': the place does not exist, or is unknown to the kernel", line);
		break;
	case EILSEQ:
		error = error_new("'%s': no instruction begins there; -L shows where lines begin", line);
		break;
	case EEXIST:
		error = error_new("'%s': an event of this name already exists with other arguments", line);
		break;
	default:
		read_reason(tracefs, &reason);
		if (number == EINVAL && reason.len)
			error = error_new("'%s': rejected by the kernel: %s", line, strbuf_str(&reason));
		else
			error = error_system(number, "%s/%s: '%s'", tracefs, file_name(user), line);
	}
	strbuf_deinit(&reason);
	return error;
}

/* For appending. The error says why it isn't there, or who may write it. */
static struct error *open_file(const char *tracefs, bool user, int *ret)
{
	cleanup_free char *path = mem_printf("%s/%s", tracefs, file_name(user));

	*ret = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (*ret >= 0)
		return NULL;
	if (errno == ENOENT)
		return error_new_kind(ERROR_UNSUPPORTED, "this kernel was built without %s, so probes in %s are not supported",
				      user ? "CONFIG_UPROBE_EVENTS" : "CONFIG_KPROBE_EVENTS", user ? "programs" : "the kernel");
	if (errno == EACCES || errno == EPERM)
		return error_new_kind(ERROR_PERMISSION, "only root can add and delete probes: cannot write %s", path);
	return error_system(errno, "%s", path);
}

/* Returns 0 or errno. */
static int write_line(int fd, const char *line)
{
	size_t len = strlen(line);
	ssize_t written = write(fd, line, len);

	return written == (ssize_t)len ? 0 : written < 0 ? errno : EIO;
}

struct error *dynamic_event_add(const char *tracefs, bool user, const char *line)
{
	cleanup_close int fd = -1;
	struct error *error = open_file(tracefs, user, &fd);
	int result = error ? 0 : write_line(fd, line);

	return result ? explain(tracefs, user, line, result) : error;
}

struct error *dynamic_event_delete(const char *tracefs, bool user, const char *group, const char *event)
{
	cleanup_close int fd = -1;
	cleanup_free char *line = mem_printf("-:%s/%s", group, event);
	struct error *error = open_file(tracefs, user, &fd);
	int result = error ? 0 : write_line(fd, line);

	/* The kernel lets go of an event a little after the last descriptor was closed. */
	for (int tries = 0; result == EBUSY && tries < RELEASE_TRIES; tries++) {
		poll(NULL, 0, RELEASE_PAUSE_MS);
		result = write_line(fd, line);
	}
	if (result == EBUSY)
		return error_new("%s:%s is in use: it is being recorded or counted", group, event);
	return result ? error_system(result, "deleting %s:%s", group, event) : error;
}
