/* What ends threads, noted by thread and by process (thread_ends.h). */
#include "analysis/syscalls/thread_ends.h"

#include <signal.h>

void thread_ends_deinit(struct thread_ends *ends)
{
	map64_deinit(&ends->statuses);
	map64_deinit(&ends->sent);
}

static uint64_t key_of(uint32_t id, bool whole)
{
	return (uint64_t)id << 1 | whole;
}

/* The first stays. */
static void note(struct thread_ends *ends, uint64_t key, uint32_t status)
{
	bool is_new;
	uint64_t *slot = map64_insert(&ends->statuses, key, &is_new);

	if (is_new)
		*slot = status;
}

void thread_ends_take_exit(struct thread_ends *ends, uint32_t pid, uint32_t tid, bool whole, uint64_t argument)
{
	note(ends, key_of(whole ? pid : tid, whole), (uint32_t)(argument & 0xff) << 8);
}

void thread_ends_take_sent(struct thread_ends *ends, uint32_t id, uint64_t number)
{
	*map64_insert(&ends->sent, id, NULL) = number;
}

static bool ends_by_default(uint64_t number)
{
	switch (number) {
	case SIGCHLD:
	case SIGCONT:
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
	case SIGURG:
	case SIGWINCH:
		return false;
	default:
		return true;
	}
}

void thread_ends_take_signal(struct thread_ends *ends, uint32_t pid, uint32_t tid, uint64_t number, bool handled)
{
	const uint64_t *sent = map64_find(&ends->sent, tid);

	if (handled || !ends_by_default(number))
		return;
	if (!sent)
		sent = map64_find(&ends->sent, pid);
	note(ends, key_of(pid, true), (uint32_t)(number == SIGKILL && sent ? *sent : number) & 0x7f);
}

bool thread_ends_status(const struct thread_ends *ends, uint32_t pid, uint32_t tid, uint32_t *ret_status)
{
	const uint64_t *status = map64_find(&ends->statuses, key_of(tid, false));

	if (!status)
		status = map64_find(&ends->statuses, key_of(pid, true));
	if (status)
		*ret_status = (uint32_t)*status;
	return status;
}
