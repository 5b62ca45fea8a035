/* A process that writes a recording. What it writes to may be slow, full, or gone (a disk that fails, a server of files that is away), and
 * then the process waits for ever, at worst where no signal reaches it. It has a time for its work, and then is no longer waited for: the
 * next recording has a process of its own. Those that can't even be killed are few: more would only wait beside them. */
#include "cmd/agent/flight_internal.h"

#include "base/log.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t writing_ns = UINT64_C(60000000000);

/* True: it is no more, and `status` is how it ended. */
static bool reap(pid_t pid, int *status, int options)
{
	pid_t ended;
	*status = 0;
	do
		ended = waitpid(pid, status, options);
	while (ended < 0 && errno == EINTR);
	return ended == pid || (ended < 0 && errno == ECHILD);
}

static void reap_stuck(struct flight_writer *writer)
{
	size_t left = 0;
	int status;
	for (size_t i = 0; i < writer->stuck_count; i++)
		if (!reap(writer->stuck[i], &status, WNOHANG))
			writer->stuck[left++] = writer->stuck[i];
	writer->stuck_count = left;
}

bool flight_writer_start(struct flight_writer *writer, uint64_t now, bool (*write)(void *context), void *context)
{
	reap_stuck(writer);
	if (writer->stuck_count == FLIGHT_STUCK)
		return false;
	pid_t pid = fork();
	if (!pid)
		_exit(!write(context));
	if (pid < 0)
		return false;
	writer->pid = pid;
	writer->until = now + writing_ns;
	return true;
}

static enum flight_written end(struct flight_writer *writer, int status)
{
	writer->pid = 0;
	if (WIFSIGNALED(status))
		log_warning("flight recorder: what wrote the recording was ended by signal %d", WTERMSIG(status));
	return WIFEXITED(status) && !WEXITSTATUS(status) ? FLIGHT_WRITTEN : FLIGHT_FAILED;
}

static enum flight_written give_up(struct flight_writer *writer)
{
	log_warning("flight recorder: the recording was not written within %llu s: the disk is slow, or stuck",
		    (unsigned long long)(writing_ns / 1000000000));
	kill(writer->pid, SIGKILL);
	writer->stuck[writer->stuck_count++] = writer->pid;
	writer->pid = 0;
	return FLIGHT_FAILED;
}

enum flight_written flight_writer_look(struct flight_writer *writer, uint64_t now)
{
	int status;
	reap_stuck(writer);
	if (!writer->pid)
		return FLIGHT_NONE;
	if (reap(writer->pid, &status, WNOHANG))
		return end(writer, status);
	return now < writer->until ? FLIGHT_WRITES : give_up(writer);
}
