/* A session: perf record with --control and the words of the configuration, in a folder of its own. It ends with the daemon: by SIGTERM,
 * also when that was killed. */
#include "cmd/daemon/daemon.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PING_SECONDS = 2, TICK_MS = 10 };

struct daemon_session *daemon_session_create(const char *name, const char *run)
{
	struct daemon_session *session = mem_zalloc(sizeof(*session));
	*session = (struct daemon_session){.name = mem_strdup(name), .run = mem_strdup(run), .folder = -1, .control = -1, .ack = -1};
	return session;
}

static void close_all(struct daemon_session *session)
{
	int *fds[] = {&session->control, &session->ack, &session->folder};
	if (session->folder >= 0) {
		unlinkat(session->folder, "control", 0);
		unlinkat(session->folder, "ack", 0);
	}
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

void daemon_session_destroy(struct daemon_session *session)
{
	if (!session)
		return;
	close_all(session);
	free(session->name);
	free(session->run);
	free(session);
}

/* ---- start ---- */

static struct error *make_fifo(int folder, const char *name, int *ret)
{
	if (unlinkat(folder, name, 0) && errno != ENOENT)
		return error_system(errno, "removing %s", name);
	if (mkfifoat(folder, name, 0600))
		return error_system(errno, "%s", name);
	*ret = openat(folder, name, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	return *ret < 0 ? error_system(errno, "%s", name) : NULL;
}

static struct error *make_folder(struct daemon_session *session, int base, int *ret_output)
{
	char name[256];
	snprintf(name, sizeof(name), "session-%s", session->name);
	if (mkdirat(base, name, 0755) && errno != EEXIST)
		return error_system(errno, "%s", name);
	struct error *error = daemon_open_folder(base, name, &session->folder);
	if (!error)
		error = make_fifo(session->folder, "control", &session->control);
	if (!error)
		error = make_fifo(session->folder, "ack", &session->ack);
	if (error)
		return error;
	*ret_output = openat(session->folder, "output", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	return *ret_output < 0 ? error_system(errno, "output") : NULL;
}

static void become_recorder(const struct daemon_session *session, int output, pid_t daemon)
{
	daemon_files words = {0};
	sigset_t none;
	int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
	vec_push(&words, mem_strdup("perf"));
	vec_push(&words, mem_strdup("record"));
	vec_push(&words, mem_strdup("--control=fifo:control,ack"));
	daemon_split_words(session->run, &words);
	vec_push(&words, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != daemon || fchdir(session->folder))
		_exit(127);
	dup2(nowhere, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	execv("/proc/self/exe", words.data);
	_exit(127);
}

struct error *daemon_session_start(struct daemon_session *session, int base)
{
	int output = -1;
	pid_t daemon = getpid();
	close_all(session);
	session->started_ns = 0;
	session->killed = false;
	struct error *error = make_folder(session, base, &output);
	if (!error) {
		session->pid = fork();
		if (!session->pid)
			become_recorder(session, output, daemon);
		if (session->pid < 0)
			error = error_system(errno, "fork");
	}
	if (output >= 0)
		close(output);
	if (error) {
		session->pid = 0;
		close_all(session);
		return error_wrap(error, "session '%s'", session->name);
	}
	session->answered = false;
	session->started_ns = clock_now_ns(CLOCK_MONOTONIC);
	return NULL;
}

/* ---- end ---- */

void daemon_session_add_end(const struct daemon_session *session, struct strbuf *out)
{
	if (WIFSIGNALED(session->status))
		strbuf_printf(out, "killed (signal %d)", WTERMSIG(session->status));
	else
		strbuf_printf(out, "exited, status=%d", WEXITSTATUS(session->status));
}

bool daemon_session_ended(struct daemon_session *session, struct strbuf *how)
{
	if (!session->pid || waitpid(session->pid, &session->status, WNOHANG) != session->pid)
		return false;
	session->pid = 0;
	close_all(session);
	daemon_session_add_end(session, how);
	return true;
}

static size_t count_running(struct daemon_session *const *sessions, size_t count)
{
	struct strbuf how = {0};
	size_t running = 0;
	for (size_t i = 0; i < count; i++) {
		daemon_session_ended(sessions[i], &how);
		running += sessions[i]->pid != 0;
	}
	strbuf_deinit(&how);
	return running;
}

void daemon_sessions_stop(struct daemon_session *const *sessions, size_t count)
{
	static const struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};
	uint64_t until = clock_now_ns(CLOCK_MONOTONIC) + DAEMON_STOP_SECONDS * UINT64_C(1000000000);
	bool killed = false;
	for (size_t i = 0; i < count; i++)
		if (sessions[i]->pid)
			kill(sessions[i]->pid, SIGTERM);
	while (count_running(sessions, count)) {
		nanosleep(&tick, NULL);
		if (killed || clock_now_ns(CLOCK_MONOTONIC) < until)
			continue;
		for (size_t i = 0; i < count; i++)
			if (sessions[i]->pid)
				sessions[i]->killed = !kill(sessions[i]->pid, SIGKILL);
		killed = true;
	}
}

/* ---- ping ---- */

static bool has_ended(const struct daemon_session *session)
{
	siginfo_t info = {0};
	return waitid(P_PID, (id_t)session->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == session->pid;
}

/* Commands may have been answered before that nobody waited for. */
static void drain(int fd)
{
	char buffer[256];
	while (read(fd, buffer, sizeof(buffer)) > 0)
		continue;
}

bool daemon_session_ping(struct daemon_session *session)
{
	char answer[256];
	uint64_t until = clock_now_ns(CLOCK_MONOTONIC) + PING_SECONDS * UINT64_C(1000000000);
	if (!session->pid)
		return false;
	drain(session->ack);
	if (write(session->control, "ping\n", strlen("ping\n")) < 0)
		return false;
	while (clock_now_ns(CLOCK_MONOTONIC) < until && !has_ended(session)) {
		struct pollfd ack = {.fd = session->ack, .events = POLLIN};
		if (poll(&ack, 1, TICK_MS) > 0 && read(session->ack, answer, sizeof(answer)) > 0) {
			session->answered = true;
			return str_starts_with(answer, "ack");
		}
	}
	return false;
}

bool daemon_session_dump(struct daemon_session *session)
{
	if (!session->answered)
		daemon_session_ping(session);
	return session->answered && session->pid && !kill(session->pid, SIGUSR2);
}
