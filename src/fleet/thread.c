#include "fleet/thread.h"

#include <signal.h>

struct error *thread_start(pthread_t *ret, void *(*run)(void *), void *context, const char *what)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failed = pthread_create(ret, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed ? error_system(failed, "cannot start %s", what) : NULL;
}
